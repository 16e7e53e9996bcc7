"""Guesses at the name that was meant: the nearest known one by edit distance."""

from __future__ import annotations

from collections.abc import Collection, Iterable

_MAX_NAME_LENGTH = 200
_BACKEND = "backend"


def edit_distance(a: str, b: str, limit: int) -> int:
    """Return the Damerau-Levenshtein distance (adjacent swaps count one); `limit + 1` if it is larger."""
    if abs(len(a) - len(b)) > limit:
        return limit + 1
    before_previous: list[int] = []
    previous = list(range(len(b) + 1))
    for i, char_a in enumerate(a, 1):
        current = [i]
        for j, char_b in enumerate(b, 1):
            cost = min(
                previous[j] + 1,
                current[j - 1] + 1,
                previous[j - 1] + (char_a != char_b),
            )
            if i > 1 and j > 1 and char_a == b[j - 2] and a[i - 2] == char_b:
                cost = min(cost, before_previous[j - 2] + 1)
            current.append(cost)
        if min(current) > limit:
            return limit + 1
        before_previous, previous = previous, current
    return previous[-1]


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name nearest to `name`, or None if all are too different to be a likely typo.

    Case does not count. Up to a third of the name's length may differ, at least one character.
    Ties go to the alphabetically first.
    """
    if len(name) > _MAX_NAME_LENGTH:
        return None
    limit = max(1, len(name) // 3)
    folded = name.casefold()
    scored = [
        (edit_distance(folded, candidate.casefold(), limit), candidate) for candidate in sorted(set(known))
    ]
    distance, best = min(scored, default=(limit + 1, ""))
    return best if distance <= limit else None


def nearest_backend(backend: str, known: Collection[str]) -> str | None:
    """Like `nearest`, for backend ids: the ending `Backend` does not count and may be missing."""
    stems = {_stem(candidate): candidate for candidate in known}
    guess = nearest(_stem(backend), stems)
    if guess is not None:
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
