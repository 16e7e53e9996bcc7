"""Help for broken expressions, on random texts: it never fails, and each fix changes something."""

from __future__ import annotations

from effort import scaled
from hypothesis import given, settings
from hypothesis import strategies as st

from etconfig.diagnostics import Diagnostic, Span
from etconfig.errors import ProfileError
from etconfig.expression import parse_expression
from etconfig.facts.builtin import BUILTIN_FACTS

WORDS = (
    *("cpu.available_cores", "os.name", "power.source", "cpu.features", "power.battery_level", "gpu[0].name"),
    *(
        "cpu.avail_cores",
        "gpu.<n>.name",
        "battery",
        "high-power",
        "4",
        "0.5",
        "4GB",
        "20%",
        "4_000",
        '"linux"',
    ),
    *('"4"', "'os.name'", "“linux”", "True", "None", "not", "and", "OR", "is", "in", "between", "contains"),
    *(
        "if",
        "then",
        "else",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ",",
        ";",
        "?",
        ":",
        "=",
        "=>",
        "===",
        "!",
        "-",
        "*",
    ),
    *("//", "#", "$", "&&", "||", "==", "<", "min(", "size(", "has(", "round(", "len(", ".", "~", "≥"),
)
TEXTS = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join) | st.text(max_size=20)


@settings(max_examples=scaled(600))
@given(TEXTS, st.sampled_from(("", '"', "'")))
def test_help_points_into_the_text_and_fixes_change_it(text: str, quote: str) -> None:
    line = f"if = {quote}{text}{quote}"
    span = Span(file="a.toml", column=6, length=max(1, len(text) + 2 * len(quote)), text=line)
    for problem in problems_of(text, span):
        place = problem.spans[0]
        assert 6 <= place.column <= place.column + place.length <= max(7, len(line) + 1) + 1
        if problem.fix is not None:
            assert problem.fix.replacement != problem.fix.span.underlined
            assert not quote or quote not in problem.fix.replacement


def problems_of(text: str, span: Span) -> tuple[Diagnostic, ...]:
    try:
        parse_expression(text, BUILTIN_FACTS, span=span)
    except ProfileError as error:
        return error.diagnostics
    return ()
