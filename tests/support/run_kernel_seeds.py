"""Hostile calls of every kernel of ExecuTorch's wheel, each in guarded memory, in processes that may end.

Run it where etconfig-executorch is installed: `python tests/support/run_kernel_seeds.py --of OPERATOR`.
Each recorded call of tests/data/kernels becomes many programs of one instruction: with other types, shapes,
values, scalars and lists, and with tensors that overlap. Around each tensor is memory that nobody may touch.
"""

from __future__ import annotations

import argparse
import ctypes
import itertools
import json
import mmap
import os
import random
import re
import resource
import signal
import sys
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from kernel_cases import Recorded, load_cases
from program_writer import instruction, plan, table, value, write

from etconfig.base.scalar_types import ScalarType
from etconfig.errors import EtconfigError
from etconfig.program.program import open_program

TYPES = [ScalarType(code) for code in (0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 15, 27, 28, 29)]
NUMBERS = (-1, 0, 1, 2, 3, 7, 100, 65_537, 2**31, -(2**31) - 1, 2**62, -(2**62))
REALS = (0.0, -1.0, float("nan"), float("inf"), 1e30, 1e-30)
PAGE = mmap.PAGESIZE
SECONDS = 10
CANARY = 0xC7


@dataclass(frozen=True)
class Placed:
    """A tensor of a call: its type, its form, its first bytes, and the tensor whose memory it shares."""

    scalar_type: ScalarType
    sizes: tuple[int, ...]
    dim_order: tuple[int, ...]
    data: bytes = b""
    shares: int | None = None
    shift: int = 0

    @property
    def size_bytes(self) -> int:
        return int(np.prod(self.sizes, dtype=np.int64)) * self.scalar_type.itemsize_bytes


@dataclass(frozen=True)
class Seed:
    """A call with one mutation."""

    operator: str
    mutation: str
    arguments: tuple[tuple[str, Any], ...]
    tensors: tuple[Placed, ...]
    is_dynamic: bool = False
    is_left: bool = False


def base_seeds(signatures: Any) -> Iterator[Seed]:
    """Yield each recorded call of an operator that the wheel has, as it was recorded."""
    for case in load_cases():
        if case.operator not in signatures:
            continue
        tensors: list[Placed] = []

        def place(each: Recorded, tensors: list[Placed] = tensors) -> int:
            data = np.transpose(each.array, each.dim_order).tobytes()
            tensors.append(Placed(each.scalar_type, each.array.shape, tuple(each.dim_order), data))
            return len(tensors) - 1

        arguments = []
        for (accepted, letter), given in zip(
            signatures[case.operator], (*case.arguments, *case.outputs), strict=False
        ):
            if given is None:
                arguments.append(("-", None))
            elif letter in "tv":
                arguments.append(("t", place(given)))
            elif letter in "TO":
                arguments.append((letter, [None if each is None else place(each) for each in given]))
            elif letter in "IBF":
                arguments.append((letter, list(given)))
            elif letter in "ifbs" and letter in accepted:
                arguments.append((letter, given))
            else:
                kind = "b" if type(given) is bool else "i" if type(given) is int else "f"
                arguments.append((kind, given))
        yield Seed(case.operator, "as recorded", tuple(arguments), tuple(tensors))


