from __future__ import annotations

import pytest
from profile_texts import REGISTRY, expression, problems_of, said

from etconfig.expression import parse_expression
from etconfig.profile.document import parse_document


def refusal(text: str) -> str:
    (problem,) = problems_of(lambda: expression(text))
    return said(problem)


class TestGrammar:
    """A strict subset of CEL: literals, facts, operators, `? :`, parentheses, lists, functions."""

    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("4", 4),
            ("0x1F", 31),
            ("017", 17),
            ("-9223372036854775808", -(2**63)),
            ("9223372036854775807", 2**63 - 1),
            ("0.5", 0.5),
            (".5", 0.5),
            ("1e3", 1000.0),
            ("-2.5E-1", -0.25),
            ("true", True),
            ("false", False),
            ('"a\'b"', "a'b"),
            ("'a\"b'", 'a"b'),
            (r'"\a\b\f\n\r\t\v\\\?\"\'\`"', "\a\b\f\n\r\t\v\\?\"'`"),
            (r'"\x41\X41\u00e9\U0001F600\101"', "AAé😀A"),
            ("[1, 2]", [1, 2]),
            ("[]", []),
            ("[cpu.cores, 1 + 1]", [8, 2]),
            ("1 + 2 * 3", 7),
            ("(1 + 2) * 3", 9),
            ("7 - 2 - 1", 4),
            ("2 * 7 % 4 / 2", 1),
            ("- - 3", 3),
            ("!!true", True),
            ("true || false && false", True),
            ("false && false || true", True),
            ("1 + 1 == 2 && 2 < 3", True),
            ("true ? 1 : false ? 2 : 3", 1),
            ("false ? 1 : false ? 2 : 3", 3),
            (" \t\r\n\f4 ", 4),
            ("cpu.cores", 8),
            ("gpu.1.name", "B"),
            ("gpu.1.name.startsWith('B')", True),
            ('("a" + "b").contains("ab")', True),
            ('"abc".size()', 3),
            ("size(cpu.features) + cpu.features.size()", 4),
            ('"avx2"in cpu.features', True),
        ],
    )
    def test_an_expression_means_what_cel_says(self, text: str, value: object) -> None:
        facts = {"cpu.cores": 8, "gpu.1.name": "B", "cpu.features": ("avx2", "fma")}
        result = expression(text).evaluate(facts)
        assert (result, type(result)) == (value, type(value))

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            (
                "",
                "1:1-1 invalid-expression: expected a value, a fact or '(', found the end; "
                "write a condition or a value, such as cpu.available_cores > 4",
            ),
            (
                "1 +",
                "1:4-4 invalid-expression: expected a value, a fact or '(', found the end; "
                "write a value after '+'",
            ),
            (
                "(1",
                "1:3-3 invalid-expression: expected ')' to close '(', found the end; close it with )",
            ),
            (
                "[1",
                "1:3-3 invalid-expression: expected ']' to close '[', found the end; close it with ]",
            ),
            (
                "min(1, 2",
                "1:9-9 invalid-expression: expected ')' to close '(', found the end; close it with )",
            ),
            (
                "min(1,)",
                "1:7-7 invalid-expression: expected a value, a fact or '(', found ')'; "
                "write a value after ','",
            ),
            (
                "1 2",
                "1:3-3 invalid-expression: expected the end or an operator, found '2'; "
                "write an operator between '1' and '2', such as == or &&",
            ),
            (
                "true ? 1",
                "1:9-9 invalid-expression: "
                "expected ':' to separate the two values of '?', found the end; "
                "write condition ? value : other value",
            ),
            (
                '"a".1',
                "1:4-5 invalid-expression: expected the end or an operator, found '.1'; "
                "write an operator between '\"a\"' and '.1', such as == or &&",
            ),
            (
                '"a".()',
                "1:5-5 invalid-expression: expected a function's name after '.', found '('; None",
            ),
            ('"a".size', "1:9-9 invalid-expression: expected '(' after 'size', found the end; None"),
            (
                "net.is_up and net.is_up",
                "1:11-13 invalid-expression: there is no operator 'and'; write && for 'and'",
            ),
            (
                "net.is_up or net.is_up",
                "1:11-12 invalid-expression: there is no operator 'or'; write || for 'or'",
            ),
            (
                "not net.is_up",
                "1:1-4 invalid-expression: there is no operator 'not'; write ! for 'not'",
            ),
            (
                "cpu.cores is 4",
                "1:11-12 invalid-expression: there is no operator 'is'; write == for 'is'",
            ),
            (
                "1 if net.is_up else 2",
                "1:3-4 invalid-expression: expected the end or an operator, found 'if'; "
                "write CONDITION ? VALUE : OTHER, or the condition alone",
            ),
            (
                "cpu.cores == null",
                "1:14-17 invalid-expression: expected a value, a fact or '(', found 'null'; "
                "there is no null; has(fact) is true if a fact is known",
            ),
            (
                "1 < 2 < 3",
                "1:7-7 invalid-expression: comparisons do not chain; join two comparisons: write && 2 <",
            ),
            ("os.name = 'a'", "1:9-9 invalid-expression: there is no operator '='; write == for '='"),
            ("true & true", "1:6-6 invalid-expression: there is no operator '&'; write && for '&'"),
            ("true | true", "1:6-6 invalid-expression: there is no operator '|'; write || for '|'"),
            ("1 ^ 2", "1:3-3 invalid-expression: unexpected character '^'; there are no bit operations"),
            (
                "{1: 2}",
                "1:1-1 invalid-expression: unexpected character '{'; "
                "there are no maps; lists are written [a, b]",
            ),
            (
                "os.name\u00a0== 1",
                "1:8-8 invalid-expression: unexpected space U+00A0; retype it as a plain space",
            ),
            ("os.name == é", "1:12-12 invalid-expression: unexpected character 'é'; None"),
            ("'abc", "1:1-4 invalid-expression: this string does not end; close it with '"),
            (
                "4GB",
                "1:1-3 invalid-expression: '4GB' is not a number; "
                "write 4 * 1000 * 1000 * 1000: numbers have no units, and sizes are in bytes",
            ),
            (
                "1.0 + 2.",
                "1:7-8 invalid-expression: '2.' is not a number; "
                "numbers are written 4, 0x1F, 0.5 or 1e6, without units",
            ),
            (
                "9223372036854775808",
                "1:1-19 invalid-expression: this int does not fit in 64 bits; None",
            ),
            (
                r"'a\q'",
                r"1:3-4 invalid-expression: '\\q' is not an escape sequence; "
                r"write \\ for a backslash; \n, \t, \" and \u00e9 are escapes too",
            ),
            (
                r"'\ud800'",
                r"1:2-7 invalid-expression: '\\ud800' is not an escape sequence; "
                r"write \\ for a backslash; \n, \t, \" and \u00e9 are escapes too",
            ),
            (
                "os.name == 'a\u202eb'",
                "1:14-14 invisible-character: the expression contains the invisible character U+202E; "
                "retype the expression",
            ),
        ],
    )
    def test_what_breaks_the_grammar_is_refused_at_its_column(self, text: str, problem: str) -> None:
        assert refusal(text) == problem


