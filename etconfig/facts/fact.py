"""`Fact`: one property of a device, known or not."""

from __future__ import annotations

from etconfig.facts.registry import FactInfo, FactRegistry, FactValue, Volatility
from etconfig.provenance import Origin
from etconfig.records import record


@record(frozen=True)
class Fact:
    """One property of a device.

    Attributes:
        name: Dotted, such as `cpu.available_cores`.
        value: The value, or None when it is unknown.
        unit: The unit of the value, or None.
        volatility: How long the value stays true.
        origin: Where the value came from, or where it was looked for.
        reason: Why the value is unknown, in words; None when it is known.
    """

    name: str
    value: FactValue | None
    unit: str | None
    volatility: Volatility
    origin: Origin
    reason: str | None = None

    @classmethod
    def known(cls, name: str, info: FactInfo, value: FactValue, origin: Origin) -> Fact:
        """A fact with a value that `info.check` returned."""
        return cls(name, value, info.unit, info.volatility, origin)

    @classmethod
    def unknown(cls, name: str, info: FactInfo, reason: str, origin: Origin) -> Fact:
        """A fact without a value."""
        return cls(name, None, info.unit, info.volatility, origin, reason)

    @property
    def is_known(self) -> bool:
        """Whether there is a value."""
        return self.value is not None


def unknown_facts(registry: FactRegistry, reason: str, origin: Origin) -> dict[str, Fact]:
    """Every fact of `registry`, unknown for one reason. Families have no members yet."""
    return {
        info.name: Fact.unknown(info.name, info, reason, origin)
        for info in registry.infos
        if not info.is_family
    }
