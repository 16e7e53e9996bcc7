"""`DeviceView`: what is known about a device while options are decided on it."""

from __future__ import annotations

from collections.abc import Mapping

from etconfig.errors import OptionError
from etconfig.profile import Expression, Fault


class DeviceView:
    """The known facts of one device, and what conditions came to on it.

    A condition that many options share is evaluated once.

    Attributes:
        values: The values of the known facts, by name.
        held: What conditions came to, by identity: hashing their text costs as much as evaluating
            them. Whoever keeps these results keeps the conditions, too.
    """

    __slots__ = ("held", "values")

    def __init__(self, values: Mapping[str, object], held: Mapping[int, bool] | None = None) -> None:
        self.values = values
        self.held = dict(held or {})

    def meets(self, condition: Expression) -> bool:
        """Whether a condition is true; an unknown condition is not."""
        held = self.held.get(id(condition))
        return self.evaluate(condition) if held is None else held

    def evaluate(self, condition: Expression) -> bool:
        """As `meets`, without looking at what was known before.

        Raises:
            OptionError: the condition cannot be computed.
        """
        result = condition.evaluate(self.values)
        if isinstance(result, Fault):
            raise OptionError(diagnostics=(condition.failure(result),))
        held = self.held[id(condition)] = result is True
        return held
