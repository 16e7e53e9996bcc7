"""Advice: recommended values as expressions over facts; the first entry that applies decides."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace

import pytest
from pydantic import model_validator
from resolving import SPECS, CpuOptions, make_facts, make_layer

from etconfig.base.provenance import OriginKind, Sourced
from etconfig.diagnostics import Diagnostic
from etconfig.errors import OptionError, PluginCallError
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.facts.registry import FactInfo, FactType, Volatility
from etconfig.plugin.v1 import Advice, BackendSpec
from etconfig.profile.layer import UNSET, Layer
from etconfig.resolver.compiling.resolver import Resolver, Target
from etconfig.resolver.deciding.advice import AdviceReader
from etconfig.resolver.deciding.resolution import Resolution
from etconfig.resolver.deciding.unconfigured import values_without_configuration
from etconfig.resolver.proving.combinations import CombinationVerifier

THREADS = Advice(
    "num_threads",
    expr="max(1, min(cpu.available_cores, cpu.performance_cores))",
    when="has(cpu.performance_cores)",
    reason="Efficiency cores slow the others down.",
)
PHYSICAL = Advice("num_threads", expr="cpu.physical_cores")
TARGET = Target(method="forward", backends=("CpuBackend",))


def spec_with(*advice: Advice) -> BackendSpec:
    return replace(SPECS["CpuBackend"], advice=advice)


def compiled(advice: Sequence[Advice], *layers: Layer) -> Resolver:
    return Resolver.compile({"CpuBackend": spec_with(*advice)}, layers, [TARGET])


def resolve(advice: Sequence[Advice], *layers: Layer, **facts: object) -> Resolution:
    return compiled(advice, *layers).resolve(make_facts(**facts))


def threads(resolution: Resolution) -> int:
    return resolution.arguments("forward")[CpuOptions].num_threads


class TestValues:
    """The first entry whose condition holds and whose value is known decides."""

    def test_the_first_entry_that_applies_decides(self) -> None:
        facts = {"cpu__available_cores": 8, "cpu__performance_cores": 4, "cpu__physical_cores": 6}
        assert threads(resolve([THREADS, PHYSICAL], **facts)) == 4
        assert threads(resolve([PHYSICAL, THREADS], **facts)) == 6

    def test_an_entry_whose_condition_or_value_is_unknown_does_not_apply(self) -> None:
        assert threads(resolve([THREADS, PHYSICAL], cpu__available_cores=8, cpu__physical_cores=6)) == 6
        assert threads(resolve([THREADS, PHYSICAL], cpu__performance_cores=4, cpu__physical_cores=6)) == 6
        unknown = replace(THREADS, when='power.source == "mains"')
        facts = {"cpu__available_cores": 8, "cpu__performance_cores": 4}
        assert threads(resolve([unknown], **facts)) == 8  # the default follows cpu.available_cores
        assert threads(resolve([unknown], **facts, power__source="battery")) == 8
        assert threads(resolve([unknown], **facts, power__source="mains")) == 4

    def test_without_an_entry_that_applies_the_default_stays(self) -> None:
        assert threads(resolve([THREADS, PHYSICAL])) == 1

    def test_it_beats_the_default_and_every_profile_beats_it(self) -> None:
        facts = {"cpu__physical_cores": 6, "cpu__available_cores": 8}
        assert threads(resolve([PHYSICAL], make_layer(("CpuBackend.num_threads", 3)), **facts)) == 3
        unset = make_layer(("CpuBackend.num_threads", UNSET))
        assert threads(resolve([PHYSICAL], make_layer(("CpuBackend.num_threads", 3)), unset, **facts)) == 6
        held = make_layer(("CpuBackend.num_threads", 3, 'os.name == "linux"'))
        assert threads(resolve([PHYSICAL], held, **facts)) == 6
        assert threads(resolve([PHYSICAL], held, **facts, os__name="linux")) == 3

    @pytest.mark.parametrize(("program_wins", "expected"), [(False, 6), (True, 2)])
    def test_the_backend_ranks_it_beside_the_program(self, program_wins: bool, expected: int) -> None:
        spec = replace(spec_with(PHYSICAL), program_beats_recommendation=program_wins)
        found = Sourced(2, make_layer(("CpuBackend.num_threads", 2)).assignments[0].origin)
        target = replace(TARGET, program={"CpuBackend": {"num_threads": found}})
        resolver = Resolver.compile({"CpuBackend": spec}, [], [target])
        assert threads(resolver.resolve(make_facts(cpu__physical_cores=6))) == expected

    def test_the_function_recommends_other_options_beside_it(self) -> None:
        spec = replace(spec_with(PHYSICAL), recommend=lambda facts: {"scratch_bytes": 4096})
        resolver = Resolver.compile({"CpuBackend": spec}, [], [TARGET])
        options = resolver.resolve(make_facts(cpu__physical_cores=6)).arguments("forward")[CpuOptions]
        assert (options.num_threads, options.scratch_bytes) == (6, 4096)

    def test_advice_and_the_function_for_one_option_are_the_plugins_fault(self) -> None:
        spec = replace(spec_with(PHYSICAL), recommend=lambda facts: {"num_threads": 2})
        resolver = Resolver.compile({"CpuBackend": spec}, [], [TARGET])
        with pytest.raises(PluginCallError) as caught:
            resolver.resolve(make_facts(cpu__physical_cores=6))
        assert caught.value.cause == "it recommends num_threads, which the spec's advice decides"

    def test_values_without_configuration_are_advised_too(self) -> None:
        found = values_without_configuration(spec_with(THREADS, PHYSICAL), {"cpu.physical_cores": 6})
        assert found["num_threads"] == Sourced(6, found["num_threads"].origin)  # type: ignore[union-attr]


class TestProvenance:
    """Explanations name the entry and the facts that it reads."""

    def test_the_origin_has_the_condition_and_the_expression(self) -> None:
        facts = {"cpu__available_cores": 8, "cpu__performance_cores": 4}
        origin = resolve([THREADS], **facts).arguments("forward").origin("CpuBackend", "num_threads")
        assert (origin.kind, origin.source) == (OriginKind.RECOMMENDATION, "CpuBackend")
        assert origin.detail == f"when {THREADS.when}; expr {THREADS.expr}"

    def test_the_reason_of_the_entry_that_decided_is_shown(self) -> None:
        facts = {"cpu__available_cores": 8, "cpu__performance_cores": 4}
        resolution = resolve([THREADS, PHYSICAL], **facts)
        found = resolution.explain("forward:CpuBackend.num_threads")
        assert f"\n  reason: {THREADS.reason}\n" in str(found)
        assert found.to_jsonable()[0]["reason"] == THREADS.reason
        assert THREADS.reason in repr(found.provenance._view().lines)
        for other in (resolve([PHYSICAL], cpu__physical_cores=6), resolve([THREADS])):
            assert "reason" not in other.explain("forward:CpuBackend.num_threads").to_jsonable()[0]

    def test_the_facts_of_every_entry_are_named_even_if_none_applies(self) -> None:
        found = resolve([THREADS, PHYSICAL]).arguments("forward").provenance("CpuBackend", "num_threads")
        assert found.facts == ("cpu.available_cores", "cpu.performance_cores", "cpu.physical_cores")
        assert found.winner.origin.kind is OriginKind.DEFAULT

    def test_other_options_do_not_depend_on_its_facts(self) -> None:
        arguments = resolve([PHYSICAL], cpu__physical_cores=6).arguments("forward")
        assert arguments.provenance("CpuBackend", "scratch_bytes").facts == ()

    def test_a_beaten_recommendation_is_shown(self) -> None:
        layer = make_layer(("CpuBackend.num_threads", 3))
        arguments = resolve([PHYSICAL], layer, cpu__physical_cores=6).arguments("forward")
        (beaten, _) = arguments.provenance("CpuBackend", "num_threads").beaten
        assert (beaten.value, beaten.origin.detail) == (6, "expr cpu.physical_cores")

    def test_an_option_with_a_recommended_value_is_not_default(self) -> None:
        advised = resolve([PHYSICAL], cpu__physical_cores=6).arguments("forward").backends["CpuBackend"]
        silent = resolve([PHYSICAL]).arguments("forward").backends["CpuBackend"]
        assert not advised.is_default("num_threads")
        assert silent.is_default("num_threads")


class TestChangedFacts:
    """Only a fact that an entry reads makes a backend be resolved again."""

    def test_a_changed_fact_changes_the_value(self) -> None:
        resolver = compiled([THREADS, PHYSICAL])
        assert threads(resolver.resolve(make_facts(cpu__physical_cores=6))) == 6
        assert threads(resolver.resolve(make_facts(cpu__physical_cores=5))) == 5
        facts = {"cpu__performance_cores": 4, "cpu__available_cores": 2}
        assert threads(resolver.resolve(make_facts(cpu__physical_cores=5, **facts))) == 2
        assert threads(resolver.resolve(make_facts())) == 1

    def test_a_condition_decides_for_each_device(self) -> None:
        low = Advice("log_level", expr="3", when="power.battery_level < 0.2")
        resolver = compiled([low])
        first = resolver.resolve(make_facts(power__battery_level=0.1))
        second = resolver.resolve(make_facts(power__battery_level=0.15))
        assert first.arguments("forward") == second.arguments("forward")
        third = resolver.resolve(make_facts(power__battery_level=0.5))
        assert third.arguments("forward")[CpuOptions].log_level == 0

    def test_a_pickled_resolution_still_explains_it(self) -> None:
        resolution = pickle.loads(pickle.dumps(resolve([PHYSICAL], cpu__physical_cores=6)))
        assert "(expr cpu.physical_cores)" in str(resolution.explain("forward:CpuBackend.num_threads"))


class TestWrongValues:
    """A value that the option refuses on a device is an error, unless something else sets the option."""

    @pytest.mark.parametrize(
        ("expr", "message"),
        [
            ("cpu.available_cores - 1", "CpuBackend.num_threads: expected an integer >= 1, given 0"),
            ("8 / (cpu.available_cores - 1)", "'8 / (cpu.available_cores - 1)' has no value: 8 / 0 divides"),
        ],
    )
    def test_the_problem_names_the_plugin_and_a_way_out(self, expr: str, message: str) -> None:
        with pytest.raises(OptionError) as caught:
            resolve([Advice("num_threads", expr=expr)], cpu__available_cores=1)
        (problem,) = caught.value.diagnostics
        assert problem.message.startswith(message)
        assert problem.notes[-1] == "the plugin of CpuBackend recommends it"
        assert problem.help == "set CpuBackend.num_threads, and report it to the plugin's author"
        layer = make_layer(("CpuBackend.num_threads", 3))
        advice = [Advice("num_threads", expr=expr)]
        resolution = resolve(advice, layer, cpu__available_cores=1)
        assert threads(resolution) == 3
        beaten = resolution.arguments("forward").provenance("CpuBackend", "num_threads").beaten
        assert [each.value for each in beaten] == [1]

    def test_validating_a_file_does_not_blame_it_for_the_plugin(self) -> None:
        advice = Advice("num_threads", expr="cpu.available_cores - 1")
        layer = make_layer(("CpuBackend.log_level", 3, "cpu.available_cores == 1"))
        assert list(CombinationVerifier(BUILTIN_FACTS).problems(spec_with(advice), [layer])) == []


class TestReading:
    """The texts of all entries are checked before any of them is evaluated."""

    @pytest.mark.parametrize(
        ("entry", "problem", "help"),
        [
            (
                Advice("num_thread", expr="1"),
                "CpuBackend has no option 'num_thread'",
                "did you mean 'num_threads'?",
            ),
            (
                Advice("num_threads", expr="cpu.available_core"),
                "no fact is called 'cpu.available_core'",
                "did you mean 'cpu.available_cores'?",
            ),
            (
                Advice("num_threads", expr="2", when="has(cpu.performance_core)"),
                "no fact is called 'cpu.performance_core'",
                "did you mean 'cpu.performance_cores'?",
            ),
            (
                Advice("num_threads", expr='"four"'),
                "CpuBackend.num_threads: expected an integer >= 1, given an expression of type string",
                "choose with a condition: cpu.available_cores > 4 ? 2 : 1",
            ),
            (
                Advice("num_threads", expr="1", when="cpu.available_cores"),
                "a condition needs a bool, but 'cpu.available_cores' is an int",
                "compare it: cpu.available_cores > 4",
            ),
            (
                Advice("num_threads", expr="1 +"),
                "expected a value, a fact or '(', found the end",
                "write a value after '+'",
            ),
        ],
    )
    def test_a_wrong_entry_is_reported_with_a_way_out(self, entry: Advice, problem: str, help: str) -> None:
        (found,) = AdviceReader(BUILTIN_FACTS).read(spec_with(entry, PHYSICAL))[1]
        assert (found.message, found.help) == (problem, help)
        assert found.spans[0].file == f"advice on CpuBackend.{entry.option}"
        with pytest.raises(PluginCallError, match="advice of plugin 'CpuBackend'"):
            compiled([entry])

    def test_the_problems_of_all_entries_are_found(self) -> None:
        wrong = [Advice("num_threads", expr="cpu.a", when="cpu.b == 1"), Advice("log", expr="1")]
        assert len(AdviceReader(BUILTIN_FACTS).read(spec_with(*wrong))[1]) == 3

    def test_an_option_is_named_by_its_current_name(self) -> None:
        spec = replace(SPECS["NpuBackend"], recommend=None, advice=[Advice("power", expr='"high"')])
        (found,) = AdviceReader(BUILTIN_FACTS).read(spec)[1]
        assert found.message == "NpuBackend.power was renamed to mode"

    def test_the_facts_of_plugins_may_be_named(self) -> None:
        fact = FactInfo(
            name="acme.cores", type=FactType.INT, doc="Cores.", volatility=Volatility.STATIC, minimum=1
        )
        spec, registry = spec_with(Advice("num_threads", expr="acme.cores")), BUILTIN_FACTS.extended([fact])
        assert AdviceReader(BUILTIN_FACTS).read(spec)[1]
        (entry,) = AdviceReader(registry).entries(spec)
        assert (entry.facts, entry.info.name) == ({"acme.cores"}, "num_threads")

    def test_entries_have_parsed_expressions_for_others_to_compile(self) -> None:
        first, second = AdviceReader(BUILTIN_FACTS).entries(spec_with(THREADS, PHYSICAL))
        assert first.condition is not None
        assert (first.value.source, first.condition.source) == (THREADS.expr, THREADS.when)
        assert (first.reason, second.reason, second.condition) == (THREADS.reason, "", None)


class TestDeclaration:
    """An entry is made of texts."""

    @pytest.mark.parametrize(
        ("fields", "error", "message"),
        [
            ({"option": "", "expr": "1"}, ValueError, "option of an Advice is empty"),
            ({"option": "a", "expr": " "}, ValueError, "expr of an Advice is empty"),
            ({"option": "a", "expr": 4}, TypeError, "expr of an Advice must be a text, not 4"),
            ({"option": "a", "expr": "1", "when": True}, TypeError, "when of an Advice must be a text"),
            ({"option": "a", "expr": "1", "when": ""}, ValueError, "when of an Advice is empty"),
            ({"option": "a", "expr": "1", "reason": None}, TypeError, "reason of an Advice must be a text"),
        ],
    )
    def test_other_values_are_refused(
        self, fields: dict[str, object], error: type[Exception], message: str
    ) -> None:
        with pytest.raises(error, match=message):
            Advice(**fields)  # type: ignore[arg-type]  # wrong on purpose


class PairedOptions(CpuOptions):
    """Options of which two must agree."""

    @model_validator(mode="after")
    def _check(self) -> PairedOptions:
        if self.scratch_bytes < 1024 * self.num_threads:
            raise ValueError(
                f"scratch_bytes must be at least 1024 for each of num_threads, {self.num_threads}"
            )
        return self


class TestConflicts:
    """A conflict with a recommended value says so, since no file has it."""

    SPEC = replace(spec_with(PHYSICAL), options=PairedOptions)
    FIX = "set num_threads too: what is set beats what is recommended"

    def found(self, spec: BackendSpec, *lines: tuple[str, object], **facts: object) -> Diagnostic:
        resolver = Resolver.compile({"CpuBackend": spec}, [make_layer(*lines)], [TARGET])
        with pytest.raises(OptionError) as raised:
            resolver.resolve(make_facts(**facts))
        (diagnostic,) = raised.value.diagnostics
        return diagnostic

    def test_it_names_the_recommended_value(self) -> None:
        found = self.found(self.SPEC, ("CpuBackend.scratch_bytes", 2048), cpu__physical_cores=6)
        assert found.code == "option-conflict"
        assert found.notes == ("num_threads = 6 is recommended on such a device",)
        assert found.help == self.FIX
        assert [span.text for span in found.spans] == ["CpuBackend.scratch_bytes"]

    def test_so_does_one_with_a_value_of_the_vendors_function(self) -> None:
        spec = replace(SPECS["CpuBackend"], options=PairedOptions, recommend=lambda facts: {"num_threads": 6})
        found = self.found(spec, ("CpuBackend.scratch_bytes", 2048))
        assert (found.notes, found.help) == (("num_threads = 6 is recommended on such a device",), self.FIX)

    def test_values_that_were_set_are_not_called_recommended(self) -> None:
        lines = (("CpuBackend.scratch_bytes", 2048), ("CpuBackend.num_threads", 4))
        found = self.found(self.SPEC, *lines, cpu__physical_cores=6)
        assert (found.notes, found.help) == ((), None)
