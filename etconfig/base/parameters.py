"""Checks of the arguments that callers pass, for those without a type checker."""

from __future__ import annotations

import enum
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

AnyPath: TypeAlias = "str | os.PathLike[str]"
"""A path as people have it: a text, a `pathlib.Path`, or another object with `__fspath__`.

A path is taken as it is, as `open` does: `~` is not expanded.
"""

_EXPECTED_PATH = "a path, as str or pathlib.Path"


def check_type(argument: str, value: object, kind: type | tuple[type, ...], expected: str) -> None:
    """Refuse an argument of a wrong type.

    Raises:
        TypeError: it has another type; the message names the argument, what is expected and what came.
    """
    if not isinstance(value, kind):
        raise TypeError(f"{argument}: expected {expected}, given {type(value).__name__}")


def as_path(argument: str, value: AnyPath, expected: str = _EXPECTED_PATH) -> Path:
    """Return a path argument as a `Path`.

    Raises:
        TypeError: it is not a path, as for `check_type`; bytes are not.
    """
    if isinstance(value, Path):
        return value
    check_type(argument, value, (str, os.PathLike), expected)
    return Path(value)


def as_count(argument: str, value: object, things: str) -> int:
    """Return a number of things, 0 or more, as an `int`; whole numbers of numpy are such, True is not.

    Raises:
        TypeError: it is not a whole number; the message names the argument, what is expected and what came.
        ValueError: it is negative.
    """
    count = plain_value(value)
    if isinstance(count, bool) or not isinstance(count, int):
        raise TypeError(
            f"{argument}: expected a number of {things}, given {value!r} ({type(value).__name__})"
        )
    if count < 0:
        raise ValueError(f"{argument}: expected a number of {things}, 0 or more, given {count}")
    return count


def plain_value(value: object) -> object:
    """Return a value as a plain one: members of enums by value, numbers of numpy as Python's, paths as texts.

    Lists, tuples and tables are made plain inside; everything else is returned as it is.
    """
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {key: plain_value(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_value(each) for each in value]
    if getattr(value, "shape", None) == ():
        take = getattr(value, "item", None)  # a number of numpy, or an array of one
        return value if take is None else take()
    return value


def home_help(path: object) -> str | None:
    """Return the help for a file that is missing if its path begins with `~`, which only shells expand."""
    if not str(path).startswith("~"):
        return None
    return "a shell expands `~`, Python does not: pass Path(...).expanduser()"
