"""Advice compared with plain Python: that of the plugins here, and random entries on random devices."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import pytest
from effort import scaled
from etconfig_reference.plugin import SPECS as REFERENCE
from etconfig_upstream.qnn import SPEC as QNN
from etconfig_upstream.xnnpack import SPEC as XNNPACK

import etconfig
from etconfig.base.provenance import OriginKind, Sourced
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.plugin.v1 import Advice, ApiRange, BackendOptions, BackendSpec, Ge, option
from etconfig.resolver.compiling.resolver import Resolver, Target
from etconfig.resolver.deciding.advice import AdviceReader
from etconfig.resolver.deciding.unconfigured import values_without_configuration
from etconfig.resolver.proving.advice_check import verify_advice

ROOT = Path(__file__).parents[2]
SHEETS = sorted([*(ROOT / "sheets").rglob("*.json"), *(ROOT / "tests" / "data" / "sheets").glob("*.json")])
Facts = Mapping[str, Any]
SAMPLES = scaled(2000)


def threads(facts: Facts) -> dict[str, object]:
    """One thread per performance core, but no more than this process may use."""
    known = [facts.get("cpu.available_cores")]
    known.append(facts.get("cpu.performance_cores", facts.get("cpu.physical_cores")))
    counts = [each for each in known if each is not None]
    return {"num_threads": max(1, min(counts))} if counts else {}


def clocking(facts: Facts) -> dict[str, object]:
    """Full speed on mains, a balance on battery, and saving power when it is low."""
    source, level = facts.get("power.source"), facts.get("power.battery_level")
    if source == "mains":
        return {"htp_performance_mode": "sustained_high_performance"}
    if source != "battery":
        return {}
    return {"htp_performance_mode": "power_saver" if level is not None and level < 0.2 else "balanced"}


def tiles(facts: Facts) -> dict[str, object]:
    """Tiles of half the level 2 cache."""
    cache = facts.get("cpu.cache.l2")
    return {} if cache is None else {"scratch_bytes": max(4096, cache // 2)}


PLUGINS = [
    pytest.param(XNNPACK, threads, id="XnnpackBackend"),
    pytest.param(QNN, clocking, id="QnnBackend"),
    pytest.param(REFERENCE["ReferenceCpuBackend"], tiles, id="ReferenceCpuBackend"),
]


def recommended(spec: BackendSpec, facts: Facts) -> dict[str, object]:
    """The values that a plugin recommends, by option, as plain data."""
    found = values_without_configuration(spec, facts)
    return {
        name: getattr(each.value, "value", each.value)
        for name, each in found.items()
        if isinstance(each, Sourced) and each.origin.kind is OriginKind.RECOMMENDATION
    }


def random_facts(rng: random.Random) -> dict[str, object]:
    """A device on which each fact is known or not."""
    facts: dict[str, object] = {
        "cpu.available_cores": rng.randint(1, 12),
        "cpu.performance_cores": rng.randint(1, 12),
        "cpu.physical_cores": rng.randint(1, 12),
        "cpu.cache.l2": rng.choice([0, 100, 8191, 8193, 512 * 1024, rng.randrange(1 << 24)]),
        "power.source": rng.choice(["mains", "battery"]),
        "power.battery_level": rng.choice([0.0, 0.1999, 0.2, 0.2001, 1.0, rng.random()]),
    }
    return {name: value for name, value in facts.items() if rng.random() < 0.7}


@pytest.mark.parametrize(("spec", "expected"), PLUGINS)
class TestPlugins:
    """The plugins' entries recommend what the plain functions above do."""

    def test_on_every_device_sheet(self, spec: BackendSpec, expected: Callable[[Facts], object]) -> None:
        assert len(SHEETS) >= 40
        for path in SHEETS:
            facts = etconfig.load_fact_sheet(path).values
            assert recommended(spec, facts) == expected(facts), path

    def test_on_random_devices(self, spec: BackendSpec, expected: Callable[[Facts], object]) -> None:
        rng = random.Random(spec.id)
        for _ in range(SAMPLES):
            facts = random_facts(rng)
            assert recommended(spec, facts) == expected(facts), facts

    def test_no_device_gets_a_wrong_value(
        self, spec: BackendSpec, expected: Callable[[Facts], object]
    ) -> None:
        assert spec.recommend is None
        assert list(verify_advice(spec, AdviceReader(BUILTIN_FACTS))) == []


class Options(BackendOptions):
    """Options that follow a fact, or are required, or have a default."""

    a: Annotated[int, Ge(0)] = option(9, from_fact="cpu.physical_cores", applies="load", doc="A number.")
    b: int | None = option(None, applies="load", doc="Another number.")


SPEC = BackendSpec(id="AnyBackend", doc="Any.", options=Options, api=ApiRange(1, 1))

Known = Callable[[Facts], Any]
VALUES: list[tuple[str, Known]] = [
    ("7", lambda facts: 7),
    ("cpu.available_cores", lambda facts: facts.get("cpu.available_cores")),
    ("has(cpu.performance_cores) ? 3 : 4", lambda facts: 3 if "cpu.performance_cores" in facts else 4),
    (
        "min(cpu.available_cores, cpu.performance_cores)",
        lambda facts: (
            min(facts["cpu.available_cores"], facts["cpu.performance_cores"])
            if {"cpu.available_cores", "cpu.performance_cores"} <= facts.keys()
            else None
        ),
    ),
]
CONDITIONS: list[tuple[str | None, Known]] = [
    (None, lambda facts: True),
    ('power.source == "battery"', lambda facts: facts.get("power.source") == "battery"),
    (
        '!(power.source == "battery")',
        lambda facts: facts.get("power.source", "battery") != "battery",
    ),
    (
        'power.source == "battery" || cpu.available_cores > 6',
        lambda facts: facts.get("power.source") == "battery" or facts.get("cpu.available_cores", 0) > 6,
    ),
]


class TestRandomEntries:
    """Of each option's entries the first one decides whose condition is true and whose value is known."""

    def test_resolving_agrees_with_a_plain_model_as_facts_change(self) -> None:
        rng = random.Random(15)
        for _ in range(200):
            entries = [
                (rng.choice("ab"), rng.choice(CONDITIONS), rng.choice(VALUES))
                for _ in range(rng.randrange(5))
            ]
            advice = [Advice(name, expr=value[0], when=when[0]) for name, when, value in entries]
            spec = replace(SPEC, advice=advice)
            resolver = Resolver.compile({spec.id: spec}, [], [Target(method="m", backends=(spec.id,))])
            for _ in range(10):
                facts = random_facts(rng)
                expected = {"a": facts.get("cpu.physical_cores", 9), "b": None}
                for name, (_, holds), (_, value) in reversed(entries):
                    if holds(facts) and value(facts) is not None:
                        expected[name] = value(facts)
                sheet = etconfig.FactSheet.empty().with_overrides(facts)  # type: ignore[arg-type]
                found = resolver.resolve(sheet).arguments("m")[Options]
                assert {"a": found.a, "b": found.b} == expected, (advice, facts)
