"""Mutations of FlatBuffers that know the schema: wrong indices, kinds, sizes and references in a sound file.

Bytes changed at random are mostly refused by the first check. These mutants mostly open, and reach what
runs programs.
"""

from __future__ import annotations

import random
import re
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

CODES = {
    "bool": "B",
    "byte": "b",
    "ubyte": "B",
    "uint8": "B",
    "int8": "b",
    "short": "h",
    "ushort": "H",
    "int": "i",
    "int32": "i",
    "uint": "I",
    "uint32": "I",
    "long": "q",
    "int64": "q",
    "ulong": "Q",
    "uint64": "Q",
    "float": "f",
    "double": "d",
}
"""The struct code of each plain type of a schema."""

_DEFINITION = re.compile(r"\b(table|enum|union)\s+(\w+)\s*(?::\s*(\w+)\s*)?\{(.*?)\}", re.DOTALL)
_FIELD = re.compile(r"(\w+)\s*:\s*(\[?)\s*([\w.]+)\s*\]?[^;]*;")
_INTERESTING = (0, 1, 2, 3, 15, 16, 17, 127, 128, 255, 2**15, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63)


@dataclass(frozen=True)
class Schema:
    """The tables of a .fbs file: of each field its name, its type, and whether it is a vector."""

    tables: Mapping[str, Sequence[tuple[str, str, bool]]]
    unions: Mapping[str, Sequence[str]]
    codes: Mapping[str, str]

    @classmethod
    def read(cls, *paths: Path) -> Schema:
        text = "\n".join(re.sub(r"//.*", "", path.read_text("utf-8")) for path in paths)
        found = {kind: {} for kind in ("table", "enum", "union")}
        for kind, name, base, body in _DEFINITION.findall(text):
            found[kind][name] = (base, body)
        tables = {
            name: [
                (field, kind.rpartition(".")[2], bool(vector)) for field, vector, kind in _FIELD.findall(body)
            ]
            for name, (_, body) in found["table"].items()
        }
        unions = {
            name: [of or member for member, of in re.findall(r"(\w+)(?:\s*:\s*(\w+))?", body)]
            for name, (_, body) in found["union"].items()
        }
        enums = {name: CODES[base] for name, (base, _) in found["enum"].items()}
        return cls(tables, unions, {**CODES, **enums})


@dataclass
class Parts:
    """The places of a buffer that can be changed, by the name of the field.

    Attributes:
        numbers: Positions and struct codes of numbers, of items of vectors, and of the kinds of unions.
        lengths: Positions of the lengths of vectors and texts.
        references: Positions of the references to tables, texts and vectors.
        entries: Positions of vtable entries of present fields.
        targets: Where references of each name lead.
    """

    numbers: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    lengths: dict[str, list[int]] = field(default_factory=dict)
    references: dict[str, list[int]] = field(default_factory=dict)
    entries: dict[str, list[int]] = field(default_factory=dict)
    targets: dict[str, list[int]] = field(default_factory=dict)


