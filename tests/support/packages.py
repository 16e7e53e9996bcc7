"""Packages for tests of `.etargs` files."""

from __future__ import annotations

from typing import Any

from etconfig.fingerprint import fingerprint
from etconfig.schema import Applies, Scope
from etconfig.transport import (
    Package,
    PackedBackend,
    PackedConfiguration,
    PackedMethod,
    PackedOption,
    PlainValue,
)


def packed(name: str, value: PlainValue, **changed: Any) -> PackedOption:
    """Return an option that was set, and that is sent under its own name."""
    given: dict[str, Any] = {"key": name, "sent": value, "scope": Scope.METHOD, "applies": Applies.LOAD}
    return PackedOption(name=name, value=value, **{**given, "is_set": True, **changed})


def configuration(name: str, *methods: PackedMethod) -> PackedConfiguration:
    """Return a configuration with its fingerprint."""
    slots = ((each.method, each.instance, each.values()) for each in methods)
    return PackedConfiguration(name, fingerprint(slots), methods)


EVERYTHING = Package(
    "etconfig 1.2",
    (
        configuration(
            "pi5",
            PackedMethod(
                "forward",
                "left",
                (
                    PackedBackend(
                        "XnnpackBackend",
                        (
                            packed("workspace_sharing_mode", "per_model", sent=1),
                            packed("weight_cache_enabled", True),
                            packed("packed_cache_path", None, is_set=False),
                            packed("num_threads", 4, key=None, scope=Scope.PROCESS),
                        ),
                    ),
                    PackedBackend(
                        "AcmeBackend",
                        (
                            packed("budget", 2**40, applies=Applies.EXECUTE),
                            packed("share", -0.25, key=None),
                            packed("label", "für Ünïcode 🦊"),
                            packed("names", ("a", "b", ()), sent="a,b"),
                            packed("weights", {"x": 1, "y": (1.5, None, False)}),
                            packed("level", 3, scope=Scope.PROCESS),
                        ),
                    ),
                ),
            ),
            PackedMethod("*", None, (PackedBackend("EmptyBackend", ()),)),
        ),
        configuration("laptop"),
    ),
)
"""Every kind of value, method and option."""
