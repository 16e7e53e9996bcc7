"""The checks of options: messages and cases that their mutants do not show."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

import pytest
from etconfig_reference.cpu import ReferenceCpuBackend
from etconfig_reference.options import ReferenceCpuOptions
from kit_checks import subject

from etconfig.base.effective import EffectiveOption
from etconfig.conformance.checks.option_effects import effect_visible, scope_enforced
from etconfig.conformance.checks.option_schema import (
    defaults_valid,
    program_values,
    recommend_valid,
    schema_documented,
    schema_roundtrip,
    unknown_option,
)
from etconfig.conformance.kit.outcomes import CheckFailedError, NotApplicableError
from etconfig.conformance.subject.option_choices import other_values
from etconfig.plugin.v1 import (
    Advice,
    ApiRange,
    Backend,
    BackendOptions,
    BackendSpec,
    CompileSpecInfo,
    Ge,
    MultipleOf,
    model_validator,
    option,
)

Declare = Callable[..., None]
DOC = "What it is for."
CPU = "ReferenceCpuBackend"


class NoOptions(BackendOptions):
    """The options of a backend without any."""


class Optionless(Backend[Any, Any]):
    """A backend that loads without options."""

    def init(self, context: Any, processed: Any, compile_specs: Mapping[str, bytes]) -> None:
        """Nothing to do."""

    def execute(self, context: Any, handle: Any, args: Any) -> None:
        """Nothing to do."""


class TestDescriptions:
    """Everything that can be set is described, and deprecated options can be left out."""

    @pytest.mark.parametrize(
        ("fields", "what"),
        [
            ({"compile_specs": {"level": CompileSpecInfo(doc="Level.")}}, "compile spec 'level'"),
            ({"environment": {"ACME_LOG": ""}}, "environment variable ACME_LOG"),
        ],
    )
    def test_a_word_is_not_a_description(self, declare: Declare, fields: dict[str, Any], what: str):
        declare(**fields)
        with pytest.raises(CheckFailedError, match=f"the {what} of {CPU} is described as '.*', expected a"):
            schema_documented.run(subject())

    def test_a_deprecated_option_needs_a_default(self, declare: Declare):
        class Options(BackendOptions):
            level: int = option(applies="load", doc=DOC, deprecated="it does nothing")

        declare(options=Options)
        with pytest.raises(CheckFailedError, match=r"Options\.level is deprecated but has no default, so it"):
            schema_documented.run(subject())


class TestValues:
    """Options are valid without configuration, and with the vendor's recommendations."""

    def test_a_required_option_has_no_value(self, declare: Declare):
        class Options(BackendOptions):
            level: int = option(applies="load", doc=DOC)

        declare(options=Options)
        message = r"Options\.level has no value, expected one that works without configuration; give option"
        with pytest.raises(CheckFailedError, match=message):
            defaults_valid.run(subject())

    def test_defaults_that_contradict_each_other_are_shown(self, declare: Declare):
        class Options(BackendOptions):
            low: int = option(2, applies="load", doc=DOC)
            high: int = option(1, applies="load", doc=DOC)

            @model_validator(mode="after")
            def _check(self) -> Options:
                if self.low > self.high:
                    raise ValueError("low must not be above high")
                return self

        declare(options=Options)
        message = rf"Options refuses low=2, high=1: {CPU}: low must not be above high"
        with pytest.raises(CheckFailedError, match=message):
            defaults_valid.run(subject())

    def test_a_fact_that_is_not_a_value_of_its_option_is_reported(self, declare: Declare):
        class Options(BackendOptions):
            cores: Annotated[int, Ge(1 << 20)] = option(
                1 << 20, from_fact="cpu.available_cores", applies="load", doc=DOC
            )

        declare(options=Options)
        with pytest.raises(CheckFailedError, match=r"Options\.cores: .*expected an integer >= 1048576"):
            defaults_valid.run(subject())

    def test_a_fact_that_nobody_declares_is_reported(self, declare: Declare):
        class Options(BackendOptions):
            cores: int = option(1, from_fact="cpu.availabel_cores", applies="load", doc=DOC)

        declare(options=Options)
        message = r"Options\.cores follows the fact 'cpu\.availabel_cores', which no plugin declares"
        with pytest.raises(CheckFailedError, match=message):
            defaults_valid.run(subject())

    @pytest.mark.parametrize(
        ("kind", "default", "fact", "message"),
        [
            (
                int,
                1,
                "device.model",
                r"is an integer, but follows the fact device\.model, whose type is string; use",
            ),
            (
                float,
                1.0,
                "cpu.available_cores",
                "is a float, but follows .*, whose type is int; use recommend",
            ),
            (list[int], [], "cpu.available_cores", "is an array.*, whose type is int; use recommend"),
            (list[int], [], "cpu.features", "is an array.*, whose type is string list; use recommend"),
            (dict[str, int], {}, "cpu.available_cores", "is a table.*, whose type is int; use recommend"),
            (bool, False, "npu.count", "is true or false, but follows .*, whose type is int; use recommend"),
        ],
    )
    def test_a_fact_of_another_type_than_its_option_is_reported_although_it_is_not_known_here(
        self, kind: object, default: object, fact: str, message: str, declare: Declare
    ):
        field = option(default, from_fact=fact, applies="load", doc=DOC)
        namespace = {"__annotations__": {"x": kind}, "x": field, "__module__": __name__}
        declare(options=type("Options", (BackendOptions,), namespace))
        with pytest.raises(CheckFailedError, match=rf"Options\.x {message}"):
            defaults_valid.run(subject())

    @pytest.mark.parametrize(
        ("kind", "default", "fact"),
        [
            (str, "", "device.model"),
            (list[str], [], "cpu.features"),
            (Literal["linux", "android"], "linux", "os.name"),
            (int, 1, "cpu.available_cores"),
        ],
    )
    def test_a_fact_of_the_type_of_its_option_is_accepted(
        self, kind: object, default: object, fact: str, declare: Declare
    ):
        field = option(default, from_fact=fact, applies="load", doc=DOC)
        namespace = {"__annotations__": {"x": kind}, "x": field, "__module__": __name__}
        declare(options=type("Options", (BackendOptions,), namespace))
        defaults_valid.run(subject())

    def test_a_fact_of_another_unit_than_its_option_is_reported(self, declare: Declare):
        class Options(BackendOptions):
            wait: int = option(1, from_fact="cpu.available_cores", applies="load", unit="ms", doc=DOC)

        declare(options=Options)
        message = r"Options\.wait is in ms, but follows the fact cpu\.available_cores, which is in cores; use"
        with pytest.raises(CheckFailedError, match=message):
            defaults_valid.run(subject())

    def test_a_recommendation_is_checked_against_the_options(self, declare: Declare):
        declare(recommend=lambda facts: {"num_threads": 0})
        message = r"fails where no fact is known: .*num_threads: expected an integer >= 1, given 0"
        with pytest.raises(CheckFailedError, match=message):
            recommend_valid.run(subject())

    @pytest.mark.parametrize(
        ("entries", "message"),
        [
            (
                [Advice("num_threads", expr="cpu.available_cores - 1")],
                r"Options: advice: .*'cpu.available_cores - 1' may be less than 1, expected an integer >= 1; "
                r"write max\(cpu.available_cores - 1, 1\)",
            ),
            (
                [Advice("num_threads", expr="1"), Advice("num_threads", expr="2")],
                "an earlier entry applies wherever '2' does; put the narrower condition first",
            ),
            (
                [
                    Advice("scratch_bytes", expr="4096", when='power.source == "battery"'),
                    Advice("accumulate", expr='"fp64"', when="cpu.available_cores > 4"),
                ],
                "the advice of ReferenceCpuBackend fails where 'power.source == \"battery\"' and "
                "'cpu.available_cores > 4' hold: .*scratch_bytes must be at least 8192 when accumulate is",
            ),
        ],
    )
    def test_advice_is_checked_for_all_devices(
        self, declare: Declare, entries: list[Advice], message: str
    ) -> None:
        declare(advice=entries)
        with pytest.raises(CheckFailedError, match=message):
            recommend_valid.run(subject())

    def test_a_function_must_leave_what_advice_decides(self, declare: Declare):
        declare(recommend=lambda facts: {"scratch_bytes": 8192})
        with pytest.raises(CheckFailedError, match="recommends scratch_bytes, which the spec's adv"):
            recommend_valid.run(subject())

    def test_a_recommendation_is_checked_as_a_whole(self, declare: Declare):
        recommended = {"scratch_bytes": 4096, "accumulate": "fp64"}
        declare(recommend=lambda facts: recommended, advice=())
        with pytest.raises(CheckFailedError, match="scratch_bytes must be at least 8192 when accumulate is"):
            recommend_valid.run(subject())

    def test_what_golden_programs_fix_is_checked_against_the_options(self, declare: Declare):
        declare(from_program=lambda specs: {"num_threads": 0} if "named_data" in specs else {})
        message = rf"from_program of {CPU} fails in named_data\.pte: .*num_threads: expected an integer >= 1"
        with pytest.raises(CheckFailedError, match=message):
            program_values.run(subject())

    def test_valid_values_of_programs_pass(self, declare: Declare):
        declare(from_program=lambda specs: {"num_threads": len(specs) + 1})
        program_values.run(subject())

    def test_a_backend_that_reads_no_program_has_nothing_to_check(self, declare: Declare):
        with pytest.raises(NotApplicableError, match=f"{CPU} reads no option from compile specs"):
            program_values.run(subject())

    def test_without_a_recommendation_the_check_does_not_apply(self, declare: Declare):
        declare(advice=())
        with pytest.raises(NotApplicableError, match=f"{CPU} recommends nothing"):
            recommend_valid.run(subject())

    def test_numbers_near_the_usual_one_are_tried_within_their_bounds(self):
        class Options(BackendOptions):
            pages: Annotated[int, Ge(4), MultipleOf(4)] = option(8, applies="load", doc=DOC)
            share: float = option(0.5, applies="load", doc=DOC)
            is_fast: bool = option(False, applies="load", doc=DOC)
            label: str = option("a", applies="load", doc=DOC)

        spec = BackendSpec(id="Acme", doc=DOC, options=Options, api=ApiRange(1, 1))
        found = {
            name: other_values(spec, info, info.default) for name, info in Options.option_infos().items()
        }
        assert found == {
            "pages": (16, 4),
            "share": (1.5, -0.5, 1.0, 0.25),
            "is_fast": (True,),
            "label": (),
        }


