from __future__ import annotations

import copy
import pickle

import pytest
from profile_texts import REGISTRY, problems_of, profile, said

from etconfig.expression import Expression, ExpressionParser
from etconfig.profile.document import parse_document
from etconfig.profile.layer import UNSET, Assignment
from etconfig.profile.profile import parse_profile
from etconfig.profile.project import parse_project

HEAD = '[profile]\nname = "p"\n'


def assignments(text: str) -> tuple[Assignment, ...]:
    return profile(HEAD + text).settings.assignments


def refusals(text: str) -> list[str]:
    """The problems of a profile with this text after its head; lines count from the text's first."""
    problems = problems_of(lambda: profile("[profile]\nname = 'p'\n" + text))
    return [said(problem) for problem in problems]


class TestAssignments:
    """Every option set by a document is one assignment with its place."""

    def test_an_option_has_its_path_value_and_places(self) -> None:
        (assignment,) = assignments('[options.XnnpackBackend]\n  mode = "fast"  # why\n')
        assert str(assignment.path) == "XnnpackBackend.mode"
        assert assignment.value == "fast"
        assert str(assignment.origin) == "profile p.toml:4:3"
        assert (assignment.span.line, assignment.span.column, assignment.span.length) == (4, 10, 6)
        assert (assignment.key_span.column, assignment.key_span.length) == (3, 4)
        assert assignment.span.text == '  mode = "fast"  # why'
        assert assignment.condition is None

    def test_values_are_passed_on_as_toml_has_them(self) -> None:
        text = "[options.B]\na = true\nb = 1\nc = 1.5\nd = [1, [2.5]]\ne = { f = { g = 'x' } }\n"
        values = [assignment.value for assignment in assignments(text)]
        assert values == [True, 1, 1.5, [1, [2.5]], {"f": {"g": "x"}}]

    def test_an_expression_is_checked_and_named_in_the_origin(self) -> None:
        (assignment,) = assignments("[options.B]\na = { expr = 'min(cpu.cores, 4)' }\n")
        assert isinstance(assignment.value, Expression)
        assert assignment.value.evaluate({"cpu.cores": 8}) == 4
        assert str(assignment.origin) == "profile p.toml:4:1 (expr min(cpu.cores, 4))"
        assert assignment.span.length == len("{ expr = 'min(cpu.cores, 4)' }")
        assert assignment.value.span.column == 14

    def test_unset_is_one_value_even_after_copying(self) -> None:
        (assignment,) = assignments("[options.B]\na = { unset = true }\n")
        assert assignment.value is UNSET
        assert repr(assignment.value) == "UNSET"
        assert pickle.loads(pickle.dumps(UNSET)) is UNSET
        assert copy.deepcopy(UNSET) is UNSET

    def test_a_table_of_its_own_serves_as_well_as_an_inline_one(self) -> None:
        (assignment,) = assignments("[options.B.a]\nexpr = 'cpu.cores'\n")
        assert isinstance(assignment.value, Expression)


class TestMergeOrder:
    """Within a layer: options < methods < instances < each `[[when]]` in document order."""

    def test_the_order_does_not_depend_on_the_order_of_tables(self) -> None:
        text = """
            [[when]]
            if = "net.is_up"
            instances.i.options.B.o = 12
            methods."d*".options.B.o = 10
            methods.decode.options.B.o = 11
            options.B.o = 9
            [[when]]
            if = "!net.is_up"
            options.B.o = 13
            [instances.i]
            method = "decode"
            options.B.o = 7
            [instances.j]
            method = "decode"
            options.B.o = 8
            [methods.decode.options.B]
            o = 5
            [methods."*".options.B]
            o = 3
            [methods.encode.options.B]
            o = 6
            [methods."d?code".options.B]
            o = 4
            [options.B]
            o = 1
            [options.A]
            o = 2
        """
        found = assignments(text)
        assert [assignment.value for assignment in found] == list(range(1, 14))
        assert [assignment.path.method for assignment in found[2:6]] == ["*", "d?code", "decode", "encode"]
        assert [str(assignment.condition) for assignment in found[8:]] == ["net.is_up"] * 4 + ["!net.is_up"]

    @pytest.mark.parametrize("name", ["d*", "\\u0064*"], ids=["plain", "escaped"])
    def test_of_two_patterns_the_later_line_wins_whatever_was_named_first(self, name: str) -> None:
        text = f"""
            [methods."{name}".options.A]
            o = 1
            [methods."*e".options.B]
            o = 2
            [methods."d*".options.B]
            o = 3
            [methods.decode.options.B]
            o = 5
            [methods."*c*".options]
            B.o = 4
        """
        assert [assignment.value for assignment in assignments(text)] == [1, 2, 3, 4, 5]

    def test_of_many_patterns_the_later_line_wins(self) -> None:
        first = "".join(f"[methods.'{n}*'.options.A]\no = 0\n" for n in range(9))
        later = "".join(f"[methods.'{n}*'.options.B]\no = {9 - n}\n" for n in reversed(range(9)))
        assert [assignment.value for assignment in assignments(first + later)] == [0] * 9 + [*range(1, 10)]

    def test_patterns_of_an_overlay_follow_their_lines_too(self) -> None:
        text = """
            [[when]]
            if = "net.is_up"
            methods."d*".options.A.o = 1
            methods."*e".options.B.o = 2
            methods."d*".options.B.o = 3
        """
        assert [assignment.value for assignment in assignments(text)] == [1, 2, 3]

    def test_a_conditional_origin_names_the_condition(self) -> None:
        (assignment,) = assignments("[[when]]\nif = 'net.is_up'\noptions.B.o = { expr = 'cpu.cores' }\n")
        assert str(assignment.origin) == "profile p.toml:5:11 (when net.is_up; expr cpu.cores)"


