"""Laws of the condition language, and that no text makes it fail in another way than with diagnostics."""

from __future__ import annotations

from collections.abc import Mapping

from effort import scaled
from hypothesis import example, given, settings
from hypothesis import strategies as st
from profile_texts import REGISTRY, expression

from etconfig.errors import ProfileError
from etconfig.expression import Fault, Unknown, parse_expression

BOUNDARIES = st.sampled_from([0, 1, -1, 7, 2**63 - 1, -(2**63)])
FACTS = st.fixed_dictionaries(
    {},
    optional={
        "os.name": st.sampled_from(["", "linux", "macos"]),
        "cpu.cores": BOUNDARIES,
        "cpu.quota": st.sampled_from([0.0, 1.5, -2.0]),
        "net.is_up": st.booleans(),
        "cpu.features": st.sampled_from([(), ("a",), ("a", "b")]),
    },
)
STRING = st.sampled_from(["os.name", "''", "'linux'", "(os.name + 'x')"])
NUMBER = st.recursive(
    st.one_of(st.just("cpu.cores"), BOUNDARIES.map(str)),
    lambda number: st.builds("({} {} {})".format, number, st.sampled_from("+-*/%"), number),
    max_leaves=4,
)
COMPARISON = st.one_of(
    st.builds("({} {} {})".format, NUMBER, st.sampled_from(["<", ">=", "==", "!="]), NUMBER),
    st.builds("({} {} {})".format, STRING, st.sampled_from(["<", ">=", "==", "!="]), STRING),
    st.builds("({} > cpu.quota)".format, NUMBER),
    st.builds("({} in cpu.features)".format, STRING),
    st.sampled_from(["net.is_up", "true", "false", "(size(cpu.features) > 1)"]),
)
CONDITION = st.recursive(
    COMPARISON,
    lambda condition: st.one_of(
        st.builds("({} && {})".format, condition, condition),
        st.builds("({} || {})".format, condition, condition),
        st.builds("({} ? {} : {})".format, condition, condition, condition),
        condition.map("!{}".format),
    ),
    max_leaves=6,
)
"""Well-typed conditions without `has`."""

TOKENS = st.sampled_from(
    [
        *("os.name", "cpu.cores", "net.is_up", "gpu.0.name", "x.y", "1", "0x1F", ".5", "1e9", "'a'", "true"),
        *("null", "in", "has", "size", "min", ".size", "&&", "||", "!", "==", "!=", "<", "<=", "+", "-", "*"),
        *("/", "%", "?", ":", "(", ")", "[", "]", ",", ".", "=", "&", "'", '"', "\\", "é", "\u202e", "#"),
    ]
)


def known(result: object) -> object:
    """The result; "none" if there is no value, since the faults of two equal conditions may differ."""
    return "none" if isinstance(result, (Unknown, Fault)) else result


class TestLaws:
    """Conditions follow three-valued logic."""

    @given(CONDITION, FACTS, FACTS)
    @settings(max_examples=scaled(200), deadline=None)
    def test_further_facts_never_change_a_known_result(
        self, text: str, facts: Mapping[str, object], further: Mapping[str, object]
    ) -> None:
        condition = expression(text)
        result = condition.evaluate(facts)
        if known(result) != "none":
            assert condition.evaluate({**further, **facts}) == result

    @given(CONDITION, CONDITION, FACTS)
    @settings(max_examples=scaled(200), deadline=None)
    @example("net.is_up", "1 / 0 == 1", {})
    def test_and_and_or_commute_and_obey_de_morgan(
        self, left: str, right: str, facts: Mapping[str, object]
    ) -> None:
        both, swapped = expression(f"{left} && {right}"), expression(f"{right} && {left}")
        result = both.evaluate(facts)
        assert known(swapped.evaluate(facts)) == known(result)
        negated = expression(f"!(!({left}) || !({right}))").evaluate(facts)
        assert negated == result

    @given(CONDITION, FACTS)
    @settings(max_examples=scaled(200), deadline=None)
    def test_an_unknown_result_names_facts_that_are_missing(
        self, text: str, facts: Mapping[str, object]
    ) -> None:
        condition = expression(text)
        result = condition.evaluate(facts)
        if isinstance(result, Unknown):
            assert result.missing
            assert set(result.missing) <= condition.facts - set(facts)
        elif not isinstance(result, Fault):
            assert type(result) is bool

    @given(st.lists(CONDITION, min_size=2, max_size=4), FACTS)
    @settings(max_examples=scaled(200), deadline=None)
    def test_the_clauses_explain_the_whole(self, clauses: list[str], facts: Mapping[str, object]) -> None:
        condition = expression(" && ".join(clauses))
        explained = condition.explain(facts)
        results = [clause.result for clause in explained]
        whole = condition.evaluate(facts)
        assert [clause.text for clause in explained] == clauses
        assert (whole is False) == any(result is False for result in results)
        assert (whole is True) == all(result is True for result in results)


class TestAnyText:
    """Any text is an expression, or gives diagnostics that point into it."""

    @given(st.one_of(st.text(max_size=40), st.lists(TOKENS, max_size=12).map("".join)))
    @settings(max_examples=scaled(200), deadline=None)
    @example("'" + "\\" * 3)
    @example("(" * 5000)
    @example("-" * 4000 + "1")
    @example("1" + "e" * 4000)
    @example("a." * 2000)
    def test_it_parses_or_is_refused_with_diagnostics(self, text: str) -> None:
        try:
            parsed = parse_expression(text, REGISTRY)
        except ProfileError as error:
            columns = [problem.spans[0].column for problem in error.diagnostics]
        else:
            parsed.evaluate({})
            columns = [1]
        assert columns
        assert all(1 <= column <= len(text) + 1 for column in columns)
