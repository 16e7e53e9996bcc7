"""Example texts for `bucket`: such that a staged rollout reaches the device, or does not."""

from __future__ import annotations

from array import array
from bisect import bisect
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice

from etconfig.expression.checked import Checked, Constant, FactValueOf, Operation, children
from etconfig.expression.operations import OPERATIONS
from etconfig.expression.proof.assumptions import Assumptions
from etconfig.expression.proof.proof_steps import ProofSteps
from etconfig.expression.proof.ranges import NumberRange

_PREFIX = "device-"
_BLOCK = 4096
_MAX_BLOCKS = 16
"""The most blocks of texts to look through: rollouts to fewer than 1 of 10,000 devices may not be found."""

_MAX_KINDS = 8
"""The most texts that differ in the stages that they are in."""


def texts_in_buckets(name: str, trees: Sequence[Checked], device: Assumptions) -> Iterator[str]:
    """Yield texts for a fact in `bucket(...)`: first one that meets the assumptions, then others.

    Args:
        name: The fact.
        trees: The conditions.
        device: The assumptions about buckets.
    """
    calls = {repr(call): call for tree in trees for call in _calls(tree, name)}
    if not calls:
        return
    salts = [_salt(call) for call in calls.values()]
    assumed = [device.buckets.get(key) for key in calls]
    numbers = {float(each) for tree in trees for each in _numbers(tree)}
    prefixes = [*dict.fromkeys(each for tree in trees for each in _prefixes(tree, name)), _PREFIX]
    for prefix in prefixes:
        yield from islice(_fitting(prefix, salts, assumed, device.steps), 1)
    stages = sorted(number for number in numbers if 0 < number < 1)
    for prefix in prefixes:
        yield from islice(_of_each_kind(prefix, salts, stages, device.steps), _MAX_KINDS)


def _calls(tree: Checked, name: str) -> Iterator[Operation]:
    """Yield the calls of `bucket` with a fact."""
    if isinstance(tree, Operation) and tree.function == "bucket" and tree.operands[0] == FactValueOf(name):
        yield tree
    for child in children(tree):
        yield from _calls(child, name)


def _salt(call: Operation) -> str:
    salt = call.operands[1]
    assert isinstance(salt, Constant)  # the checker refuses others
    assert isinstance(salt.value, str)
    return salt.value


def _numbers(tree: Checked) -> Iterator[int | float]:
    if isinstance(tree, Constant) and isinstance(tree.value, (int, float)):
        yield tree.value
    for child in children(tree):
        yield from _numbers(child)


def _prefixes(tree: Checked, name: str) -> Iterator[str]:
    """Yield the texts that conditions look for at the beginning of a fact, or inside of it."""
    if isinstance(tree, Operation) and tree.function in ("startsWith", "contains"):
        text, part = tree.operands
        if text == FactValueOf(name) and isinstance(part, Constant) and isinstance(part.value, str):
            yield part.value
    for child in children(tree):
        yield from _prefixes(child, name)


def _fitting(
    prefix: str, salts: Sequence[str], assumed: Sequence[NumberRange | None], steps: ProofSteps
) -> Iterator[str]:
    """Yield the texts whose buckets are in all ranges."""
    wanted = [(salt, *values[:2]) for salt, values in zip(salts, assumed, strict=True) if values is not None]
    for block in range(_MAX_BLOCKS):
        numbers: Iterable[int] = range(_BLOCK)
        for salt, lowest, highest in wanted:
            steps.spend_once((prefix, salt, block), _BLOCK * 2)
            steps.spend(_BLOCK >> 4)
            buckets = _buckets(prefix, salt, block)
            numbers = [number for number in numbers if lowest <= buckets[number] <= highest]
        yield from (f"{prefix}{block * _BLOCK + number}" for number in numbers)


def _of_each_kind(
    prefix: str, salts: Sequence[str], stages: Sequence[float], steps: ProofSteps
) -> Iterator[str]:
    """Yield a text for each combination of stages in which a device may be, the most frequent ones first."""
    seen: set[tuple[int, ...]] = set()
    for salt in salts:
        steps.spend_once((prefix, salt, 0), _BLOCK * 2)
    steps.spend((1 + len(salts)) * _BLOCK >> 2)
    blocks = [_buckets(prefix, salt, 0) for salt in salts]
    for number, buckets in enumerate(zip(*blocks, strict=True)):
        kind = tuple(bisect(stages, bucket) for bucket in buckets)
        if kind not in seen:
            seen.add(kind)
            yield f"{prefix}{number}"


@lru_cache(256)
def _buckets(prefix: str, salt: str, block: int) -> array[float]:
    """Return the buckets of numbered texts."""
    bucket = OPERATIONS["bucket"].compute
    return array("d", (bucket(f"{prefix}{block * _BLOCK + number}", salt) for number in range(_BLOCK)))
