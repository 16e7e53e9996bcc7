"""The time of a warm resolve, compared with pydantic-settings and Hydra on the same work.

    python benchmarks/bench_resolve.py [--rounds N]

The workload: 3 methods x 45 options over 4 backends (135 typed leaves), 3 layers of TOML, 10
conditional overlays of which 4 hold, one assignment from the environment and one override,
40 facts. It is parsed and compiled once; what is timed are calls in one process. With "nothing remembered",
the options of each backend are created in each call; with "another device", every condition is evaluated and
all arguments are made again, but the options are those of an earlier device with the same conditions.

Peers that are not installed are skipped. They do what they do for their users: both keep no
compiled form between calls, and so read three files of the same options each time. They know
no conditions: the overlays are selected for them. pydantic's own time to validate the 12 groups
is printed, too, as the floor of anything built on it.
"""

from __future__ import annotations

import argparse
import enum
import gc
import itertools
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from etconfig.base.provenance import Origin, OriginKind, Sourced
from etconfig.expression import ExpressionParser
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.facts.registry import FactInfo, FactType, Volatility
from etconfig.facts.sheet import FactSheet
from etconfig.plugin.v1 import ApiRange, BackendOptions, BackendSpec, Ge, option
from etconfig.profile.document import parse_document
from etconfig.profile.layers import layers_of
from etconfig.profile.profile import parse_profile
from etconfig.profile.project import parse_project
from etconfig.resolver.compiling.overrides import layer_from_environment, layer_from_overrides
from etconfig.resolver.compiling.resolver import Resolver, Target

OPTIONS_OF = {"CpuBackend": 12, "GpuBackend": 11, "NpuBackend": 11, "DspBackend": 11}
"""The number of options of each backend: 45 in all."""
METHODS = ("prefill", "decode", "embed")
OVERLAYS, HOLDING = 10, 4
BOARD = [FactInfo(name=f"board.f{i}", type=FactType.INT, doc="A fact.", volatility=Volatility.LIVE)
         for i in range(40)]  # fmt: skip
REGISTRY = BUILTIN_FACTS.extended(BOARD)
SIZES = (135, 500, 1000, 2500, 5000)
NOTHING_KNOWN, ANOTHER_DEVICE, ONE_CHANGED = "nothing remembered", "another device", "one fact changed"
TARGETS_US = {NOTHING_KNOWN: 60, ANOTHER_DEVICE: 30}
ENVIRONMENT = "decode:CpuBackend.number_0=9"
BUDGET = "[budget]\nthreads = { expr = 'board.f0 * 1000' }\n"
OVERRIDE = "prefill:NpuBackend.number_0=8"


class Mode(enum.Enum):
    LOW = "low"
    HIGH = "high"


KINDS: tuple[tuple[str, Any, object], ...] = (
    ("number", Annotated[int, Ge(0)], 1),
    ("switch", bool, False),
    ("scale", float, 1.0),
    ("label", str, "none"),
    ("mode", Mode, "low"),
)
"""Stem, type and default of the options, in turn."""


def names_of(count: int) -> list[tuple[str, Any, object]]:
    """Return the name, type and default of `count` options."""
    kinds = zip(itertools.cycle(KINDS), range(count), strict=False)
    return [(f"{stem}_{index // len(KINDS)}", kind, default) for (stem, kind, default), index in kinds]


def make_spec(backend: str, count: int) -> BackendSpec:
    """Return a backend with `count` options of all kinds."""
    fields: dict[str, Any] = {"__annotations__": {}, "__module__": __name__}
    for name, kind, default in names_of(count):
        fields["__annotations__"][name] = kind
        consumes = "threads" if name == "number_0" else None
        fields[name] = option(default, applies="execute", doc="An option.", consumes=consumes)
    options = type(backend.replace("Backend", "Options"), (BackendOptions,), fields)
    return BackendSpec(id=backend, doc="A backend.", options=options, api=ApiRange(1, 1))


SPECS = {backend: make_spec(backend, count) for backend, count in OPTIONS_OF.items()}


def settings(prefix: str, layer: int, share: int) -> Iterator[str]:
    """Return TOML tables that set every `share`-th option of each backend."""
    for backend, count in OPTIONS_OF.items():
        yield f"[{prefix}.{backend}]"
        for name, _, default in names_of(count)[layer % share :: share]:
            yield f"{name} = {toml_value(default, layer)}"


def toml_value(default: object, salt: int) -> str:
    """Return a value like `default`, but of this layer."""
    if isinstance(default, bool):
        return "true" if salt % 2 else "false"
    if isinstance(default, (int, float)):
        return str(default + salt)
    return '"high"' if default == "low" else f'"from layer {salt}"'


