"""The merge rule, written once: it makes one value of all values that are set for an option."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from etconfig.profile.layer import UNSET


def merged(values: Iterable[object], baseline: Callable[[], object]) -> object:
    """Merge the values that are set for an option, lowest precedence first.

    A later value replaces an earlier one, but tables merge key by key, and `UNSET` forgets what came
    before, so that the baseline holds again. Values are merged option by option. Merging whole documents
    first would lose where each value came from.

    Args:
        values: The values, of the option's type; expressions count as the values that they give.
        baseline: Returns the value that lies below all of them; called only if it is needed.
    """
    result: object = UNSET
    for value in values:
        if isinstance(value, dict):
            below = baseline() if result is UNSET else result
            result = {**below, **value} if isinstance(below, dict) else value.copy()
        else:
            result = value
    return baseline() if result is UNSET else result


def key_owners(values: Sequence[object], bases: Sequence[object]) -> dict[str, int]:
    """Return which value each key of a merged table comes from.

    Args:
        values: The values that `merged` merges, lowest precedence first.
        bases: The values that the baseline is merged from, likewise; they are numbered before the others.
    """
    owners: dict[str, int] = {}
    of_baseline = owners
    for number, value in enumerate((*bases, *values)):
        if value is UNSET:
            owners = of_baseline
        else:
            owners = {**owners, **dict.fromkeys(value, number)} if isinstance(value, dict) else {}
        if number < len(bases):
            of_baseline = owners
    return owners


def hides_lower_values(value: object) -> bool:
    """Return True if no lower value can show through `value`, as keys do through a table."""
    return not isinstance(value, dict)
