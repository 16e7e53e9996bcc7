"""The contract between etconfig and an executor, and the `Method` that all executors share.

This package exports the contract only: the plugin API imports it, and must not load the rest.
"""

from etconfig.method.executor_contract import (
    DelegateHost,
    DelegateRun,
    ExecuteRequest,
    Executor,
    ExecutorBackend,
    ExecutorProgram,
    ExecutorReport,
    MethodRequest,
    NativeRun,
    OptionChanges,
    ProgramRequest,
    RunnableMethod,
)

__all__ = [
    "DelegateHost",
    "DelegateRun",
    "ExecuteRequest",
    "Executor",
    "ExecutorBackend",
    "ExecutorProgram",
    "ExecutorReport",
    "MethodRequest",
    "NativeRun",
    "OptionChanges",
    "ProgramRequest",
    "RunnableMethod",
]
