"""`etconfig backends NAME` of a backend with many options, whose lines would be very long."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Outcome
from plugin_data import write_distribution

PLUGIN = """
from typing import Literal

from etconfig.plugin.v1 import ApiRange, BackendOptions, BackendSpec, KnownKey, hookimpl, option

WORDS = tuple(f"the_word_{number}" for number in range(20))
DOC = "The first sentence. " + "The others say more about it. " * 10
names = [f"option_{number}" for number in range(20)]
types = {name: Literal[WORDS] for name in names}
body = {"__annotations__": types, "__doc__": "Options.", "__module__": __name__}
body |= {name: option(WORDS[0], applies="load", doc=DOC) for name in names}
WideOptions = type("WideOptions", (BackendOptions,), body)
KEYS = {"session.spinning": KnownKey(doc="Wait in a loop.", kind="boolean")}

class FewOptions(BackendOptions):
    "Options."
    entries: dict[str, str] = option({}, applies="load", doc="Entries.", known_keys=KEYS)

@hookimpl
def etconfig_backend(request):
    options = WideOptions if request.name == "WideBackend" else FewOptions
    return BackendSpec(id=request.name, doc="An engine.", options=options, api=ApiRange(1, 1))
"""


@pytest.fixture(autouse=True)
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a backend with 20 options of 20 words each."""
    site = tmp_path / "site"
    entries = "[etconfig.backends]\nWideBackend = acme_wide\nKeyedBackend = acme_wide\n"
    write_distribution(site, "acme_wide-1.0.dist-info", entries)
    (site / "acme_wide.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(str(site))


def test_long_cells_are_cut(cli: Callable[..., Outcome]) -> None:
    lines = cli("backends", "WideBackend").stdout.splitlines()
    assert max(len(line) for line in lines if line.startswith("option_")) <= 160
    row = next(line for line in lines if line.startswith("option_0 "))
    assert "one of 'the_word_0'" in row
    assert row.endswith("The first sentence")
    assert lines[-1] == "--full shows values and meanings in full, and the keys of tables"


def test_full_shows_everything(cli: Callable[..., Outcome]) -> None:
    outcome = cli("backends", "WideBackend", "--full")
    row, _, _ = outcome.stdout.partition("\noption_1 ")
    assert "'the_word_19'" in row
    assert "The others say more" in row
    assert "--full" not in outcome.stdout


def test_full_lists_the_keys_of_tables(cli: Callable[..., Outcome]) -> None:
    lines = cli("backends", "KeyedBackend", "--full").stdout.splitlines()
    assert lines[-3] == "Keys of entries; others are refused:"
    assert lines[-2].split() == ["KEY", "VALUE", "MEANING"]
    assert lines[-1].split("  ")[::2] == ["session.spinning", "Wait in a loop."]
    assert cli("backends", "KeyedBackend").stdout.splitlines()[-1] == "--full shows the keys of tables, too"
    (entries,) = cli("backends", "KeyedBackend", "--json").json["options"].values()
    assert entries["known_keys"] == {
        "session.spinning": {"expected": "one of '0', '1'", "doc": "Wait in a loop."}
    }


def test_an_unknown_option_lists_the_nearest_and_names_the_command(cli: Callable[..., Outcome]) -> None:
    outcome = cli("resolve", "--set", "WideBackend.frequency=1")
    assert "it has 20 options, such as option_" in outcome.stderr
    assert "`etconfig backends WideBackend` lists them" in outcome.stderr
    assert "option_19, " not in outcome.stderr
