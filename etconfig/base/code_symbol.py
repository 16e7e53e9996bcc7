"""The name and the place of a function or class of a plugin, for messages to its author."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any


def code_symbol(code: object) -> str | None:
    """Return a function or class with its place, as `acme_npu.plugin:recommend (plugin.py:12)`.

    None if it has no file, as built-in code and code from a prompt.
    """
    if isinstance(code, functools.partial):
        code = code.func
    if not callable(code):
        return None
    body: Callable[..., Any] = inspect.unwrap(code)
    if not isinstance(body, type) and not hasattr(body, "__code__"):
        body = type(body)
    try:
        file, line = inspect.getsourcefile(body) or "", inspect.getsourcelines(body)[1]
    except (OSError, TypeError):
        return None
    line = getattr(getattr(body, "__code__", None), "co_firstlineno", line)
    return f"{body.__module__}:{body.__qualname__} ({Path(file).name}:{line})"


def correct_code(code: object, name: str, rule: str) -> str:
    """Return the help for a function or class of a plugin that breaks a rule.

    Args:
        code: The function or class.
        name: Its name if it has no file.
        rule: The rule, as an imperative.
    """
    return f"in {code_symbol(code) or name}, {rule}; if it is not yours, upgrade or uninstall its plugin"
