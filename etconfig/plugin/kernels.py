"""Kernels out of plugins: check what a plugin contributes."""

from __future__ import annotations

from collections.abc import Callable

from etconfig.plugin.entry_points import EntryPoint
from etconfig.plugin.failure import load_error
from etconfig.plugin.hookspecs import KernelsContribution


def check_kernels(
    entry: EntryPoint, contribution: KernelsContribution, problem_of: Callable[[object], str | None]
) -> KernelsContribution:
    """Return `contribution` if its table can be used.

    Args:
        entry: The plugin.
        contribution: What it answered.
        problem_of: What is wrong with a table. It is given, since the plugin API loads no numpy.

    Raises:
        PluginLoadError: something is wrong with the table.
    """
    problem = problem_of(contribution.table)
    if problem is not None:
        help_text = "give an etconfig.plugin.v1_kernels.KernelTable of functions that @kernel decorates"
        raise load_error(entry, problem, help_text)
    return contribution
