"""The merge laws, provenance, round trips, and that what is remembered equals what is computed."""

from __future__ import annotations

import json
import pickle
from collections.abc import Mapping
from typing import Any

from effort import scaled
from hypothesis import given, settings
from hypothesis import strategies as st
from resolving import SPECS, make_facts, make_layer

from etconfig.base.provenance import OriginKind
from etconfig.errors import ConfigError
from etconfig.expression import Expression, ExpressionParser
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.profile.document import parse_document
from etconfig.profile.layer import UNSET, Layer
from etconfig.profile.layers import layers_of
from etconfig.profile.profile import parse_profile
from etconfig.resolver.compiling.resolver import Resolver, Target
from etconfig.resolver.deciding.arguments import ANY_METHOD
from etconfig.resolver.deciding.resolution import Resolution
from etconfig.resolver.explaining.difference import reported_values
from etconfig.resolver.explaining.saved import load_saved_resolution

TARGETS = [
    Target(method=method, backends=tuple(SPECS), instances=("left",) if method == "f" else ())
    for method in (ANY_METHOD, "f", "g")
]
SCOPES = st.sampled_from(["", "f:", "g:", "?:", "f@left:"])
CONDITIONS = [
    'power.source == "battery"',
    "power.battery_level < 0.2",
    "cpu.available_cores > 2 && memory.total > 100",
    "has(memory.total)",
]
THREADS = st.integers(1, 9) | st.sampled_from(
    [{"expr": "min(cpu.available_cores, 4)"}, {"expr": "memory.total > 100 ? 2 : 3"}, UNSET]
)
LABELS = st.dictionaries(st.sampled_from("abc"), st.sampled_from("123"), max_size=2) | st.just(UNSET)
ASSIGNMENTS = st.tuples(
    SCOPES,
    st.one_of(
        st.tuples(st.just("CpuBackend.num_threads"), THREADS),
        st.tuples(st.just("CpuBackend.labels"), LABELS),
        st.tuples(st.just("NpuBackend.core"), st.integers(0, 3)),
        st.tuples(st.just("NpuBackend.mode"), st.sampled_from(["low", "high", UNSET])),
    ),
    st.none() | st.sampled_from(CONDITIONS),
)
FACTS = st.fixed_dictionaries(
    {"cpu__available_cores": st.integers(1, 8)},
    optional={
        "memory__total": st.sampled_from([50, 200]),
        "power__source": st.sampled_from(["battery", "mains"]),
        "power__battery_level": st.sampled_from([0.1, 0.9]),
    },
)


some = settings(max_examples=scaled(20))


def layer_of(assignments: list[Any], name: str) -> Layer:
    lines = [
        (scope + option, value, *([condition] if condition else []))
        for scope, (option, value), condition in assignments
    ]
    return make_layer(*lines, name=name)


LAYERS = st.lists(st.lists(ASSIGNMENTS, max_size=5), max_size=4).map(
    lambda layers: [layer_of(assignments, f"layer{i}") for i, assignments in enumerate(layers)]
)
BASE = make_layer(("NpuBackend.core", 0), name="base")


def compile_layers(layers: list[Layer]) -> Resolver:
    return Resolver.compile(SPECS, [BASE, *layers], TARGETS)


def outcome(resolver: Resolver, facts: Mapping[str, object]) -> object:
    """The result of a resolve: plain data with every provenance, or the problems."""
    try:
        return resolver.resolve(make_facts(**facts)).to_jsonable()
    except ConfigError as error:
        return [str(problem) for problem in error.diagnostics]


def resolved(layers: list[Layer], facts: Mapping[str, object]) -> Resolution | None:
    """The resolution, or None if an expression needs an unknown fact."""
    try:
        return compile_layers(layers).resolve(make_facts(**facts))
    except ConfigError:
        return None


def joined(first: Layer, second: Layer) -> Layer:
    """One layer with the assignments of two."""
    return Layer(kind=OriginKind.PROFILE, name="joined", assignments=first.assignments + second.assignments)


