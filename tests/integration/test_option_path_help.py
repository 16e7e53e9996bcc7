"""Wrong paths and values in `--set`, `ETCONFIG_SET` and `explain`: the help has what was probably meant."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Outcome

import etconfig

CLI = Callable[..., Outcome]
OPTIONS_OF_CPU = "write ReferenceCpuBackend.OPTION; `etconfig schema ReferenceCpuBackend` lists its options"
LIST = "`etconfig backends` lists the backends, `etconfig schema BACKEND` their options"

PATHS = {
    "core=1": "write ReferenceNpuBackend.core=1",
    "cor=1": "write ReferenceNpuBackend.core=1",
    "forward.X.core=1": LIST,
    "forward/ReferenceNpuBackend/core=1": "write forward:ReferenceNpuBackend.core=1",
    "forward:core=1": "write forward:ReferenceNpuBackend.core=1",
    "forward@left:core=1": "write forward@left:ReferenceNpuBackend.core=1",
    "ReferenceNpuBackend:core=1": "write ReferenceNpuBackend.core=1",
    "referencenpu:cor=1": "write ReferenceNpuBackend.core=1",
    "options.ReferenceNpuBackend.core=1": "write ReferenceNpuBackend.core=1",
    "methods.forward.options.ReferenceNpuBackend.core=1": "write forward:ReferenceNpuBackend.core=1",
    "ReferenceNpuBackend.core": "write ReferenceNpuBackend.core=VALUE",
    "ReferenceCpuBackend=2": OPTIONS_OF_CPU,
    "ReferenceCpuBackend.=2": OPTIONS_OF_CPU,
    "zork=1": LIST,
    "=": LIST,
    "a.b.c.d": LIST,
}


@pytest.mark.parametrize("text", PATHS)
class TestPaths:
    """The message shows the grammar, and the help the likely path."""

    def test_of_the_option(self, cli: CLI, place: Path, text: str) -> None:
        outcome = cli("resolve", "--set", text)
        assert outcome.status == 2
        assert "error[invalid-option-path]: " in outcome.stderr
        assert outcome.stderr.endswith(f"  = help: {PATHS[text]}\n")

    def test_of_the_variable(self, cli: CLI, place: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("ETCONFIG_SET", text)
        outcome = cli("resolve")
        assert " --> ETCONFIG_SET:1:1\n" in outcome.stderr
        assert outcome.stderr.endswith(f"  = help: {PATHS[text]}\n")

    def test_what_is_suggested_follows_the_grammar(self, cli: CLI, place: Path, text: str) -> None:
        meant = PATHS[text].removeprefix("write ").replace("VALUE", "1")
        if "=" in meant:
            assert "invalid-option-path" not in cli("resolve", "--set", meant).stderr


@pytest.mark.parametrize(
    ("path", "help_text"),
    [
        ("core", "write ReferenceNpuBackend.core"),
        ("forward.ReferenceNpuBackend.core", "write forward:ReferenceNpuBackend.core"),
        ("ReferenceCpuBackend", OPTIONS_OF_CPU),
        ("zork", LIST),
    ],
)
def test_the_path_of_explain_gets_the_path_alone(cli: CLI, place: Path, path: str, help_text: str) -> None:
    message = (
        f"error[invalid-option-path]: {path!r} is not an option path; "
        "expected [METHOD[@INSTANCE]:]BACKEND.OPTION, for example forward@camera0:NpuBackend.core\n"
    )
    assert cli("explain", path, "model.pte") == Outcome(2, "", f"{message}  = help: {help_text}\n")


def test_keys_of_python_get_the_path_alone(place: Path) -> None:
    with pytest.raises(etconfig.ConfigError) as caught:
        etconfig.resolve(overrides={"core": 1})
    assert [problem.help for problem in caught.value.diagnostics] == ["write ReferenceNpuBackend.core"]


@pytest.mark.parametrize(
    ("value", "help_text"),
    [
        ('"4"', "write 4 without quotes"),
        ("4.0", "write 4"),
    ],
)
def test_values_get_the_help_of_files(cli: CLI, place: Path, value: str, help_text: str) -> None:
    outcome = cli("resolve", "--set", f"ReferenceCpuBackend.num_threads={value}")
    assert outcome.stderr.endswith(f"  = help: {help_text}\n")
    quoted = value.strip('"') if value != "4.0" else value
    written = quoted if value == "4.0" else json.dumps(quoted)
    Path("cpu.toml").write_text(
        f"[profile]\nname = 'app/cpu'\n[options.ReferenceCpuBackend]\nnum_threads = {written}\n"
    )
    assert f"  = help: {help_text}\n" in cli("validate", "cpu.toml").stdout


@pytest.mark.parametrize("value", ["", "auto", "none"])
def test_a_word_for_the_default_is_to_be_left_out(cli: CLI, place: Path, value: str) -> None:
    outcome = cli("resolve", "--set", f"ReferenceCpuBackend.num_threads={value}")
    assert outcome.stderr.endswith(
        "  = help: leave it out for the value of the profile, "
        "else the default, which follows cpu.available_cores\n"
    )
