"""Loads methods of a program and runs them on numpy kernels and delegates."""

from etconfig.execution.method import Method
from etconfig.executor.bundled import CaseResult, OutputResult, Tolerance, run_case
from etconfig.executor.method import NumpyProgram, load_method, method_request
from etconfig.executor.plan import DEFAULT_INSTRUCTION_LIMIT
from etconfig.executor.registry import Kernel, KernelRegistry, KernelTable, kernel
from etconfig.executor.tracing import Event, NullTracer, RecordingTracer, chrome_trace, etdump

__all__ = [
    "DEFAULT_INSTRUCTION_LIMIT",
    "CaseResult",
    "Event",
    "Kernel",
    "KernelRegistry",
    "KernelTable",
    "Method",
    "NullTracer",
    "NumpyProgram",
    "OutputResult",
    "RecordingTracer",
    "Tolerance",
    "chrome_trace",
    "etdump",
    "kernel",
    "load_method",
    "method_request",
    "run_case",
]
