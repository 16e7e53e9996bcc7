"""`HostServices`: the functions that a library may call, for one delegate."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Mapping
from ctypes import addressof, c_int32, c_size_t, c_void_p, cast, sizeof
from typing import Any

import numpy as np

from etconfig.backend import Allocator, ExecuteContext, LibraryGuard
from etconfig.base.scalar_types import MAX_RANK
from etconfig.c_interface.backend_error import INTERNAL, INVALID_ARGUMENT, NOT_FOUND, OK, MessageBuffer
from etconfig.c_interface.call_arguments import CArguments
from etconfig.c_interface.foreign_memory import WrongAddressError, read_c_text
from etconfig.c_interface.structs import (
    AllocateService,
    CancelService,
    CServices,
    FindDataService,
    GuardedTaskFunction,
    LogService,
    ParallelForService,
    ReleaseService,
    ResizeService,
    TaskFunction,
)

MAX_LINE_BYTES = 4096
"""The longest line that a library can log, and the longest key that it can ask for."""

_LEVELS = (logging.DEBUG, logging.INFO, logging.ERROR)


class _TaskFailedError(Exception):
    def __init__(self, status: int, text: str) -> None:
        super().__init__(status, text)
        self.status = status
        self.text = text


class HostServices:
    """The services for one delegate. No exception leaves them: it is kept, and raised after the call.

    Attributes:
        address: The address of the `CServices` for `run`.
        failure: The first exception since `begin`.
        task_text: A description of the exception that left a task since `begin`; empty without one.
    """

    def __init__(self, backend_id: str, arguments: CArguments, guard: LibraryGuard | None = None) -> None:
        self._guarded_task = None if guard is None else GuardedTaskFunction(guard.task)
        self._logger = logging.getLogger(f"etconfig.backends.{backend_id}")
        self._arguments = arguments
        self._context: ExecuteContext[Any] | None = None
        self._allocator: Allocator | None = None
        self._held: list[np.ndarray[Any, Any]] = []  # memory of init, until close
        self._temporary: list[np.ndarray[Any, Any]] = []  # memory of a run, until its end
        self.failure: BaseException | None = None
        self.task_text = ""
        self._functions: tuple[Any, ...] = (
            AllocateService(self._allocate),
            ParallelForService(self._parallel_for),
            LogService(self._log),
            CancelService(self._is_cancelled),
            ResizeService(self._resize_output),
        )
        addresses = (cast(each, c_void_p).value for each in self._functions)
        self._struct = CServices(sizeof(CServices), None, *addresses)
        self.address = addressof(self._struct)

    def begin(self, allocator: Allocator, context: ExecuteContext[Any] | None) -> None:
        """Serve a call of `run`, or of `init` without a context."""
        self._allocator, self._context, self.failure, self.task_text = allocator, context, None, ""

    def end(self) -> None:
        """Forget the call, and the temporary memory that it had."""
        self._temporary.clear()
        self._allocator = self._context = None

    def raise_failure(self) -> None:
        """Raise the exception that a service kept, if there is one."""
        if self.failure is not None:
            failure, self.failure = self.failure, None
            raise failure

    def close(self) -> None:
        """Release everything; the library must not call a service any more."""
        self._functions = ()  # they refer to this object
        self._held.clear()

    def log_at(self, level: int, address: int | None) -> None:
        """Log the text at an address. Raises WrongAddressError."""
        line = read_c_text(address, MAX_LINE_BYTES)
        self._logger.log(_LEVELS[max(0, min(level, len(_LEVELS) - 1))], "%s", line)

    def for_init(self, named_data: Mapping[str, memoryview], release: Callable[[], None]) -> InitServices:
        """Return the services of `run` with the program's data instead of outputs, for `init`."""
        return InitServices(self._struct, named_data, release, self._keep)

    def _keep(self, error: BaseException, status: int = INTERNAL) -> int:
        if self.failure is None:
            self.failure = error
        return status

    def _allocate(self, _: int | None, size_bytes: int, alignment_bytes: int) -> int | None:
        try:
            assert self._allocator is not None, "memory was asked for outside of a call"
            alignment_bytes = max(alignment_bytes, 1)
            if alignment_bytes & (alignment_bytes - 1):
                raise ValueError(f"the alignment must be a power of 2, not {alignment_bytes}")
            if size_bytes + alignment_bytes > sys.maxsize:
                raise MemoryError(f"cannot allocate {size_bytes} bytes")
            block = self._allocator.allocate(max(size_bytes, 1), alignment_bytes)
            (self._held if self._context is None else self._temporary).append(block)
            address: int = block.__array_interface__["data"][0]
            return address
        except MemoryError as error:
            is_numpys = type(error) is not MemoryError  # which has a text about arrays
            self._keep(MemoryError(f"cannot allocate {size_bytes} bytes") if is_numpys else error)
            return None
        except BaseException as error:  # raised after the call: nothing may pass through C
            self._keep(error)
            return None

    def _parallel_for(
        self, _: int | None, count: int, max_workers: int, task: int | None, argument: int | None
    ) -> int:
        try:
            if not task:
                return INVALID_ARGUMENT
            body = self._body(task, argument)
            if self._context is None:
                for index in range(count):
                    body(index)
            else:
                self._context.parallel_for(count, body, max(max_workers, 1))
        except _TaskFailedError as error:
            self.task_text = error.text
            return error.status
        except BaseException as error:  # as above
            return self._keep(error)
        return OK

    def _body(self, task: int, argument: int | None) -> Callable[[int], None]:
        """Return the function that runs one part of a loop. It raises _TaskFailedError."""
        run_task, guarded = TaskFunction(task), self._guarded_task

        def body(index: int) -> None:
            text = ""
            if guarded is None:
                status = run_task(argument, index)
            else:
                message = MessageBuffer()
                status = guarded(task, argument, index, message.address)
                text = message.text
            if status != OK:
                raise _TaskFailedError(status, text)

        return body

    def _log(self, _: int | None, level: int, text: int | None) -> None:
        try:
            self.log_at(level, text)
        except BaseException as error:  # as above
            self._keep(error)

    def _is_cancelled(self, _: int | None) -> int:
        try:
            return int(self._context is not None and self._context.should_stop())
        except BaseException as error:  # as above
            self._keep(error)
            return 1

    def _resize_output(self, _: int | None, index: int, sizes: int | None, rank: int) -> int:
        try:
            if self._context is None or sizes is None or not 0 <= rank <= MAX_RANK:
                return INVALID_ARGUMENT
            shape = tuple((c_int32 * rank).from_address(sizes))
            self._arguments.set(index, self._context.resize_output(index, shape))
        except BaseException as error:  # as above
            return self._keep(error, INVALID_ARGUMENT)
        return OK


