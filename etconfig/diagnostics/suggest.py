"""Guesses at the name that was meant: the nearest known one by edit distance."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache

_MAX_NAME_LENGTH = 200
_BACKEND = "backend"


def edit_distance(a: str, b: str, limit: int) -> int:
    """Return the Damerau-Levenshtein distance (adjacent swaps count one); `limit + 1` if it is larger.

    A column of the table of distances is kept as bits of integers: its differences from row to row. So a file
    of ten thousand different mistyped names takes a second, and not a minute.
    Source: H. Hyyro, A bit-vector algorithm for computing Levenshtein and Damerau edit distances, 2003.
    """
    if abs(len(a) - len(b)) > limit:
        return limit + 1
    if not a:
        return len(b)
    rows_of: dict[str, int] = {}
    for row, character in enumerate(a):
        rows_of[character] = rows_of.get(character, 0) | 1 << row
    every, last, distance = (1 << len(a)) - 1, 1 << (len(a) - 1), len(a)
    increases, decreases, equal, previous_rows = every, 0, 0, 0
    for character in b:
        rows = rows_of.get(character, 0)
        swapped = ((~equal & rows) << 1) & previous_rows
        equal = ((((rows & increases) + increases) ^ increases) | rows | decreases | swapped) & every
        more, less = decreases | (every & ~(equal | increases)), equal & increases
        distance += bool(more & last) - bool(less & last)
        more, less = (more << 1 | 1) & every, (less << 1) & every
        increases, decreases = less | (every & ~(equal | more)), more & equal
        previous_rows = rows
    return min(distance, limit + 1)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name nearest to `name`, or None if all are too different to be a likely typo.

    Case does not count. Up to a third of the name's length may differ, at least one character.
    Ties go to the alphabetically first. The name itself is not a suggestion.
    """
    names = tuple(known)
    if name in names:
        names = tuple(each for each in names if each != name)
    return _nearest(name, names) if len(name) <= _MAX_NAME_LENGTH else None


@lru_cache(maxsize=1 << 16)  # mistakes are often repeated, and files with problems are read twice
def _nearest(name: str, known: tuple[str, ...]) -> str | None:
    folded, best = name.casefold(), None
    limit = max(1, len(name) // 3)
    letters = frozenset(folded)
    for candidate, folded_candidate, its_letters in _in_order(known):
        # cheaper than the distance, and never more than it
        if abs(len(folded) - len(folded_candidate)) > limit or len(letters - its_letters) > limit:
            continue
        distance = edit_distance(folded, folded_candidate, limit)
        if distance <= limit:
            best, limit = candidate, distance - 1
            if limit < 0:
                break
    return best


@lru_cache(maxsize=16)
def _in_order(known: tuple[str, ...]) -> Sequence[tuple[str, str, frozenset[str]]]:
    """Return names in alphabetical order, each with its folded form and the letters of that."""
    folded = ((candidate, candidate.casefold()) for candidate in sorted(set(known)))
    return [(candidate, text, frozenset(text)) for candidate, text in folded]


def nearest_backend(backend: str, known: Collection[str]) -> str | None:
    """Like `nearest`, for backend ids: the ending `Backend` does not count and may be missing."""
    stems = {_stem(candidate): candidate for candidate in known}
    guess = _nearest(_stem(backend), tuple(stems)) if len(backend) <= _MAX_NAME_LENGTH else None
    if guess is not None and stems[guess] != backend:
        return stems[guess]
    return nearest(backend, known) if _stem(backend) == backend else None


def _stem(backend: str) -> str:
    return backend[: -len(_BACKEND)] if backend.casefold().endswith(_BACKEND) else backend


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """Return `did you mean 'num_threads'?`, or None if no known name is near."""
    return _asked(nearest(name, known))


def did_you_mean_backend(backend: str, known: Collection[str]) -> str | None:
    """Like `did_you_mean`, for backend ids."""
    return _asked(nearest_backend(backend, known))


def _asked(guess: str | None) -> str | None:
    return None if guess is None else f"did you mean {guess!r}?"
