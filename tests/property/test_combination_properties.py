"""`CombinationVerifier` against a model: resolving on every device of a small world."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import Annotated

from effort import seeds
from every import every

from etconfig.base.provenance import Origin, OriginKind, Sourced
from etconfig.errors import OptionError
from etconfig.expression import ExpressionParser
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.facts.sheet import FactSheet
from etconfig.plugin.v1 import ApiRange, BackendOptions, BackendSpec, Ge, Le, model_validator, option
from etconfig.profile.document import parse_document
from etconfig.profile.layer import Layer
from etconfig.profile.layers import layers_of
from etconfig.profile.profile import parse_profile
from etconfig.resolver.compiling.resolver import Resolver, Target
from etconfig.resolver.proving.combinations import CombinationVerifier

WORLD = {
    "power.source": ("mains", "battery"),
    "cpu.available_cores": (1, 2, 3, 4, 5, 8),
    "cpu.arch": ("arm64", "x86_64"),
    "gpu.count": (0, 1),
}
"""The facts that conditions ask for, and enough of their values to tell all conditions apart."""

CONDITIONS = (
    'power.source == "battery"',
    'power.source != "battery"',
    "cpu.available_cores > 4",
    "cpu.available_cores < 3",
    "cpu.available_cores in [2, 8]",
    'cpu.arch == "arm64" && gpu.count > 0',
    'cpu.arch == "arm64" || cpu.available_cores > 4',
    "has(gpu.count) && gpu.count == 0",
    "!has(gpu.count)",
)


METHODS = ("f", "g")


class CacheOptions(BackendOptions):
    """Options with a conflict of three, and one for the whole process."""

    threads: Annotated[int, Ge(1), Le(8)] = option(1, applies="load", scope="process", doc="Threads.")
    is_cached: bool = option(False, applies="load", doc="Whether weights are cached.")
    cache: str = option("", applies="load", doc="The file of the cache.")
    level: Annotated[int, Ge(0), Le(3)] = option(0, applies="load", doc="How much is cached.")

    @model_validator(mode="after")
    def _check(self) -> CacheOptions:
        if self.cache and not self.is_cached:
            raise ValueError("cache needs is_cached")
        if self.is_cached and self.level == 3 and self.threads > 2:
            raise ValueError("level 3 needs two threads at most")
        return self


SPEC = BackendSpec(id="CacheBackend", doc="A cache.", options=CacheOptions, api=ApiRange(1, 1))


def random_layers(random: Random) -> tuple[Layer, ...]:
    lines = ['[profile]\nname = "acme/board"']
    for scope in ("options.CacheBackend", "methods.f.options.CacheBackend", "methods.g.options.CacheBackend"):
        lines.append(f"[{scope}]\n" + random_options(random, 0.2))
    for _ in range(random.randrange(5)):
        scope = random.choice(("", "methods.f.", "methods.g."))
        lines.append(f"[[when]]\nif = '{random.choice(CONDITIONS)}'")
        lines.append(f"[when.{scope}options.CacheBackend]\n" + random_options(random, 0.4))
    document = parse_document("\n".join(lines), "board.toml")
    return layers_of([parse_profile(document, ExpressionParser(BUILTIN_FACTS))])


def random_options(random: Random, share: float) -> str:
    values = {
        "threads": random.choice(("1", "2", "4")),
        "is_cached": random.choice(("true", "false")),
        "cache": random.choice(('""', '"weights.bin"')),
        "level": random.choice(("0", "3")),
    }
    return "\n".join(f"{name} = {value}" for name, value in values.items() if random.random() < share)


def problems_of_the_world(layers: tuple[Layer, ...]) -> set[tuple[str, str]]:
    """Return the problems on all devices of the world, found by resolving on each."""
    targets = [Target(method=method, backends=(SPEC.id,)) for method in METHODS]
    resolver = Resolver.compile({SPEC.id: SPEC}, layers, targets)
    found: set[tuple[str, str]] = set()
    origin = Origin(OriginKind.OVERRIDE, "world")
    for values in product(*((None, *values) for values in WORLD.values())):
        known = {
            name: Sourced(value, origin)
            for name, value in zip(WORLD, values, strict=True)
            if value is not None
        }
        try:
            resolver.resolve(FactSheet.empty(BUILTIN_FACTS).with_overrides(known))
        except OptionError as error:
            found |= {(problem.code, problem.message) for problem in error.diagnostics}
    return found


@every("seed", seeds(40))
def test_the_same_problems_are_found_as_on_all_devices(seed: int) -> None:
    layers = random_layers(Random(seed))
    problems = CombinationVerifier(BUILTIN_FACTS).problems(SPEC, layers, METHODS)
    found = {(problem.code, problem.message) for problem in problems}
    assert found == problems_of_the_world(layers)


def test_the_model_finds_something() -> None:
    counts = [len(problems_of_the_world(random_layers(Random(seed)))) for seed in range(20)]
    assert 0 in counts
    assert max(counts) >= 2
