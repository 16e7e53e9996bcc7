"""Mutants of the checks on options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from etconfig_reference.options import ReferenceCpuOptions

from etconfig.backend import UpdateContext
from etconfig.conformance.interposed import Interposed
from etconfig.plugin.v1 import Ge, option
from mutants.mutant import Mutant

UNDESCRIBED = Mutant(
    "schema-documented",
    r"options.py:\d+: ReferenceCpuOptions: the environment variable MUTANT_LOG of ReferenceCpuBackend is "
    r"described as 'Logging.', expected a sentence; say what it does",
    declared={"environment": {"MUTANT_LOG": "Logging."}},
)


class RedactedOptions(ReferenceCpuOptions):
    """Writes into JSON what it does not accept from there."""

    def to_jsonable(self) -> dict[str, Any]:
        return {**super().to_jsonable(), "scratch_bytes": "***"}


REDACTED = Mutant(
    "schema-roundtrip",
    r"options.py:\d+: RedactedOptions: .*came back from JSON as ReferenceCpuBackend.scratch_bytes: expected",
    declared={"options": RedactedOptions},
)


class UnknownCoresOptions(ReferenceCpuOptions):
    """Relies on a fact that not every device tells."""

    num_threads: Annotated[int, Ge(1)] = option(
        from_fact="cpu.available_cores", applies="execute", doc="How many workers there are."
    )


UNKNOWN_CORES = Mutant(
    "defaults-valid",
    r"options.py:\d+: UnknownCoresOptions.num_threads has no value where the fact cpu.available_cores is not "
    r"known, expected one that works without configuration; give option\(\) a default",
    declared={"options": UnknownCoresOptions},
)


def recommend_all_cores(facts: Mapping[str, object]) -> Mapping[str, object]:
    """Advice that fails where the fact is not known."""
    return {"num_threads": facts["cpu.available_cores"]}


ALL_CORES = Mutant(
    "recommend-valid",
    r"options.py:\d+: recommend of ReferenceCpuBackend fails where no fact is known: "
    "KeyError: 'cpu.available_cores'; look facts up with get",
    declared={"recommend": recommend_all_cores},
)


class TwinOptions(ReferenceCpuOptions):
    """Keeps the former name of an option beside the new one."""

    num_thread: int = option(
        1, applies="load", doc="The former name of num_threads.", deprecated="use num_threads"
    )


TWIN = Mutant(
    "unknown-option",
    r"options.py:\d+: TwinOptions.num_threads: a typo of it, num_thread, is another option, .*"
    "rename one and keep the name in renamed_from",
    declared={"options": TwinOptions},
)


class Boastful(Interposed):
    """Tells one value of an option, whatever was given."""

    def effective_options(self, handle: Any) -> Mapping[str, object]:
        return {**super().effective_options(handle), "accumulate": "fp64"}


BOASTFUL = Mutant(
    "effect-visible",
    r"options.py:\d+: ReferenceCpuOptions.accumulate: effective_options tells 'fp64' whether "
    "<Accumulate.FP32: 'fp32'>, <Accumulate.FP64: 'fp64'> was given; use the option",
    backend=Boastful,
)


class Forgetful(Interposed):
    """Sets up anew on each update, and forgets what was chosen at load."""

    has_updated = False

    def update(self, context: UpdateContext[Any], handle: Any, changed: frozenset[str]) -> None:
        super().update(context, handle, changed)
        self.has_updated = True

    def effective_options(self, handle: Any) -> Mapping[str, object]:
        forgotten = {"scratch_bytes": 4096} if self.has_updated else {}
        return {**super().effective_options(handle), **forgotten}


FORGETFUL = Mutant(
    "scope-enforced",
    r"options.py:\d+: ReferenceCpuOptions.scratch_bytes was \d+ and is 4096 after a change of num_threads, "
    "expected no change; let update take on only what changed",
    backend=Forgetful,
)
