"""Values that a program fixes ahead of time: between the default and the recommendation, or above it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from resolving import SPECS, CpuOptions, make_facts, make_layer

from etconfig.base.option_path import parse_option_path
from etconfig.base.provenance import OriginKind
from etconfig.diagnostics import Severity
from etconfig.errors import PluginCallError
from etconfig.plugin.v1 import ApiRange, BackendSpec, CompileSpecs
from etconfig.profile.layer import UNSET, Layer
from etconfig.resolver.compiling.program_values import read_program_values
from etconfig.resolver.compiling.resolver import Resolver, Target
from etconfig.resolver.deciding.resolution import Resolution
from etconfig.resolver.explaining.explain import explain_option


def from_program(compile_specs: CompileSpecs) -> Mapping[str, object]:
    """One option for each key."""
    level, labels = compile_specs.get("level"), compile_specs.get("label")
    found: dict[str, object] = {} if level is None else {"log_level": int(level)}
    return found if labels is None else {**found, "labels": {"program": labels.decode()}}


def recommend(facts: Mapping[str, object]) -> Mapping[str, object]:
    """Advise on mains."""
    return {"log_level": 2, "labels": {"vendor": "a"}} if facts.get("power.source") == "mains" else {}


SPEC = BackendSpec(
    id="CpuBackend",
    doc="CPU.",
    options=CpuOptions,
    api=ApiRange(1, 1),
    recommend=recommend,
    from_program=from_program,
)


def specs_of(values: Mapping[str, bytes]) -> CompileSpecs:
    return CompileSpecs(values.items())


def resolve(
    delegates: Mapping[str, list[Mapping[str, bytes]]],
    *layers: Layer,
    spec: BackendSpec = SPEC,
    facts: Mapping[str, Any] | None = None,
    instances: tuple[str, ...] = (),
) -> Resolution:
    """Resolve methods, each with the compile specs of its delegates."""
    targets = [
        Target(
            method=method,
            backends=("CpuBackend",),
            instances=instances,
            program={"CpuBackend": read_program_values(spec, list(map(specs_of, found)), "model.pte")},
        )
        for method, found in delegates.items()
    ]
    return Resolver.compile({"CpuBackend": spec}, layers, targets).resolve(make_facts(**(facts or {})))


def level_of(resolution: Resolution, method: str = "forward", instance: str | None = None) -> int:
    options = resolution.arguments(method, instance)[CpuOptions]
    return options.log_level


MAINS = {"power.source": "mains"}


class TestRank:
    """A backend declares whether its program beats the recommendation."""

    def test_it_beats_the_default(self) -> None:
        resolution = resolve({"forward": [{"level": b"7"}]})
        assert level_of(resolution) == 7
        assert resolution.arguments("forward").origin("CpuBackend", "log_level").kind is OriginKind.PROGRAM

    def test_the_recommendation_beats_it_unless_the_backend_says_otherwise(self) -> None:
        first = replace(SPEC, program_beats_recommendation=True)
        assert level_of(resolve({"forward": [{"level": b"7"}]}, facts=MAINS)) == 2
        assert level_of(resolve({"forward": [{"level": b"7"}]}, facts=MAINS, spec=first)) == 7

    def test_every_layer_beats_it_and_unset_brings_it_back(self) -> None:
        program = {"forward": [{"level": b"7"}]}
        setting = make_layer(("CpuBackend.log_level", 3))
        assert level_of(resolve(program, setting)) == 3
        assert level_of(resolve(program, setting, make_layer(("CpuBackend.log_level", UNSET)))) == 7

    def test_tables_merge(self) -> None:
        resolution = resolve(
            {"forward": [{"label": b"p"}]}, make_layer(("CpuBackend.labels", {"own": "x"})), facts=MAINS
        )
        labels = resolution.arguments("forward")[CpuOptions].labels
        assert labels == {"program": "p", "vendor": "a", "own": "x"}

    @pytest.mark.parametrize("is_first", [False, True])
    def test_explain_lists_it_at_its_rank(self, is_first: bool) -> None:
        spec = replace(SPEC, program_beats_recommendation=is_first)
        resolution = resolve(
            {"forward": [{"level": b"7"}]},
            make_layer(("CpuBackend.log_level", 3)),
            facts=MAINS,
            spec=spec,
        )
        text = explain_option(resolution, parse_option_path("forward:CpuBackend.log_level"))
        program = "  beat 7 from program model.pte (compile spec level)"
        advice = "  beat 2 from recommendation CpuBackend"
        ranked = [program, advice] if is_first else [advice, program]
        assert text.splitlines()[2:5] == [*ranked, "  beat 0 from default CpuOptions"]


class TestMethods:
    """Each method has the values of its own delegates."""

    def test_methods_differ(self) -> None:
        resolution = resolve({"forward": [{"label": b"f"}], "embed": [{"label": b"e"}], "plain": [{}]})
        labels = {a.method: a["CpuBackend"].to_jsonable()["labels"] for a in resolution}
        assert labels == {"forward": {"program": "f"}, "embed": {"program": "e"}, "plain": {}}

    def test_instances_share_the_values_of_their_method(self) -> None:
        resolution = resolve(
            {"forward": [{"level": b"7"}]},
            make_layer(("forward@left:CpuBackend.scratch_bytes", 1)),
            instances=("left",),
        )
        assert level_of(resolution) == level_of(resolution, instance="left") == 7

    def test_delegates_that_agree_give_one_value(self) -> None:
        assert level_of(resolve({"forward": [{"level": b"7"}, {"level": b"7", "label": b"x"}]})) == 7

    @pytest.mark.parametrize("other", [{"level": b"6"}, {}])
    def test_delegates_that_disagree_give_none(self, other: Mapping[str, bytes]) -> None:
        assert level_of(resolve({"forward": [{"level": b"7"}, other]})) == 0

    def test_a_method_without_delegates_has_none(self) -> None:
        assert level_of(resolve({"forward": []})) == 0


class TestRepeatedKeys:
    """A program may repeat a key; a reader sees all values, in order."""

    REPEATED = CompileSpecs([("level", b"3"), ("label", b"p"), ("level", b"7")])

    def test_a_reader_may_take_all(self) -> None:
        spec = replace(SPEC, from_program=lambda specs: {"log_level": max(map(int, specs.every("level")))})
        values = read_program_values(spec, [self.REPEATED], "model.pte")
        assert values["log_level"].value == 7
        assert str(values["log_level"].origin) == "program model.pte (compile spec level)"

    def test_one_value_of_a_repeated_key_is_an_error(self) -> None:
        with pytest.raises(PluginCallError, match="compile spec 'level' appears 2 times"):
            read_program_values(SPEC, [self.REPEATED], "model.pte")

    def test_delegates_differ_by_order(self) -> None:
        spec = replace(SPEC, from_program=lambda specs: {"log_level": int(specs.every("level")[-1])})
        swapped = CompileSpecs(reversed(self.REPEATED.in_order))
        assert read_program_values(spec, [self.REPEATED, swapped], "model.pte") == {}


class TestConflicts:
    """A setting that replaces a value of the program by another one is a warning."""

    PROGRAM: Mapping[str, list[Mapping[str, bytes]]] = {"forward": [{"level": b"7", "label": b"p"}]}

    @pytest.mark.parametrize(
        ("option", "value", "count"),
        [
            ("log_level", 3, 1),
            ("log_level", 7, 0),
            ("log_level", UNSET, 0),
            ("labels", {"own": "x"}, 0),
            ("labels", {"program": "p"}, 0),
            ("labels", {"program": "q"}, 1),
            ("scratch_bytes", 1, 0),
        ],
    )
    def test_a_setting(self, option: str, value: object, count: int) -> None:
        resolution = resolve(self.PROGRAM, make_layer((f"CpuBackend.{option}", value)))
        assert [problem.code for problem in resolution.warnings] == ["program-conflict"] * count

    def test_it_names_the_instance_both_values_and_the_compile_spec(self) -> None:
        (warning,) = resolve({"forward": [{"level": b"7"}]}, make_layer(("CpuBackend.log_level", 3))).warnings
        assert warning.message == (
            "forward:CpuBackend.log_level = 3 replaces 7 of program model.pte (compile spec level)"
        )
        assert warning.severity is Severity.WARNING
        assert warning.spans

    def test_one_place_is_reported_once(self) -> None:
        methods = {"forward": self.PROGRAM["forward"], "embed": self.PROGRAM["forward"]}
        resolution = resolve(methods, make_layer(("CpuBackend.log_level", 3)), instances=("left",))
        assert len(resolution.warnings) == 1

    def test_a_setting_that_another_one_hides_is_none(self) -> None:
        layers = (make_layer(("CpuBackend.log_level", 3)), make_layer(("CpuBackend.log_level", 7)))
        assert resolve(self.PROGRAM, *layers).warnings == ()

    @pytest.mark.parametrize(("battery", "count"), [(0.9, 0), (0.1, 1)])
    def test_an_expression_is_judged_on_the_device(self, battery: float, count: int) -> None:
        layer = make_layer(("CpuBackend.log_level", {"expr": "power.battery_level < 0.5 ? 1 : 7"}))
        resolution = resolve(self.PROGRAM, layer, facts={"power.battery_level": battery})
        assert [problem.code for problem in resolution.warnings] == ["program-conflict"] * count


class TestFailures:
    """Compile specs that a backend cannot read are an error that names the program."""

    @pytest.mark.parametrize(
        ("read", "cause"),
        [
            (lambda specs: {"log_level": int(specs["level"])}, "ValueError: invalid literal"),
            (lambda specs: {"log_level": "high"}, "expected an integer, given 'high'"),
            (lambda specs: {"level": 1}, "CpuBackend has no option 'level'"),
            (lambda specs: 3, "TypeError: 'int' object is not iterable"),
        ],
    )
    def test_the_error_has_the_cause(self, read: Callable[[Any], Any], cause: str) -> None:
        spec = replace(SPEC, from_program=read)
        with pytest.raises(PluginCallError) as caught:
            read_program_values(spec, [specs_of({"level": b"x"})], "model.pte")
        assert caught.value.call == "from_program"
        assert cause in caught.value.cause
        assert "etconfig inspect model.pte" in str(caught.value.help)

    def test_a_program_in_memory_cannot_be_inspected_by_path(self) -> None:
        spec = replace(SPEC, from_program=lambda specs: {"log_level": specs["level"]})
        with pytest.raises(PluginCallError) as caught:
            read_program_values(spec, [CompileSpecs()], None)
        assert str(caught.value.help).startswith("look at the compile specs; if they are right")


def test_backends_that_read_nothing_have_none() -> None:
    assert read_program_values(SPECS["NpuBackend"], [specs_of({"level": b"1"})], "model.pte") == {}
