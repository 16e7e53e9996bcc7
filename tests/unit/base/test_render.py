from __future__ import annotations

import json

import pytest

from etconfig.diagnostics import Diagnostic, Severity, Span
from etconfig.diagnostics.render import FORMATS, ansi, render

DIAGNOSTIC = Diagnostic(
    code="unknown-option",
    message="XnnpackBackend has no option 'num_thread'",
    spans=(Span(file="pi-5.toml", line=12, column=1, length=10, text="num_thread = 2"),),
    notes=("its options are num_threads, workspace_sharing_mode",),
    help="did you mean 'num_threads'?",
)


def test_text_shows_message_place_line_underline_notes_and_help() -> None:
    assert render([DIAGNOSTIC], "text") == (
        "error[unknown-option]: XnnpackBackend has no option 'num_thread'\n"
        "  --> pi-5.toml:12:1\n"
        "   |\n"
        "12 | num_thread = 2\n"
        "   | ^^^^^^^^^^\n"
        "   = note: its options are num_threads, workspace_sharing_mode\n"
        "   = help: did you mean 'num_threads'?\n"
    )


def test_concise_is_one_line_that_suffices_alone() -> None:
    assert render([DIAGNOSTIC], "concise") == (
        "pi-5.toml:12:1: unknown-option XnnpackBackend has no option 'num_thread'; "
        "did you mean 'num_threads'?\n"
    )


def test_json_has_every_field() -> None:
    assert json.loads(render([DIAGNOSTIC], "json")) == [
        {
            "code": "unknown-option",
            "severity": "error",
            "message": "XnnpackBackend has no option 'num_thread'",
            "spans": [{"file": "pi-5.toml", "line": 12, "column": 1, "length": 10}],
            "notes": ["its options are num_threads, workspace_sharing_mode"],
            "help": "did you mean 'num_threads'?",
            "fix": None,
        }
    ]


def test_a_diagnostic_without_place_is_rendered_without_one() -> None:
    diagnostic = Diagnostic(code="unknown-option", message="no option", severity=Severity.WARNING)
    assert render([diagnostic], "text") == "warning[unknown-option]: no option\n"
    assert render([diagnostic], "concise") == "unknown-option no option\n"


def test_the_underline_stays_under_the_text_after_tabs() -> None:
    span = Span(file="a.toml", line=1, column=2, length=3, text="\tabc")
    text = render([Diagnostic(code="unknown-option", message="m", spans=(span,))], "text")
    assert text.endswith("1 | \tabc\n  | \t^^^\n")


@pytest.mark.parametrize(
    ("at", "shown", "underline"),
    [
        (0, "b" * 5 + "a" * 155 + "...", 0),
        (1000, "..." + "a" * 60 + "b" * 5 + "a" * 95 + "...", 63),
        (1995, "..." + "a" * 155 + "b" * 5, 158),
    ],
    ids=["start", "middle", "end"],
)
def test_a_long_line_is_cut_around_the_place(at: int, shown: str, underline: int) -> None:
    text = "a" * at + "b" * 5 + "a" * (1995 - at)
    span = Span(file="one-line.json", line=1, column=at + 1, length=5, text=text)
    told = render([Diagnostic(code="unknown-fact", message="m", spans=(span,))], "text").splitlines()
    assert told[1:] == [
        f" --> one-line.json:1:{at + 1}",
        "  |",
        f"1 | {shown}",
        f"  | {' ' * underline}^^^^^",
    ]


def test_control_characters_are_made_visible() -> None:
    span = Span(file="a.toml", text="a\x1b[31m\u202e")
    text = render([Diagnostic(code="unknown-option", message="m", spans=(span,))], "text")
    assert "a\N{REPLACEMENT CHARACTER}[31m\N{REPLACEMENT CHARACTER}" in text


def test_colour_adds_only_escape_sequences() -> None:
    import re

    coloured = render([DIAGNOSTIC], "text", ansi)
    assert coloured != render([DIAGNOSTIC], "text")
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == render([DIAGNOSTIC], "text")


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(ValueError, match=f"no diagnostic format 'xml'; expected one of {', '.join(FORMATS)}"):
        render([], "xml")


def test_an_unknown_code_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown diagnostic code 'no-such'"):
        Diagnostic(code="no-such", message="m")
