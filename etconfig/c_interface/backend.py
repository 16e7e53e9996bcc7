"""`CBackend`: a backend whose code is in a shared library with the C interface."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from ctypes import addressof, c_void_p, sizeof
from typing import Any

import numpy as np

from etconfig.backend import (
    Availability,
    Backend,
    ExecuteContext,
    InitContext,
    LibraryGuard,
    NativeCall,
    Processed,
    UpdateContext,
    Value,
)
from etconfig.base.compile_specs import CompileSpec
from etconfig.base.interrupts import is_of_signal_handler
from etconfig.c_interface.backend_error import OK, CBackendError, MessageBuffer
from etconfig.c_interface.backend_library import CLibrary, UnusableLibraryError, open_library
from etconfig.c_interface.call_arguments import CArguments
from etconfig.c_interface.services import HostServices
from etconfig.c_interface.structs import CCompileSpec, CInit, CRun
from etconfig.c_interface.values import COptions, c_text
from etconfig.errors import DelegateInvalidCompatibilityError
from etconfig.schema.options import BackendOptions

_INCOMPATIBLE = 0x30
_MEMORY_CODES = frozenset((0x21, 0x31))


class CHandle:
    """One loaded delegate: the library's handle, and all that its calls need.

    Attributes:
        library: The library's functions.
        resource: The opaque handle that the library's `init` returned.
        options: The options that were passed on last.
    """

    def __init__(
        self, backend_id: str, library: CLibrary, options: BackendOptions, guard: LibraryGuard | None
    ) -> None:
        self.library = library if guard is None else library.guarded(guard)
        self.resource: int | None = None
        self.options = options
        self.arguments = CArguments()
        self.services = HostServices(backend_id, self.arguments, guard)
        self.message = MessageBuffer()
        self.c_options = COptions(options)
        self.data: list[np.ndarray[Any, Any]] = []
        self._run = CRun(sizeof(CRun), self.services.address)
        self._run.options, self._run.option_count = self.c_options.address, self.c_options.count
        self.run_address = addressof(self._run)

    def set_options(self, options: BackendOptions) -> None:
        """Pass these options from the next run on."""
        if options is not self.options:
            self.c_options, self.options = COptions(options), options
            self._run.options, self._run.option_count = self.c_options.address, self.c_options.count

    def refresh(self, context: ExecuteContext[Any]) -> None:
        """Pass the options and the resource of a context from the next run on."""
        self.set_options(context.options)
        self._run.resource = None if context.resource is None else _address(context.resource)

    def set_arguments(self, args: Sequence[Value]) -> None:
        """Pass these arguments to the next run."""
        self.arguments.fill(args)
        self._run.values, self._run.value_count = self.arguments.address, self.arguments.count

    def check(self, function: str, status: int) -> None:
        """Raise what a service or the library reports about a call that has ended."""
        failure = self.services.failure
        if failure is not None and (
            status != OK or not isinstance(failure, Exception) or is_of_signal_handler(failure)
        ):
            self.services.raise_failure()
        if status != OK:
            reasons = (self.message.text, self.services.task_text)
            raise _failure(function, status, "; ".join(filter(None, reasons)))


class CBackend(Backend[Any, CHandle]):
    """Calls a backend in a shared library; `etconfig/backend.h` documents its interface.

    Threads may share it: all state is in the library's handles.

    Args:
        library: The path of the library, beside the plugin's modules.
        backend_id: The id of the backend, which the library is asked for.
    """

    def __init__(self, library: str | os.PathLike[str], backend_id: str) -> None:
        self._id = backend_id
        self._problem: UnusableLibraryError | None = None
        self._opened: CLibrary | None = None
        try:
            self._opened = open_library(library, backend_id)
        except UnusableLibraryError as error:
            self._problem = error

    def availability(self) -> Availability:
        """Report a library that cannot be used, or what the library itself reports."""
        if self._opened is None:
            assert self._problem is not None
            return Availability.no(self._problem.reason, self._problem.fix)
        if self._opened.availability is None:
            return Availability.yes()
        reason, fix = MessageBuffer(), MessageBuffer()
        if self._opened.availability(reason.address, fix.address) == OK:
            return Availability.yes()
        return Availability.no(reason.text or "its library gives no reason", fix.text or "ask its vendor")

    def init(
        self, context: InitContext[Any], processed: Processed, compile_specs: Mapping[str, bytes]
    ) -> CHandle:
        """Call the library's `init`.

        Raises:
            CBackendError: it failed, or returned no handle.
            DelegateInvalidCompatibilityError: it returned this code.
            MemoryError: it had too little memory.
        """
        handle = CHandle(self._id, self._library, context.options, context.guard)
        keep: list[Any] = []
        payload = _view(processed.data)

        def release() -> None:
            nonlocal payload
            payload = None
            processed.free()

        services = handle.services.for_init(context.named_data, release)
        specs = _c_specs(context.compile_specs.in_order, keep)
        resource = c_void_p()
        instance = None if context.instance_name is None else c_text(context.instance_name, keep)
        request = CInit(
            sizeof(CInit),
            services.address,
            c_text(context.method_name, keep),
            instance,
            context.delegate_index,
            None if payload is None else payload.__array_interface__["data"][0],
            0 if payload is None else payload.nbytes,
            addressof(specs),
            len(specs),
            handle.c_options.address,
            handle.c_options.count,
        )
        handle.services.begin(context.allocator, None)
        try:
            status = handle.library.init(addressof(request), addressof(resource), handle.message.address)
        finally:
            handle.services.end()
            services.close()
        try:
            handle.check("init", status)
            if resource.value is None:
                raise CBackendError("init", 0x32, "it returned no handle; set *resource_handle")
        except BaseException:
            if status == OK and resource.value is not None:
                handle.library.destroy(resource.value, handle.message.address)
            handle.services.close()
            raise
        handle.resource = resource.value
        handle.data = [*services.views, *(() if payload is None else (payload,))]
        return handle

    def execute(self, context: ExecuteContext[Any], handle: CHandle, args: Sequence[Value]) -> None:
        """Call the library's `run`.

        Raises:
            CBackendError: it failed.
            MemoryError: it had too little memory.
            TypeError: the resource of the call is not an address.
        """
        if handle.resource is None:
            raise ValueError("the handle was destroyed")
        handle.refresh(context)
        handle.set_arguments(args)
        handle.message.clear()
        handle.services.begin(context.temporary, context)
        try:
            with context.tracer.span(self._id):
                status = handle.library.run(handle.resource, handle.run_address, handle.message.address)
        finally:
            handle.services.end()
        if status != OK or handle.services.failure is not None:
            handle.check("run", status)

    def update(self, context: UpdateContext[Any], handle: CHandle, changed: frozenset[str]) -> None:
        """Call the library's `update`, if it has one. Raises CBackendError."""
        if handle.library.update is None:
            return
        self._call_with_options("update", handle.library.update, handle, COptions(context.options))

    def effective_options(self, handle: CHandle) -> Mapping[str, object]:
        """Return what the library reports, or nothing if it has no such function.

        Raises:
            CBackendError: the function failed.
            ValueError: it returned a value that cannot be read.
        """
        if handle.library.effective_options is None:
            return {}
        options = COptions(handle.options, are_set=False)
        self._call_with_options("effective_options", handle.library.effective_options, handle, options)
        return options.read()

    def native_call(self, handle: CHandle) -> NativeCall | None:
        """Return the addresses with which C++ runs the delegate itself."""
        assert handle.resource is not None
        return NativeCall(
            function=handle.library.run_address,
            handle=handle.resource,
            call=handle.run_address,
            refresh=handle.refresh,
            failure=lambda status, text: _failure("run", status, text),
            log=handle.services.log_at,
        )

    def destroy(self, handle: CHandle) -> None:
        """Call the library's `destroy`. Raises CBackendError for an exception that the guard stopped."""
        resource, handle.resource = handle.resource, None
        handle.message.clear()
        status = handle.library.destroy(resource, handle.message.address)
        handle.services.close()
        handle.data.clear()
        if status != OK:
            raise _failure("destroy", status, handle.message.text)

    @property
    def _library(self) -> CLibrary:
        if self._opened is None:
            assert self._problem is not None
            raise self._problem
        return self._opened

    def _call_with_options(
        self, name: str, function: Callable[..., int], handle: CHandle, options: COptions
    ) -> None:
        handle.message.clear()
        status = function(handle.resource, options.address, options.count, handle.message.address)
        if status != OK:
            raise _failure(name, status, handle.message.text)


def _failure(function: str, status: int, text: str) -> Exception:
    if status == _INCOMPATIBLE and function == "init":
        return DelegateInvalidCompatibilityError(cause=text or "the library gives no reason")
    if status in _MEMORY_CODES:
        return MemoryError(text or f"{function} had too little memory")
    return CBackendError(function, status, text)


def _view(data: memoryview) -> np.ndarray[Any, Any] | None:
    """Return bytes as an array, which has an address; None if there are none."""
    return np.frombuffer(data, np.uint8) if data.nbytes else None


def _c_specs(specs: Sequence[CompileSpec], keep: list[Any]) -> Any:
    result = (CCompileSpec * len(specs))()
    keep.append(result)
    for target, spec in zip(result, specs, strict=True):
        view = _view(memoryview(spec.value))
        keep.append(view)
        target.key, target.size = c_text(spec.key, keep), len(spec.value)
        target.data = None if view is None else view.__array_interface__["data"][0]
    return result


def _address(resource: object) -> int:
    if isinstance(resource, c_void_p):
        return resource.value or 0
    if isinstance(resource, int):
        return resource
    raise TypeError(
        f"a backend in C takes an address as the resource of a call, an int or a ctypes.c_void_p, not a "
        f"{type(resource).__name__}"
    )
