"""The rules for names of methods, instances, backends, options and profiles."""

from __future__ import annotations

import re
from collections.abc import Callable
from fnmatch import translate
from functools import lru_cache

from etconfig.base.option_path import parse_option_path

PROJECT_FILES = ("etconfig.toml", "pyproject.toml")
"""Names of project files; the first one found counts. In pyproject.toml, only `[tool.etconfig]`."""

_PROFILE_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)*", re.ASCII)
PROFILE_NAME_RULE = "names are words of letters, digits, '.', '_' and '-', joined by '/', as in vendor/device"
"""The names that `is_profile_name` accepts, in words for diagnostics."""

_GLOB_CHARACTERS = frozenset("*?[")
WILDCARDS = re.compile(r"[*?\[\]]")
"""Characters that may be part of a wildcard in a pattern."""

# the place of each name in an option path, whose grammar alone defines the names
_PATHS = {
    "method": "{}:B.o",
    "instance": "m@{}:B.o",
    "model": "m@{}:B.o",
    "backend": "{}.o",
    "option": "B.{}",
}
NAME_RULES = {
    "method": "a method's name contains no blanks and none of : @ =; with * ? [ it is a pattern",
    "instance": "an instance's name contains no blanks and none of : @ = * ? [",
    "model": "a model's name contains no blanks and none of : @ = * ? [",
    "backend": "a backend id has letters, digits, _ and -, and starts with a letter or _",
    "option": "an option's name has letters, digits and _, and starts with a letter or _",
}
"""The names that `is_name_of` accepts, in words for diagnostics; names of models are as of instances."""


def is_profile_name(name: str) -> bool:
    """Return True if `name` is like `vendor/device`. A name that ends in `.toml` is a path."""
    return bool(_PROFILE_NAME.fullmatch(name)) and not name.endswith(".toml")


def is_glob(name: str) -> bool:
    """Return True if a method's name is a pattern."""
    return not _GLOB_CHARACTERS.isdisjoint(name)


def name_matcher(pattern: str) -> Callable[[str], object]:
    """Return a function that returns something true for the names that a pattern fits.

    Patterns with no wildcard but `*`, which are most, need no regular expression: compiling one takes
    longer than all comparisons of a small document.
    """
    if WILDCARDS.search(pattern.replace("*", "")):
        return re.compile(translate(pattern)).match
    first, *pieces = pattern.split("*")
    if not pieces:
        return pattern.__eq__

    def fits(name: str) -> bool:
        *middle, last = pieces
        end = len(name) - len(last)
        if not name.startswith(first) or not name.endswith(last):
            return False
        position = len(first)
        for piece in middle:
            position = name.find(piece, position, end)
            if position < 0:
                return False
            position += len(piece)
        return position <= end

    return fits


def is_name_of(role: str, name: str) -> bool:
    """Return True if this name is allowed for a `role`: method, instance, backend or option."""
    if name.isidentifier() and name.isascii():  # nearly all names, and allowed in every role
        return True
    return _is_unusual_name_of(role, name)


@lru_cache(1024)  # patterns are often repeated, in one file and in many
def _is_unusual_name_of(role: str, name: str) -> bool:
    if role == "instance" and is_glob(name):
        return False
    try:
        path = parse_option_path(_PATHS[role].format(name))
    except ValueError:
        return False
    return bool(getattr(path, role) == name)
