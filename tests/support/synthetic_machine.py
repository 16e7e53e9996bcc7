"""A machine in the memory of a test: runs take the time that a model says, with noise and drift."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from etconfig.measuring.subjects import MeasuredSubject

IDENTITY: dict[str, object] = {
    "model": "sha256:1",
    "data": [],
    "method": "forward",
    "instance": None,
    "executor": None,
    "engine": "tiny 1.0",
    "device": {"cpu.model": "X"},
    "incumbent": "sha256:2",
    "objective": "latency",
    "bounds": [],
    "tolerance": 0.01,
    "inputs": {"shapes": ["x=1,3,48,192"], "seed": 0},
    "reference": None,
}
"""The conditions of a study."""


class SyntheticMachine:
    """A clock, and the noise of a shared machine: slow drift that hits all alike, and rare long runs.

    Args:
        seed: The seed of the noise.
        noise: The scale of the noise of each run.
        luck: The scale of the noise that a whole load has, such as by where its memory lies.
        order: The share by which a load is faster that comes while another is open.
    """

    def __init__(self, seed: int, noise: float = 0.03, luck: float = 0.0, order: float = 0.0) -> None:
        self.random = np.random.default_rng(seed)
        self.noise, self.luck, self.order = noise, luck, order
        self.open = 0
        self.now_s = 0.0
        self.loads = 0

    def clock(self) -> float:
        """Return the time in seconds."""
        return self.now_s

    def run_ns(self, base_s: float) -> int:
        """Return the time of a run, and let it pass."""
        drift = 0.1 * math.sin(self.now_s / 0.7) + 0.05 * math.sin(self.now_s / 0.13)
        spike = self.random.exponential(0.5) if self.random.random() < 0.05 else 0.0
        took = base_s * math.exp(drift + abs(self.random.normal(0, self.noise)) + spike)
        self.now_s += took
        return int(took * 1e9)


class SyntheticSubject(MeasuredSubject):
    """A configuration whose time and outputs are given."""

    def __init__(self, machine: SyntheticMachine, base_s: float, outputs: Callable[[Any], Any]) -> None:
        machine.now_s += 0.001
        machine.loads += 1
        self.label, self.input_names, self.load_s, self.peak_bytes = "synthetic", ("x",), 0.001, None
        self._machine, self._outputs = machine, outputs
        self._base_s = base_s * math.exp(machine.random.normal(0, machine.luck))
        self._base_s *= 1 - machine.order if machine.open else 1
        machine.open += 1
        self.is_closed = False

    def generate(self, seed: int) -> list[Any]:
        return [np.random.default_rng(seed).standard_normal(4)]

    def run(self, inputs: Sequence[Any]) -> list[Any]:
        return [self._outputs(inputs[0])]

    def time_block(self, count: int) -> Sequence[int]:
        assert not self.is_closed
        return [self._machine.run_ns(self._base_s) for _ in range(count)]

    def close(self) -> None:
        self._machine.open -= not self.is_closed
        self.is_closed = True


def subject_maker(
    machine: SyntheticMachine,
    speed: Callable[[Mapping[str, object]], float],
    outputs: Callable[[Mapping[str, object], Any], Any] = lambda _, value: value,
) -> Callable[[Mapping[str, object]], SyntheticSubject]:
    """Return the maker of subjects that take 1 ms times the factor of their configuration."""
    return lambda options: SyntheticSubject(
        machine, 0.001 * speed(options), lambda value: outputs(options, value)
    )
