"""Help for a text that is not an option path: the path that was probably meant.

This module is imported only for texts that are wrong.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from etconfig.base.option_path import parse_option_path
from etconfig.diagnostics import nearest, nearest_backend

_HELP = "`etconfig backends` lists the backends, `etconfig schema BACKEND` their options"
_SEPARATOR = re.compile(r"(?:->|[\s./:\[\]])+")
_OTHER_ASSIGNMENT = re.compile(r"(.*[^\s:=])(?:\s*:\s*|\s+)([^\s:].*)", re.DOTALL)
_TABLES = ("options", "methods", "instances")
_MAX_LENGTH = 200
_LISTED = 8


def path_help(text: str, options: Mapping[str, Collection[str]], *, with_value: bool) -> str:
    """Return an instruction with the path, or the assignment, that was probably meant.

    Args:
        text: The text that is wrong.
        options: The names of the options of every known backend.
        with_value: True if the text should be an assignment `PATH=VALUE`.
    """
    if len(text) > _MAX_LENGTH or not text.isprintable():
        return _HELP
    for path, value in _parts(text, with_value):
        meant = _paths(path, options)
        if not meant:
            continue
        endings = f"={value or 'VALUE'}" if with_value else ""
        return f"write {' or '.join(f'{each}{endings}' for each in meant[:_LISTED])}"
    return _backend_help(text, options) or _HELP


def _parts(text: str, with_value: bool) -> list[tuple[str, str]]:
    """Return the ways to take a text apart into a path and a value, the most likely first."""
    path, equals, value = text.partition("=")
    if not with_value:
        return [(text, "")]
    if equals:
        return [(path, value.strip())]
    found = [(text, "")]
    other = _OTHER_ASSIGNMENT.fullmatch(text)
    if other is not None:
        found.insert(0, (other[1], other[2].strip()))
    return found


def _paths(text: str, options: Mapping[str, Collection[str]]) -> list[str]:
    """Return the paths that a text probably means: several if several backends have the option."""
    words = [word.strip("\"'") for word in _SEPARATOR.split(text.strip("\"' "))]
    words = [word for word in words if word]
    scope_is_instance = words[:1] == ["instances"]
    words = [word for word in words if word not in _TABLES]
    if not words:
        return []
    *before, option = words
    if option in options:
        return []
    backend = _backend(before[-1], options) if before else None
    if backend is not None:
        scope = ".".join(before[:-1])
        found = [f"{backend}.{_option(option, options.get(backend, ()))}"]
    else:
        scope = ".".join(before)
        found = _having(option, options)
    if scope and scope_is_instance and "@" not in scope:
        scope = f"METHOD@{scope}"
    paths = [f"{scope}:{each}" if scope else each for each in found]
    return [path for path in paths if _is_path(path)]


def _backend(word: str, options: Mapping[str, Collection[str]]) -> str | None:
    """Return the backend that a word in front of an option names; None if it is rather a method."""
    if word in options:
        return word
    return nearest_backend(word, options) or (word if word[:1].isupper() else None)


def _option(word: str, known: Collection[str]) -> str:
    return word if word in known else nearest(word, known) or word


def _having(word: str, options: Mapping[str, Collection[str]]) -> list[str]:
    """Return the options of this name with their backends; if none has it, the options of a similar name."""
    every = sorted({name for names in options.values() for name in names})
    option = word if word in every else nearest(word, every)
    return [f"{backend}.{option}" for backend, names in sorted(options.items()) if option in names]


def _backend_help(text: str, options: Mapping[str, Collection[str]]) -> str | None:
    """Return the options of the backend that stands alone in a text, if there is one."""
    word = text.partition("=")[0].strip().rpartition(":")[2].rstrip(".")
    backend = word if word in options else nearest_backend(word, options)
    if backend is None or not options[backend]:
        return None
    names = sorted(options[backend])
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return f"write {backend}.OPTION; its options are {', '.join(names[:_LISTED])}{more}"


def _is_path(path: str) -> bool:
    try:
        parse_option_path(path)
    except ValueError:
        return False
    return True
