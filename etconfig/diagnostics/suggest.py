"""Guesses at the name that was meant: the nearest known one by edit distance."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache

_MAX_NAME_LENGTH = 200
_BACKEND = "backend"
_SHORTEST_TYPO = 4
MAX_NAMES = 12
"""The most names that a message lists in full."""
_LETTERS_PER_TYPO = 5
_SEPARATORS = re.compile(r"[\W_]+")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_]+")


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


def nearest_word(word: str, known: Collection[str]) -> str | None:
    """Return the word that a value was certainly meant to be, or None.

    Values are often short, and words of opposite meaning differ by one letter: `gpu` does not suggest `cpu`,
    nor `int4` `int8`. A value is its nearest word if that is certain or two characters are swapped, and less
    than a third is wrong.
    """
    guess = nearest(word, known)
    if guess is None or not (is_certain(word, guess, known) or _is_swap(word, guess, known)):
        return None
    if _plain(word) == _plain(guess):
        return guess
    longer = max(len(word), len(guess))
    return guess if 3 * edit_distance(word.casefold(), guess.casefold(), longer) < longer else None


def _is_swap(word: str, guess: str, known: Iterable[str]) -> bool:
    """Return True if two adjacent characters are swapped, digits too, as they are in no other known word."""
    folded, letters = word.casefold(), sorted(word.casefold())
    same = [each for each in known if sorted(each.casefold()) == letters]
    return same == [guess] and edit_distance(folded, guess.casefold(), 1) == 1


def is_certain(word: str, guess: str, known: Iterable[str]) -> bool:
    """Return True if `word` can hardly mean anything but `guess`, so that a program may replace it.

    Case, hyphens, underscores, spaces and the ending `Backend` do not count. Beyond that, each word inside
    of the name may have one typo (two from ten letters on), but in words of three letters no other letter.
    The first letter and all digits are right, and no other known name is as near. So `decoder` is not a typo
    of `encoder`, `disable_x` of `enable_x`, `min_size` of `max_size`, or `pi-4` of `pi-5`.
    """
    others = tuple(each for each in known if each != guess)
    if _plain(word) == _plain(guess):
        return all(_plain(each) != _plain(word) for each in others)
    if not _has_typos(word, guess) and not _has_typos(_stem(word), _stem(guess)):
        return False
    second = nearest(word, others)
    if second is None:
        return True
    distance = edit_distance(word.casefold(), guess.casefold(), len(word))
    return edit_distance(word.casefold(), second.casefold(), distance) > distance


def _has_typos(name: str, meant: str) -> bool:
    """Return True if two names have the same words, but for typos."""
    words, meant_words = _words(name), _words(meant)
    if len(words) != len(meant_words):
        words, meant_words = [_plain(name)], [_plain(meant)]
    return all(map(_is_typo, words, meant_words))


def _is_typo(written: str, meant: str) -> bool:
    """Return True if one word is the other one, with a typo or none."""
    if written == meant:
        return True
    if _digits(written) != _digits(meant):
        return False
    if written[:1] != meant[:1] and written[:2] != meant[1::-1]:
        return False
    shorter = min(len(written), len(meant))
    if shorter < _SHORTEST_TYPO and len(written) == len(meant):
        return False
    limit = max(1, shorter // _LETTERS_PER_TYPO)
    return edit_distance(written, meant, limit) <= limit


def _plain(name: str) -> str:
    return _SEPARATORS.sub("", _stem(name) or name).casefold()


def _words(name: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(name)]


def _digits(name: str) -> list[str]:
    return [character for character in name if character.isdigit()]


def shown_names_near(name: str, known: Collection[str]) -> str:
    """Return the known names as a list; of more than `MAX_NAMES`, their number and the nearest few."""
    if len(known) <= MAX_NAMES:
        return ", ".join(known)
    words = set(_words(name))

    def difference(each: str) -> tuple[int, int]:
        shared = sum(1 for word in _words(each) if any(_is_typo(own, word) for own in words))
        return -shared, edit_distance(name.casefold(), each.casefold(), len(name) + len(each))

    near = sorted(known, key=difference)[: MAX_NAMES // 2]
    return f"{len(known)} options, such as {', '.join(near)}"


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
