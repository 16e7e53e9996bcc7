"""A key that an engine would ignore is found in a profile, at its place, with a fix."""

from __future__ import annotations

from pathlib import Path

import pytest

import etconfig
from etconfig.plugin.v1 import ApiRange, BackendOptions, BackendSpec, KnownKey, option


class AcmeOptions(BackendOptions):
    """Options of `AcmeBackend`."""

    entries: dict[str, str] = option(
        {},
        applies="load",
        doc="Entries of a session.",
        known_keys={
            "session.spinning": KnownKey(doc="Wait in a loop.", kind="boolean"),
            "session.base": KnownKey(doc="Block size.", kind="integer", minimum=0),
        },
    )


SPEC = BackendSpec(id="AcmeBackend", doc="Acme's.", options=AcmeOptions, api=ApiRange(min=1, built=1))


@pytest.fixture
def installation() -> etconfig.Installation:
    return etconfig.Installation().with_backends({"AcmeBackend": SPEC})


def problem(text: str, path: Path, installation: etconfig.Installation) -> etconfig.Diagnostic:
    path.write_text(f'[profile]\nname = "mine"\n[options.AcmeBackend]\n{text}\n')
    (found,) = etconfig.validate_file(path, installation)
    return found


class TestProfiles:
    def test_the_key_is_underlined_and_replaced(
        self, tmp_path: Path, installation: etconfig.Installation
    ) -> None:
        found = problem('entries = { "session.spining" = "0" }', tmp_path / "mine.toml", installation)
        assert found.message.endswith("expected a known key, given 'session.spining'")
        assert found.help == "did you mean 'session.spinning'?"
        assert found.spans[0].underlined == '"session.spining"'
        assert found.fix is not None
        assert found.fix.replacement == '"session.spinning"'

    def test_the_text_is_underlined(self, tmp_path: Path, installation: etconfig.Installation) -> None:
        found = problem('entries = { "session.base" = "four" }', tmp_path / "mine.toml", installation)
        assert found.spans[0].underlined == '"four"'
        assert found.message.endswith("expected an integer >= 0 as a string, given 'four' (a string)")

    def test_right_entries_reach_the_options(
        self, tmp_path: Path, installation: etconfig.Installation
    ) -> None:
        path = tmp_path / "mine.toml"
        path.write_text(
            '[profile]\nname = "mine"\n[options.AcmeBackend]\nentries = { "session.spinning" = "1" }\n'
        )
        found = etconfig.resolve(
            profile=path, overrides={"AcmeBackend.entries": {"session.base": "4"}}, installation=installation
        )
        assert found.arguments("*")["AcmeBackend"].entries == {
            "session.spinning": "1",
            "session.base": "4",
        }