class TestMergeLaws:
    """Layers merge like an ordered sum: the empty layer changes nothing, and the last one wins."""

    @some
    @given(LAYERS, FACTS, st.integers(0, 4))
    def test_an_empty_layer_changes_nothing(
        self, layers: list[Layer], facts: Mapping[str, object], place: int
    ) -> None:
        with_empty = [*layers[:place], make_layer(name="empty"), *layers[place:]]
        assert resolved(with_empty, facts) == resolved(layers, facts)

    @some
    @given(LAYERS, FACTS)
    def test_a_layer_that_is_repeated_counts_once(
        self, layers: list[Layer], facts: Mapping[str, object]
    ) -> None:
        assert resolved([*layers, *layers[-1:]], facts) == resolved(layers, facts)

    @some
    @given(LAYERS, FACTS, st.integers(1, 9))
    def test_the_last_unconditional_value_wins(
        self, layers: list[Layer], facts: Mapping[str, object], threads: int
    ) -> None:
        last = make_layer(("CpuBackend.num_threads", threads), name="last")
        resolution = resolved([*layers, last], facts)
        assert resolution is not None
        for arguments in resolution:
            assert arguments["CpuBackend"].num_threads == threads  # type: ignore[attr-defined]  # CpuOptions
            assert arguments.origin("CpuBackend", "num_threads").source == "last.toml"

    @some
    @given(LAYERS, FACTS, st.integers(0, 4))
    def test_it_does_not_matter_which_neighbors_merge_first(
        self, layers: list[Layer], facts: Mapping[str, object], place: int
    ) -> None:
        pair = layers[place : place + 2]
        if len(pair) == 2:
            grouped = [*layers[:place], joined(*pair), *layers[place + 2 :]]
            assert resolved(grouped, facts) == resolved(layers, facts)


class TestProvenance:
    """Replaying the reported origin gives the value."""

    @some
    @given(LAYERS, FACTS)
    def test_the_assignment_at_the_origin_gives_the_value(
        self, layers: list[Layer], facts: Mapping[str, object]
    ) -> None:
        resolution = resolved(layers, facts)
        if resolution is None:
            return
        assignments = {id(a.origin): a for layer in [BASE, *layers] for a in layer.assignments}
        known = make_facts(**facts).values
        for arguments in resolution:
            for found in arguments.backends.values():
                for name in found.candidates:
                    provenance = found.provenance(name)
                    assert provenance.winner.value == getattr(found.options, name)
                    assert found.origin(name) == provenance.winner.origin
                    assert found.origins(name) == provenance.origins
                    if provenance.winner.origin.kind is not OriginKind.PROFILE:
                        continue
                    assignment = assignments[id(provenance.winner.origin)]
                    assert assignment.condition is None or assignment.condition.evaluate(known) is True
                    raw = assignment.value
                    value = raw.evaluate(known) if isinstance(raw, Expression) else raw
                    if isinstance(value, dict):
                        assert value.items() <= dict(provenance.winner.value).items()  # type: ignore[call-overload]  # a table
                    else:
                        assert value == getattr(provenance.winner.value, "value", provenance.winner.value)


class TestRoundTrips:
    """A resolution survives pickle, JSON and TOML."""

    @some
    @given(LAYERS, FACTS)
    def test_pickle(self, layers: list[Layer], facts: Mapping[str, object]) -> None:
        resolution = resolved(layers, facts)
        copy = pickle.loads(pickle.dumps(resolution))
        assert copy == resolution
        assert resolution is None or copy.to_jsonable() == resolution.to_jsonable()

    @some
    @given(layers=LAYERS, facts=FACTS)
    def test_json(self, tmp_path_factory: Any, layers: list[Layer], facts: Mapping[str, object]) -> None:
        resolution = resolved(layers, facts)
        if resolution is not None:
            path = tmp_path_factory.getbasetemp() / "saved.json"
            path.write_text(json.dumps(resolution.to_jsonable()))
            saved = {p: (told.value, told.origin) for p, told in load_saved_resolution(path).items()}
            assert saved == {p: (told.value, told.origin) for p, told in reported_values(resolution).items()}

    @some
    @given(LAYERS, FACTS)
    def test_toml(self, layers: list[Layer], facts: Mapping[str, object]) -> None:
        resolution = resolved(layers, facts)
        if resolution is not None:
            text = resolution.to_toml()
            profile = parse_profile(parse_document(text, "resolved.toml"), ExpressionParser(BUILTIN_FACTS))
            again = Resolver.compile(SPECS, layers_of([profile]), TARGETS).resolve(make_facts())
            assert again == resolution
            assert again.fingerprint() == resolution.fingerprint()


class TestMemo:
    """Remembered results never change the result of a resolve."""

    @some
    @given(LAYERS, st.lists(FACTS, min_size=2, max_size=6))
    def test_a_used_resolver_gives_what_a_fresh_one_gives(
        self, layers: list[Layer], sheets: list[Mapping[str, object]]
    ) -> None:
        used = compile_layers(layers)
        for facts in sheets:
            assert outcome(used, facts) == outcome(compile_layers(layers), facts)
