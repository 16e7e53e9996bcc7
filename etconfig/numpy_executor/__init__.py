"""The numpy executor: loads methods of a program and runs them on numpy kernels and delegates."""

from etconfig.numpy_executor.method import NumpyProgram, load_method
from etconfig.numpy_executor.plan import DEFAULT_INSTRUCTION_LIMIT

__all__ = [
    "DEFAULT_INSTRUCTION_LIMIT",
    "NumpyProgram",
    "load_method",
]
