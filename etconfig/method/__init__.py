"""The contract between etconfig and an executor, and the `Method` that all executors share.

`etconfig.method.method` is apart: the plugin API imports this package, and loads no more than it needs.
"""

from etconfig.method.contract import (
    DelegateHost,
    DelegateRun,
    Executor,
    ExecutorProgram,
    MethodRequest,
    OptionChanges,
    ProgramRequest,
    RunnableMethod,
)

__all__ = [
    "DelegateHost",
    "DelegateRun",
    "Executor",
    "ExecutorProgram",
    "MethodRequest",
    "OptionChanges",
    "ProgramRequest",
    "RunnableMethod",
]
