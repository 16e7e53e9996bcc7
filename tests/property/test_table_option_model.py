"""Tables of options, checked a second time as `docs/options.md` says it: the same values, the same places."""

from __future__ import annotations

import random
from typing import Any

import pytest
from engine_tables import Cpu, Gpu

from etconfig.plugin.v1 import BackendOptions, option
from etconfig.schema.problem import OptionProblem, ProblemKind
from etconfig.schema.validate import check_value


class Options(BackendOptions):
    engine: Cpu | Gpu | None = option(None, applies="load", doc="A table.")
    engines: tuple[Cpu | Gpu, ...] = option((), applies="load", doc="Tables in order.")
    named: dict[str, Cpu | Gpu] = option({}, applies="load", doc="Tables by name.")


# --- the model: the plain value with all defaults, or the path of what is wrong -----------------


class Wrong(Exception):  # a result, not an error
    """Raised with the path of the part that is wrong."""


def is_whole(value: Any) -> bool:
    return type(value) is int and -(2**63) <= value < 2**63


def field_of_cpu(name: str, value: Any, path: tuple[Any, ...]) -> Any:
    if name == "threads":
        if value is None or (is_whole(value) and 1 <= value <= 9):
            return value
    elif type(value) is bool:
        return value
    raise Wrong(path)


def field_of_limits(name: str, value: Any, path: tuple[Any, ...]) -> Any:
    if name == "memory":
        sizes = {"1 KiB": 1024, "2 MiB": 2 * 2**20}
        if is_whole(value) or (isinstance(value, str) and value in sizes):
            return sizes.get(value, value) if isinstance(value, str) else value
        raise Wrong(path)
    if not isinstance(value, list):
        raise Wrong(path)
    for index, item in enumerate(value):
        if not is_whole(item):
            raise Wrong((*path, index))
    if len(value) > 2:
        raise Wrong(path)
    return value


def field_of_gpu(name: str, value: Any, path: tuple[Any, ...]) -> Any:
    if name == "limits":
        return table(value, path, {"memory": 1024, "streams": []}, field_of_limits)
    if (name == "device" and is_whole(value)) or (name == "mode" and value in ("low", "high")):
        return value
    raise Wrong(path)


def table(value: Any, path: tuple[Any, ...], defaults: dict[str, Any], field: Any, tag: str = "") -> Any:
    """A table has known fields only; the first wrong one counts, then one that is missing."""
    if not isinstance(value, dict):
        raise Wrong(path)
    found = dict(defaults)
    for name, item in value.items():
        if name not in defaults:
            raise Wrong((*path, name))
        found[name] = item if name == tag else field(name, item, (*path, name))
    if REQUIRED in found.values():
        raise Wrong(path)
    return found


REQUIRED = object()


def engine(value: Any, path: tuple[Any, ...]) -> Any:
    """The discriminator chooses the table."""
    if not isinstance(value, dict) or "engine" not in value:
        raise Wrong(path)
    if value["engine"] == "cpu":
        return table(
            value, path, {"engine": "cpu", "threads": None, "is_fast": False}, field_of_cpu, "engine"
        )
    if value["engine"] == "gpu":
        limits = {"memory": 1024, "streams": []}
        defaults = {"engine": "gpu", "device": REQUIRED, "mode": "low", "limits": limits}
        return table(value, path, defaults, field_of_gpu, "engine")
    raise Wrong((*path, "engine"))


def expected(name: str, value: Any) -> Any:
    if name == "engine":
        return None if value is None else engine(value, ())
    if name == "engines":
        if not isinstance(value, list):
            raise Wrong(())
        return [engine(item, (index,)) for index, item in enumerate(value)]
    if not isinstance(value, dict):
        raise Wrong(())
    return {key: engine(item, (key,)) for key, item in value.items()}


# --- random values ------------------------------------------------------------------------------

ODD = (None, True, 0, 7, 12, 1.5, "cpu", "3", [], ["x"], {}, {"engine": "gpu"}, 2**70)


def random_engine(rng: random.Random) -> Any:
    if rng.random() < 0.06:
        return rng.choice(ODD)
    limits = {
        "memory": rng.choice((0, "1 KiB", "2 MiB", "3 XB")),
        "streams": [1] * rng.choice((0, 1, 2, 2, 3)),
    }
    cpu = {"threads": rng.choice((None, 1, 9, 9, 10)), "is_fast": rng.choice((True, False))}
    gpu = {"device": rng.randrange(3), "mode": rng.choice(("low", "high")), "limits": limits}
    kind = rng.choice(("cpu", "gpu"))
    fields = [*(cpu if kind == "cpu" else gpu).items()]
    chosen = dict([("engine", kind), *rng.sample(fields, rng.randint(0, len(fields)))])
    if kind == "gpu" and rng.random() < 0.9:
        chosen["device"] = 1
    if rng.random() < 0.15:
        chosen[rng.choice(("engin", "devise", "threads", "device", "x"))] = rng.choice(ODD)
    if rng.random() < 0.05:
        del chosen["engine"]
    if rng.random() < 0.1:
        chosen["limits" if kind == "gpu" else "is_fast"] = rng.choice(ODD)
    items = [*chosen.items()]
    rng.shuffle(items)
    return dict(items)


def random_value(rng: random.Random, name: str) -> Any:
    if rng.random() < 0.03:
        return rng.choice(ODD)
    if name == "engine":
        return random_engine(rng)
    values = [random_engine(rng) for _ in range(rng.randint(0, 3))]
    return values if name == "engines" else dict(zip("abc", values, strict=False))


@pytest.mark.parametrize("seed", range(20))
def test_the_model_agrees(seed: int) -> None:
    rng = random.Random(seed)
    right = 0
    for _ in range(500):
        name = rng.choice(("engine", "engines", "named"))
        value = random_value(rng, name)
        found = check_value(Options, Options.option_infos()[name], value)
        try:
            wanted = expected(name, value)
        except Wrong as wrong:
            assert isinstance(found, OptionProblem), value
            (path,) = wrong.args
            assert (found.kind, found.path) == (ProblemKind.INVALID, path), value
            continue
        right += 1
        assert not isinstance(found, OptionProblem), (value, found)
        options = Options(**{name: found})
        plain = options.to_jsonable()[name]
        assert plain == wanted
        assert Options(**{name: plain}) == options
    assert 100 < right < 450
