"""`LiveArguments` on random sequences of facts, compared with a model written from `docs/python.md`.

After each refresh, options that apply at execute are those of the profile that the facts select; options that
apply at load stay as they were when the method was loaded.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from command_line import DIGITS
from effort import seeds

import etconfig
from etconfig.base.provenance import Origin, OriginKind, Sourced
from etconfig.errors import ProfileError
from etconfig.facts.sheet import FactSheet

Facts = Mapping[str, Any]
Values = Mapping[str, Any]

PROFILES = {
    "base": '[profile]\nname = "app/base"\n[options.ReferenceCpuBackend]\nnum_threads = 1\n',
    "battery": """\
[profile]
name = "app/battery"
extends = ["app/base"]
match = 'power.source == "battery"'
[options.ReferenceNpuBackend]
power_mode = "low"
core = 1
""",
    "mains": """\
[profile]
name = "app/mains"
extends = ["app/base"]
match = 'power.source == "mains"'
[options.ReferenceNpuBackend]
power_mode = "high"
core = 2
[options.ReferenceCpuBackend]
num_threads = { expr = "cpu.available_cores" }
""",
    "dock": """\
[profile]
name = "app/dock"
extends = ["app/mains"]
match = 'power.source == "mains" && cpu.available_cores > 4'
[facts]
"cpu.cache.l2" = 1048576
[options.ReferenceNpuBackend]
core = 3
""",
    "many": """\
