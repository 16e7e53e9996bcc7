"""Sessions: TVM's own objects, whose functions run with the threads of the session.

TVM keeps a pool for each thread, and knows nothing of sessions. So the functions of these objects compare the
pool of the calling thread with the session's options first. TVM's virtual machine ends the process if two
threads run it at the same time, or if memory does not begin where vector instructions expect it. So the
second thread waits, and such arrays of numpy are copied. Together, this takes 0.6 us, and 1 us for each array
of numpy.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from etconfig_tvm.arrays import can_be_read, readable
from etconfig_tvm.threads import use_threads

if TYPE_CHECKING:
    from etconfig_tvm.options import TvmOptions
    from etconfig_tvm.runtime import Runtime


class SessionState:
    """The options and the lock of a session, beside TVM's object.

    Attributes:
        runtime: TVM's runtime.
        options: The options in force; `update` replaces them.
        is_verified: True if the library has a checksum, which was compared.
        lock: Held by the thread that runs the session.
    """

    __slots__ = ("is_verified", "lock", "options", "runtime")

    def __init__(self, runtime: Runtime, options: TvmOptions, *, is_verified: bool) -> None:
        self.runtime = runtime
        self.options = options
        self.is_verified = is_verified
        self.lock = threading.RLock()

    def bind(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function of TVM that runs with the threads of the session, whatever thread calls it."""
        runtime, lock = self.runtime, self.lock

        def run(*arguments: Any) -> Any:
            for argument in arguments:
                if not can_be_read(argument):
                    arguments = tuple(map(readable, arguments))
                    break
            with lock:
                use_threads(runtime, self.options)
                return function(*arguments)

        return run


class Session:
    """The part that both kinds of sessions share."""

    __slots__ = ()


def state_of(session: object) -> SessionState:
    """Return the state of a session.

    Raises:
        TypeError: it is not a session that `build` returns.
    """
    if not isinstance(session, Session):
        raise TypeError(f"expected a session that build returned, given {type(session).__name__}")
    state: SessionState = vars(session)["etconfig_state"]
    return state


def small_session(machine: Any, state: SessionState) -> object:
    """Return the virtual machine as a `tvm_ffi.Module` with the session's threads."""
    kind = _small_class()
    session: object = kind.__new__(kind)
    session.__move_handle_from__(machine)  # type: ignore[attr-defined]
    vars(session)["etconfig_state"] = state
    return session


def full_session(library: Any, device: Any, memory: str, state: SessionState) -> object:
    """Return a `tvm.relax.VirtualMachine` with the session's threads."""
    session = _full_class()(library, device, memory_cfg=memory)
    vars(session)["etconfig_state"] = state
    return session


@functools.cache
def _small_class() -> Any:
    import tvm_ffi

    class TvmSession(Session, tvm_ffi.Module):  # type: ignore[misc]  # tvm_ffi has no types here
        """A `tvm_ffi.Module` of a virtual machine."""

        def get_function(self, name: str, query_imports: bool = False) -> Callable[..., Any]:
            """Return a function that runs with the threads of the session."""
            return state_of(self).bind(super().get_function(name, query_imports))

    return TvmSession


@functools.cache
def _full_class() -> Any:
    from tvm.relax import VirtualMachine

    class TvmFullSession(Session, VirtualMachine):  # type: ignore[misc]  # tvm has no types here
        """A `tvm.relax.VirtualMachine`."""

        def __getitem__(self, key: str) -> Callable[..., Any]:
            """Return a function that runs with the threads of the session."""
            return state_of(self).bind(super().__getitem__(key))

        def invoke_stateful(self, func_name: str) -> None:
            """Run a function on the inputs that `set_input` took."""
            state_of(self).bind(super().invoke_stateful)(func_name)

        def invoke_closure(self, closure: Any, *args: Any) -> Any:
            """Run a closure."""
            return state_of(self).bind(super().invoke_closure)(closure, *args)

    return TvmFullSession
