"""An executor of programs that are one delegate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from api1_full.backend import options_of
from etconfig.plugin.v1 import (
    DelegateHost,
    DelegateRun,
    Executor,
    ExecutorProgram,
    MethodRequest,
    OptionChanges,
    ProgramRequest,
    RunnableMethod,
    RuntimeFailedError,
)


class FullMethod(RunnableMethod):
    """A method of one delegate."""

    def __init__(self, request: MethodRequest) -> None:
        self._request = request
        self._host: DelegateHost = request.host
        try:
            self._runs: list[DelegateRun] = self._host.init_all()
            if options_of(request.backends["Api1Full"]).label == "refused":
                raise RuntimeFailedError(
                    executor="api1", phase="load", method=request.name, code=1, code_name="No", log=("a", "b")
                )
        except Exception as error:
            self._host.abandon(error)
            raise

    def execute(self, inputs: Sequence[object], resource: object) -> list[Any]:
        (x,) = self._request.check_inputs(inputs)
        self._host.set_resource(resource)
        y = np.zeros_like(x)
        self._runs[0]([x, y])
        return [y]

    def update(self, changes: OptionChanges) -> None:
        self._host.update(changes)

    def effective_options(self) -> Mapping[str, Mapping[str, object]]:
        return self._host.effective_options()

    def release(self) -> None:
        self._host.close()


class FullProgram(ExecutorProgram):
    """A program."""

    def load_method(self, request: MethodRequest) -> RunnableMethod:
        return FullMethod(request)

    def close(self) -> None:
        pass


class FullExecutor(Executor):
    """An executor."""

    def open_program(self, request: ProgramRequest) -> ExecutorProgram:
        assert len(request.program.whole()) > 0
        return FullProgram()
