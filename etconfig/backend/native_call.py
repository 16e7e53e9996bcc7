"""`NativeCall`: a delegate that can run without Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from etconfig.base.records import record


@record(frozen=True, kw_only=True)
class NativeCall:
    """The addresses with which an executor in C++ runs a delegate, without Python and without the GIL.

    `<etconfig/backend.h>` defines the structs. They are valid as long as the handle.

    Attributes:
        function: The address of the function `run`.
        handle: The resource handle.
        call: The address of an EtconfigRun. Its options and its resource are in force; its other
            members are not to be used.
        refresh: Brings `call` up to date with an ExecuteContext.
        failure: Returns the exception for a status and a text of `function`.
        log: Logs a line of the library, given a level and the address of a text.
    """

    function: int
    handle: int
    call: int
    refresh: Callable[[Any], None]
    failure: Callable[[int, str], Exception]
    log: Callable[[int, int], None]


@record(frozen=True, kw_only=True)
class LibraryGuard:
    """The addresses of C functions that call a function of a library, and stop exceptions that leave it.

    The interface of `<etconfig/backend.h>` forbids exceptions of C++. Python cannot stop one, so it ends the
    process; an executor in C++ can. Each function takes the address of the library's function first, then its
    arguments. For an exception it returns an error code and writes a text into the EtconfigMessage.

    Attributes:
        init, run: Call `init` and `run`.
        options: Calls `update` or `effective_options`.
        destroy: Calls `destroy`; takes an EtconfigMessage last, and returns a status.
        task: Calls a task of `parallel_for`; takes an EtconfigMessage last.
    """

    init: int
    run: int
    options: int
    destroy: int
    task: int
