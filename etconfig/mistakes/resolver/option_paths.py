"""Help for a text that is not an option path: the path that was probably meant.

This module is imported only for texts that are wrong.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from etconfig.base.option_path import parse_option_path
from etconfig.diagnostics import nearest, nearest_backend

_HELP = "`etconfig backends` lists the backends, `etconfig schema BACKEND` their options"
_SEPARATOR = re.compile(r"[\s./:\[\]]+")
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
    path, _, value = text.partition("=") if with_value else (text, "", "")
    words = [word for word in _SEPARATOR.split(path) if word and word not in _TABLES]
    meant = [each for each in _paths(words, options) if _is_path(each)]
    ending = f"={value.strip() or 'VALUE'}" if with_value else ""
    if meant:
        return f"write {' or '.join(f'{each}{ending}' for each in meant[:_LISTED])}"
    names = sorted(options.get(words[-1], ())) if words else []
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return f"write {words[-1]}.OPTION; its options are {', '.join(names[:_LISTED])}{more}" if names else _HELP


def _paths(words: Sequence[str], options: Mapping[str, Collection[str]]) -> list[str]:
    """Return the paths that words probably mean: several if several backends have the option."""
    if not words or words[-1] in options:
        return []
    *before, option = words
    backend = _backend(before[-1], options) if before else None
    if backend is not None:
        before.pop()
        known = options.get(backend, ())
        found = [f"{backend}.{option if option in known else nearest(option, known) or option}"]
    else:
        every = sorted({name for names in options.values() for name in names})
        option = option if option in every else nearest(option, every) or option
        found = [f"{name}.{option}" for name, names in sorted(options.items()) if option in names]
    scope = ".".join(before)
    return [f"{scope}:{each}" if scope else each for each in found]


def _backend(word: str, options: Mapping[str, Collection[str]]) -> str | None:
    """Return the backend that a word in front of an option names; None if it is rather a method."""
    if word in options:
        return word
    return nearest_backend(word, options) or (word if word[:1].isupper() else None)


def _is_path(path: str) -> bool:
    try:
        parse_option_path(path)
    except ValueError:
        return False
    return True
