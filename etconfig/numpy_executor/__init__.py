"""The numpy executor: loads methods of a program and runs them on numpy kernels and delegates.

The interpreter, in reading order: `registers` has the values of a plan, `compile` and `kernel_calls` bind its
instructions to them, `plan` runs the bound steps, and `method` puts all of this together. `step_patterns`
binds similar instructions only once. Two packages stand apart: `optimizer` leaves work out, `rebinding`
serves dynamic shapes; both use `effects`. `inputs`, `attributes` and `delegate_steps` connect a method to its
callers and its delegates.
"""

from etconfig.numpy_executor.compiled_plan import DEFAULT_INSTRUCTION_LIMIT
from etconfig.numpy_executor.numpy_program import NumpyProgram, load_method

__all__ = [
    "DEFAULT_INSTRUCTION_LIMIT",
    "NumpyProgram",
    "load_method",
]