class TestBounds:
    """Length and depth are bounded."""

    def test_length_is_bounded(self) -> None:
        assert expression("1".rjust(4096)).evaluate({}) == 1
        assert refusal("1".rjust(4097)) == (
            "1:1-4097 expression-too-large: "
            "the expression has 4097 characters; at most 4096 are allowed; None"
        )

    @pytest.mark.parametrize(
        ("deepest", "too_deep", "column"),
        [
            ("(" * 39 + "1" + ")" * 39, "(" * 40 + "1" + ")" * 40, 41),
            ("!" * 39 + "true", "!" * 40 + "true", 41),
            ("+".join("1" * 40), "+".join("1" * 41), 82),
            ("true ? 1 : " * 39 + "1", "true ? 1 : " * 40 + "1", 441),
        ],
        ids=["parentheses", "negations", "sums", "conditionals"],
    )
    def test_depth_is_bounded(self, deepest: str, too_deep: str, column: int) -> None:
        expression(deepest)
        assert refusal(too_deep).startswith(f"1:{column}-")
        assert refusal(too_deep).endswith(
            " expression-too-large: the expression is nested more than 40 deep; None"
        )

    def test_a_hundred_thousand_parentheses_are_too_long(self) -> None:
        assert "expression-too-large" in refusal("(" * 100_000)

    def test_wide_conditions_and_lists_are_not_deep(self) -> None:
        assert expression(" && ".join(["true"] * 500)).evaluate({}) is True
        assert expression(f"7 in [{', '.join(map(str, range(500)))}]").evaluate({}) is True


class TestPlaceInToml:
    """A diagnostic points into the TOML file, at the characters that are wrong."""

    @pytest.mark.parametrize("quote", ["'", '"', "'''", '"""'])
    def test_a_plain_string_is_underlined_inside(self, quote: str) -> None:
        line = f"  if = {quote}net.is_down{quote}  # comment"
        document = parse_document(line, "p.toml")
        (problem,) = problems_of(
            lambda: parse_expression(document.data["if"], REGISTRY, span=document.value_span(("if",)))
        )
        assert said(problem).startswith(f"1:{8 + len(quote)}-{18 + len(quote)} unknown-fact: ")
        assert problem.spans[0].text == line
        assert problem.spans[0].file == "p.toml"
        assert problem.notes == ()

    def test_a_string_with_escapes_is_underlined_inside(self) -> None:
        line = r'if = "\u006fs.name == \"a\" && 1 + 1"'
        document = parse_document(line, "p.toml")
        (problem,) = problems_of(
            lambda: parse_expression(document.data["if"], REGISTRY, span=document.value_span(("if",)))
        )
        assert problem.message == "'&&' needs a bool, but '1 + 1' is an int"
        assert (problem.spans[0].underlined, problem.notes) == ("1 + 1", ())

    def test_a_string_of_several_lines_has_the_line_in_the_note(self) -> None:
        document = parse_document("if = '''\nnet.is_up &&\n  net.isup'''", "p.toml")
        (problem,) = problems_of(
            lambda: parse_expression(document.data["if"], REGISTRY, span=document.value_span(("if",)))
        )
        assert said(problem) == (
            "1:6-8 unknown-fact: no fact is called 'net.isup'; did you mean 'net.is_up'?"
        )
        assert problem.notes == ("this is at line 2, column 3 of the expression",)

    def test_a_line_break_ends_a_string(self) -> None:
        (problem,) = problems_of(lambda: expression("'a\nb'"))
        assert problem.message == "this string does not end"
