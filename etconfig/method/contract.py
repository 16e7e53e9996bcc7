"""What an executor implements, and what it is given. Authors import this as `etconfig.plugin.v1`.

etconfig opens and verifies a program, resolves its arguments, and guards every Method: one
thread at a time, validated updates, closed once. An executor loads and runs.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from etconfig.backend import BoundBackend, ResizeOutput, Value, resize_nothing
from etconfig.records import record

if TYPE_CHECKING:
    from etconfig.program import Program

OptionChanges: TypeAlias = Mapping[str, tuple[Any, frozenset[str]]]
"""By backend id: the new options, and the names of those that were changed."""


class DelegateRun(Protocol):
    """Runs a delegate on its inputs, then outputs."""

    def __call__(self, args: list[Value], resize_output: ResizeOutput = resize_nothing) -> None:
        """Run it.

        Args:
            args: Inputs, then outputs.
            resize_output: Resizes an output, and puts its new array into `args`. An executor that
                cannot resize outputs leaves it out.

        Raises:
            DelegateError: the backend failed.
        """


@record(frozen=True, kw_only=True)
class ProgramRequest:
    """A program that shall be run.

    Attributes:
        program: The program, verified. An executor that reads its bytes itself takes them from
            `program.whole()` and `program.data_files`: these are what was verified.
    """

    program: Program


class DelegateHost(Protocol):
    """The delegates of a method that etconfig's own backends serve, and the threads they run on."""

    def init(self, index: int) -> DelegateRun:
        """Initialise the method's delegate of this index; what it returns runs it on inputs, then outputs.

        Raises:
            BackendUnavailableError: its backend is not installed, or cannot run here.
            DelegateError: the backend failed; what is returned raises it too.
        """

    def init_all(self) -> list[DelegateRun]:
        """Initialise every delegate of the method, in order; no backend works if one cannot run here."""

    def set_resource(self, resource: object) -> None:
        """What the backends find in `ExecuteContext.resource` from now on."""

    def update(self, changes: OptionChanges) -> None:
        """Give changed options to all delegates, or to none. Raises DelegateError."""

    def effective_options(self) -> Mapping[str, Mapping[str, object]]:
        """What the backends say they use, by backend id and option name. Raises DelegateError."""

    def close(self) -> None:
        """Destroy all delegates, the last one first, and end the threads. Raises DelegateError."""

    def abandon(self, error: BaseException) -> None:
        """Close because loading failed with `error`, which is told what went wrong meanwhile."""


@record(frozen=True, kw_only=True)
class MethodRequest:
    """A method that shall be loaded.

    Attributes:
        name: The method's name.
        instance: The named instance, or None for the default one.
        backends: The backends that the method delegates to, by id.
        check_inputs: Checks what a caller gave: a list of numpy arrays (of any strides) and numbers that
            fit the method. Raises InvalidInputError, which names the input, what was expected and given.
        host: Serves the delegates whose backends are etconfig's, for executors that do not do so
            themselves. The executor closes it in `release`, and abandons it when loading fails.
        tracer: Where to record events, or None.
        optimize: Whether the executor may leave out what changes no output but its rounding.
    """

    name: str
    instance: str | None
    backends: Mapping[str, BoundBackend]
    check_inputs: Callable[[Sequence[object]], list[Any]]
    host: DelegateHost
    tracer: Any = None
    optimize: bool = True


class RunnableMethod(abc.ABC):
    """A loaded method. etconfig calls it from one thread at a time, and not after `release`."""

    @abc.abstractmethod
    def execute(self, inputs: Sequence[object], resource: object) -> list[Any]:
        """Run it; the outputs must not share memory with later runs. Raises ExecutionError."""

    @abc.abstractmethod
    def update(self, changes: OptionChanges) -> None:
        """Bring changed options into effect: all, or none.

        Args:
            changes: What to change; validated.

        Raises:
            DelegateError: a backend failed; the old options are in force.
        """

    @abc.abstractmethod
    def effective_options(self) -> Mapping[str, Mapping[str, object]]:
        """What the backends say they really use, by backend id and option name; may be a part of it."""

    def get_attribute(self, name: str) -> Any:
        """A copy of what an attribute of the method holds; by default there is no access to any."""
        raise NotImplementedError

    def set_attribute(self, name: str, value: object) -> None:
        """Copy a value into an attribute of the method; by default there is no access to any.

        Raises:
            InvalidInputError: the value does not fit; nothing was written.
        """
        raise NotImplementedError

    @abc.abstractmethod
    def release(self) -> None:
        """Let go of everything. Called once, also by the collector, in any thread; again after Ctrl-C."""


class ExecutorProgram(abc.ABC):
    """A program, opened by an executor. Threads may share it."""

    @abc.abstractmethod
    def load_method(self, request: MethodRequest) -> RunnableMethod:
        """Load a method.

        Raises:
            ExecutionError: it cannot be loaded; nothing is left behind.
        """

    @abc.abstractmethod
    def close(self) -> None:
        """Let go of the program. Methods that are loaded stay usable."""


class Executor(abc.ABC):
    """Runs programs. One object serves all programs and threads."""

    @abc.abstractmethod
    def open_program(self, request: ProgramRequest) -> ExecutorProgram:
        """Prepare a program for its methods to be loaded.

        Raises:
            ProgramError: the executor cannot read it.
        """
