"""The recommendations for `TvmBackend`, as data."""

from __future__ import annotations

from etconfig.plugin.v1 import Advice

ADVICE = (
    Advice(
        "num_threads",
        expr="max(1, min(cpu.available_cores, cpu.performance_cores))",
        reason="The work is cut into equal parts, so slow cores hold the others up.",
    ),
    Advice(
        "num_threads",
        expr="max(1, cpu.available_cores)",
        reason="On x86, TVM by itself takes half of the hardware threads of the machine, whatever its "
        "container may use.",
    ),
)
"""The first one whose facts are known counts."""
