"""Validation: every problem is found and named, and its place can be added later."""

from __future__ import annotations

from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st
from npu import INFOS, SPEC, NpuOptions, PowerMode
from pydantic import Field

from etconfig.diagnostics import Respelling, Severity, Span
from etconfig.errors import OptionError
from etconfig.schema.declaration import option
from etconfig.schema.options import BackendOptions, model_validator
from etconfig.schema.problem import OptionProblem, ProblemKind
from etconfig.schema.validate import build_options, change_options, check_value, find_option, validate_options

GOOD = {"core": 1, "threads": 2}


class Several(BackendOptions):
    """Its validator reports two problems at once."""

    value: int = option(1, applies="execute", doc="A value.")

    @model_validator(mode="after")
    def _check(self) -> Several:
        raise ValueError("value is even", "it is small")


class Broken(BackendOptions):
    """Its validator has a bug."""

    value: int = option(1, applies="execute", doc="A value.")

    @model_validator(mode="after")
    def _check(self) -> Broken:
        return {}["missing"]  # type: ignore[no-any-return]


class Patterned(BackendOptions):
    """It has a constraint that only pydantic knows."""

    name: Annotated[str, Field(pattern="^[a-z]+$")] = option("a", applies="load", doc="A name.")


class Bare(BackendOptions):
    """It has no options."""


def messages(values: dict[str, object]) -> list[tuple[ProblemKind, str, str | None]]:
    return [(p.kind, p.message, p.help) for p in validate_options(SPEC, values).problems]


class TestFindOption:
    """Renamed options are accepted under the old name, with a warning."""

    def test_an_option_is_found_by_its_name(self):
        assert find_option(SPEC, "core") == (INFOS["core"], None)

    def test_a_former_name_is_found_with_a_warning(self):
        info, problem = find_option(SPEC, "num_threads")
        assert info is INFOS["threads"]
        assert problem == OptionProblem(
            kind=ProblemKind.DEPRECATED,
            option="num_threads",
            message="NpuBackend.num_threads was renamed to threads",
            help="write threads in place of num_threads",
            respelling=Respelling("num_threads", "threads", is_safe=True),
        )
        assert not problem.is_error

    def test_a_deprecated_option_is_found_with_the_authors_advice(self):
        info, problem = find_option(SPEC, "verbose")
        assert info is INFOS["verbose"]
        assert problem is not None
        assert (problem.message, problem.help) == ("NpuBackend.verbose is deprecated", "use tracing")

    @pytest.mark.parametrize(
        ("schema", "name", "help_text", "respelling"),
        [
            (SPEC, "thread", "did you mean 'threads'?", Respelling("thread", "threads")),
            (SPEC, "colour", f"it has {', '.join(INFOS)}", None),
            (Bare, "colour", "it has no options", None),
        ],
    )
    def test_an_unknown_name_is_an_error_that_suggests_a_known_one(self, schema, name, help_text, respelling):
        info, problem = find_option(schema, name)
        owner = "Bare" if schema is Bare else "NpuBackend"
        assert info is None
        assert problem == OptionProblem(
            kind=ProblemKind.UNKNOWN,
            option=name,
            message=f"{owner} has no option {name!r}",
            help=help_text,
            respelling=respelling,
        )


class TestCheckValue:
    """One value against one option."""

    def test_a_good_value_is_returned_typed(self):
        assert check_value(SPEC, INFOS["power_mode"], "high-power") is PowerMode.HIGH

    def test_a_bad_value_is_reported_with_backend_and_option(self):
        assert check_value(SPEC, INFOS["core"], 7) == OptionProblem(
            kind=ProblemKind.INVALID,
            option="core",
            message="NpuBackend.core: expected an integer >= 0 and <= 3, given 7",
        )

    def test_a_bad_item_is_reported_with_its_place(self):
        problem = check_value(SPEC, INFOS["methods"], [1])
        assert isinstance(problem, OptionProblem)
        assert problem.message == "NpuBackend.methods[0]: expected a string, given 1 (an integer)"


