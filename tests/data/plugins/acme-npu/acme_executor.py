"""A good plugin that was built for a newer plugin API and still works with this one."""

from etconfig.plugin.v1 import ApiRange, Executor, ExecutorContribution, hookimpl


class AcmeExecutor(Executor):
    def open_program(self, request):
        raise NotImplementedError


@hookimpl
def etconfig_executor(request):
    return ExecutorContribution(api=ApiRange(1, 99), executor=AcmeExecutor())


@hookimpl
def etconfig_teleport(request):
    """A hook that the newer version has and this one never calls."""
