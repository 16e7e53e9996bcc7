from __future__ import annotations

import math
import pickle
from dataclasses import replace
from typing import ClassVar

import pytest
from profile_texts import REGISTRY, expression, fact, said

from etconfig.diagnostics import Span
from etconfig.expression import ClauseResult, ExpressionParser, Fault, Unknown, parse_expression
from etconfig.facts.registry import FactType

FACTS = {"os.name": "linux", "cpu.cores": 8, "cpu.quota": 2.5, "net.is_up": True}
INT_MIN, INT_MAX = -(2**63), 2**63 - 1


def evaluate(text: str, **facts: object) -> object:
    return expression(text).evaluate(facts or FACTS)


class TestArithmetic:
    """Ints have 64 bits and divide toward zero; floats are IEEE 754 doubles."""

    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("7 / 2", 3),
            ("-7 / 2", -3),
            ("7 / -2", -3),
            ("-7 / -2", 3),
            ("7 % 2", 1),
            ("-7 % 2", -1),
            ("7 % -2", 1),
            ("-7 % -2", -1),
            (f"{INT_MAX} / -1", -INT_MAX),
            (f"{INT_MIN} + {INT_MAX}", -1),
            ("9007199254740993 == 9007199254740992.0", False),
            ("9007199254740993 > 9007199254740992.0", True),
            ("1.0 / 0.0", math.inf),
            ("-1.0 / 0.0", -math.inf),
            ("1.0 / -0.0", -math.inf),
            ("1e308 * 10.0", math.inf),
            ("0.0 / 0.0 == 0.0 / 0.0", False),
            ("(0.0 / 0.0) in [0.0 / 0.0]", False),
            ("[0.0 / 0.0] == [0.0 / 0.0]", False),
            ("[0.0 / 0.0] != [0.0 / 0.0]", True),
            ("[0.5, 1.0] == [0.5, 1.0]", True),
            ("[0.5] == [0.5, 1.0]", False),
            ("[0.5] != [1.0]", True),
            ("[1.0] == [1]", True),
            ("min(3, 1, 2)", 1),
            ("max(0.5, cpu.quota)", 2.5),
            ("'é😀'.size()", 2),
            ("'b' > 'a' && 'B' < 'a'", True),
        ],
    )
    def test_a_result_is_that_of_cel(self, text: str, value: object) -> None:
        assert evaluate(text) == value

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            (f"{INT_MAX} + 1", "9223372036854775807 + 1 does not fit in 64 bits"),
            (f"{INT_MIN} - 1", "-9223372036854775808 - 1 does not fit in 64 bits"),
            (f"{INT_MAX} * 2", "9223372036854775807 * 2 does not fit in 64 bits"),
            (f"{INT_MIN} / -1", "-9223372036854775808 / -1 does not fit in 64 bits"),
            (f"{INT_MIN} % -1", "-9223372036854775808 % -1 does not fit in 64 bits"),
            (f"-({INT_MIN})", "-(-9223372036854775808) does not fit in 64 bits"),
            ("cpu.cores / 0", "8 / 0 divides by zero"),
            ("cpu.cores % 0", "8 % 0 divides by zero"),
        ],
    )
    def test_an_operation_without_a_result_is_a_fault_with_its_reason(self, text: str, reason: str) -> None:
        assert evaluate(text) == Fault(reason)


