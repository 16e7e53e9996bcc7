"""Check that an implementation can take the exact call that the core will make.

pluggy checks the names of a hook's arguments, but not that a hook is there at all, that its
argument is passed on (one with a default is not), or that it is no coroutine.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any


def call_problem(
    function: Callable[..., Any], symbol: str, arguments: Sequence[str], *, may_yield: bool = False
) -> str | None:
    """Why `function` cannot be called with `arguments` by position and give its result, or None.

    Args:
        function: The implementation; bound, if it is a method.
        symbol: What it is called, such as `NpuBackend.execute`.
        arguments: The names of the arguments.
        may_yield: The result is iterated over, so it may be a generator.
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
        return None  # built-in code without a signature: only the call itself can tell
    return None


def code_place(code: Callable[..., Any]) -> str:
    """`plugin.py:12: ` for a function or a class, or nothing for one without a file."""
    if isinstance(code, type):
        try:
            file, line = inspect.getsourcefile(code) or "", inspect.getsourcelines(code)[1]
        except (OSError, TypeError):
            return ""
        return f"{Path(file).name}:{line}: "
    body = getattr(inspect.unwrap(code), "__code__", None)
    return "" if body is None else f"{Path(body.co_filename).name}:{body.co_firstlineno}: "