[profile]
name = "app/many"
match = 'cpu.available_cores > 6'
[options.ReferenceCpuBackend]
num_threads = 7
""",
}
BUNDLED = "generic/any"
METHODS = ("forward", "embed")
AT_EXECUTE = {"power_mode", "num_threads"}
DEFAULTS = {"power_mode": "balanced", "core": 0, "scratch_bytes": 1 << 20}


# --- the model ----------------------------------------------------------------------------------


def selected(facts: Facts) -> str | None:
    """The profile that `auto` selects, None if two that do not extend each other match."""
    cores, source = facts["cpu.available_cores"], facts.get("power.source")
    found = [f"app/{source}"] if source else []
    if source == "mains" and cores > 4:
        found = ["app/dock"]
    if cores > 6:
        found.append("app/many")
    if len(found) > 1:
        return None
    return found[0] if found else BUNDLED


def configured(profile: str, facts: Facts) -> Values:
    """The options of `forward`."""
    cores = facts["cpu.available_cores"]
    own: Values = {
        "app/battery": {"power_mode": "low", "core": 1, "num_threads": 1},
        "app/mains": {"power_mode": "high", "core": 2, "num_threads": cores},
        "app/dock": {"power_mode": "high", "core": 3, "num_threads": cores, "scratch_bytes": 1 << 19},
        "app/many": {"num_threads": 7},
        BUNDLED: {"num_threads": cores},
    }[profile]
    return {**DEFAULTS, **own}


def of_method(method: str, values: Values) -> Values:
    """Only `forward` delegates to the CPU."""
    return values if method == "forward" else {name: values[name] for name in ("power_mode", "core")}


# --- the program ----------------------------------------------------------------------------------


def sheet(facts: Facts) -> FactSheet:
    origin = Origin(OriginKind.SHEET, "test")
    return FactSheet.empty().with_overrides({name: Sourced(v, origin) for name, v in facts.items()})


def in_force(method: etconfig.Method) -> Values:
    names = of_method(method.name, {**DEFAULTS, "num_threads": 0})
    found: dict[str, Any] = {}
    for backend in ("ReferenceNpuBackend", "ReferenceCpuBackend")[: 2 if method.name == "forward" else 1]:
        found |= {name: v for name, v in method.options(backend).to_jsonable().items() if name in names}
    return found


def random_facts(rng: random.Random, before: Facts) -> Facts:
    """Facts of which mostly one has changed."""
    facts = dict(before)
    if rng.random() < 0.6:
        facts["cpu.available_cores"] = rng.randint(1, 8)
    if rng.random() < 0.5:
        facts.pop("power.source", None)
        facts |= rng.choice([{}, {"power.source": "battery"}, {"power.source": "mains"}])
    return facts


@pytest.fixture
def program(tmp_path: Path) -> Iterator[etconfig.LoadedProgram]:
    (tmp_path / "profiles" / "app").mkdir(parents=True)
    for name, text in PROFILES.items():
        (tmp_path / "profiles" / "app" / f"{name}.toml").write_text(text)
    installation = etconfig.Installation(None, environ={}, profile_directories=[tmp_path / "profiles"])
    with etconfig.load_program(DIGITS / "digits.pte", installation=installation) as loaded:
        yield loaded


class Simulation:
    """Methods that follow the facts, and what the model expects of them."""

    def __init__(self, program: etconfig.LoadedProgram, facts: Facts, stack: ExitStack) -> None:
        self.program, self.facts, self.stack = program, facts, stack
        self.profile = selected(facts) or ""
        self.live = etconfig.LiveArguments(program, facts=sheet(facts))
        self.methods: dict[str, etconfig.Method] = {}
        self.loaded: dict[str, Values] = {}
        for name in METHODS:
            self.reload(name)

    def reload(self, name: str) -> None:
        if name in self.methods:
            self.methods[name].close()
        method = self.program.load_method(name, self.live.arguments(name))
        self.methods[name] = self.stack.enter_context(method)
        self.live.attach(method)
        self.loaded[name] = of_method(name, configured(self.profile, self.facts))
        assert in_force(method) == self.loaded[name]

    def refresh(self, facts: Facts) -> None:
        profile = selected(facts)
        if profile is None:
            with pytest.raises(ProfileError, match="none extends the others"):
                self.live.refresh(sheet(facts))
            assert self.live.resolution.profile == self.profile
            return
        before = {name: in_force(method) for name, method in self.methods.items()}
        report = self.live.refresh(sheet(facts))
        change = report.profile
        assert (change and (change.old, change.new)) == (
            None if profile == self.profile else (self.profile, profile)
        )
        self.profile, self.facts = profile, facts
        wanted = {name: of_method(name, configured(profile, facts)) for name in METHODS}
        applied = {
            (name, option)
            for name in METHODS
            for option in AT_EXECUTE & wanted[name].keys()
            if wanted[name][option] != before[name][option]
        }
        stale = {
            (name, option)
            for name in METHODS
            for option in wanted[name].keys() - AT_EXECUTE
            if wanted[name][option] != self.loaded[name][option]
        }
        assert {(str(c.path.method), c.path.option) for c in report.applied} == applied
        assert {(str(c.path.method), c.path.option) for c in report.needs_reload} == stale
        assert (report.postponed, report.refused) == ((), ())

    def check(self) -> None:
        assert self.live.resolution.profile == self.profile
        for name, method in self.methods.items():
            wanted = of_method(name, configured(self.profile, self.facts))
            kept = {o: v for o, v in self.loaded[name].items() if o not in AT_EXECUTE}
            assert in_force(method) == {**wanted, **kept}

    def compare_with_a_new_resolve(self) -> None:
        fresh = etconfig.resolve(self.program, facts=sheet(self.facts))
        assert (fresh.profile, fresh) == (self.live.resolution.profile, self.live.resolution)
        assert fresh.facts == self.live.resolution.facts


@pytest.mark.parametrize("seed", seeds(6))
def test_the_model_agrees(program: etconfig.LoadedProgram, seed: int) -> None:
    rng = random.Random(seed)
    with ExitStack() as stack:
        simulation = Simulation(program, {"cpu.available_cores": 2, "power.source": "battery"}, stack)
        for step in range(100):
            simulation.refresh(random_facts(rng, simulation.facts))
            simulation.check()
            if rng.random() < 0.15:
                simulation.reload(rng.choice(METHODS))
                simulation.check()
            if step % 10 == 0:
                simulation.compare_with_a_new_resolve()
