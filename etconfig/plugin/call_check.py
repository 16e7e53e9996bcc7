"""Check that an implementation can take the exact call that the core will make.

pluggy checks the names of a hook's arguments. It does not check that the hook exists, that its argument is
passed (pluggy leaves out arguments with a default), or that it is not a coroutine.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any


def call_problem(
    function: Callable[..., Any], symbol: str, arguments: Sequence[str], *, may_yield: bool = False
) -> str | None:
    """Return why `function` cannot take `arguments` by position and return its result, or None if it can.

    Args:
        function: The implementation; a bound method, if it is a method.
        symbol: Its name in messages, such as `NpuBackend.execute`.
        arguments: The names of the arguments.
        may_yield: True if the core iterates over the result, so that a generator will do.
    """
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        return f"{code_place(function)}{symbol} is async, but the core calls it and uses its result at once"
    if inspect.isgeneratorfunction(function) and not may_yield:
        return f"{code_place(function)}{symbol} is a generator, but must return its result"
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError as error:
        call = f"{symbol.rpartition('.')[2]}({', '.join(arguments)})"
        return f"{code_place(function)}{symbol} cannot take the call {call}: {error}"
    except ValueError:
        return None  # built-in code has no signature to check, so only the call itself can fail
    return None


def code_place(code: Callable[..., Any]) -> str:
    """Return the place of a function or class as `plugin.py:12: `, or an empty text if it has no file."""
    if isinstance(code, type):
        try:
            file, line = inspect.getsourcefile(code) or "", inspect.getsourcelines(code)[1]
        except (OSError, TypeError):
            return ""
        return f"{Path(file).name}:{line}: "
    body = getattr(inspect.unwrap(code), "__code__", None)
    return "" if body is None else f"{Path(body.co_filename).name}:{body.co_firstlineno}: "