def overlays(count: int) -> Iterator[str]:
    """Return `count` conditional overlays, each of one backend; in turn for every method and for one."""
    for index in range(count):
        backend = list(OPTIONS_OF)[index % len(OPTIONS_OF)]
        scope = "when" if index % 2 else f"when.methods.{METHODS[index % 3]}"
        yield f"[[when]]\nif = 'board.f{index} > 100 && board.f{index + 20} != 3 || board.f0 < 0'"
        yield f"[{scope}.options.{backend}]"
        for name, _, default in names_of(OPTIONS_OF[backend])[index % 3 :: 4]:
            yield f"{name} = {toml_value(default, 10 + index)}"


def documents() -> tuple[str, str, str]:
    """Return the TOML of the base profile, of the device's profile and of the project file."""
    base = ['[profile]\nname = "generic/base"', *settings("options", 1, 1)]
    device = ['[profile]\nname = "vendor/device"\nextends = ["generic/base"]', *settings("options", 2, 1)]
    device += [line for i, m in enumerate(METHODS) for line in settings(f"methods.{m}.options", 3 + i, 1)]
    return "\n".join(base), "\n".join([*device, *overlays(OVERLAYS)]), "\n".join(settings("options", 7, 2))


def compile_workload(options: int = 135, budget: str = "") -> Resolver:
    """Return the resolver of the workload, with enough methods to have about `options` options."""
    base, device, project = documents()
    project = budget + project
    expressions = ExpressionParser(REGISTRY)
    chain = [parse_profile(parse_document(text, "profile.toml"), expressions) for text in (base, device)]
    project_file = parse_project(parse_document(project, "etconfig.toml"), expressions)
    methods = [*METHODS, *(f"method_{i}" for i in range(options // 45 - len(METHODS)))]
    targets = [Target(method=method, backends=tuple(SPECS)) for method in methods]
    by_hand = (layer_from_environment(ENVIRONMENT), layer_from_overrides([OVERRIDE]))
    return Resolver.compile(SPECS, (*layers_of(chain, project_file), *by_hand), targets)


def make_sheet(holding: Iterable[int] = range(HOLDING), **changed: int) -> FactSheet:
    """Return 40 facts for which the conditions of the overlays with these numbers are true."""
    values = {f"board.f{i}": 4 for i in range(len(BOARD))}
    values |= {f"board.f{i}": 101 for i in holding}
    values |= {f"board.{name}": value for name, value in changed.items()}
    origin = Origin(OriginKind.SHEET, "benchmark")
    return FactSheet.empty(REGISTRY).with_overrides({n: Sourced(v, origin) for n, v in values.items()})


def measure_us(work: Callable[[Any], object], inputs: Iterable[Any], rounds: int) -> float:
    """Return the median CPU time of one call, in microseconds; each round calls it for each input."""
    calls = list(inputs)
    times = []
    gc.collect()
    gc.disable()  # as timeit does
    for _ in range(rounds):
        start_ns = time.process_time_ns()
        for value in calls:
            work(value)
        times.append((time.process_time_ns() - start_ns) / len(calls) / 1e3)
    gc.enable()
    return statistics.median(times)


def resolve_anew(resolver: Resolver, facts: FactSheet, *, forget: bool = False) -> object:
    """Resolve as for another device; with `forget`, no options were made before."""
    resolver._memo.last = None
    for backend in resolver._instance_resolver._backends if forget else ():
        if backend._known_options is not None:
            backend._known_options.clear()
    return resolver.resolve(facts)


def measure_resolver(options: int, rounds: int) -> dict[str, float]:
    """Return the microseconds of a resolve, by what has changed since the previous one."""
    resolver = compile_workload(options)
    holding, turned = make_sheet(), make_sheet(holding=range(HOLDING, OVERLAYS))
    one_changed = [make_sheet(f5=4 + index) for index in range(20)]
    one_turned = [make_sheet(f5=value) for value in (101, 4)] * 10

    return {
        NOTHING_KNOWN: measure_us(partial(resolve_anew, resolver, forget=True), [holding] * 20, rounds),
        ANOTHER_DEVICE: measure_us(partial(resolve_anew, resolver), [holding] * 20, rounds),
        "every condition turns": measure_us(resolver.resolve, [holding, turned] * 10, rounds),
        "one turns, for 3 methods": measure_us(resolver.resolve, one_turned, rounds),
        ONE_CHANGED: measure_us(resolver.resolve, one_changed, rounds),
        "nothing changed": measure_us(resolver.resolve, [holding] * 20, rounds),
    }


# --- peers -------------------------------------------------------------------------------


def write_sources(directory: Path) -> list[Path]:
    """Write the workload as three files, `method -> backend -> option`, the strongest last: TOML and YAML."""
    resolved = compile_workload().resolve(make_sheet())
    paths = []
    for name, step in (("base", 1), ("device", 2), ("project", 3)):
        tables = {(a.method, b): list(a[b].to_jsonable().items())[::step] for a in resolved for b in a}
        toml = "".join(
            f"[{method}.{backend}]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in options)
            for (method, backend), options in tables.items()
        )
        paths.append(directory / f"{name}.toml")
        paths[-1].write_text(toml)
        nested = {m: {b: dict(options) for (n, b), options in tables.items() if n == m} for m in METHODS}
        (directory / f"{name}.yaml").write_text(json.dumps(nested))  # JSON is YAML
    return paths


def pydantic_settings_work(directory: Path) -> Callable[[Any], object]:
    """pydantic-settings with three TOML files and one environment variable."""
    from pydantic import ConfigDict, create_model
    from pydantic_settings import BaseSettings, SettingsConfigDict, TomlConfigSettingsSource

    groups: dict[str, Any] = {
        backend: create_model(
            backend,
            __config__=ConfigDict(extra="forbid"),
            **{name: (kind, default) for name, kind, default in names_of(count)},
        )
        for backend, count in OPTIONS_OF.items()
    }
    method: Any = create_model("Method", **{name: (group, ...) for name, group in groups.items()})
    paths = write_sources(directory)
    os.environ["WORKLOAD_DECODE__CPUBACKEND__NUMBER_0"] = "9"

    class Layered(BaseSettings):
        model_config = SettingsConfigDict(env_prefix="WORKLOAD_", env_nested_delimiter="__")

        @classmethod
        def settings_customise_sources(
            cls, settings_cls: Any, env_settings: Any, **_: Any
        ) -> tuple[Any, ...]:
            return env_settings, *(TomlConfigSettingsSource(settings_cls, path) for path in reversed(paths))

    model: Any = create_model("Workload", __base__=Layered, **dict.fromkeys(METHODS, (method, ...)))
    return lambda _: model()


def hydra_work(directory: Path) -> Callable[[Any], object]:
    """Hydra composing three YAML files with one override."""
    from hydra import compose, initialize_config_dir

    write_sources(directory)
    (directory / "config.yaml").write_text("defaults: [base, device, project, _self_]\n")
    initialize_config_dir(str(directory), version_base=None).__enter__()
    return lambda _: compose("config", overrides=["prefill.NpuBackend.number_0=8"])


def validation_us(rounds: int) -> float:
    """Return the microseconds that pydantic alone takes to validate the options of all groups."""
    resolved = compile_workload().resolve(make_sheet())
    groups = [(type(a[b]), dict(a[b])) for a in resolved for b in a]
    return measure_us(lambda _: [options(**values) for options, values in groups], range(20), rounds)


def main() -> None:
    """Print the times, the targets and the ratios to peers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=50)
    rounds = parser.parse_args().rounds
    options, size = len(METHODS) * sum(OPTIONS_OF.values()), sum(len(text.encode()) for text in documents())
    print(f"{options} options, {size / 1e3:.1f} kB of TOML, {len(BOARD)} facts; microseconds of CPU time")
    times = measure_resolver(options, rounds)
    for name, time_us in times.items():
        target = f" (target {TARGETS_US[name]})" if name in TARGETS_US else ""
        print(f"resolve, {name:<26} {time_us:8.1f}{target}")
    print_budget(rounds)
    print(f"pydantic's validation alone         {validation_us(rounds):8.1f}")
    print_growth(rounds)
    with tempfile.TemporaryDirectory() as directory:
        print_peer("pydantic-settings", lambda: pydantic_settings_work(Path(directory)), times, 20, 20)
        print_peer("Hydra compose", lambda: hydra_work(Path(directory)), times, 2, 1000)


def print_budget(rounds: int) -> None:
    """Print how much longer a resolve takes with a budget that 12 options are summed for, in turns."""
    plain, limited = compile_workload(), compile_workload(budget=BUDGET)
    holding = make_sheet()
    ratios: dict[str, list[float]] = {}
    for _ in range(rounds):
        for name, forget in ((NOTHING_KNOWN, True), (ANOTHER_DEVICE, False)):
            times = []
            for resolver in (plain, limited):
                works = (partial(resolve_anew, resolver, forget=forget), [holding] * 20, 1)
                times.append(measure_us(*works))
            ratios.setdefault(name, []).append(times[1] / times[0])
    for name, found in ratios.items():
        print(f"with a budget, {name:<19} {statistics.median(found) - 1:8.1%} more")


def print_growth(rounds: int) -> None:
    """Print how the times grow with the number of options."""
    for size in SIZES:
        times = measure_resolver(size, max(3, rounds * SIZES[0] // size))
        full, one = times[NOTHING_KNOWN], times[ONE_CHANGED]
        print(f"{size:>6} options: {full:7.1f}, {full / size:.2f} per option; one fact changed {one:.1f}")


def print_peer(
    name: str,
    prepare: Callable[[], Callable[[Any], object]],
    times: Mapping[str, float],
    calls: int,
    target: int,
) -> None:
    """Print a peer's time and its ratio to a resolve from scratch, or that it is not installed."""
    try:
        work = prepare()
    except ImportError as error:
        print(f"{name}: skipped, {error.name} is not installed")
        return
    work(None)
    peer_us = measure_us(work, range(calls), 5)
    ratio = peer_us / times[NOTHING_KNOWN]
    print(f"{name:<35} {peer_us:8.1f} = {ratio:.0f} x the resolve with nothing remembered (target {target})")


if __name__ == "__main__":
    main()
