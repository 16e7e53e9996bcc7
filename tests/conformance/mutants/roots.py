"""Mutants whose defect is the cause of many failures; the tests run all checks on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from driver import STATE

from etconfig.backend import ExecuteContext, InitContext, Processed, Value
from etconfig.conformance.interpose.interposer import Interposer
from mutants.answers import WrongSums
from mutants.mutant import BACKEND, Mutant, output_of

STATE.answers = {}
STATE.options = None


def recommend_text(facts: Mapping[str, object]) -> Mapping[str, object]:
    """Recommend a text for a number."""
    return {"num_threads": "many"}


def recommend_without_care(facts: Mapping[str, object]) -> Mapping[str, object]:
    """Fail on every device."""
    return {"num_threads": facts["npu.cores"]}


def stop(*args: object) -> None:
    """Fail."""
    raise ModuleNotFoundError("No module named 'torch'", name="torch")


class ChangesInputs(Interposer):
    """Uses its inputs as scratch memory."""

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        super().execute(context, handle, args)
        for arg in args[:-1]:
            if isinstance(arg, np.ndarray) and arg.dtype.kind == "f":
                arg *= 2


class CachesAnswers(Interposer):
    """Keeps answers by the shapes of the inputs."""

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        key = tuple(np.asarray(arg).shape for arg in args)
        if key in STATE.answers:
            output_of(args)[...] = STATE.answers[key]
        else:
            super().execute(context, handle, args)
            STATE.answers[key] = output_of(args).copy()


class ComputesWithTheLastOptions(Interposer):
    """Computes with the options of the last load, and reports each instance's own."""

    def init(
        self, context: InitContext[Any], processed: Processed, compile_specs: Mapping[str, bytes]
    ) -> Any:
        STATE.options = self._own = context.options
        return super().init(context, processed, compile_specs)

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        super().execute(context, handle, args)
        if STATE.options != self._own:
            output_of(args)[...] += 1


CHANGES_INPUTS = Mutant("aliasing", "argument 0, an input, has changed", backend=ChangesInputs)
CACHES_ANSWERS = Mutant("answers", "this is the answer of run", backend=CachesAnswers)
OPTIONS_OF_THE_LAST = Mutant("option-leak", "", backend=ComputesWithTheLastOptions)
WRONG_SUMS = Mutant("answers", "off by", backend=WrongSums)
BAD_TYPE = Mutant("recommend-valid", "many", declared={"recommend": recommend_text})
BAD_RECOMMEND = Mutant("recommend-valid", "npu.cores", declared={"recommend": recommend_without_care})
BROKEN = Mutant(
    "loads",
    "",
    entry_points={"etconfig.backends": f"{BACKEND} = mutant_broken"},
    files={"mutant_broken.py": "1 / 0"},
)
NO_FACTORY = Mutant("signature-bind", "", declared={"factory": stop})
