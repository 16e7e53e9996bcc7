"""Arguments of wrong types are refused by name, before a program is opened or a method loaded."""

from __future__ import annotations

from typing import Any

import pytest
from command_line import DATA

import etconfig

PROGRAM = DATA / "digits" / "digits.pte"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"executor": 3}, "^executor: expected 'numpy', or the name of an installed executor, given int$"),
        (
            {"verification": "Minimal"},
            r"^verification: expected a member of etconfig\.Verification, given str$",
        ),
        ({"tracer": True}, r"^tracer: expected an etconfig\.tracing\.RecordingTracer\(\), given bool$"),
    ],
)
def test_of_load_program(given: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        etconfig.load_program(PROGRAM, **given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"optimize": "no"}, "^optimize: expected True or False, given str$"),
        ({"tracer": True}, r"^tracer: expected an etconfig\.tracing\.RecordingTracer\(\), given bool$"),
    ],
)
def test_of_load_method(given: dict[str, Any], message: str) -> None:
    with etconfig.load_program(PROGRAM) as program, pytest.raises(TypeError, match=message):
        program.load_method("forward", **given)