class TestProblems:
    """One error has every problem of a document, each with its place and its help."""

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ("[option.B]\n", "3:2-7 unknown-key: the document has no key 'option'; did you mean 'options'?"),
            (
                "[colours]\n",
                "3:2-8 unknown-key: the document has no key 'colours'; "
                "its keys are profile, facts, options, methods, instances, when, budget, groups, evidence; "
                "options of a backend belong in [options.BACKEND]",
            ),
            (
                "[options]\nnum_threads = 1\n",
                "4:15-15 wrong-type: 'options.num_threads' must be a table, but is an int; "
                "write [options.BACKEND] above the options of a backend",
            ),
            (
                "[methods]\ndecode = 'x'\n",
                "4:10-12 wrong-type: 'methods.decode' must be a table, but is a string; "
                "write [methods.METHOD.options.BACKEND]",
            ),
            (
                "[methods.decode.B]\nnum_threads = 1\n",
                "3:17-17 unknown-key: [methods.decode] has no key 'B'; write [methods.decode.options.B]",
            ),
            (
                "[instances.decode.left.options.B]\nnum_threads = 1\n",
                "3:19-22 unknown-key: [instances.decode] has no key 'left'; "
                "write [instances.decode.options.BACKEND] above the options of a backend",
            ),
            (
                "[methods.decode.left.options.B]\nnum_threads = 1\n",
                "3:17-20 unknown-key: [methods.decode] has no key 'left'; "
                "write [methods.decode.options.BACKEND] above the options of a backend",
            ),
            (
                "[methods.decode]\nnum_threads = 1\n",
                "4:1-11 unknown-key: [methods.decode] has no key 'num_threads'; "
                "write [methods.decode.options.BACKEND] above the options of a backend",
            ),
            (
                "[instances]\ncamera0 = 'forward'\n",
                "4:11-19 wrong-type: 'instances.camera0' must be a table, but is a string; "
                "write [instances.NAME]",
            ),
            (
                "[instances.camera0]\nmethod = 1\n",
                "4:10-10 wrong-type: 'instances.camera0.method' must be a string, but is an int; None",
            ),
            (
                "[instances.camera0]\nmethod = 'prefill_*'\n",
                "4:10-20 invalid-name: instance 'camera0' needs the name of one method, "
                "and 'prefill_*' is not one; a method's name contains no blanks and none of : @ =; "
                "with * ? [ it is a pattern",
            ),
            (
                "[instances.'cam*']\nmethod = 'f'\n",
                "3:12-17 invalid-name: 'cam*' cannot be the name of an instance; "
                "an instance's name contains no blanks and none of : @ = * ? [",
            ),
            (
                "[methods.'a b'.options.B]\nx = 1\n",
                "3:10-14 invalid-name: 'a b' cannot be the name of a method; "
                "a method's name contains no blanks and none of : @ =; with * ? [ it is a pattern",
            ),
            (
                "[options.'B:x']\nx = 1\n",
                "3:10-14 invalid-name: 'B:x' cannot be the name of a backend; "
                "a backend id has letters, digits, _ and -, and starts with a letter or _",
            ),
            (
                "[options.B]\nnum-threads = 1\n",
                "4:1-11 invalid-name: 'num-threads' cannot be the name of an option; "
                "an option's name has letters, digits and _, and starts with a letter or _",
            ),
            (
                "[options.B]\nuntil = [1979-05-27]\n",
                "4:9-20 wrong-type: 'until' is a date or time, which no option accepts; write it as a string",
            ),
            (
                "[options.B]\na = { expr = 'cpu.coers' }\n",
                "4:15-23 unknown-fact: no fact is called 'cpu.coers'; did you mean 'cpu.cores'?",
            ),
            (
                "[options.B]\na = { expr = 4 }\n",
                "4:14-14 wrong-type: 'options.B.a.expr' must be a string, but is an int; "
                "write the value itself: a = ..., or an expression in quotes",
            ),
            (
                "[options.B]\na = { expr = '1', min = 2 }\n",
                "4:19-21 unknown-key: [options.B.a] has no key 'min'; its keys are expr",
            ),
            (
                "[options.B]\na = { unset = false }\n",
                "4:15-19 wrong-type: 'options.B.a.unset' must be true; remove the key to set nothing",
            ),
            (
                "[[when]]\noptions.B.o = 1\n",
                "3:3-6 missing-key: [[when]] has no 'if'; "
                "write the condition, as in if = 'power.source == \"battery\"'",
            ),
            (
                "[[when]]\nif = 'true'\n[options.B]\no = 1\n",
                "3:3-6 missing-key: [[when]] has a condition, but no settings; "
                "write [when.options.BACKEND] below it; the options in [options.BACKEND] have no condition",
            ),
            (
                "[when]\nif = 'true'\n",
                "3:2-5 wrong-type: 'when' must be an array of tables, but is a table; write [[when]]",
            ),
            (
                "[[when]]\nif = 'true'\nthen = 1\n",
                "5:1-4 unknown-key: [[when]] has no key 'then'; write its options in [when.options.BACKEND]",
            ),
            (
                "[[when]]\nif = true\n",
                "4:6-9 wrong-type: 'when.if' must be a string, but is a bool; "
                "write the condition in quotes, as in if = 'power.source == \"battery\"'",
            ),
            (
                "[[when]]\nif = 'cpu.cores'\n",
                "4:7-15 expression-type: a condition needs a bool, but 'cpu.cores' is an int; "
                "compare it: cpu.cores > 4",
            ),
            (
                "[[when]]\nif = 'true'\ninstances.camera0.method = 'f'\n",
                "5:19-24 unknown-key: [when.instances.camera0] has no key 'method'; "
                "write [when.instances.camera0.options.BACKEND] above the options of a backend",
            ),
            (
                "[facts]\n'cpu.coers' = 4\n",
                "4:1-11 unknown-fact: no fact is called 'cpu.coers'; did you mean 'cpu.cores'?",
            ),
            (
                "[facts]\ncpu.cores = 4\n",
                "4:1-3 wrong-type: [facts] contains the table 'cpu', but a fact is one value; "
                'quote its whole name: "cpu.cores" = ...',
            ),
            (
                "[facts]\n'cpu.cores' = true\n",
                "4:15-18 invalid-fact-value: fact 'cpu.cores': expected an int of at most 64 bits, found true"
                "; give a value of the fact's type and range",
            ),
        ],
    )
    def test_a_problem_is_reported_at_its_place(self, text: str, problem: str) -> None:
        assert refusals(text) == [problem]

    @pytest.mark.parametrize("key", ["facts", "options", "methods", "instances"])
    def test_every_part_is_a_table(self, key: str) -> None:
        problems = problems_of(lambda: profile(f"{key} = 1\n{HEAD}"))
        assert [said(problem) for problem in problems] == [
            f"1:{len(key) + 4}-{len(key) + 4} wrong-type: '{key}' must be a table, but is an int; None"
        ]

    def test_all_problems_come_in_the_order_of_their_places(self) -> None:
        text = "[facts]\n'x.y' = 1\n[options.B]\na = { expr = 'x.z' }\n'b c' = 1\n[option]\n"
        problems = problems_of(lambda: profile(f"[profile]\nnam = 'p'\n{text}"))
        assert [(problem.spans[0].line, problem.code) for problem in problems] == [
            (2, "unknown-key"),
            (4, "unknown-fact"),
            (6, "unknown-fact"),
            (7, "invalid-name"),
            (8, "unknown-key"),
        ]