class TestNames:
    """Unknown names are refused."""

    def test_a_former_name_may_be_a_typo(self, declare: Declare):
        class Options(BackendOptions):
            threads: int = option(1, applies="load", doc=DOC, renamed_from="thread")

        declare(options=Options)
        unknown_option.run(subject())

    def test_options_that_accept_everything_are_found(self, declare: Declare):
        class Options(BackendOptions):
            level: int = option(1, applies="load", doc=DOC)

            @classmethod
            def former_names(cls) -> Mapping[str, str]:
                return {"etconfig_no_such_option": "level"}

        declare(options=Options)
        with pytest.raises(CheckFailedError, match="Options accepts etconfig_no_such_option, which it does"):
            unknown_option.run(subject())


class TestJson:
    """Options and their schema can be written as JSON."""

    def test_a_value_that_json_cannot_represent_is_reported(self, declare: Declare):
        class Options(ReferenceCpuOptions):
            def to_jsonable(self) -> dict[str, Any]:
                return dict(self)

        declare(options=Options)
        message = r"Options: to_jsonable\(\) of .* cannot be written as JSON: Object of type Accumulate is"
        with pytest.raises(CheckFailedError, match=message):
            schema_roundtrip.run(subject())


class TestEffects:
    """Options of a loaded method can be read back, and change when declared."""

    def test_without_options_the_checks_do_not_apply(self, declare: Declare):
        declare(options=NoOptions, factory=Optionless, advice=())
        with pytest.raises(NotApplicableError, match=f"{CPU} has no options"):
            effect_visible.run(subject())
        with pytest.raises(NotApplicableError, match=f"{CPU} has no option that applies at execute and"):
            scope_enforced.run(subject())

    def test_refused_values_are_not_a_pass(self, declare: Declare):
        class Options(ReferenceCpuOptions):
            num_threads: Annotated[int, Ge(1)] = option(1, applies="execute", doc=DOC)

            @model_validator(mode="after")
            def _check_threads(self) -> Options:
                if self.num_threads != 1:
                    raise ValueError("more threads than cores")
                return self

        declare(options=Options, advice=())
        message = f"{CPU} refuses every value that the kit tries, given its other options"
        with pytest.raises(NotApplicableError, match=message):
            scope_enforced.run(subject())

    def test_options_that_are_not_reported_are_named(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(ReferenceCpuBackend, "effective_options", lambda self, handle: {"num_threads": 1})
        message = (
            r"^options\.py:\d+: ReferenceCpuOptions: effective_options does not report scratch_bytes, "
            r"accumulate, only num_threads; report the values in force$"
        )
        with pytest.raises(CheckFailedError, match=message):
            effect_visible.run(subject())

    def test_options_that_are_reported_as_unknown_are_not_compared(self, monkeypatch: pytest.MonkeyPatch):
        def partly(self: object, handle: Any) -> Mapping[str, object]:
            unknown = EffectiveOption.unknown("nothing reports it")
            return {**dict.fromkeys(dict(handle.options), unknown), "num_threads": handle.options.num_threads}

        monkeypatch.setattr(ReferenceCpuBackend, "effective_options", partly)
        effect_visible.run(subject())

    def test_a_backend_that_knows_none_of_its_options_passes_nothing(self, monkeypatch: pytest.MonkeyPatch):
        def assumed(self: object, handle: Any) -> Mapping[str, object]:
            return {
                name: EffectiveOption.assumed(each, "passed") for name, each in dict(handle.options).items()
            }

        monkeypatch.setattr(ReferenceCpuBackend, "effective_options", assumed)
        with pytest.raises(NotApplicableError, match=f"{CPU} reports no option that accepts another value"):
            effect_visible.run(subject())

    @pytest.mark.usefixtures("native")
    def test_another_runtime_need_not_report_options(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(ReferenceCpuBackend, "effective_options", lambda self, handle: {})
        with pytest.raises(NotApplicableError, match=f"{CPU} reports no option that accepts another value"):
            effect_visible.run(subject())

    @pytest.mark.usefixtures("native")
    def test_options_that_another_runtime_reports_are_checked(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(ReferenceCpuBackend, "effective_options", lambda self, handle: {"num_threads": 1})
        with pytest.raises(
            CheckFailedError, match=r"effective_options reports 1 for each of the values .*; use"
        ):
            effect_visible.run(subject())

    def test_an_option_that_changes_along_with_another_is_named(self, monkeypatch: pytest.MonkeyPatch):
        def forget(self: object, handle: Any) -> Mapping[str, object]:
            options = dict(handle.options)
            return {**options, "scratch_bytes": options["scratch_bytes"] + options["num_threads"]}

        monkeypatch.setattr(ReferenceCpuBackend, "effective_options", forget)
        message = r"scratch_bytes was \d+ and is \d+ after a change of num_threads, expected no change; apply"
        with pytest.raises(CheckFailedError, match=message):
            scope_enforced.run(subject())