class TestValidateOptions:
    """Report every problem, then give options only if none is an error."""

    def test_good_values_give_typed_options(self):
        result = validate_options(SPEC, {**GOOD, "power_mode": "low", "timeout": "20 ms"})
        assert result.problems == ()
        assert result.options == NpuOptions(core=1, threads=2, timeout=0.02)

    def test_every_problem_is_reported_at_once(self):
        assert messages({"core": 7, "power_mode": "hig", "colour": 1, "scale": 1}) == [
            (ProblemKind.INVALID, "NpuBackend.core: expected an integer >= 0 and <= 3, given 7", None),
            (
                ProblemKind.INVALID,
                "NpuBackend.power_mode: expected one of 'low', 'high-power', given 'hig' (a string)",
                'write one of "low", "high-power"',
            ),
            (ProblemKind.UNKNOWN, "NpuBackend has no option 'colour'", f"it has {', '.join(INFOS)}"),
            (ProblemKind.INVALID, "NpuBackend.scale: expected a float, given 1 (an integer)", "write 1.0"),
            (
                ProblemKind.MISSING,
                "NpuBackend.threads is not set, and the fact cpu.available_cores is not known",
                "set it to an integer >= 1, or give the fact: --fact cpu.available_cores=VALUE",
            ),
        ]
        assert validate_options(SPEC, {"core": 7}).options is None

    def test_a_required_option_is_missing(self):
        assert messages({"threads": 1}) == [
            (
                ProblemKind.MISSING,
                "NpuBackend.core is required and not set",
                "set it to an integer >= 0 and <= 3",
            )
        ]

    def test_a_former_name_is_rewritten(self):
        result = validate_options(SPEC, {"core": 1, "num_threads": 4})
        assert isinstance(result.options, NpuOptions)
        assert result.options.threads == 4
        assert [problem.kind for problem in result.problems] == [ProblemKind.DEPRECATED]

    @pytest.mark.parametrize("names", [("threads", "num_threads"), ("num_threads", "threads")])
    def test_both_names_of_one_option_are_an_error(self, names):
        *_, problem = validate_options(SPEC, {"core": 1, **dict.fromkeys(names, 2)}).problems
        assert (problem.kind, problem.option) == (ProblemKind.CONFLICT, "threads")
        assert problem.message == f"NpuBackend.threads is set twice, as {names[0]} and as {names[1]}"
        assert problem.help == "remove num_threads"

    def test_a_cross_option_message_passes_and_names_its_options(self):
        result = validate_options(SPEC, {**GOOD, "core": 3, "power_mode": "high-power"})
        assert result.options is None
        assert result.problems == (
            OptionProblem(
                kind=ProblemKind.CONFLICT,
                message="NpuBackend: core 3 cannot run with power_mode high-power",
                related=("core", "power_mode"),
            ),
        )

    def test_an_error_with_several_texts_is_several_problems(self):
        problems = validate_options(Several, {"value": 2}).problems
        assert [(problem.kind, problem.message, problem.related) for problem in problems] == [
            (ProblemKind.CONFLICT, "Several: value is even", ("value",)),
            (ProblemKind.CONFLICT, "Several: it is small", ()),
        ]

    def test_a_constraint_that_only_pydantic_knows_is_reported_in_its_words(self):
        (problem,) = validate_options(Patterned, {"name": "A"}).problems
        assert (problem.kind, problem.option) == (ProblemKind.INVALID, "name")
        assert problem.message == "Patterned.name: String should match pattern '^[a-z]+$', given 'A'"

    def test_a_validator_with_a_bug_is_the_backends_problem(self):
        (problem,) = validate_options(Broken, {}).problems
        assert (problem.kind, problem.is_error) == (ProblemKind.FAILING_CHECK, True)
        assert problem.message == "Broken: the backend's check of its options failed: KeyError: 'missing'"
        assert problem.help is not None
        assert problem.help.startswith(f"in {__name__}:Broken (test_validate_options.py:")
        assert problem.help.endswith("if it is not yours, upgrade or uninstall its plugin")

    def test_a_class_without_options_takes_no_values(self):
        assert validate_options(Bare, {}).options == Bare()


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.sampled_from(["low", "high-power", "auto", "8 KiB", "20 ms", "npu", ""]),
    st.lists(st.one_of(st.text(max_size=3), st.integers(0, 3)), max_size=3),
    st.dictionaries(st.sampled_from("ab"), st.integers(-1, 9), max_size=2),
)


