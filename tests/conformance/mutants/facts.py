"""Mutants of the checks on facts."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterable
from typing import Annotated

from etconfig_reference.options import ReferenceCpuOptions

from etconfig.plugin.v1 import (
    ApiRange,
    FactInfo,
    FactsContribution,
    FactType,
    FunctionDetector,
    Ge,
    Reading,
    System,
    Volatility,
    option,
)
from mutants.mutant import Mutant

CORES = FactInfo(name="mutant.cores", type=FactType.INT, doc="Cores.", volatility=Volatility.STATIC)


def contribution(detector: FunctionDetector) -> FactsContribution:
    return FactsContribution(api=ApiRange(min=1, built=1), facts=(CORES,), detectors=(detector,))


class FactlessOptions(ReferenceCpuOptions):
    """Options without facts, so that loading a method waits for no detector."""

    num_threads: Annotated[int, Ge(1)] = option(1, applies="execute", doc="How many workers there are.")


def ask_hung_driver(system: System) -> Iterable[Reading]:
    """Waits for an answer that never comes."""
    threading.Event().wait()
    return ()


HUNG = Mutant(
    "facts-bounded",
    r"^facts.py:\d+: detector 'mutant' did not end within 2 s; read files and run commands through",
    declared={"options": FactlessOptions, "advice": ()},
    facts=contribution(FunctionDetector("mutant", ("mutant.cores",), ask_hung_driver)),
)

_CORES = itertools.count(1)


def count_cores(system: System) -> Iterable[Reading]:
    """Continues counting each time."""
    yield Reading("mutant.cores", next(_CORES), "the driver")


GROWING = Mutant(
    "facts-serialisable",
    r"^mutant 1.0: the fact mutant.cores is static, but was \d+ and then \d+; declare it live",
    facts=contribution(FunctionDetector("mutant", ("mutant.cores",), count_cores)),
)
