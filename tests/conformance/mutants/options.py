"""Mutants of the checks on options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from etconfig_reference.options import ReferenceCpuOptions

from etconfig.backend import InitContext, Processed, UpdateContext
from etconfig.conformance.interpose.interposer import Interposer
from etconfig.plugin.v1 import Advice, Ge, Unobservable, option
from mutants.mutant import Mutant

UNDESCRIBED = Mutant(
    "schema-documented",
    r"options.py:\d+: ReferenceCpuOptions: the environment variable MUTANT_LOG of ReferenceCpuBackend is "
    r"described as 'Logging.', expected a sentence; describe what it does",
    declared={"environment": {"MUTANT_LOG": "Logging."}},
)


class RedactedOptions(ReferenceCpuOptions):
    """Writes JSON that it does not accept itself."""

    def to_jsonable(self) -> dict[str, Any]:
        return {**super().to_jsonable(), "scratch_bytes": "***"}


REDACTED = Mutant(
    "schema-roundtrip",
    r"options.py:\d+: RedactedOptions: .*came back from JSON as ReferenceCpuBackend.scratch_bytes: expected",
    declared={"options": RedactedOptions},
)


class UnknownCoresOptions(ReferenceCpuOptions):
    """Relies on a fact that is not known on every device."""

    num_threads: Annotated[int, Ge(1)] = option(
        from_fact="cpu.available_cores", applies="execute", doc="How many workers there are."
    )


UNKNOWN_CORES = Mutant(
    "defaults-valid",
    r"options.py:\d+: UnknownCoresOptions.num_threads has no value if the fact cpu.available_cores is not "
    r"known, expected one that works without configuration; give option\(\) a default",
    declared={"options": UnknownCoresOptions},
)


ALL_BUT_ONE = Mutant(
    "recommend-valid",
    r"options.py:\d+: advice: .*num_threads",
    declared={"advice": (Advice("num_threads", expr="cpu.available_cores - 1"),)},
)


def read_threads(compile_specs: Mapping[str, bytes]) -> Mapping[str, object]:
    """Fail if a program was compiled without the key."""
    return {"num_threads": int.from_bytes(compile_specs["threads"], "little")}


THREADS_OF_PROGRAM = Mutant(
    "program-values",
    r"options.py:\d+: from_program of ReferenceCpuBackend fails without compile specs: KeyError: 'threads'; "
    r"look keys up with get\(\)",
    elsewhere="from_program of plugin 'ReferenceCpuBackend'.* failed: KeyError: 'threads'",
    declared={"from_program": read_threads},
)


class TwinOptions(ReferenceCpuOptions):
    """Keeps the former name of an option next to the new one."""

    num_thread: int = option(
        1, applies="load", doc="The former name of num_threads.", deprecated="use num_threads"
    )


TWIN = Mutant(
    "unknown-option",
    r"options.py:\d+: TwinOptions.num_threads: a typo of it, num_thread, is another option, .*"
    "rename one and keep the name in renamed_from",
    declared={"options": TwinOptions},
    evidence={"num_thread": Unobservable("the former name of an option, which has no effect any more")},
)


class Boastful(Interposer):
    """Reports the same value of an option, whatever was set."""

    def effective_options(self, handle: Any) -> Mapping[str, object]:
        return {**super().effective_options(handle), "accumulate": "fp64"}


BOASTFUL = Mutant(
    "effect-visible",
    r"options.py:\d+: ReferenceCpuOptions.accumulate: effective_options reports 'fp64' for each of the "
    "values <Accumulate.FP32: 'fp32'>, <Accumulate.FP64: 'fp64'>; use the option",
    backend=Boastful,
)


class Rigid(Interposer):
    """Starts its threads at load, and refuses updates to fewer."""

    least = 0

    def init(
        self, context: InitContext[Any], processed: Processed, compile_specs: Mapping[str, bytes]
    ) -> Any:
        self.least = context.options.num_threads
        return super().init(context, processed, compile_specs)

    def update(self, context: UpdateContext[Any], handle: Any, changed: frozenset[str]) -> None:
        if context.options.num_threads < self.least:
            raise ValueError(f"there are {self.least} threads")
        super().update(context, handle, changed)


RIGID = Mutant(
    "scope-enforced",
    r"options.py:\d+: ReferenceCpuOptions.num_threads applies at execute, but update refuses 3: "
    "ValueError: there are 4 threads; accept the value, or declare applies='load'",
    backend=Rigid,
    declared={"advice": (Advice("num_threads", expr="4"),)},
)