class TestBuildOptions:
    """Only the backend's own validators can refuse values that `check_value` accepted."""

    @given(st.sampled_from(sorted(INFOS)), VALUES)
    def test_a_checked_value_builds(self, name, raw):
        value = check_value(SPEC, INFOS[name], raw)
        if not isinstance(value, OptionProblem):
            built = build_options(SPEC, {**GOOD, name: value})
            assert getattr(built.options, name) == value

    def test_typed_values_give_options(self):
        assert build_options(SPEC, GOOD).options == NpuOptions(core=1, threads=2)

    def test_missing_options_are_reported(self):
        problems = build_options(SPEC, {}).problems
        assert [(problem.kind, problem.option) for problem in problems] == [
            (ProblemKind.MISSING, "core"),
            (ProblemKind.MISSING, "threads"),
        ]


class TestChangeOptions:
    """Execute-time options change between two executes; other changes are refused, with every problem."""

    CURRENT = NpuOptions(core=1, threads=2, methods=("a",))

    def test_an_execute_time_option_changes_and_the_rest_stays(self):
        changed = change_options(SPEC, self.CURRENT, {"power_mode": "high-power", "num_threads": 3})
        assert changed == NpuOptions(core=1, threads=3, methods=("a",), power_mode=PowerMode.HIGH)
        assert self.CURRENT.threads == 2

    def test_nothing_changed_gives_equal_options(self):
        assert change_options(NpuOptions, self.CURRENT, {}) == self.CURRENT

    def test_every_problem_is_raised_at_once(self):
        with pytest.raises(OptionError) as caught:
            change_options(SPEC, self.CURRENT, {"thread": 1, "timeout": "2 x", "core": 2})
        assert [(d.code, d.message, d.help) for d in caught.value.diagnostics] == [
            ("unknown-option", "NpuBackend has no option 'thread'", "did you mean 'threads'?"),
            (
                "invalid-value",
                'NpuBackend.timeout: expected a float, in s or as text like "20 ms", '
                "given '2 x' (a string)",
                "write a number and one of ns, us, ms, s, min, h",
            ),
            (
                "not-updatable",
                "NpuBackend.core applies at load and cannot change on a loaded method",
                "load the method again to change it",
            ),
        ]

    def test_a_conflict_with_an_option_that_stays_is_refused(self):
        current = NpuOptions(core=3, threads=1)
        with pytest.raises(OptionError, match="core 3 cannot run with power_mode high-power"):
            change_options(SPEC, current, {"power_mode": "high-power"})


class TestOptionProblem:
    """A problem becomes a diagnostic once its place is known."""

    def test_the_diagnostic_has_the_problems_parts_and_the_given_places(self):
        span = Span(file="a.toml", line=3)
        problem = OptionProblem(kind=ProblemKind.DEPRECATED, option="a", message="A.", help="Do.")
        diagnostic = problem.to_diagnostic(span)
        assert (diagnostic.code, diagnostic.message, diagnostic.help) == ("deprecated-option", "A.", "Do.")
        assert (diagnostic.spans, diagnostic.severity) == ((span,), Severity.WARNING)

    @pytest.mark.parametrize("kind", list(ProblemKind))
    def test_every_kind_is_a_known_code(self, kind):
        assert OptionProblem(kind=kind, message="A.").to_diagnostic().code == kind.value