class InitServices:
    """The services of one call of `init`.

    Attributes:
        address: The address of the `CServices`.
        views: The data that the library asked for, which must live as long as the handle.
    """

    def __init__(
        self,
        services: CServices,
        named_data: Mapping[str, memoryview],
        release: Callable[[], None],
        keep: Callable[..., int],
    ) -> None:
        self._named_data = named_data
        self._release = release
        self._keep = keep
        self._functions: tuple[Any, ...] = (
            FindDataService(self._find_data),
            ReleaseService(self._release_payload),
        )
        find_data, release_payload = (cast(each, c_void_p).value for each in self._functions)
        self._struct = CServices.from_buffer_copy(services)
        self._struct.resize_output = None
        self._struct.find_data, self._struct.release_payload = find_data, release_payload
        self.address = addressof(self._struct)
        self.views: list[np.ndarray[Any, Any]] = []

    def close(self) -> None:
        """Release the functions; they refer to this object."""
        self._functions = ()

    def _find_data(self, _: int | None, key: int | None, data: int | None, size: int | None) -> int:
        try:
            name = read_c_text(key, MAX_LINE_BYTES)
            if name not in self._named_data or data is None or size is None:
                return NOT_FOUND
            view = np.frombuffer(self._named_data[name], np.uint8)
            self.views.append(view)
            c_void_p.from_address(data).value = view.__array_interface__["data"][0]
            c_size_t.from_address(size).value = view.nbytes
        except WrongAddressError:
            return NOT_FOUND
        except BaseException as error:  # raised after the call: nothing may pass through C
            return self._keep(error)
        return OK

    def _release_payload(self, _: int | None) -> None:
        try:
            self._release()
        except BaseException as error:  # as above
            self._keep(error)
