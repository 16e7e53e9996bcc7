"""`auto` falls back to `generic/any` audibly, and not at all if that is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import DATA, Outcome

import etconfig
from etconfig import Installation
from etconfig.diagnostics import Severity

NOTE = "note[no-matching-profile]: no profile is about this device: auto falls back to 'generic/any'\n"
REFUSAL = "error[no-matching-profile]: no profile is about this device: only 'generic/any' is left"
ON_BSD = ("--facts", "bsd.json")
"""A device that no other bundled profile matches."""


@pytest.fixture
def bsd(place: Path) -> Path:
    sheet = {"etconfig_fact_sheet": 1, "facts": {"os.name": {"value": "freebsd"}}}
    (place / "bsd.json").write_text(json.dumps(sheet))
    return place


@pytest.mark.parametrize(
    "arguments",
    [
        ("resolve",),
        ("resolve", "model.pte", "--json"),
        ("explain", "ReferenceCpuBackend.num_threads"),
        ("lock",),
        ("run", "model.pte", "--input", "x.npy"),
        ("bench", "model.pte", "--pairs", "6"),
        ("pack", "model.pte", "--output", "out.etbundle"),
        ("watch", "--count", "1", "--interval", "0"),
        ("profiles", "match"),
    ],
)
class TestEveryCommandThatSelects:
    def test_it_says_so_in_one_line(
        self, arguments: tuple[str, ...], bsd: Path, cli: Callable[..., Outcome]
    ) -> None:
        done = cli(*arguments, *ON_BSD)
        assert done.status == 0
        assert NOTE in done.stderr

    def test_it_can_refuse_that(
        self, arguments: tuple[str, ...], bsd: Path, cli: Callable[..., Outcome]
    ) -> None:
        done = cli(*arguments, *ON_BSD, "--require-match")
        shown = done.stderr if done.status == 2 else done.stdout
        assert done.status == (1 if arguments[0] == "profiles" else 2)
        assert REFUSAL.partition(": ")[2] in shown

    def test_a_profile_of_the_device_is_no_fallback(
        self, arguments: tuple[str, ...], bsd: Path, cli: Callable[..., Outcome]
    ) -> None:
        done = cli(*arguments, "--facts", "device.json", "--require-match")
        assert done.status == 0
        assert "no-matching-profile" not in done.stderr


def test_json_says_so(bsd: Path, cli: Callable[..., Outcome]) -> None:
    assert cli("resolve", *ON_BSD, "--json").json["is_fallback"] is True
    assert cli("profiles", "match", *ON_BSD, "--json").json["is_fallback"] is True
    for command in (("resolve",), ("profiles", "match")):
        assert cli(*command, "--facts", "device.json", "--json").json["is_fallback"] is False
    named = cli("resolve", *ON_BSD, "--profile", "generic/any", "--json", "--require-match")
    assert named.json["is_fallback"] is False
    assert named.stderr == ""


def test_both_sides_of_a_diff_are_checked(bsd: Path, cli: Callable[..., Outcome]) -> None:
    done = cli("diff", "facts:bsd.json", "facts:device.json", "--require-match")
    assert done.status == 2
    assert REFUSAL in done.stderr


class TestTheProjectFile:
    def test_it_refuses_for_every_command(self, bsd: Path, cli: Callable[..., Outcome]) -> None:
        (bsd / "etconfig.toml").write_text("require_match = true\n")
        done = cli("resolve", *ON_BSD)
        assert done.status == 2
        assert REFUSAL in done.stderr
        assert cli("profiles", "match", *ON_BSD).status == 1
        assert cli("resolve", *ON_BSD, "--profile", "generic/any").status == 0
        assert "no profile is about" in cli("validate", "etconfig.toml", *ON_BSD).stdout

    def test_doctor_fails_where_it_refuses(
        self, bsd: Path, cli: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        sheet = etconfig.load_fact_sheet(Path("bsd.json"))
        monkeypatch.setattr(Installation, "detect_facts", lambda self: sheet)
        found = {each["subject"]: each for each in cli("doctor", "--json").json}
        assert found["profiles"]["status"] == "warning"
        assert "auto falls back to 'generic/any'" in found["profiles"]["detail"]
        (bsd / "etconfig.toml").write_text("require_match = true\n")
        done = cli("doctor")
        assert done.status == 1
        assert "only 'generic/any' is left" in done.stdout

    def test_another_value_is_a_mistake(self, bsd: Path, cli: Callable[..., Outcome]) -> None:
        (bsd / "etconfig.toml").write_text("require_match = 1\n")
        done = cli("validate", "etconfig.toml")
        assert done.status == 1
        assert "'require_match' must be true or false" in done.stdout

    def test_its_schema_has_the_key(self, bsd: Path, cli: Callable[..., Outcome]) -> None:
        assert cli("schema", "--project").json["properties"]["require_match"]["type"] == "boolean"


class TestInPython:
    def test_the_note_is_among_the_warnings(self, bsd: Path) -> None:
        resolution = etconfig.resolve(facts=etconfig.load_fact_sheet(Path("bsd.json")))
        (note,) = resolution.warnings
        assert (note.code, note.severity) == ("no-matching-profile", Severity.NOTE)
        assert resolution.selection is not None
        assert resolution.selection.is_fallback

    def test_a_parameter_refuses(self, bsd: Path) -> None:
        facts = etconfig.load_fact_sheet(Path("bsd.json"))
        with pytest.raises(etconfig.ConfigError, match="no profile is about this device"):
            etconfig.resolve(facts=facts, require_match=True)
        with pytest.raises(etconfig.ConfigError, match="no profile is about this device"):
            etconfig.configure(facts=facts, require_match=True)
        assert etconfig.resolve(facts=facts, profile="generic/any", require_match=True).warnings == ()


def test_a_profile_of_the_user_for_every_device_is_no_fallback(
    bsd: Path, cli: Callable[..., Outcome]
) -> None:
    """Its author wants it to be selected wherever nothing else fits."""
    (bsd / "own").mkdir()
    (bsd / "own" / "mine.toml").write_text("[profile]\nname = \"mine\"\nmatch = 'true'\n")
    done = cli("resolve", *ON_BSD, "--profile-path", "own", "--require-match")
    assert (done.status, done.stderr) == (0, "")
    assert done.stdout.startswith("profile mine\n")


@pytest.mark.parametrize("sheet", sorted((DATA / "sheets").glob("*.json")), ids=lambda path: path.stem)
def test_every_recorded_device_has_a_profile(sheet: Path) -> None:
    etconfig.resolve(facts=etconfig.load_fact_sheet(sheet), require_match=True, installation=Installation())
