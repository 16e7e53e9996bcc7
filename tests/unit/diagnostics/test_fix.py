from __future__ import annotations

import pytest

from etconfig.diagnostics import Fix, Respelling, Span


def span_of(line: str, part: str) -> Span:
    return Span(file="a.toml", column=line.index(part) + 1, length=len(part), text=line)


class TestRespelling:
    """A fix is offered only if the text is exactly the wrong word."""

    @pytest.mark.parametrize(
        ("line", "underlined", "replacement"),
        [
            ("num_thread = 2", "num_thread", "num_threads"),
            ('"num_thread" = 2', '"num_thread"', '"num_threads"'),
            ("'num_thread' = 2", "'num_thread'", "'num_threads'"),
            ("match = 'num_thread > 1'", "num_thread", "num_threads"),
            ('"num\\u005fthread" = 2', '"num\\u005fthread"', '"num_threads"'),
        ],
    )
    def test_quotes_are_kept(self, line: str, underlined: str, replacement: str) -> None:
        span = span_of(line, underlined)
        assert Respelling("num_thread", "num_threads").at(span) == Fix(span=span, replacement=replacement)

    @pytest.mark.parametrize(
        ("line", "underlined"),
        [
            ('"num\\u005fthread" = 2', '"num\\u005fthread'),
            ('a = """num_thread"""', '"""num_thread"""'),
            ("match = 'num_thread > 1'", "'num_thread > 1'"),
        ],
    )
    def test_a_word_that_is_written_differently_has_no_fix(self, line: str, underlined: str) -> None:
        assert Respelling("num_thread", "num_threads").at(span_of(line, underlined)) is None

    def test_a_place_without_text_has_no_fix(self) -> None:
        assert Respelling("a", "b").at(Span(file="a.toml")) is None

    @pytest.mark.parametrize(
        ("written", "right"), [("a", "b c"), ("a", 'b"'), ('"a"', 'b"c'), ('"a"', "b\\")]
    )
    def test_a_word_that_would_need_quotes_or_escapes_has_no_fix(self, written: str, right: str) -> None:
        assert Respelling("a", right).at(Span(file="a.toml", length=len(written), text=written)) is None

    def test_it_is_safe_only_if_it_says_so(self) -> None:
        span = Span(file="a.toml", length=1, text="2")
        safe = Respelling("2", "2.0", is_safe=True).at(span)
        guess = Respelling("2", "3").at(span)
        assert safe is not None
        assert guess is not None
        assert (safe.is_safe, guess.is_safe) == (True, False)
