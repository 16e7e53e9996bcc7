"""The contract of a backend: the class it implements and the contexts that it receives.

Vendors import this as `etconfig.plugin.v1`. A backend uses nothing beyond its contexts: no
globals and no thread-locals. Contexts grow by fields with defaults, so a backend built for an
older version keeps working.
Source: design of ExecuTorch's BackendInterface, runtime/backend/interface.h.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from dataclasses import field
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar

from etconfig.backend.native_call import LibraryGuard, NativeCall
from etconfig.base.compile_specs import CompileSpecs
from etconfig.base.records import record

if TYPE_CHECKING:
    import numpy as np

OptionsT = TypeVar("OptionsT")
HandleT = TypeVar("HandleT")

Value: TypeAlias = "np.ndarray[Any, Any] | int | float | bool | str | Sequence[Any] | None"
"""One argument of a delegate call: a tensor as a plain array in the program's dtype and
dim order, a scalar, a string, a list of these, or None."""

ResizeOutput: TypeAlias = "Callable[[int, Sequence[int]], np.ndarray[Any, Any]]"
"""Gives `args[index]` other sizes and returns its new array; see `ExecuteContext.resize_output`."""

_DIM_ORDERS = frozenset({"contiguous", "channels_last"})


@record(frozen=True, kw_only=True)
class Availability:
    """The answer to whether a backend can run here, with the reason and the fix if it cannot.

    Make one with `Availability.yes()` or `Availability.no(reason, fix)`.
    """

    is_available: bool
    reason: str | None = None
    fix: str | None = None

    @classmethod
    def yes(cls) -> Availability:
        """Answer that the backend can run here."""
        return cls(is_available=True)

    @classmethod
    def no(cls, reason: str, fix: str) -> Availability:
        """Answer that the backend cannot run here: `reason` names what is missing, `fix` what to do."""
        return cls(is_available=False, reason=reason, fix=fix)


@record(frozen=True, kw_only=True)
class Capabilities:
    """The features that a backend claims to support; the conformance kit verifies every claim.

    Attributes:
        dtypes: Element types by numpy name, such as `float32`, that its delegates accept. A method that
            gives them others is refused when it is loaded, unless another runtime provides the backend.
        dim_orders: Memory layouts of tensors: `contiguous`, and `channels_last` for tensors of rank 4.
        precision: The largest relative error of a result by the dtype it is computed in. None claims
            nothing: the tolerances of the conformance kit apply.
        supports_dynamic_shapes: Inputs may be smaller than the planned bounds; outputs are resized.
        supports_zero_size: Tensors may have no elements.
        supports_scalars: Arguments may be Python numbers, such as a size that is known when it runs.
        frees_processed: `init` copies what it needs and frees the payload.
        uses_named_data: Delegates read data that the program stores under a key.
        is_deterministic: Equal inputs give equal bits, on each run and for any number of threads.
        is_bound_to_host: A payload runs on the kind of machine it was made for and is refused elsewhere.

    Raises:
        ValueError: `precision` names a dtype that is not claimed, or its error is not in [0, 1).
            `dim_orders` names a layout that does not exist.
        TypeError: `dtypes` or `dim_orders` is not a set of names.
    """

    dtypes: frozenset[str] = frozenset({"float32"})
    dim_orders: frozenset[str] = frozenset({"contiguous"})
    precision: Mapping[str, float] | None = None
    supports_dynamic_shapes: bool = False
    supports_zero_size: bool = False
    supports_scalars: bool = False
    frees_processed: bool = False
    uses_named_data: bool = False
    is_deterministic: bool = False
    is_bound_to_host: bool = False

    def __post_init__(self) -> None:
        names: Mapping[str, object] = {"dtypes": self.dtypes, "dim_orders": self.dim_orders}
        for field_name, given in names.items():
            if isinstance(given, str):
                raise TypeError(f"{field_name} is the text {given!r}; write frozenset({{{given!r}}})")
            if not isinstance(given, Set) or not all(isinstance(name, str) for name in given):
                raise TypeError(f"{field_name} is {given!r}; expected a frozenset of names")
        _check_dim_orders(self.dim_orders)
        for dtype, error in (self.precision or {}).items():
            if dtype not in self.dtypes:
                raise ValueError(
                    f"precision names {dtype!r}, but dtypes are {sorted(self.dtypes)}; claim it there too"
                )
            if not 0 <= error < 1:
                raise ValueError(
                    f"precision of {dtype} is {error}; expected a relative error, from 0 to below 1"
                )


def _check_dim_orders(given: Set[str]) -> None:
    unknown = sorted(given - _DIM_ORDERS)
    if unknown:
        from etconfig.diagnostics import did_you_mean  # imported late: a right claim does not need it

        guess = did_you_mean(unknown[0], _DIM_ORDERS) or "they are contiguous and channels_last"
        raise ValueError(f"dim_orders names {unknown[0]!r}, which is not a dim order; {guess}")


class Processed(Protocol):
    """A delegate's opaque bytes from the program."""

    @property
    def data(self) -> memoryview:
        """The payload, read-only; valid until `free` is called or the Method is closed."""

    def free(self) -> None:
        """Release the bytes early; call it once nothing refers to `data` any more."""


