"""Safe fixes of foreign operators: every language that has the expression gives it the same values."""

from __future__ import annotations

import ast
import itertools
import random

import pytest
from effort import scaled

from etconfig.diagnostics import Diagnostic
from etconfig.errors import ProfileError
from etconfig.expression import ExpressionType, parse_expression
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.facts.registry import FactInfo, FactType, Volatility

NAMES = ("x.a", "x.b", "x.c", "x.d")
FACTS = BUILTIN_FACTS.extended(
    tuple(FactInfo(name=name, type=FactType.BOOL, doc="It.", volatility=Volatility.BOOT) for name in NAMES)
)
OPERATORS = ("||", "&&", "|", "&", "and", "or", "==")
STRENGTHS = {
    "C++": {"or": 1, "||": 1, "and": 2, "&&": 2, "|": 3, "&": 4, "==": 5, "not": 6},
    "Perl": {"or": 1, "and": 2, "not": 3, "||": 4, "&&": 5, "|": 6, "&": 7, "==": 8},
    "Rust": {"||": 1, "&&": 2, "==": 3, "|": 4, "&": 5},
    "Python": {"or": 1, "and": 2, "not": 3, "==": 4, "|": 5, "&": 6},
}
ANY, ALL = frozenset(("or", "||", "|")), frozenset(("and", "&&", "&"))


class Reading:
    """The value of an expression in a language; a SyntaxError where the language does not have it."""

    def __init__(self, strengths: dict[str, int], words: list[str], values: dict[str, bool]) -> None:
        self.strengths, self.words, self.values, self.place = strengths, words, values, 0

    def value(self, least: int = 0) -> bool:
        left = self.operand(least)
        while self.place < len(self.words):
            operator = self.words[self.place]
            strength = self.strength(operator)
            if strength < least:
                break
            self.place += 1
            right = self.value(strength + 1)
            left = left or right if operator in ANY else left and right if operator in ALL else left == right
        return left

    def operand(self, least: int) -> bool:
        word = self.words[self.place]
        self.place += 1
        if word != "not":
            return self.values[word]
        if self.strength("not") < least:
            raise SyntaxError(word)
        return not self.value(self.strength("not"))

    def strength(self, operator: str) -> int:
        if operator not in self.strengths:
            raise SyntaxError(operator)
        return self.strengths[operator]


def values_in(language: str, text: str) -> list[bool] | None:
    """Return the values of a text for all values of its facts; None if the language does not have it."""
    found = []
    for bits in itertools.product((False, True), repeat=len(NAMES)):
        try:
            found.append(
                Reading(STRENGTHS[language], text.split(), dict(zip(NAMES, bits, strict=True))).value()
            )
        except SyntaxError:
            return None
    return found


def problems_of(text: str) -> tuple[Diagnostic, ...]:
    try:
        parse_expression(text, FACTS, expect=ExpressionType.BOOL)
    except ProfileError as error:
        return error.diagnostics
    return ()


def safely_fixed(text: str) -> str | None:
    """Return the text after its safe fixes; None if it has none."""
    fixes = {problem.fix for problem in problems_of(text)}
    edits = {edit for fix in fixes if fix is not None and fix.is_safe for edit in fix.edits}
    for edit in sorted(edits, key=lambda edit: -edit.span.column):
        start = edit.span.column - 1
        text = text[:start] + edit.replacement + text[start + edit.span.length :]
    return text if edits else None


def is_misread(text: str) -> bool:
    fixed = safely_fixed(text)
    if fixed is None:
        return False
    right = parse_expression(fixed, FACTS, expect=ExpressionType.BOOL)
    every = itertools.product((False, True), repeat=len(NAMES))
    meant = [right.evaluate(dict(zip(NAMES, bits, strict=True))) for bits in every]
    return any(values_in(language, text) not in (None, meant) for language in STRENGTHS)


def expressions(operands: int) -> list[str]:
    every_operand = [[name, f"not {name}"] for name in NAMES[:operands]]
    return [
        " ".join(itertools.chain.from_iterable(zip(parts, (*joined, ""), strict=True))).strip()
        for parts in itertools.product(*every_operand)
        for joined in itertools.product(OPERATORS, repeat=operands - 1)
    ]


def test_a_safe_fix_has_the_values_of_every_language_that_has_the_expression() -> None:
    longer = random.Random(1).sample(expressions(4), min(5488, scaled(300)))
    texts = [*expressions(2), *expressions(3), *longer]
    assert [text for text in texts if is_misread(text)] == []
    assert sum(safely_fixed(text) is not None for text in texts) > 100


def test_the_model_of_python_is_python() -> None:
    for text in expressions(3):
        try:
            ast.parse(text, mode="eval")
        except SyntaxError:
            assert values_in("Python", text) is None
            continue
        if text.count("==") < 2:  # Python's comparisons chain
            code = text.replace(".", "_")
            assert values_in("Python", text) == [
                bool(eval(code, dict(zip(("x_a", "x_b", "x_c", "x_d"), bits, strict=True))))
                for bits in itertools.product((False, True), repeat=len(NAMES))
            ]


@pytest.mark.parametrize(
    ("text", "fixed"),
    [
        ("x.a | x.b && x.c", None),
        ("(x.a | x.b) && x.c", "(x.a || x.b) && x.c"),
        ("x.a & x.b || x.c", "x.a && x.b || x.c"),
        ("x.a & x.b | x.c", "x.a && x.b || x.c"),
        ('os.name == "linux" | os.name == "android"', 'os.name == "linux" || os.name == "android"'),
        ("x.a == true | x.b", None),
        ("cpu.available_cores == 4 | x.b", "cpu.available_cores == 4 || x.b"),
        ("cpu.available_cores == 4 | 8", None),
        ("x.a or x.b and not x.c", "x.a || x.b && !x.c"),
        ("x.a || x.b and x.c", None),
        ("not x.a & x.b", None),
        ("not x.a andalso x.b", "!x.a && x.b"),
        ("not x.a ? x.b : x.c", None),
        ("x.a ? x.b : x.c and x.d", None),
        ("(x.a and x.b) ? x.c : x.d", "(x.a && x.b) ? x.c : x.d"),
        ("!cpu.available_cores == 4", None),
        ('!"avx2" in cpu.features', None),
        ("cpu.available_cores =! 4", "cpu.available_cores != 4"),
        ("x.a ||| x.b", None),
        ("x.a | | x.b", None),
        ("x.a &&& x.b", None),
        (" | ".join(f"cpu.available_cores == {count}" for count in range(9)), None),
    ],
)
def test_what_is_written_for_foreign_operators_without_doubt(text: str, fixed: str | None) -> None:
    assert problems_of(text)
    assert safely_fixed(text) == fixed


@pytest.mark.parametrize(
    ("text", "help"),
    [
        ("x.a ||| x.b", "write || between two conditions"),
        ("x.a | | x.b", "write || between two conditions"),
        ("x.a & & x.b", "write && between two conditions"),
        ("cpu.available_cores ! = 4", "write != without a space"),
        ("cpu.available_cores > = 4", "write >= without a space"),
    ],
)
def test_broken_operators_have_help_and_no_fix(text: str, help: str) -> None:
    problems = problems_of(text)
    assert problems[-1].help == help
    assert all(problem.fix is None for problem in problems)
