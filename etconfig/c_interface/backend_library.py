"""`open_library`: load a backend's library, and refuse an incompatible one."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Mapping
from ctypes import addressof, c_void_p, sizeof
from functools import partial
from typing import Any

from etconfig.backend import LibraryGuard
from etconfig.base.records import record
from etconfig.c_interface.backend_error import OK, MessageBuffer
from etconfig.c_interface.foreign_memory import WrongAddressError, read_memory
from etconfig.c_interface.structs import (
    ABI_MAJOR,
    ABI_MINOR,
    AvailabilityFunction,
    CHost,
    CTable,
    DestroyFunction,
    GuardedDestroyFunction,
    GuardedInitFunction,
    GuardedOptionsFunction,
    GuardedRunFunction,
    InitFunction,
    OptionsFunction,
    RunFunction,
)

ENTRY = "etconfig_backend"
"""The function that a library exports."""

_VERSION = f"{ABI_MAJOR}.{ABI_MINOR}"
_MAX_TABLE_BYTES = 1 << 16
_REQUIRED = ("init", "run", "destroy")
_FUNCTIONS = ("availability", *_REQUIRED, "update", "effective_options")


class UnusableLibraryError(Exception):
    """A library cannot be used.

    Attributes:
        reason: The reason.
        fix: What to do about it.
    """

    def __init__(self, reason: str, fix: str) -> None:
        super().__init__(reason, fix)
        self.reason = reason
        self.fix = fix


@record(frozen=True, kw_only=True)
class CLibrary:
    """A backend's functions. Calling one releases the GIL.

    Attributes:
        init, run: Two of the required functions.
        destroy: The third; takes an EtconfigMessage as well, and returns a status.
        availability, update, effective_options: The other ones, or None.
        addresses: The address of each, by name.
    """

    init: Callable[..., int]
    run: Callable[..., int]
    destroy: Callable[[int | None, int], int]
    availability: Callable[..., int] | None
    update: Callable[..., int] | None
    effective_options: Callable[..., int] | None
    addresses: Mapping[str, int | None]

    @property
    def run_address(self) -> int:
        """The address of `run`."""
        address = self.addresses["run"]
        assert address is not None
        return address

    def guarded(self, guard: LibraryGuard) -> CLibrary:
        """Return the same functions, called by way of a guard."""

        def through(name: str, prototype: Any, address: int) -> Any:
            function = self.addresses[name]
            return None if function is None else partial(prototype(address), function)

        return CLibrary(
            init=through("init", GuardedInitFunction, guard.init),
            run=through("run", GuardedRunFunction, guard.run),
            destroy=through("destroy", GuardedDestroyFunction, guard.destroy),
            availability=self.availability,
            update=through("update", GuardedOptionsFunction, guard.options),
            effective_options=through("effective_options", GuardedOptionsFunction, guard.options),
            addresses=self.addresses,
        )


def open_library(path: str | os.PathLike[str], backend_id: str) -> CLibrary:
    """Load a library, and return the functions of one of its backends.

    Raises:
        UnusableLibraryError: it cannot be loaded, has no such backend, or was made for another version of the
            interface.
    """
    path = os.fspath(path)
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise UnusableLibraryError(
            f"its library cannot be loaded: {error}", "install the package again, and what the library needs"
        ) from error
    try:
        entry = getattr(library, ENTRY)
    except AttributeError:
        raise UnusableLibraryError(
            f"{path} does not export {ENTRY}", 'define it in C, or as extern "C", with ETCONFIG_EXPORT'
        ) from None
    return _checked(path, _table_of(path, entry, backend_id))


def _table_of(path: str, entry: Any, backend_id: str) -> int:
    entry.restype, entry.argtypes = c_void_p, (c_void_p, ctypes.c_char_p, c_void_p)
    host, message = CHost(sizeof(CHost), ABI_MAJOR, ABI_MINOR), MessageBuffer()
    address: int | None = entry(addressof(host), backend_id.encode(), message.address)
    if address is None:
        reason = message.text or f"it gives no reason; this etconfig has version {_VERSION} of the interface"
        raise UnusableLibraryError(
            f"{path} refuses to be loaded: {reason}", "install versions of both that fit together"
        )
    return address


def _checked(path: str, address: int) -> CLibrary:
    """Return the functions of a table at an address that may be anything."""
    try:
        head = CTable.from_buffer_copy(read_memory(address, 16).ljust(sizeof(CTable), b"\0"))
        _check_version(path, head)
        table = CTable.from_buffer_copy(read_memory(address, sizeof(CTable)))
        addresses: dict[str, int | None] = {name: getattr(table, name) for name in _FUNCTIONS}
        for name, function in addresses.items():
            if function is not None:
                read_memory(function, 1)
            elif name in _REQUIRED:
                raise UnusableLibraryError(
                    f"{path} has no function {name}", f"set {name} in its EtconfigBackend"
                )
    except WrongAddressError as error:
        raise UnusableLibraryError(
            f"{path} returns a table that is not in memory ({error})", "return the address of a static struct"
        ) from error

    return CLibrary(
        init=_function(addresses["init"], InitFunction),
        run=_function(addresses["run"], RunFunction),
        destroy=partial(_destroy, _function(addresses["destroy"], DestroyFunction)),
        availability=_function(addresses["availability"], AvailabilityFunction),
        update=_function(addresses["update"], OptionsFunction),
        effective_options=_function(addresses["effective_options"], OptionsFunction),
        addresses=addresses,
    )


def _destroy(function: Callable[[int | None], None], handle: int | None, _: int) -> int:
    function(handle)
    return OK


def _function(address: int | None, prototype: Any) -> Any:
    return None if address is None else prototype(address)


def _check_version(path: str, table: CTable) -> None:
    if table.abi_major != ABI_MAJOR:
        raise UnusableLibraryError(
            f"{path} was built for version {table.abi_major}.{table.abi_minor} of the interface, and this "
            f"etconfig has {_VERSION}",
            "compile it with etconfig/backend.h of this etconfig"
            if table.abi_major < ABI_MAJOR
            else "update etconfig",
        )
    if table.abi_minor > ABI_MINOR:
        raise UnusableLibraryError(
            f"{path} needs version {table.abi_major}.{table.abi_minor} of the interface, and this etconfig "
            f"has {_VERSION}",
            "update etconfig",
        )
    if not sizeof(CTable) <= table.struct_size <= _MAX_TABLE_BYTES:
        raise UnusableLibraryError(
            f"the EtconfigBackend of {path} has {table.struct_size} bytes, expected {sizeof(CTable)} or more",
            "set its struct_size to sizeof(EtconfigBackend), and compile it for this kind of machine",
        )
