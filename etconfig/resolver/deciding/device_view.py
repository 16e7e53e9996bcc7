"""`DeviceView`: the known facts of a device while options are decided on it."""

from __future__ import annotations

from collections.abc import Mapping

from etconfig.expression import Expression


class DeviceView:
    """The known facts of one device, and for conditions whether they hold on it.

    A condition that many options share is evaluated once.

    Attributes:
        values: The values of the known facts, by name.
        conditions: Whether each evaluated condition holds, by its identity: hashing its text would cost as
            much as evaluating it. To keep these results, keep the conditions alive, too.
    """

    __slots__ = ("conditions", "values")

    def __init__(self, values: Mapping[str, object]) -> None:
        self.values = values
        self.conditions: dict[int, bool] = {}

    def meets(self, condition: Expression) -> bool:
        """Return True if a condition is true; one that is unknown or cannot be computed is not."""
        holds = self.conditions.get(id(condition))
        if holds is None:
            holds = self.conditions[id(condition)] = condition.holds(self.values)
        return holds
