"""`BundleSelection` and `BundleResolution`: what a device decides from a bundle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from etconfig.base.records import record
from etconfig.device.deciding.decision import DecidedOption, SlotDecision
from etconfig.facts.registry import HIDDEN_VALUE


@record(frozen=True, kw_only=True)
class BundleSelection:
    """The profile of a bundle that a device selects.

    Attributes:
        profile: Its name.
        is_fallback: True if only a bundled profile is left that matches every device.
        matching: The names of all profiles that match, sorted.
    """

    profile: str
    is_fallback: bool
    matching: tuple[str, ...]


@record(frozen=True, kw_only=True)
class BundleResolution:
    """The options of every method instance on one device, decided from a bundle.

    Attributes:
        bundle: The id of the bundle.
        revision: The number of its release, if it has one.
        profile: The name of the profile.
        selection: The reasons why it was selected; None if it was named.
        slots: The method instances with all of their options.
        facts: The known facts that the bundle reads, with the facts that the profile sets by hand.
        hidden: The names of facts that identify the device, whose values reports do not show.
    """

    bundle: str
    revision: int | None
    profile: str
    selection: BundleSelection | None
    slots: tuple[SlotDecision, ...]
    facts: Mapping[str, object]
    hidden: frozenset[str] = frozenset()

    def value(self, method: str, backend: str, option: str, instance: str | None = None) -> object:
        """Return the value of an option.

        Raises:
            KeyError: there is no such method instance, backend or option.
        """
        for slot in self.slots:
            if (slot.method, slot.instance) == (method, instance):
                decided = slot.backends[backend][option]
                assert isinstance(decided, DecidedOption)
                return decided.value
        raise KeyError(method if instance is None else f"{method}@{instance}")

    def to_jsonable(self) -> dict[str, Any]:
        """Return the resolution as plain data: the output of `etconfig resolve --bundle --json`."""
        return {
            "bundle": self.bundle,
            "revision": self.revision,
            "profile": self.profile,
            "selected_by": None if self.selection is None else "auto",
            "is_fallback": self.selection is not None and self.selection.is_fallback,
            "arguments": [
                {
                    "method": slot.method,
                    "instance": slot.instance,
                    "backend": backend,
                    "options": {
                        name: {"value": option.value, "origin": option.origin}
                        for name, option in options.items()
                        if isinstance(option, DecidedOption)
                    },
                }
                for slot in self.slots
                for backend, options in slot.backends.items()
            ],
            "facts": {
                name: HIDDEN_VALUE if name in self.hidden else _plain(self.facts[name])
                for name in sorted(self.facts)
            },
        }


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value
