"""Executors out of plugins: check what a plugin contributes."""

from __future__ import annotations

from etconfig.method import Executor
from etconfig.plugin.call_check import call_problem
from etconfig.plugin.entry_points import EntryPoint
from etconfig.plugin.failure import load_error
from etconfig.plugin.hookspecs import ExecutorContribution


def check_executor(entry: EntryPoint, contribution: ExecutorContribution) -> ExecutorContribution:
    """Return `contribution` if it holds an executor that the core can call.

    Raises:
        PluginLoadError: it does not.
    """
    executor: object = contribution.executor
    if not isinstance(executor, Executor):
        cause = f"its executor is a {type(executor).__name__}"
        raise load_error(entry, cause, "give an instance of an etconfig.plugin.v1.Executor")
    symbol = f"{type(executor).__name__}.open_program"
    problem = call_problem(executor.open_program, symbol, ("request",))
    if problem is not None:
        raise load_error(entry, problem, "write: def open_program(self, request)")
    return contribution
