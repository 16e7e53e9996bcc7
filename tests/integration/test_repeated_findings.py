"""`validate` reports a problem once, with the reason that counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from command_line import Outcome

from etconfig import Installation
from etconfig.app.validating.validation import Validator

BOARD = """[profile]
name = "board"
match = "true"

[options.AcmeDspBackend]
library = "libvision.so"
log_level = { expr = "cpu.available_cores > 30 ? 2 : 3" }

[methods.decode.options.AcmeDspBackend]
log_level = 1
"""


class TwoMethods:
    """A program with two methods, both for AcmeDspBackend."""

    method_names = ("prefill", "decode")

    def __init__(self) -> None:
        self.installation = Installation()

    def backends(self, method: str) -> tuple[str, ...]:
        return ("AcmeDspBackend",)

    def program_values(self, method: str, spec: object) -> Mapping[str, object]:
        return {}


def test_a_conflict_on_several_devices_is_one_problem(place: Path, installed: Callable[..., None]) -> None:
    installed("acme-dsp")
    (place / "board.toml").write_text(BOARD)
    program = TwoMethods()
    validator = Validator(
        installation=program.installation,
        programs={"model.pte": program},  # type: ignore[dict-item]
        fact_overrides={"cpu.available_cores": 37},
    )
    assert [each.code for each in validator.problems(Path("board.toml"))] == ["process-scope-conflict"]


def test_a_denied_plugin_is_named_as_the_reason(place: Path, cli: Callable[..., Outcome]) -> None:
    (place / "etconfig.toml").write_text(
        '[plugins]\ndeny = ["etconfig-reference"]\n\n[options.ReferenceCpuBackend]\nnum_threads = 2\n'
    )
    (problem,) = cli("validate", "etconfig.toml", "--format", "json").json
    assert problem["code"] == "backend-not-installed"
    assert problem["help"].startswith("etconfig-reference ")
    assert problem["help"].endswith(" declares it, but it is on the project's deny list")
