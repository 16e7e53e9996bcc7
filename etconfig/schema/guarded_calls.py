"""The guard around calls of functions that a backend declares."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from etconfig.base.interrupts import going_on, is_of_signal_handler, may_be_ctrl_c
from etconfig.diagnostics.error_text import error_text
from etconfig.errors import PluginCallError, ProgramError


@contextmanager
def failing_as(backend: str, call: str, help: str) -> Iterator[None]:
    """Turn what a function of a backend raises into a PluginCallError, except for Ctrl-C and ProgramError."""
    try:
        with going_on():
            yield
    except ProgramError:  # the file cannot be read
        raise
    except BaseException as error:  # a plugin must not end its host, by sys.exit() either
        if may_be_ctrl_c(error) or is_of_signal_handler(error):
            raise
        cause = error_text(error)
        raise PluginCallError(
            group="etconfig.backends", name=backend, call=call, cause=cause, help=help
        ) from error
