"""Random catalogs of ten variants of many kinds, and the variant of a device by docs/models.md."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

DIGITS = Path(__file__).parents[1] / "data" / "digits"
WORLD: Mapping[str, tuple[object, ...]] = {
    "os.name": ("linux", "android", "ios"),
    "cpu.arch": ("arm64", "x86_64"),
    "cpu.available_cores": (1, 2, 4, 8, 64),
    "gpu.count": (0, 1, 2),
    "memory.available": (1 << 20, 100 << 20, 600 << 20, 4 << 30),
    "memory.total": (1 << 20, 1 << 30, 8 << 30),
}
"""The values of facts on random devices."""
BACKENDS = (
    "XnnpackBackend",
    "OnnxRuntimeBackend",
    "OpenvinoBackend",
    "TvmBackend",
    "TorchBackend",
    "Acme_2-b",
)
KINDS: Mapping[str, tuple[str, ...]] = {
    "x.pte": (),
    "digits_portable.pte": (),
    "server.onnx": ("OnnxRuntimeBackend", "OpenvinoBackend"),
    "small.ort": ("OnnxRuntimeBackend",),
    "größe v1.xml": ("OpenvinoBackend",),
    "a.b/model.tflite": ("OpenvinoBackend", "Acme_2-b"),
    "lib.so": ("TvmBackend",),
    "exported.pt2": ("TorchBackend",),
    "llm.gguf": ("Acme_2-b",),
    "saved": ("Acme_2-b", "OpenvinoBackend"),
}
"""The files, each with the backends that may run it; none of programs. `saved` is a directory."""

Facts = Mapping[str, object]
Truth = Callable[[Facts], "bool | None"]


def _compared(name: str, truth: Callable[[Any], bool]) -> Truth:
    return lambda facts: truth(facts[name]) if name in facts else None


CONDITIONS: Sequence[tuple[str, Truth]] = (
    ('os.name == "android"', _compared("os.name", lambda value: value == "android")),
    ('os.name != "ios"', _compared("os.name", lambda value: value != "ios")),
    ('cpu.arch == "x86_64"', _compared("cpu.arch", lambda value: value == "x86_64")),
    ("cpu.available_cores >= 4", _compared("cpu.available_cores", lambda value: value >= 4)),
    ("8 / gpu.count > 4", _compared("gpu.count", lambda value: value == 1)),  # of 0, it has no value
    ("has(gpu.count)", lambda facts: "gpu.count" in facts),
    (
        '!("TvmBackend" in runtime.backends)',
        _compared("runtime.backends", lambda value: "TvmBackend" not in value),
    ),
)
"""Conditions with their truth, of which None is unknown."""


@dataclass(frozen=True)
class Entry:
    """A variant as the document has it."""

    file: str
    backend: str | None
    conditions: tuple[tuple[str, Truth], ...]
    memory_bytes: int | None
    margin: float

    def toml(self) -> str:
        lines = ["[[model.m.variants]]", f'file = "{self.file}"']
        lines += [f'backend = "{self.backend}"'] if self.backend else []
        lines += [f"when = '{' && '.join(text for text, _ in self.conditions)}'"] if self.conditions else []
        if self.memory_bytes is not None:
            lines += [f"fits = {self.margin}" if self.margin else "fits = true"]
            is_whole = self.memory_bytes % (1 << 20) == 0
            lines += [
                f'memory = "{self.memory_bytes >> 20} MiB"' if is_whole else f"memory = {self.memory_bytes}"
            ]
        return "\n".join(lines)

    def suits(self, facts: Facts) -> bool:
        if not all(truth(facts) is True for _, truth in self.conditions):
            return False
        if self.memory_bytes is not None:
            has = facts.get("memory.available", facts.get("memory.total"))
            if not isinstance(has, int) or has < math.ceil(self.memory_bytes * (1 + self.margin)):
                return False
        needed = self.backend or ("XnnpackBackend" if self.file == "x.pte" else None)
        present = facts.get("runtime.backends", ())
        assert isinstance(present, tuple)
        return needed is None or needed in present


def random_catalog(random: Random) -> list[Entry]:
    """Ten variants, one of each kind, in any order."""
    return [
        Entry(
            file=file,
            backend=random.choice(KINDS[file]) if KINDS[file] else None,
            conditions=tuple(random.sample(CONDITIONS, random.choice((0, 1, 1, 2)))),
            memory_bytes=random.choice((None, None, 90 << 20, 500_000_001)),
            margin=random.choice((0.0, 0.2)),
        )
        for file in random.sample(list(KINDS), len(KINDS))
    ]


def write_catalog(directory: Path, entries: Sequence[Entry]) -> Path:
    """Write the files, and a project file with the catalog; return it."""
    for name, backends in KINDS.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name == "saved":
            path.mkdir(exist_ok=True)
        elif backends:
            path.write_bytes(b"any bytes")
    shutil.copy(DIGITS / "digits_portable.pte", directory)
    shutil.copy(DIGITS / "digits_xnnpack.pte", directory / "x.pte")
    target = directory / "etconfig.toml"
    target.write_text("\n".join(["[model.m]", *(each.toml() for each in entries)]), encoding="utf-8")
    return target


def random_devices(random: Random, count: int) -> list[dict[str, object]]:
    """Facts of devices, some of which are unknown."""
    devices = []
    for _ in range(count):
        facts = {name: random.choice(values) for name, values in WORLD.items() if random.random() < 0.85}
        if random.random() < 0.9:
            facts["runtime.backends"] = tuple(random.sample(BACKENDS, random.choice((0, 1, 2, 3, 6))))
        devices.append(facts)
    return devices


def expected_variant(entries: Sequence[Entry], facts: Facts) -> int | None:
    """The number of the first variant that suits a device."""
    return next((number for number, each in enumerate(entries, 1) if each.suits(facts)), None)
