"""The numpy executor: loads methods of a program and runs them on numpy kernels and delegates."""

from etconfig.numpy_executor.bundled import CaseResult, OutputResult, Tolerance, run_case
from etconfig.numpy_executor.method import NumpyProgram, load_method, method_request
from etconfig.numpy_executor.plan import DEFAULT_INSTRUCTION_LIMIT

__all__ = [
    "DEFAULT_INSTRUCTION_LIMIT",
    "CaseResult",
    "NumpyProgram",
    "OutputResult",
    "Tolerance",
    "load_method",
    "method_request",
    "run_case",
]