class Walker:
    """Finds the parts of a sound buffer."""

    def __init__(self, data: bytes, schema: Schema) -> None:
        self.parts = Parts()
        self._data = data
        self._schema = schema

    def root(self, kind: str, start: int = 0) -> Parts:
        self._table(kind, start + self._number("I", start))
        return self.parts

    def _number(self, code: str, at: int) -> int:
        number: int = struct.unpack_from("<" + code, self._data, at)[0]
        return number

    def _table(self, kind: str, at: int) -> None:
        vtable = at - self._number("i", at)
        slots = self._number("H", vtable) // 2 - 2
        slot = 0
        for name, of, is_vector in self._schema.tables[kind]:
            label = f"{kind}.{name}"
            if of in self._schema.unions and not is_vector:
                self._union(label, of, at, vtable, slot, slots)
                slot += 2
                continue
            if slot < slots and (offset := self._number("H", vtable + 4 + 2 * slot)):
                self.parts.entries.setdefault(label, []).append(vtable + 4 + 2 * slot)
                self._field(label, of, is_vector, at + offset)
            slot += 1

    def _union(self, label: str, of: str, at: int, vtable: int, slot: int, slots: int) -> None:
        if slot + 1 >= slots:
            return
        kind_offset, offset = (self._number("H", vtable + 4 + 2 * each) for each in (slot, slot + 1))
        if kind_offset:
            self.parts.entries.setdefault(label, []).append(vtable + 4 + 2 * slot)
            self.parts.numbers.setdefault(label + "_type", []).append((at + kind_offset, "B"))
        if kind_offset and offset:
            number = self._number("B", at + kind_offset)
            self._reference(label, self._schema.unions[of][number - 1], at + offset)

    def _field(self, label: str, of: str, is_vector: bool, at: int) -> None:
        if not is_vector and of in self._schema.codes:
            self.parts.numbers.setdefault(label, []).append((at, self._schema.codes[of]))
        elif not is_vector:
            self._reference(label, of, at)
        else:
            target = self._follow(label, at)
            self.parts.lengths.setdefault(label, []).append(target)
            self._items(label + "[]", of, target + 4, self._number("I", target))

    def _items(self, label: str, of: str, start: int, count: int) -> None:
        code = self._schema.codes.get(of)
        for index in range(min(count, 4096)):
            if code is None:
                self._reference(label, of, start + 4 * index)
            else:
                at = start + struct.calcsize(code) * index
                self.parts.numbers.setdefault(label, []).append((at, code))

    def _follow(self, label: str, at: int) -> int:
        target = at + self._number("I", at)
        self.parts.references.setdefault(label, []).append(at)
        self.parts.targets.setdefault(label, []).append(target)
        return target

    def _reference(self, label: str, of: str, at: int) -> None:
        target = self._follow(label, at)
        if of == "string":
            self.parts.lengths.setdefault(label, []).append(target)
            self._items(label + "[]", "ubyte", target + 4, self._number("I", target))
        else:
            self._table(of, target)


def _store(data: bytearray, at: int, code: str, number: float) -> None:
    if code in "fd":
        struct.pack_into("<" + code, data, at, number)
    else:
        size = struct.calcsize(code)
        data[at : at + size] = (int(number) % (1 << 8 * size)).to_bytes(size, "little")


def change_number(data: bytearray, parts: Parts, rng: random.Random) -> None:
    """Write another number: that of a sibling, a neighbor, or an extreme one."""
    places = parts.numbers[rng.choice(sorted(parts.numbers))]
    at, code = rng.choice(places)
    (old,) = struct.unpack_from("<" + code, data, at)
    if code in "fd":
        _store(data, at, code, rng.choice([0.0, -1.0, float("nan"), float("inf"), 1e-40, -old, 3e38]))
        return
    (sibling,) = struct.unpack_from("<" + code, data, rng.choice(places)[0])
    choices = [sibling, sibling, old + 1, old - 1, rng.randrange(16), -1, rng.choice(_INTERESTING)]
    _store(data, at, code, rng.choice(choices))


def change_length(data: bytearray, parts: Parts, rng: random.Random) -> None:
    """Drop items of a vector, or have it take what follows it as items."""
    at = rng.choice(parts.lengths[rng.choice(sorted(parts.lengths))])
    (old,) = struct.unpack_from("<I", data, at)
    _store(data, at, "I", rng.choice([0, 0, max(old - 1, 0), old // 2, old + 1]))


def change_reference(data: bytearray, parts: Parts, rng: random.Random) -> None:
    """Lead a reference to a sibling's target, if that lies behind it."""
    name = rng.choice(sorted(parts.references))
    at = rng.choice(parts.references[name])
    targets = [target for target in parts.targets[name] if target > at]
    if targets:
        _store(data, at, "I", rng.choice(targets) - at)


def drop_field(data: bytearray, parts: Parts, rng: random.Random) -> None:
    """Make a field absent, in all tables that share the vtable."""
    at = rng.choice(parts.entries[rng.choice(sorted(parts.entries))])
    _store(data, at, "H", 0)


STRUCTURAL: Sequence[Callable[[bytearray, Parts, random.Random], None]] = [
    *[change_number] * 6,
    *[change_length] * 2,
    change_reference,
    drop_field,
]
