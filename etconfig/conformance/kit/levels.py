"""The version of the kit, and the levels that a backend can reach."""

from __future__ import annotations

KIT = "1.1"
"""The version of the kit. Checks that a later 1.N adds are advisory for vendors that pin an earlier one."""

LEVELS = {0: "loads", 1: "runs", 2: "isolates and survives", 3: "does everything it declares"}
"""Each level, and what a backend that reaches it does."""


def is_newer(since: str, kit: str) -> bool:
    """Check whether a check was added after `kit`, the version that a vendor pins."""
    return tuple(map(int, since.split("."))) > tuple(map(int, kit.split(".")))
