"""The limits that SECURITY.md states are those of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from etconfig.base.scalar_types import MAX_RANK
from etconfig.expression import lexer, parser
from etconfig.facts.detecting.commands import COMMAND_LIMIT_S, MAX_OUTPUT_BYTES
from etconfig.facts.detecting.detection import DETECTOR_LIMIT_S
from etconfig.numpy_executor.compiled_plan import DEFAULT_INSTRUCTION_LIMIT
from etconfig.profile import bounds, inheritance
from etconfig.program.limits import DEFAULT_LIMITS

SECURITY = (Path(__file__).parents[3] / "SECURITY.md").read_text(encoding="utf-8")


def stated(subject: str) -> str:
    """The limit of a subject in the table."""
    (text,) = re.findall(rf"^\| {re.escape(subject)} \| (.*) \|$", SECURITY, re.MULTILINE)
    return text


LIMITS = {
    "a TOML document": (
        f"{bounds.MAX_DOCUMENT_BYTES >> 20} MiB, {bounds.MAX_KEY_PARTS} parts in a key, "
        f"{bounds.MAX_NESTING} levels of arrays and inline tables, {bounds.MAX_DIGITS} digits in a number"
    ),
    "an expression": f"{lexer.MAX_LENGTH} characters, {parser.MAX_HEIGHT} levels, 64-bit integers, no loops",
    "a chain of profiles": f"{inheritance.MAX_CHAIN_LENGTH}",
    "a program": (
        f"{DEFAULT_LIMITS.max_file_bytes >> 30} GiB, {DEFAULT_LIMITS.max_methods:,} methods, "
        f"{DEFAULT_LIMITS.max_values:,} values and instructions, "
        f"{DEFAULT_LIMITS.max_string_bytes >> 10} KiB in a string, {MAX_RANK} dimensions; at most "
        f"{DEFAULT_LIMITS.max_work_per_byte} bytes decoded for each byte of its tables. "
        "`etconfig.program.limits.Limits` has the exact names."
    ),
    "a detector of facts": (
        f"{DETECTOR_LIMIT_S:.0f} seconds; a command of the operating system that it runs, "
        f"{COMMAND_LIMIT_S:.0f} second and {MAX_OUTPUT_BYTES >> 20} MiB of output"
    ),
    "one execute": (
        f"{DEFAULT_INSTRUCTION_LIMIT:,} instructions, so that a loop in a program comes to an end, "
        "on the built-in executor and on the real runtime"
    ),
}


@pytest.mark.parametrize("subject", LIMITS)
def test_the_table_states_what_the_code_does(subject: str) -> None:
    assert stated(subject) == LIMITS[subject]


def test_values_and_instructions_have_one_limit() -> None:
    assert DEFAULT_LIMITS.max_values == DEFAULT_LIMITS.max_instructions
