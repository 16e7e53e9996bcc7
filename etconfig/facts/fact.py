"""`Fact`: one property of a device, known or not."""

from __future__ import annotations

from collections.abc import Mapping

from etconfig.base.provenance import Origin
from etconfig.base.records import record
from etconfig.facts.registry import FactInfo, FactRegistry, FactValue, Volatility


@record(frozen=True)
class Fact:
    """One property of a device.

    Attributes:
        name: Dotted, such as `cpu.available_cores`.
        value: The value, or None if it is unknown.
        unit: The unit of the value, or None.
        volatility: The time for which the value stays true.
        origin: The source of the value, or the place that was searched for it.
        reason: Why the value is unknown, in words; None if it is known.
    """

    name: str
    value: FactValue | None
    unit: str | None
    volatility: Volatility
    origin: Origin
    reason: str | None = None

    @classmethod
    def known(cls, name: str, info: FactInfo, value: FactValue, origin: Origin) -> Fact:
        """Return a fact with a value that `info.check` returned."""
        return cls(name, value, info.unit, info.volatility, origin)

    @classmethod
    def unknown(cls, name: str, info: FactInfo, reason: str, origin: Origin) -> Fact:
        """Return a fact without a value."""
        return cls(name, None, info.unit, info.volatility, origin, reason)

    @property
    def is_known(self) -> bool:
        """True if there is a value."""
        return self.value is not None


def unknown_facts(registry: FactRegistry, reason: str, origin: Origin) -> dict[str, Fact]:
    """Return every fact of `registry` as unknown for the same reason. Families have no members yet."""
    return {
        info.name: Fact.unknown(info.name, info, reason, origin)
        for info in registry.infos
        if not info.is_family
    }


def known_facts(
    values: Mapping[str, FactValue | None], registry: FactRegistry, origin: Origin
) -> dict[str, Fact]:
    """Return the facts that have these values, which were checked; None stands for an unknown one."""
    found: dict[str, Fact] = {}
    for name, value in values.items():
        info = registry.get(name)
        if info is not None and value is not None:
            found[name] = Fact.known(name, info, value, origin)
    return found
