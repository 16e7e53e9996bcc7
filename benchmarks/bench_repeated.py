"""The time of calls that repeat in one process: a resolve with `auto`, and the reading of a fact sheet.

    python benchmarks/bench_repeated.py [--rounds N]

Programs that serve many requests, or look at many devices, call the same functions again and again. Three
things are timed, each beside a peer in the same run:

- `etconfig.resolve(program, facts=sheet)` beside `Resolver.resolve`, the work that facts alone cause. What is
  beyond it is selecting a profile and compiling. With the bundled profiles alone and with 1,000 more; with
  one sheet, and with another sheet and profile in each call.
- `FactSheet.from_json` and `FactSheet.from_values` beside `json.loads` of the same text.
- `ProfileSelector.choose` and `select` beside the evaluation of every condition.

Times are medians of single calls.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import etconfig
from etconfig.profile.selector import ProfileSelector

ROOT = Path(__file__).parents[1]
PROGRAM = ROOT / "tests" / "data" / "digits" / "digits.pte"
SHEET = ROOT / "tests" / "data" / "sheets" / "raspberry-pi-5.json"
OTHERS = 40
"""The sheets that follow each other where each call has another one."""


def median_us(work: Callable[[], object], rounds: int) -> float:
    """Return the median time of one call in microseconds."""
    times = []
    gc.collect()
    gc.disable()  # as timeit does
    for _ in range(rounds):
        start_ns = time.perf_counter_ns()
        work()
        times.append((time.perf_counter_ns() - start_ns) / 1e3)
    gc.enable()
    return statistics.median(times)


def write_profiles(directory: Path, count: int) -> None:
    """Write `count` profiles of devices, each with a condition and an overlay."""
    folder = directory / "fleet"
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        (folder / f"d{number}.toml").write_text(
            f'[profile]\nname = "fleet/d{number}"\nextends = ["generic/any"]\n'
            f'match = \'device.model == "D{number}" && os.name == "linux"\'\n'
            f"[options.ReferenceCpuBackend]\nnum_threads = {number % 8 + 1}\n"
            '[[when]]\nif = "power.battery_level < 0.2"\n'
            "[when.options.ReferenceCpuBackend]\nnum_threads = 1\n"
        )


def report(name: str, value_us: float, peer: str, peer_us: float) -> None:
    """Print a time, and what it is compared with."""
    beyond, ratio = value_us - peer_us, value_us / peer_us
    print(f"{name:<52} {value_us:8.1f} us; {peer} {peer_us:.1f} us, {beyond:+.1f}, x {ratio:.1f}")


def measure_resolve(own: int, rounds: int) -> None:
    """Print the times of resolving with `own` profiles beside the bundled ones."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        write_profiles(directory, max(own, 1))
        installation = etconfig.Installation(profile_directories=[directory] if own else [])
        program = etconfig.load_program(PROGRAM, installation=installation)
        pi5 = etconfig.load_fact_sheet(SHEET)
        models = [f"D{number}" for number in range(OTHERS)]
        facts = [{**pi5.values, "device.model": model, "power.battery_level": 0.5} for model in models]
        others = itertools.cycle(map(etconfig.FactSheet.from_values, facts))
        resolver = etconfig.configure(program, profile="auto", facts=pi5).resolver
        for _ in range(OTHERS + 5):
            etconfig.resolve(program, profile="auto", facts=next(others))

        def one() -> object:
            return etconfig.resolve(program, profile="auto", facts=pi5)

        label = f"resolve with auto, {own} own profiles"
        for _ in range(3):
            one()
        floor_us = median_us(lambda: resolver.resolve(pi5), rounds)
        report(f"{label}, the same sheet", median_us(one, rounds), "Resolver.resolve", floor_us)
        each = lambda: etconfig.resolve(program, profile="auto", facts=next(others))  # noqa: E731
        report(f"{label}, another sheet", median_us(each, rounds), "Resolver.resolve", floor_us)


def measure_sheets(rounds: int) -> None:
    """Print the times of making a fact sheet."""
    text = SHEET.read_text()
    values = dict(etconfig.FactSheet.from_json(text, "sheet.json").values)
    loads_us = median_us(lambda: json.loads(text), rounds)
    print(f"a sheet of {len(text.encode()) / 1e3:.1f} kB, {len(values)} known facts")
    report(
        "FactSheet.from_json",
        median_us(lambda: etconfig.FactSheet.from_json(text, "sheet.json"), rounds),
        "json.loads",
        loads_us,
    )
    from_values_us = median_us(lambda: etconfig.FactSheet.from_values(values), rounds)
    report("FactSheet.from_values", from_values_us, "json.loads", loads_us)


def measure_selection(rounds: int) -> None:
    """Print the times of selecting among 1,000 profiles that are at hand."""
    with tempfile.TemporaryDirectory() as name:
        write_profiles(Path(name), 1000)
        selector = ProfileSelector(etconfig.Installation(profile_directories=[name]).profiles)
        facts = {"device.model": "D7", "os.name": "linux"}
        conditions = [*selector.conditions.values()]
        all_us = median_us(lambda: [each.evaluate(facts) for each in conditions], rounds)
        truths = {each: condition.evaluate(facts) is True for each, condition in selector.conditions.items()}
        report(
            "ProfileSelector.select, 1000 own",
            median_us(lambda: selector.select(facts), rounds),
            "all conditions",
            all_us,
        )
        report(
            "ProfileSelector.choose, 1000 own",
            median_us(lambda: selector.choose(truths), rounds),
            "all conditions",
            all_us,
        )


def main() -> None:
    """Print all times."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=300)
    rounds = parser.parse_args().rounds
    for own in (0, 1000):
        measure_resolve(own, rounds)
    measure_sheets(rounds)
    measure_selection(rounds)


if __name__ == "__main__":
    main()
