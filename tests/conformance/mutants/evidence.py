"""Mutants of the check of evidence: options that are declared and reported, but read by no code."""

from __future__ import annotations

from typing import Annotated, Any

from etconfig_reference.options import ReferenceCpuOptions

from etconfig.plugin.v1 import Ge, Observed, option
from mutants.mutant import Mutant


class ClockOptions(ReferenceCpuOptions):
    """Options with a clock that no code reads; `effective_options` echoes it."""

    clock: Annotated[int, Ge(1)] = option(100, applies="execute", doc="The clock of the device in MHz.")


def clocked(message: str, evidence: Any) -> Mutant:
    """Return a mutant with the idle clock and this evidence of it."""
    given = None if evidence is None else {"clock": evidence}
    return Mutant("option-evidence", message, declared={"options": ClockOptions}, evidence=given)


def unchanged(observable: str) -> str:
    """Return what the message says about an observable that does not change."""
    return (
        rf"^evidence.py:\d+: ClockOptions.clock: no change of its {observable} as declared between .*; "
        "use the option, remove it, or declare where its effect can be seen$"
    )


ECHO = clocked(
    r"^evidence.py:\d+: ClockOptions.clock: nothing shows its effect; no change of output, threads, trace "
    r'was seen: write evidence={"clock": .* or "clock": Unobservable\("why nothing shows it"\)$',
    None,
)
SAME_OUTPUT = clocked(unchanged("output"), Observed("output"))
SAME_TRACE = clocked(unchanged("trace"), Observed("trace"))
SAME_FILES = clocked(unchanged("files"), Observed("files"))
SAME_THREADS = clocked(unchanged("threads"), Observed("threads", values=(1, 400), expect="more"))
SAME_MEMORY = clocked(unchanged("memory"), Observed("memory", values=(1, 400), expect="more"))
SAME_TIME = clocked(unchanged("time"), Observed("time", values=(1, 400), expect="less"))
WRONG_WAY = Mutant(
    "option-evidence",
    "num_threads: no change of its threads as declared between 1 and 4 .*, expected less",
    evidence={
        "num_threads": Observed(
            "threads", values=(1, 4), expect="less", case="large_linear", beside={"scratch_bytes": 4096}
        )
    },
)
UNKNOWN_NAME = Mutant(
    "option-evidence",
    "evidence of ReferenceCpuBackend names 'num_thread', which is not an option; did you mean 'num_threads'",
    evidence={"num_thread": Observed("output")},
)