class Allocator(Protocol):
    """Allocates zeroed, aligned memory."""

    def allocate(self, size_bytes: int, alignment_bytes: int = 64) -> np.ndarray[Any, Any]:
        """Return a new `uint8` array of shape (size_bytes,).

        Raises:
            MemoryError: the memory cannot be had.
        """


class Tracer(Protocol):
    """Records what a delegate does. A tracer that is off is not None: it does nothing."""

    @property
    def is_enabled(self) -> bool:
        """True if events are recorded; skip costly preparation otherwise."""

    def span(self, name: str, debug_id: int | None = None) -> AbstractContextManager[None]:
        """Time the enclosed work under `name`.

        Args:
            name: The name of the work, as a trace shows it.
            debug_id: The number that the backend's ahead-of-time half gave this work in
                `PreprocessResult.debug_handle_map`, if any: ExecuTorch's Inspector uses it to find
                the operators that the work came from.
        """


@record(frozen=True, kw_only=True)
class InitContext(Generic[OptionsT]):
    """Everything that `Backend.init` may use.

    Attributes:
        options: The typed, frozen options of this method instance.
        method_name: The method that is being loaded.
        instance_name: The named instance, or None for the default one.
        delegate_index: The index of the delegate in the method.
        named_data: Data that the program or a .ptd stores under a key; read-only. Valid until the Method is
            closed, unless `release` of the view is called before.
        allocator: Memory that lives as long as the Method.
        tracer: Event tracer.
        compile_specs: The compile specs exactly as in the program: in order, repeated keys included.
        guard: How to call a library with the C interface so that no exception of C++ ends the process; None
            on executors that cannot stop one.
        has_stable_arrays: True if every `execute` of this delegate gets the same arrays: equal shapes at the
            same addresses, until `destroy`. A backend may then bind their memory in `init` or in the first
            `execute`; their contents change. False if the executor does not promise it.
    """

    options: OptionsT
    method_name: str
    instance_name: str | None
    delegate_index: int
    named_data: Mapping[str, memoryview]
    allocator: Allocator
    tracer: Tracer
    compile_specs: CompileSpecs = field(default_factory=CompileSpecs)
    guard: LibraryGuard | None = None
    has_stable_arrays: bool = False


@record(frozen=True, kw_only=True)
class UpdateContext(Generic[OptionsT]):
    """Everything that `Backend.update` may use.

    Attributes:
        options: The new options; only the changed ones differ from `previous`.
        previous: The options in force before.
        method_name: The method.
        instance_name: The named instance, or None for the default one.
    """

    options: OptionsT
    previous: OptionsT
    method_name: str
    instance_name: str | None


def resize_nothing(index: int, shape: Sequence[int]) -> np.ndarray[Any, Any]:
    """Refuse to resize, for executors whose delegates' outputs have fixed sizes.

    Raises:
        ValueError: always.
    """
    raise ValueError(f"the executor gives argument {index} a fixed size; it cannot become {tuple(shape)}")


