"""C3 linearization: the one order in which a profile and all that it extends are merged.

It is the rule of Python's classes, with two differences of writing: bases come first, and a later name in a
list wins, where Python puts the class first and an earlier base wins.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from os.path import commonprefix

from etconfig.base.records import record


@record(frozen=True)
class OrderDemand:
    """One reason why no order exists: a list or an order of a base that puts one profile before another.

    Attributes:
        source: The number of the base in the list whose order demands it; None if the list itself does.
        weaker: The profile that must come first.
        stronger: The profile that must come later, and so wins.
    """

    source: int | None
    weaker: str
    stronger: str


@record(frozen=True)
class OrderConflict:
    """The reasons why no order exists: each profile that they name would have to come before itself.

    Attributes:
        demands: The reasons; the `stronger` one of each is the `weaker` one of the next, around the circle.
    """

    demands: tuple[OrderDemand, ...]


def ordered_bases(orders: Sequence[Sequence[str]], listed: Sequence[str]) -> Sequence[str] | OrderConflict:
    """Return all that a profile extends, directly or not, in the order in which it is merged.

    The result keeps the order of each base and of the list. Where they leave a choice, the profile that
    the last base needs comes as late as possible.

    Args:
        orders: For each base in the list, its own order: what it extends, and at the end the base itself.
        listed: The bases as the profile lists them, each once.
    """
    if len(listed) <= 1:
        return orders[0] if orders else ()
    shared = len(commonprefix([tuple(order) for order in orders]))  # noqa: RUF071  (of names, not of a text)
    front = orders[0][:shared]
    later = [name for name in listed if name not in {*front}]
    # What all orders begin with is weaker than the rest of each, so wide hierarchies have little to merge.
    if shared and [*listed[len(listed) - len(later) :]] == later:
        weaker = _merged(_stacks([front], listed[: len(listed) - len(later)]))
        stronger = _merged(_stacks([order[shared:] for order in orders], later))
        if weaker is not None and stronger is not None:
            return [*weaker, *stronger]
    remaining = _stacks(orders, listed)
    return _merged(remaining) or _conflict(remaining, len(orders))


def _stacks(orders: Sequence[Sequence[str]], listed: Sequence[str]) -> list[list[str]]:
    """Return the orders and the list, strongest first as in Python; the head is the last item of each."""
    return [list(order) for order in (*reversed(orders), listed)]


def _merged(remaining: Sequence[list[str]]) -> list[str] | None:
    """Take the names off the stacks in the order in which they are merged; None if a rest has no order."""
    behind = Counter(name for order in remaining for name in order[:-1])
    result: list[str] = []
    while any(remaining):
        chosen = next((order[-1] for order in remaining if order and not behind[order[-1]]), None)
        if chosen is None:
            return None
        result.append(chosen)
        for order in remaining:
            if order and order[-1] == chosen:
                order.pop()
                if order:
                    behind[order[-1]] -= 1
    return result[::-1]


def _conflict(remaining: Sequence[list[str]], base_count: int) -> OrderConflict:
    """Follow what holds each head back until a circle closes: its head is behind another order's."""
    numbers = [number for number, order in enumerate(remaining) if order]
    number, demands = numbers[0], list[OrderDemand]()
    seen: dict[int, int] = {}
    while number not in seen:
        seen[number] = len(demands)
        head = remaining[number][-1]
        number = next(each for each in numbers if head in remaining[each][:-1])
        source = None if number == base_count else base_count - 1 - number
        demands.append(OrderDemand(source, weaker=head, stronger=remaining[number][-1]))
    return OrderConflict(tuple(demands[seen[number] :]))