def mutants(seed: Seed, count_out: int) -> Iterator[Seed]:
    """Yield every mutant of a recorded call."""
    yield seed
    yield replace(seed, is_dynamic=True)
    tensors = seed.tensors
    for at, each in enumerate(tensors):
        for scalar_type in TYPES:
            if scalar_type != each.scalar_type:
                yield _with(seed, at, f"dtype {at} {scalar_type.name}", scalar_type=scalar_type)
        for sizes in _shapes(each.sizes):
            changes = {"sizes": sizes, "dim_order": tuple(range(len(sizes)))}
            yield _with(seed, at, f"shape {at} {sizes}", **changes)
        if len(each.sizes) > 1:
            yield _with(seed, at, f"order {at}", dim_order=each.dim_order[::-1])
        if each.scalar_type.dtype_name.startswith(("int", "uint", "bool")):
            for number, is_left, everywhere in itertools.product(
                (-1, -7, 1, 5, 127, 2**15, 10**6, 2**31, 2**40, 2**62, -(2**62)), (False, True), (False, True)
            ):
                data = _filled(each, number, everywhere)
                if data is not None:
                    name = f"values {at} {number}{' everywhere' * everywhere}"
                    yield replace(_with(seed, at, name, data=data), is_left=is_left)
                    other = _with(seed, at, name + " dynamic", data=data)
                    yield replace(other, is_left=is_left, is_dynamic=True)
    for order in ((0, 2, 3, 1), (0, 2, 1), (1, 0), (3, 2, 1, 0)):
        if any(len(each.sizes) == len(order) for each in tensors):
            changed = tuple(
                replace(each, dim_order=order) if len(each.sizes) == len(order) else each for each in tensors
            )
            for argument in _other_dimensions(seed):
                name = f"orders {order} {[given for kind, given in argument if kind in 'iI']}"
                yield replace(seed, mutation=name, tensors=changed, arguments=argument)
    for of in {each.scalar_type for each in tensors}:
        for scalar_type in TYPES:
            changed = tuple(
                replace(each, scalar_type=scalar_type) if each.scalar_type == of else each for each in tensors
            )
            yield replace(seed, mutation=f"dtypes {of.name} {scalar_type.name}", tensors=changed)
    for one, other in itertools.permutations(range(len(tensors)), 2):
        if other < len(tensors) - count_out:
            continue
        for number in (None, 10**6, -1):
            data = tensors[one].data if number is None else _filled(tensors[one], number, True)
            if data is not None:
                for shift in (0, 8):
                    name = f"overlap {one} {other} {number} {shift}"
                    yield _with(seed, one, name, shares=other, data=data, shift=shift)
    for at, (kind, given) in enumerate(seed.arguments):
        for mutated in _scalars(kind, given):
            arguments = (*seed.arguments[:at], mutated, *seed.arguments[at + 1 :])
            name = f"argument {at} {mutated[1]!r}"
            yield replace(seed, mutation=name, arguments=arguments)
            yield replace(seed, mutation=name + " dynamic", arguments=arguments, is_dynamic=True)


def _with(seed: Seed, at: int, mutation: str, **changes: Any) -> Seed:
    changed = replace(seed.tensors[at], **changes)
    return replace(seed, mutation=mutation, tensors=(*seed.tensors[:at], changed, *seed.tensors[at + 1 :]))