def never_stop() -> bool:
    """Return False, for calls that run to their end."""
    return False


class StopSignal(Exception):  # noqa: N818  # not a failure
    """Raised by `parallel_for` if the call must end; let it pass.

    etconfig turns it into an ExecutionStoppedError.
    """


@record(frozen=True, kw_only=True)
class ExecuteContext(Generic[OptionsT]):
    """Everything that `Backend.execute` may use. One object serves all calls of a delegate: do not keep it.

    Attributes:
        options: The options in force for this call.
        method_name: The method.
        instance_name: The named instance, or None for the default one.
        temporary: Memory that is reclaimed after the call.
        parallel_for: `parallel_for(count, body, max_workers)` runs `body(i)` for every i in
            range(count) on the instance's own workers, at most `max_workers` at a time, and
            returns when all are done. The first exception is raised after the rest has ended. If the
            call must stop, indices that have not begun are left out, and an exception is raised.
        tracer: Event tracer.
        resource: The object that the caller passed to this execute, untouched by the core.
        resize_output: `resize_output(index, shape)` resizes the output `args[index]`, within the bounds
            of the program, and returns the array to write into, which is `args[index]` from then on.
            Only outputs of a dynamic shape need it. It raises ValueError for sizes that the program
            does not allow.
        should_stop: `should_stop()` is True once the caller's token is canceled or its time is up; any
            thread may call it, which takes less than a microsecond. `execute` may then return or raise at
            once, whatever is in its outputs.
    """

    options: OptionsT
    method_name: str
    instance_name: str | None
    temporary: Allocator
    parallel_for: Callable[[int, Callable[[int], None], int], None]
    tracer: Tracer
    resource: object = field(default=None)
    resize_output: ResizeOutput = field(default=resize_nothing)
    should_stop: Callable[[], bool] = field(default=never_stop)


class Backend(abc.ABC, Generic[OptionsT, HandleT]):
    """A backend. One object serves all methods and threads, so it keeps no state of its own:
    whatever a delegate needs between calls lives in the handle that `init` returns.

    `destroy` is called exactly once for every handle, also if the `init` of another delegate
    fails. A failed `init` returns no handle, so it must clean up after itself.
    """

    def availability(self) -> Availability:
        """Check whether this backend can run here. Cheap; loads no driver that cannot be unloaded."""
        return Availability.yes()

    @abc.abstractmethod
    def init(
        self, context: InitContext[OptionsT], processed: Processed, compile_specs: Mapping[str, bytes]
    ) -> HandleT:
        """Prepare one delegate and return its handle. May free `processed`.

        Args:
            context: The options, and what else the backend may use.
            processed: The payload.
            compile_specs: `context.compile_specs` as a mapping; asking it for a key that the program repeats
                raises ValueError.
        """

    @abc.abstractmethod
    def execute(self, context: ExecuteContext[OptionsT], handle: HandleT, args: Sequence[Value]) -> None:
        """Run one delegate.

        Args:
            args: Inputs, then outputs, in the order of the program. Outputs are preallocated:
                write into them. An output of a dynamic shape still has the sizes of the previous run;
                resize it with `context.resize_output`. Do not write to inputs, and keep no reference
                to any argument.
        """

    def update(self, context: UpdateContext[OptionsT], handle: HandleT, changed: frozenset[str]) -> None:
        """Apply changed execute-time options between two executes.

        The core has validated them. An exception leaves the old options in force. The default
        does nothing, which is enough for a backend that reads `ExecuteContext.options` on each call.
        """

    def effective_options(self, handle: HandleT) -> Mapping[str, object]:
        """Return the values that this delegate really uses, by option name.

        A plain value counts as read back; for another source, return an `EffectiveOption`. The conformance
        kit expects every option; the default reports none.
        """
        return {}

    def native_call(self, handle: HandleT) -> NativeCall | None:
        """Return how to run the delegate without Python; None, the default, if it needs Python."""
        return None

    def destroy(self, handle: HandleT) -> None:
        """Release the resources that `init` acquired. Called once for each handle, never concurrently."""
