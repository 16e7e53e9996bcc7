"""`DeviceView`: the known facts of a device while options are decided on it."""

from __future__ import annotations

from collections.abc import Mapping

from etconfig.errors import OptionError
from etconfig.profile import Expression, Fault


class DeviceView:
    """The known facts of one device, and for conditions whether they hold on it.

    A condition that many options share is evaluated once.

    Attributes:
        values: The values of the known facts, by name.
        conditions: Whether each evaluated condition holds, by its identity: hashing its text would cost as
            much as evaluating it. To keep these results, keep the conditions alive, too.
    """

    __slots__ = ("conditions", "values")

    def __init__(self, values: Mapping[str, object], conditions: Mapping[int, bool] | None = None) -> None:
        self.values = values
        self.conditions = dict(conditions or {})

    def meets(self, condition: Expression) -> bool:
        """Return True if a condition is true; an unknown one is not.

        Raises:
            OptionError: the condition cannot be computed.
        """
        holds = self.conditions.get(id(condition))
        return self.evaluate(condition) if holds is None else holds

    def evaluate(self, condition: Expression) -> bool:
        """Evaluate a condition as `meets` does, but ignore earlier results.

        Raises:
            OptionError: the condition cannot be computed.
        """
        result = condition.evaluate(self.values)
        if isinstance(result, Fault):
            raise OptionError(diagnostics=(condition.failure(result),))
        holds = self.conditions[id(condition)] = result is True
        return holds