class TestHandSetFacts:
    """Hand-set facts override detection and say so."""

    def test_a_fact_has_its_registered_type_and_its_place(self) -> None:
        facts = profile(
            HEAD
            + """
            [facts]
            "cpu.cores" = 4
            "cpu.quota" = 2
            "cpu.features" = ["a"]
            "gpu.0.name" = "x"
        """
        ).settings.facts
        assert {name: sourced.value for name, sourced in facts.items()} == {
            "cpu.cores": 4,
            "cpu.quota": 2.0,
            "cpu.features": ("a",),
            "gpu.0.name": "x",
        }
        assert str(facts["cpu.cores"].origin) == "profile p.toml:5:13"


class TestPlaces:
    """Places are found on demand; reading a document without problems needs none."""

    TEXT = (
        HEAD + "extends = ['base']\nmatch = 'cpu.cores > 1'\n"
        "[facts]\n'cpu.cores' = 4\n"
        "[options.B]\na = 1\n"
        "[methods.decode.options.B]\na = { expr = 'cpu.cores' }\n"
        "[instances.left]\nmethod = 'decode'\n"
        "[[when]]\nif = 'cpu.cores > 2'\n[when.instances.left.options.B]\na = 2\n"
    )

    def test_reading_a_document_without_problems_finds_no_place(self) -> None:
        document = parse_document(self.TEXT, "p.toml")
        read = parse_profile(document, ExpressionParser(REGISTRY))
        assert "positions" not in vars(document)
        assert read.settings.assignments[0].span.line == 8
        assert "positions" in vars(document)

    def test_each_part_of_a_path_has_its_own_span(self) -> None:
        *_, last = profile(self.TEXT).settings.assignments
        spans = (last.scope_span, last.backend_span, last.key_span, last.span)
        assert [span.underlined for span in spans if span] == ["left", "B", "a", "2"]
        assert str(last.origin) == "profile p.toml:16:1 (when cpu.cores > 2)"

    @pytest.mark.parametrize("prefix", ["", "tool.etconfig."])
    def test_only_a_method_or_an_instance_is_a_scope(self, prefix: str) -> None:
        text = f"[{prefix}options.B]\na = 1\n[{prefix}methods.options.options.B]\na = 1\n"
        document = parse_document(text, "pyproject.toml" if prefix else "etconfig.toml")
        every, one = parse_project(document, ExpressionParser(REGISTRY)).settings.assignments
        assert every.scope_span is None
        assert one.scope_span is not None
        assert (one.scope_span.line, one.scope_span.underlined) == (3, "options")

    def test_a_place_is_found_once_and_pickles_without_the_document(self) -> None:
        assignment = profile(self.TEXT).settings.assignments[0]
        assert assignment.place.find() is assignment.place.find()
        copied = pickle.loads(pickle.dumps(assignment))
        assert copied == assignment
        assert copied.place.find() == assignment.place.find()
        assert b"instances" not in pickle.dumps(assignment)

    def test_a_hand_set_fact_has_its_origin(self) -> None:
        facts = profile(self.TEXT).settings.facts
        assert {name: str(fact.origin) for name, fact in facts.items()} == {"cpu.cores": "profile p.toml:6:1"}
        assert (len(facts), facts["cpu.cores"].value) == (1, 4)


class TestExpressionsOfManyDocuments:
    """A parser checks an expression once, and each place that has it gets an expression of its own."""

    def test_the_same_text_shares_the_checked_tree_but_not_the_place(self) -> None:
        first, second = assignments("[options.B]\na = { expr = 'cpu.cores' }\nb = { expr = 'cpu.cores' }\n")
        assert isinstance(first.value, Expression)
        assert isinstance(second.value, Expression)
        assert first.value.tree is second.value.tree
        assert (first.value.span.line, second.value.span.line) == (4, 5)

    def test_a_problem_is_reported_at_every_place(self) -> None:
        assert refusals("[options.B]\na = { expr = 'cpu.core' }\nb = { expr = 'cpu.core' }\n") == [
            f"{line}:15-22 unknown-fact: no fact is called 'cpu.core'; did you mean 'cpu.cores'?"
            for line in (4, 5)
        ]

    def test_the_expected_type_counts_too(self) -> None:
        text = "[options.B]\na = { expr = 'cpu.cores' }\n[[when]]\nif = 'cpu.cores'\n"
        (problem,) = refusals(text)
        assert problem.startswith("6:7-15 expression-type: a condition needs a bool")
