"""Profiles of less than 1 MiB that take long to check, by what they have much of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

MOST_BYTES = (1 << 20) - 200
"""The bytes of the largest of these documents: just below what a document may have."""

_HEAD = '[profile]\nname = "x/heavy"\nmatch = "true"\n'
_CONDITIONS = (
    'power.source == "battery"',
    "power.battery_level < 0.2",
    'thermal.state in ["serious", "critical"]',
    "thermal.max_celsius > 45.0",
    'device.model.startsWith("Pixel")',
    "cpu.available_cores <= 2",
    "memory.available < 1073741824",
    'os.name == "android"',
    '"asimddp" in cpu.features',
    "cpu.performance_cores >= 4",
    'soc.model == "Tensor"',
    'gpu.0.name.contains("Mali")',
    "cpu.cache.l2 >= 524288",
    'power.battery_level < 0.5 && power.source == "battery"',
    "memory.total < 4294967296",
)
_FACTS = ("cpu.available_cores", "cpu.physical_cores", "cpu.performance_cores", "cpu.logical_cores")


def _overlay(condition: str, setting: str = "num_threads = 1", backend: str = "ReferenceCpuBackend") -> str:
    return f"[[when]]\nif = '{condition}'\n[when.options.{backend}]\n{setting}\n"


def _overlays(conditions: Iterator[str], most: int = 1 << 20) -> str:
    return _filled(
        (_overlay(each, f"num_threads = {1 + n % 100}") for n, each in enumerate(conditions)), most
    )


def _filled(parts: Iterator[str], most: int = 1 << 20) -> str:
    """Return a profile with as many of the parts as fit."""
    text, size = [_HEAD], len(_HEAD)
    for part in parts:
        size += len(part)
        if size > min(MOST_BYTES, most):
            break
        text.append(part)
    return "".join(text)


def _forever(pattern: Callable[[int], str]) -> Iterator[str]:
    number = 0
    while True:
        yield pattern(number)
        number += 1


def ordinary_conditions(count: int) -> str:
    """Return a profile with so many overlays whose conditions people write."""
    return _HEAD + "".join(
        _overlay(_CONDITIONS[n % len(_CONDITIONS)], f"num_threads = {n % 100 + 1}") for n in range(count)
    )


def alternatives_of_one_fact(count: int) -> str:
    """Return a profile with so many overlays, each of ten comparisons of one fact."""
    term = " || ".join(f"cpu.logical_cores == {n}" for n in range(10))
    return _HEAD + "".join(_overlay(f"{term} || {n} == 1") for n in range(count))


def _nested(n: int) -> str:
    text = f"cpu.available_cores > {n % 100}"
    for depth in range(12):
        text = f"({text} ? {_FACTS[depth % 4]} > {depth + n % 50} : {_FACTS[(depth + 1) % 4]} < {depth})"
    return text


def _sum(n: int, terms: int) -> str:
    return " + ".join(_FACTS[(n + t) % 4] for t in range(terms))


def _extending(bases: Iterable[str]) -> str:
    return f'[profile]\nname = "x/heavy"\nextends = [{", ".join(bases)}]\n'


def heavy_documents() -> Mapping[str, str]:
    """Return the documents, by a description of each."""
    words = ("lower", "upper")
    return {
        "15 ordinary conditions": ordinary_conditions(15),
        "100 ordinary conditions": ordinary_conditions(100),
        "many ordinary conditions": _overlays(_forever(lambda n: _CONDITIONS[n % 15])),
        "100 different conditions": _HEAD
        + "".join(
            _overlay(f'{_FACTS[n % 4]} > {n} || device.model == "m{n}"', f"num_threads = {n + 1}")
            for n in range(100)
        ),
        "many different conditions": _overlays(
            _forever(lambda n: f'{_FACTS[n % 4]} > {n} || device.model == "m{n}"')
        ),
        "12 nested conditions": _HEAD
        + "".join(_overlay(_nested(n), f"num_threads = {n + 1}") for n in range(12)),
        "many nested conditions": _overlays(_forever(_nested)),
        "200 overlays about one fact": alternatives_of_one_fact(200),
        "400 overlays about one fact": alternatives_of_one_fact(400),
        "many overlays about one fact": _overlays(
            _forever(lambda n: " || ".join(f"cpu.logical_cores == {k}" for k in range(n, n + 10)))
        ),
        "conditions of 4,096 characters": _overlays(
            _forever(lambda n: " || ".join(f"cpu.logical_cores == {k}" for k in range(n, n + 140)))
        ),
        "conjunctions of 4,096 characters": _overlays(
            _forever(lambda n: " && ".join(f"cpu.logical_cores != {k}" for k in range(n, n + 140)))
        ),
        "conditions about many texts": _overlays(
            _forever(
                lambda n: f"device.model in [{', '.join(f'{chr(34)}m{n}-{k}{chr(34)}' for k in range(300))}]"
            )
        ),
        "conditions about many facts": _overlays(
            _forever(lambda n: " || ".join(f"gpu.{n % 50 * 20 + k}.memory > {k}" for k in range(20)))
        ),
        "conditions with buckets": _overlays(
            _forever(lambda n: f'bucket(device.id, "salt{n}") < 0.{n % 9 + 1}')
        ),
        "conditions with texts that are joined": _overlays(
            _forever(lambda n: f'cpu.model + "-" + device.model == "a-{n}"')
        ),
        "conditions with sums": _overlays(_forever(lambda n: f"{_sum(n, 100)} > {n}")),
        "overlays for many methods": _filled(
            _forever(
                lambda n: (
                    f"[[when]]\nif = 'cpu.available_cores > {n % 60}'\n"
                    f"[when.methods.m{n}.options.ReferenceCpuBackend]\nnum_threads = 1\n"
                )
            )
        ),
        "many methods": _filled(
            _forever(lambda n: f"[methods.m{n}.options.ReferenceCpuBackend]\nnum_threads = {n % 100 + 1}\n")
        ),
        "many instances": _filled(
            _forever(
                lambda n: (
                    f'[instances.i{n}]\nmethod = "m{n}"\n'
                    f"[instances.i{n}.options.ReferenceCpuBackend]\nnum_threads = {n % 100 + 1}\n"
                )
            )
        ),
        "many computed values": _HEAD
        + "".join(
            f"[methods.m{n}.options.ReferenceCpuBackend]\n"
            f'num_threads = {{ expr = "min({_FACTS[n % 4]}, {n % 99 + 2})" }}\n'
            for n in range(9000)
        ),
        "many refused expressions": _HEAD
        + "".join(
            f'[methods.m{n}.options.ReferenceCpuBackend]\nnum_threads = {{ expr = "{words[n % 2]}({n})" }}\n'
            for n in range(9000)
        ),
        "many misspelt facts": _HEAD
        + "".join(_overlay(f"cpu.avialable_coers{n} > {n}") for n in range(9000)),
        "many misspelt options": _HEAD
        + "[options.ReferenceCpuBackend]\n"
        + "".join(f"num_thraeds{n} = 1\n" for n in range(50_000)),
        "many misspelt backends": _HEAD
        + "".join(f"[options.RefrenceCpuBackend{n}]\na = 1\n" for n in range(20_000)),
        "many unknown tables": _HEAD + "".join(f"[unkwnown{n}]\na = 1\n" for n in range(40_000)),
        "many wrong values": _HEAD
        + "".join(
            f'[methods.m{n}.options.ReferenceCpuBackend]\nnum_threads = "many"\n' for n in range(14_000)
        ),
        "many misspelt texts": _overlays(_forever(lambda n: f'os.name == "andriod{n}"')),
        "many wrong expressions": "\n".join(
            [_HEAD, "[options.ReferenceCpuBackend]"]
            + [f'o{n} = {{ expr = "cpu.available_cores +* {n}" }}' for n in range(18_000)]
        ),
        "many bases": _extending(f'"b{n}"' for n in range(100_000)),
        "one base many times": _extending('"b"' for _ in range(200_000)),
        "many facts set by hand": _HEAD
        + "[facts]\n"
        + "".join(f'gpu.{n % 9999}.name{n // 9999} = "a"\n' for n in range(45_000)),
        "a long list": _HEAD
        + f"[options.ReferenceCpuBackend]\nnum_threads = [{', '.join(['1'] * 300_000)}]\n",
    }
