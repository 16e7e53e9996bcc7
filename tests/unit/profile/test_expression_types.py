from __future__ import annotations

import pytest
from profile_texts import expression, problems_of, said

from etconfig.expression import ExpressionType
from etconfig.expression.operations import OPERATIONS
from etconfig.expression.signatures import FUNCTIONS
from etconfig.mistakes.expression.corrections import ADVICE_FOR_FUNCTIONS


def refusals(text: str, expect: ExpressionType | None = None) -> list[str]:
    return [said(problem) for problem in problems_of(lambda: expression(text, expect))]


def test_every_function_has_a_usage_and_no_advice_against_it() -> None:
    called = {name for name, info in OPERATIONS.items() if info.call}
    assert [name for name in called if not (OPERATIONS[name].usage or "").startswith(name)] == []
    assert not set(ADVICE_FOR_FUNCTIONS) & {name.casefold() for name in FUNCTIONS}


class TestTypes:
    """An expression is checked against the types of the facts before it runs."""

    @pytest.mark.parametrize(
        ("text", "type_"),
        [
            ("net.is_up", "bool"),
            ("cpu.cores", "int"),
            ("cpu.quota", "float"),
            ("os.name", "string"),
            ("cpu.features", "list of string"),
            ("gpu.3.name", "string"),
            ("[1, 2]", "list of int"),
            ("[1.0]", "list of float"),
            ("[true]", "list of bool"),
            ("[]", "empty list"),
            ("has(cpu.quota)", "bool"),
            ("size(os.name)", "int"),
            ("min(cpu.cores, 2, 3)", "int"),
            ("max(cpu.quota, 2.0)", "float"),
            ("os.name + 'x'", "string"),
            ("-cpu.quota", "float"),
            ("cpu.cores % 2", "int"),
            ("net.is_up ? [] : cpu.features", "list of string"),
            ("net.is_up ? cpu.features : []", "list of string"),
            ("1 == 1.0", "bool"),
            ("cpu.cores < 2.5", "bool"),
            ("os.name < 'm'", "bool"),
            ("1 in [1.5]", "bool"),
            ("1 in []", "bool"),
            ("[1] == [1.0]", "bool"),
            ("[] == cpu.features", "bool"),
            ("power.source in ['mains', 'battery']", "bool"),
        ],
    )
    def test_every_expression_has_a_type(self, text: str, type_: str) -> None:
        assert str(expression(text).type) == type_

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ("!cpu.cores", "1:2-10 '!' needs a bool, but 'cpu.cores' is an int; None"),
            ("-os.name", "1:2-8 '-' needs a number, but 'os.name' is a string; None"),
            ("-true", "1:2-5 '-' needs a number, but 'true' is a bool; None"),
            (
                "net.is_up && cpu.cores",
                "1:14-22 '&&' needs a bool, but 'cpu.cores' is an int; compare it: cpu.cores > 4",
            ),
            (
                "os.name || true",
                "1:1-7 '||' needs a bool, but 'os.name' is a string; compare it: os.name == \"...\"",
            ),
            (
                "cpu.features ? 1 : 2",
                "1:1-12 '?' needs a bool, but 'cpu.features' is a list of string; "
                'test an element: "..." in cpu.features',
            ),
            ("true && 1", "1:9-9 '&&' needs a bool, but '1' is an int; None"),
            (
                "true && " + "'" + "x" * 50 + "'",
                "1:9-60 '&&' needs a bool, but this is a string; None",
            ),
            (
                "net.is_up ? 1 : 'a'",
                "1:1-19 '?' needs two values of one type, but has an int and a string; None",
            ),
            (
                "net.is_up ? 1 : 2.0",
                "1:13-13 '?' needs two values of one type, but has an int and a float; write 1.0",
            ),
            (
                "cpu.cores + 1.0",
                "1:1-15 '+' needs two values of one type, but has an int and a float; "
                "ints and floats do not mix; use ints alone, as in cpu.available_cores * 3 / 4",
            ),
            (
                "cpu.quota * 2",
                "1:13-13 '*' needs two values of one type, but has a float and an int; write 2.0",
            ),
            (
                "cpu.cores + '1'",
                "1:13-15 '+' needs two values of one type, but has an int and a string; "
                "write 1 without quotes",
            ),
            ("os.name - 'a'", "1:1-13 '-' does not work on string values; None"),
            ("cpu.features + cpu.features", "1:1-27 '+' does not work on list of string values; None"),
            ("cpu.quota % 2.0", "1:1-15 '%' does not work on float values; None"),
            (
                "cpu.cores == '4'",
                "1:14-16 '==' cannot compare an int with a string; write 4 without quotes",
            ),
            ("net.is_up < true", "1:1-16 '<' cannot compare a bool with a bool; None"),
            ("[1] == ['a']", "1:1-12 '==' cannot compare a list of int with a list of string; None"),
            (
                "1 in cpu.features",
                "1:1-17 'in' cannot look for an int in a list of string; look for a string, "
                "and write numbers without quotes",
            ),
            (
                "'a' in os.name",
                "1:1-14 'in' cannot look for a string in a string; "
                "write TEXT.contains(PART), or TEXT in [A, B]",
            ),
            ("[1, 'a']", "1:5-7 a list of int cannot contain a string; None"),
            ("[1, 2.0]", "1:5-7 a list of int cannot contain a float; write 1.0"),
            ("[[1]]", "1:2-4 lists cannot contain lists; None"),
            (
                "size(1)",
                "1:1-7 'size' does not take int; "
                "size takes a string or a list, as in size(cpu.features) or cpu.features.size()",
            ),
            (
                "min(1)",
                "1:1-6 'min' does not take int; "
                "min takes two or more numbers of one type, as in min(cpu.available_cores, 4)",
            ),
            (
                "max(1, 2.0)",
                "1:5-5 'max' does not take int, float; write 1.0",
            ),
            (
                "min()",
                "1:1-5 'min' does not take nothing; "
                "min takes two or more numbers of one type, as in min(cpu.available_cores, 4)",
            ),
            (
                "os.name.startsWith(1)",
                "1:1-21 'startsWith' does not take string, int; "
                'startsWith is called on a string with a string, as in os.name.startsWith("l")',
            ),
            (
                "contains(os.name, 'a')",
                "1:1-22 'contains' does not take string, string; "
                'contains is called on a string with a string, as in os.name.contains("l")',
            ),
            (
                "has('os.name')",
                "1:5-13 'has' needs the name of a fact; write os.name without quotes",
            ),
            (
                "power.source == 'batery'",
                "1:17-24 power.source is never 'batery'; did you mean 'battery'?",
            ),
        ],
    )
    def test_a_type_that_does_not_fit_is_refused_with_the_expected_one(self, text: str, problem: str) -> None:
        place, rest = problem.split(" ", 1)
        assert refusals(text) == [f"{place} expression-type: {rest}"]

    def test_all_problems_are_reported_even_in_branches_that_are_never_reached(self) -> None:
        assert refusals("false && cpu.coers > 1 || (true ? 1 : 'a') == 1 && -os.name == foo()") == [
            "1:10-18 unknown-fact: no fact is called 'cpu.coers'; did you mean 'cpu.cores'?",
            "1:27-42 expression-type: '?' needs two values of one type, but has an int and a string; None",
            "1:53-59 expression-type: '-' needs a number, but 'os.name' is a string; None",
            "1:64-66 invalid-expression: there is no function 'foo'; "
            "the functions are bucket, has, max, min, share, size, version, contains, endsWith, startsWith",
        ]

    def test_an_unknown_fact_is_refused_inside_has_too(self) -> None:
        assert refusals("has(gpu.0.nam)") == [
            "1:5-13 unknown-fact: no fact is called 'gpu.0.nam'; did you mean 'gpu.0.name'?"
        ]

    @pytest.mark.parametrize("text", ["1 in [cpu.coers]", "size(cpu.coers) == 1", "-cpu.coers == 1"])
    def test_an_unknown_fact_is_the_only_problem_of_its_expression(self, text: str) -> None:
        (problem,) = problems_of(lambda: expression(text))
        assert problem.code == "unknown-fact"

    def test_one_of_few_possible_values_is_required_in_a_list_too(self) -> None:
        assert refusals("'solar' != power.source || power.source in ['mains', 'wind']") == [
            "1:1-7 expression-type: power.source is never 'solar'; its values are battery, mains",
            "1:54-59 expression-type: power.source is never 'wind'; its values are battery, mains",
        ]

    def test_another_name_for_a_value_is_refused_because_the_condition_would_never_hold(self) -> None:
        assert refusals("os.name == 'Linux' || os.name in ['android', 'darwin']") == [
            "1:12-18 expression-type: os.name is never 'Linux'; did you mean 'linux'?",
            "1:46-53 expression-type: os.name is never 'darwin'; did you mean 'macos'?",
        ]

    def test_an_unknown_system_is_not_taken_for_a_known_one(self) -> None:
        assert expression("os.name == 'haiku'").type is ExpressionType.BOOL

    def test_a_misspelled_function_gets_a_suggestion(self) -> None:
        assert refusals("os.name.startswith('a')") == [
            "1:9-18 invalid-expression: there is no function 'startswith'; did you mean 'startsWith'?"
        ]

    def test_there_are_no_regular_expressions(self) -> None:
        assert refusals("os.name.matches('a.*')") == [
            "1:9-15 invalid-expression: there is no function 'matches'; "
            "there are no regular expressions; use contains, endsWith, startsWith"
        ]

    def test_there_is_no_attribute_access(self) -> None:
        assert refusals("os.name.__class__") == [
            "1:1-17 unknown-fact: no fact is called 'os.name.__class__'; did you mean 'os.name'?"
        ]

    def test_a_condition_must_be_a_bool(self) -> None:
        assert refusals("cpu.cores", ExpressionType.BOOL) == [
            "1:1-9 expression-type: a condition needs a bool, but 'cpu.cores' is an int; "
            "compare it: cpu.cores > 4"
        ]

    def test_another_type_may_be_required(self) -> None:
        assert refusals("'a'", ExpressionType.INT) == [
            "1:1-3 expression-type: this place needs an int, but \"'a'\" is a string; None"
        ]