class TestUnknownFacts:
    """A fact that was not detected is unknown; conditions follow three-valued logic."""

    @pytest.mark.parametrize(
        ("text", "result"),
        [
            ("false && net.is_up", False),
            ("net.is_up && false", False),
            ("true || net.is_up", True),
            ("net.is_up || true", True),
            ("true && net.is_up", Unknown(("net.is_up",))),
            ("net.is_up || false", Unknown(("net.is_up",))),
            ("!net.is_up", Unknown(("net.is_up",))),
            ("net.is_up == net.is_up", Unknown(("net.is_up",))),
            ("net.is_up && os.name == 'a' && false", False),
            ("net.is_up && os.name == 'a' && true", Unknown(("net.is_up", "os.name"))),
            ("cpu.cores < 2 || net.is_up", Unknown(("cpu.cores", "net.is_up"))),
            ("min(cpu.cores, 4)", Unknown(("cpu.cores",))),
            ("min(cpu.cores, size(os.name), cpu.cores)", Unknown(("cpu.cores", "os.name"))),
            ("cpu.cores + 1 < size(os.name) + (1 / 0)", Unknown(("cpu.cores", "os.name"))),
            ("net.is_up ? 1 : 2", Unknown(("net.is_up",))),
            ("true ? 1 : cpu.cores", 1),
            ("false ? 1 : cpu.cores", Unknown(("cpu.cores",))),
            ("[1, cpu.cores]", Unknown(("cpu.cores",))),
            ("'a' in cpu.features", Unknown(("cpu.features",))),
            ("gpu.0.name == 'a'", Unknown(("gpu.0.name",))),
            ("has(net.is_up)", False),
            ("!has(net.is_up) || net.is_up", True),
            ("has(net.is_up) && net.is_up", False),
            ("has(cpu.cores) ? cpu.cores : 4", 4),
        ],
    )
    def test_without_any_fact(self, text: str, result: object) -> None:
        assert expression(text).evaluate({}) == result

    def test_a_known_fact_guards_itself(self) -> None:
        assert expression("has(cpu.cores) ? cpu.cores : 4").evaluate({"cpu.cores": 2}) == 2

    @pytest.mark.parametrize(
        ("text", "result"),
        [
            ("false && 1 / 0 == 1", False),
            ("1 / 0 == 1 && false", False),
            ("1 / 0 == 1 || true", True),
            ("1 / 0 == 1 && true", Fault("1 / 0 divides by zero")),
            ("true && 1 / 0 == 1 && 2 % 0 == 1", Fault("1 / 0 divides by zero")),
            ("1 / 0 == 1 && net.is_up", Unknown(("net.is_up",))),
            ("net.is_up || 1 / 0 == 1", Unknown(("net.is_up",))),
            ("1 / 0 + cpu.cores", Unknown(("cpu.cores",))),
            ("min(cpu.cores, 1 / 0, size(os.name))", Unknown(("cpu.cores", "os.name"))),
            ("1 / 0 in [cpu.cores]", Unknown(("cpu.cores",))),
            ("[1 / 0, 1 % 0]", Fault("1 / 0 divides by zero")),
            ("true ? 1 : 1 / 0", 1),
        ],
    )
    def test_faults_are_absorbed_like_unknowns_which_take_precedence(self, text: str, result: object) -> None:
        assert expression(text).evaluate({}) == result

    def test_neither_is_true_or_false(self) -> None:
        with pytest.raises(
            TypeError, match="an unknown result is neither true nor false; test `result is True`"
        ):
            bool(Unknown(("net.is_up",)))
        with pytest.raises(TypeError, match="a failed computation is neither true nor false"):
            bool(Fault("1 / 0 divides by zero"))


class TestExplanation:
    """A condition is explained clause by clause, with the facts that each clause used."""

    def test_the_operands_of_the_outermost_and_are_the_clauses(self) -> None:
        condition = expression("os.name == 'linux' && (cpu.cores > 9 || net.is_up)  &&  gpu.0.name == 'x'")
        assert condition.explain(FACTS) == (
            ClauseResult("os.name == 'linux'", True, {"os.name": "linux"}),
            ClauseResult("(cpu.cores > 9 || net.is_up)", True, {"cpu.cores": 8, "net.is_up": True}),
            ClauseResult("gpu.0.name == 'x'", Unknown(("gpu.0.name",)), {"gpu.0.name": None}),
        )

    def test_anything_else_is_one_clause(self) -> None:
        assert expression("false || net.is_up").explain(FACTS) == (
            ClauseResult("false || net.is_up", True, {"net.is_up": True}),
        )

    @pytest.mark.parametrize(
        ("text", "explanation"),
        [
            ("os.name == 'linux'", "os.name == 'linux' holds: os.name is \"linux\""),
            ("os.name == 'macos'", "os.name == 'macos' does not hold: os.name is \"linux\""),
            ("true", "true holds"),
            ("!net.is_up", "!net.is_up does not hold: net.is_up is true"),
            (
                "'avx2' in cpu.features",
                "'avx2' in cpu.features is unknown: cpu.features is not known on this device",
            ),
            (
                "min(size(gpu.0.name), size(gpu.1.name)) > 1",
                "min(size(gpu.0.name), size(gpu.1.name)) > 1 is unknown: "
                "gpu.0.name and gpu.1.name are not known on this device",
            ),
            ("has(gpu.0.name)", "has(gpu.0.name) does not hold: gpu.0.name is unknown"),
            ("cpu.cores / 0 == 1", "cpu.cores / 0 == 1 has no value: 8 / 0 divides by zero"),
            ("cpu.cores / 2", "cpu.cores / 2 is 4: cpu.cores is 8"),
            ("['a', os.name]", '[\'a\', os.name] is ["a", "linux"]: os.name is "linux"'),
        ],
    )
    def test_a_clause_explains_its_result(self, text: str, explanation: str) -> None:
        (clause,) = expression(text).explain(FACTS)
        assert clause.explanation == explanation