def _shapes(sizes: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    yield ()
    yield (0,)
    yield (*sizes, 2)
    yield (1, *sizes)
    if sizes:
        yield sizes[1:]
        yield sizes[:-1]
        yield sizes[::-1]
    for at, size in enumerate(sizes):
        for other in {0, 1, size + 1, max(size - 1, 0), size * 3}:
            if other != size:
                yield (*sizes[:at], other, *sizes[at + 1 :])


def _filled(each: Placed, number: int, everywhere: bool) -> bytes | None:
    """Return the tensor's bytes with a number in one place or all of them; None if it does not fit."""
    dtype = np.dtype(each.scalar_type.dtype_name)
    count = each.size_bytes // dtype.itemsize
    if not count:
        return None
    array = np.zeros(count, dtype)
    known = np.frombuffer(each.data[: array.nbytes - array.nbytes % dtype.itemsize], dtype)
    array[: known.size] = known[:count]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        array[slice(None) if everywhere else count - 1] = np.array([number]).astype(dtype)[0]
    return array.tobytes()


def _other_dimensions(seed: Seed) -> Iterator[tuple[tuple[str, Any], ...]]:
    """Yield the arguments, and those with another first number: often a dimension."""
    yield seed.arguments
    for at, (kind, given) in enumerate(seed.arguments):
        if kind == "i" or (kind == "I" and given):
            for number in (-2, -1, 0, 1, 2, 3):
                mutated = (kind, number if kind == "i" else [number, *given[1:]])
                yield (*seed.arguments[:at], mutated, *seed.arguments[at + 1 :])
            return


def _scalars(kind: str, given: Any) -> Iterator[tuple[str, Any]]:
    if kind == "i":
        yield from (("i", each) for each in NUMBERS if each != given)
    elif kind == "f":
        yield from (("f", each) for each in REALS)
    elif kind == "b":
        yield "b", not given
    elif kind in "IBF":
        items = {"I": NUMBERS, "B": (True, False), "F": REALS}[kind]
        yield kind, []
        yield kind, given[:-1]
        yield kind, [*given, items[2 % len(items)]]
        yield kind, list(itertools.islice(itertools.cycle(given or items), 20))
        for at, item in itertools.product(range(len(given)), items):
            yield kind, [*given[:at], item, *given[at + 1 :]]
        for item in items:
            yield kind, [item] * len(given)
    elif kind in "TO":
        yield kind, []
        yield kind, given[:-1]
        yield kind, [*given, *given[:1]]
        yield kind, given * 10
        if kind == "O":
            yield kind, [None] * len(given)
            yield kind, [*given, None]
            yield kind, [None, *given]


def program_of(seed: Seed) -> tuple[bytes, list[int]]:
    """Return the program, and the sizes of its planned memories."""
    sizes = [each.size_bytes for each in seed.tensors]
    for each in seed.tensors:
        if each.shares is not None:
            sizes[each.shares] = max(sizes[each.shares], each.shift + each.size_bytes)
    values = []
    for at, each in enumerate(seed.tensors):
        place = at if each.shares is None else each.shares
        planned = table("AllocationDetails", memory_id=place + 1, memory_offset_low=each.shift)
        values.append(
            value(
                "Tensor",
                scalar_type=int(each.scalar_type),
                sizes=list(each.sizes),
                dim_order=list(each.dim_order),
                allocation_info=planned,
                shape_dynamism=int(seed.is_dynamic),
            )
        )

    def add(node: Any) -> int:
        values.append(node)
        return len(values) - 1

    args = []
    for kind, given in seed.arguments:
        if kind == "t":
            args.append(given)
        elif kind == "-":
            args.append(add(value("Null")))
        elif kind == "i":
            args.append(add(value("Int", int_val=int(given))))
        elif kind == "b":
            args.append(add(value("Bool", bool_val=given)))
        elif kind == "f":
            args.append(add(value("Double", double_val=float(given))))
        elif kind == "s":
            args.append(add(value("String", string_val=given)))
        elif kind == "I":
            items = [add(value("Int", int_val=int(each))) for each in given]
            args.append(add(value("IntList", items=items)))
        elif kind == "B":
            args.append(add(value("BoolList", items=given)))
        elif kind == "F":
            args.append(add(value("DoubleList", items=[float(each) for each in given])))
        else:
            items = [-1 if each is None else each for each in given]
            args.append(add(value("TensorList" if kind == "T" else "OptionalTensorList", items=items)))
    name, _, overload = seed.operator.partition(".")
    call = instruction("KernelCall", op_index=0, args=[*args, args[-1]])
    data = write(
        plan(
            values=values,
            instructions=[call],
            operators=[table("Operator", name=name, overload=overload)],
            outputs=[],
            non_const_buffer_sizes=[0, *sizes],
        ),
        payloads=[bytes(16)],
        constant_segment=table("SubsegmentOffsets", segment_index=0, offsets=[0]),
    )
    return data, sizes


LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
LIBC.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
LIBC.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


class Guarded:
    """Memory between two ranges that nobody may touch; the tensor is at the end of it, or at its begin."""

    AROUND = 1 << 22

    def __init__(self, size: int, is_left: bool) -> None:
        self._pages = max(-(-size // PAGE), 1) * PAGE
        self._size = self._pages + 2 * self.AROUND
        self._base = LIBC.mmap(None, self._size, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
        start = self._base + self.AROUND
        LIBC.mprotect(start, self._pages, mmap.PROT_READ | mmap.PROT_WRITE)
        ctypes.memset(start, CANARY, self._pages)
        self._start = start
        self._address = start if is_left else start + self._pages - size
        self._length = size
        self.buffer = (ctypes.c_uint8 * size).from_address(self._address)
        ctypes.memset(self._address, 0, size)

    def fill(self, shift: int, data: bytes) -> None:
        data = data[: self._length - shift]
        ctypes.memmove(self._address + shift, data, len(data))

    def is_clean(self) -> bool:
        content = ctypes.string_at(self._start, self._pages)
        before = self._address - self._start
        rest = content[:before] + content[before + self._length :]
        return rest.count(CANARY) == len(rest)

    def close(self) -> None:
        LIBC.munmap(self._base, self._size)


class Runner:
    """Runs seeds in this process."""

    def __init__(self) -> None:
        from etconfig_executorch.native import native
        from etconfig_executorch.runtime import the_runtime
        from etconfig_executorch.survival import check_survivable

        the_runtime().libraries.load(["quantized"])
        self._native, self._check = native, check_survivable

    def run(self, seed: Seed) -> str:
        data, sizes = program_of(seed)
        try:
            program = open_program(data)
            self._check(program.plan("forward"))
        except EtconfigError as error:
            return type(error).__name__
        native = self._native
        memories = [Guarded(size, seed.is_left) for size in sizes]
        try:
            loaded = native.Program(program.loader(), [])
            method = native.Method(
                loaded, "forward", [], single_threaded=False, memory=[each.buffer for each in memories]
            )
            for is_sharing in (False, True):  # those that share memory decide on what is in it
                for at, each in enumerate(seed.tensors):
                    if (each.shares is not None) is is_sharing:
                        memories[each.shares if is_sharing else at].fill(each.shift, each.data)
            method.execute([])
        except native.RuntimeCallError as error:
            outcome = f"error {error.code_name}"
        else:
            outcome = "ran"
        if not all(each.is_clean() for each in memories):
            outcome = "wrote elsewhere"
        method = loaded = None
        for each in memories:
            each.close()
        return outcome


def run_apart(seeds: Sequence[Seed]) -> Iterator[str]:
    """Run the seeds in processes of their own; one that ends is followed by another for the rest."""
    at = 0
    while at < len(seeds):
        reading, writing = os.pipe()
        pid = os.fork()
        if not pid:
            _child(seeds[at:], reading, writing)
        os.close(writing)
        lines = 0
        with os.fdopen(reading) as stream:
            for line in stream:
                yield line.rstrip("\n")
                lines += 1
        _, status = os.waitpid(pid, 0)
        at += lines
        if at < len(seeds):
            if not os.WIFSIGNALED(status):
                raise SystemExit(f"the runner failed at {seeds[at]}")
            yield f"ENDED {signal.Signals(os.WTERMSIG(status)).name}"
            at += 1


def _child(seeds: Sequence[Seed], reading: int, writing: int) -> None:
    os.close(reading)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30))
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    import logging

    logging.getLogger("etconfig.executorch").setLevel(logging.CRITICAL + 1)
    runner = Runner()
    try:
        for seed in seeds:
            signal.setitimer(signal.ITIMER_REAL, SECONDS)
            try:
                outcome = runner.run(seed)
            except Exception as error:
                outcome = f"unexpected {type(error).__name__}: {error}".replace("\n", " ")[:300]
            os.write(writing, f"{outcome}\n".encode())
    finally:
        os._exit(0)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--of", help="only operators whose name matches this pattern")
    parser.add_argument("--most", type=int, default=200, help="mutants per recorded call")
    parser.add_argument("--only", help="only mutations that begin with this text, such as overlap")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--part", default="0/1", help="the part of the operators, such as 0/2")
    options = parser.parse_args()
    part, parts = map(int, options.part.split("/"))
    from etconfig_executorch.survival import signatures

    Runner()  # imports everything once, before the forks
    by_operator: dict[str, list[Seed]] = defaultdict(list)
    for base in base_seeds(signatures()):
        if options.of and not re.search(options.of, base.operator):
            continue
        letters = signatures()[base.operator]
        count_out = 0
        for _, (kind, given) in zip(letters, reversed(base.arguments), strict=False):
            if kind == "T" and not count_out:
                count_out = len(given)
                break
            if kind != "t" or given < len(base.tensors) - count_out - 1:
                break
            count_out += 1
        made = [each for each in mutants(base, count_out) if each.mutation.startswith(options.only or "")]
        random.Random(base.operator).shuffle(made)
        by_operator[base.operator] += made[: options.most]
    found: dict[str, Any] = {}
    begin = time.monotonic()
    for number, (operator, seeds) in enumerate(sorted(by_operator.items())):
        if number % parts != part:
            continue
        counts: Counter[str] = Counter()
        ended = []
        for seed, outcome in zip(seeds, run_apart(seeds), strict=True):
            counts[outcome] += 1
            if outcome.startswith(("ENDED", "wrote", "unexpected")):
                ended.append((seed.mutation + " left" * seed.is_left, outcome))
        found[operator] = {"seeds": len(seeds), "outcomes": counts, "ended": ended}
        if ended:
            lines = [
                f"{operator}: {len(ended)} of {len(seeds)}",
                *(f"    {one}: {how}" for one, how in ended[:4]),
            ]
            sys.stdout.write("\n".join(lines) + "\n")
            sys.stdout.flush()
    total = sum(each["seeds"] for each in found.values())
    bad = sum(len(each["ended"]) for each in found.values())
    took_s = time.monotonic() - begin
    sys.stdout.write(f"{total} seeds of {len(found)} operators, {bad} ended, {took_s:.0f} s\n")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
