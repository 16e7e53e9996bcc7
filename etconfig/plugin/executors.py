"""Executors out of plugins: check what a plugin contributes."""

from __future__ import annotations

from etconfig.execution import Executor
from etconfig.plugin.entry_points import EntryPoint
from etconfig.plugin.failure import load_error
from etconfig.plugin.hookspecs import ExecutorContribution


def check_executor(entry: EntryPoint, contribution: ExecutorContribution) -> ExecutorContribution:
    """Return `contribution` if it holds an executor.

    Raises:
        PluginLoadError: it does not.
    """
    executor: object = contribution.executor
    if not isinstance(executor, Executor):
        cause = f"its executor is a {type(executor).__name__}"
        raise load_error(entry, cause, "give an instance of an etconfig.plugin.v1.Executor")
    return contribution
