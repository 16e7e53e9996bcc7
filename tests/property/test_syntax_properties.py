"""Any text that is not TOML is reported with places inside it, and its fixes change it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from etconfig.app.validating.fixing import apply_fixes
from etconfig.diagnostics import Diagnostic
from etconfig.errors import DocumentError
from etconfig.profile.document import parse_document

GOOD_LINES = (
    "[profile]",
    'name = "acme/board"',
    "[[when]]",
    "if = 'power.source == \"battery\"'",
    "[options.XnnpackBackend]",
    "num_threads = 4",
    "tiles = [1, 2]",
    'core = { expr = "1" }',
    "# note",
    "",
)
PIECES = (
    *'[]{}"=.,:;#\\-()<>|\r\t',
    *("'", "\u201c", "\u2019", "\u00a0", "//", '"""', "'''", "True", "four", "\\m"),
)


@st.composite
def mistaken_texts(draw: st.DrawFn) -> str:
    """Draw lines of a profile in which pieces are put in, left out or replaced."""
    text = "\n".join(draw(st.lists(st.sampled_from(GOOD_LINES), min_size=1, max_size=6)))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(text)))
        piece = draw(st.sampled_from(("", *PIECES)))
        text = text[:at] + piece + text[at + draw(st.integers(0, 2)) :]
    return text


def problems(text: str) -> tuple[Diagnostic, ...]:
    try:
        parse_document(text, "a.toml")
    except DocumentError as error:
        return error.diagnostics
    return ()


@given(mistaken_texts())
def test_places_are_in_the_text_and_fixes_change_it(text: str) -> None:
    found = problems(text)
    lines = text.replace("\r\n", "\n").split("\n")
    for problem in found:
        for span in problem.spans:
            assert span.text == lines[span.line - 1]
            assert 1 <= span.column <= len(span.text) + 1
        for edit in problem.fix.edits if problem.fix else ():
            assert edit.span.underlined
            assert edit.span.underlined != edit.replacement
    fixes = [problem.fix for problem in found if problem.fix is not None]
    after, count = apply_fixes(text, fixes)
    assert bool(count) == bool(fixes)
    assert not fixes or problems(after) != found
