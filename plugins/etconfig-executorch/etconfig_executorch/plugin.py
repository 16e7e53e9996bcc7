"""The executor, which etconfig loads. The runtime itself is loaded with the first program."""

from __future__ import annotations

from etconfig.plugin.v1 import ApiRange, ExecutorContribution, ExecutorRequest, hookimpl


@hookimpl
def etconfig_executor(request: ExecutorRequest) -> ExecutorContribution:
    """Return the executor."""
    from etconfig_executorch.executor import ExecutorchExecutor
    from etconfig_executorch.executor_options import ExecutorchOptions

    return ExecutorContribution(
        api=ApiRange(min=1, built=1),
        executor=ExecutorchExecutor(),
        options=ExecutorchOptions,
        path_options=frozenset({"libraries"}),
    )