class TestFailure:
    """An `expr` that comes out unknown is an error naming the fact, unless guarded by `has(fact)`."""

    def test_an_unknown_value_names_the_fact_and_the_guard(self) -> None:
        text = expression("min(cpu.cores, 4)")
        assert said(text.failure(Unknown(("cpu.cores",)))) == (
            "1:1-17 unknown-fact-value: 'min(cpu.cores, 4)' has no value: "
            "cpu.cores is not known on this device; "
            "guard it, as in has(cpu.cores) ? ... : ..., or set the fact by hand"
        )

    def test_a_fault_says_what_failed(self) -> None:
        text = expression("4 / cpu.cores")
        assert said(text.failure(Fault("4 / 0 divides by zero"))) == (
            "1:1-13 evaluation-failed: '4 / cpu.cores' has no value: 4 / 0 divides by zero; None"
        )

    def test_a_long_expression_is_not_repeated(self) -> None:
        text = expression(f"cpu.cores in [{', '.join('1' * 50)}]")
        assert text.failure(Fault("x")).message == "the expression has no value: x"


class TestExpression:
    """An expression is a value: equal by its text, hashable, and it pickles."""

    def test_expressions_with_equal_texts_are_equal(self) -> None:
        assert expression("cpu.cores > 1") == expression("cpu.cores > 1")
        assert expression("cpu.cores > 1") != expression("cpu.cores  > 1")
        assert len({expression("true"), expression("true")}) == 1

    def test_it_prints_as_its_text(self) -> None:
        assert str(expression("cpu.cores > 1")) == "cpu.cores > 1"

    def test_it_lists_all_facts_that_it_mentions(self) -> None:
        text = "has(gpu.0.name) ? cpu.cores in [1, size(os.name)] : !net.is_up && cpu.cores > 1"
        assert expression(text).facts == {"gpu.0.name", "cpu.cores", "os.name", "net.is_up"}

    def test_it_pickles_even_after_an_evaluation(self) -> None:
        condition = expression("cpu.cores > 1 && net.is_up")
        condition.evaluate(FACTS)
        copy = pickle.loads(pickle.dumps(condition))
        assert copy == condition
        assert copy.evaluate(FACTS) is True
        assert copy.span == condition.span
        assert copy.explain({}) == condition.explain({})


class TestHiddenValues:
    """The value of a fact that identifies the device is not explained, also if a plugin declares the fact."""

    REGISTRY = REGISTRY.extended([replace(fact("acme.serial", FactType.STRING), is_identifying=True)])
    FACTS: ClassVar[dict[str, object]] = {"acme.serial": "secret", "cpu.cores": 4}

    def test_the_reason_names_the_fact_without_its_value(self) -> None:
        condition = parse_expression('acme.serial == "x" && cpu.cores == 4', self.REGISTRY)
        for each in (
            condition,
            pickle.loads(pickle.dumps(condition)),
            condition.found_at(lambda: Span(file="a")),
        ):
            assert [clause.explanation for clause in each.explain(self.FACTS)] == [
                'acme.serial == "x" does not hold: acme.serial is (set, not shown)',
                "cpu.cores == 4 holds: cpu.cores is 4",
            ]
        unknown = condition.explain({"cpu.cores": 4})[0].explanation
        assert unknown == 'acme.serial == "x" is unknown: acme.serial is not known on this device'

    def test_a_parser_of_documents_knows_them_too(self) -> None:
        parser = ExpressionParser(self.REGISTRY)
        condition = parser.parse('has(acme.serial) && acme.serial != "x"', lambda: Span(file="a"), None)
        assert "secret" not in " ".join(clause.explanation for clause in condition.explain(self.FACTS))
