"""The version of the kit, and the levels that a backend can reach."""

from __future__ import annotations

KIT = "1.0"
"""The version of the kit: checks that a later 1.N adds are advisory for who pins an earlier one."""

LEVELS = {0: "loads", 1: "runs", 2: "isolates and survives", 3: "does everything it declares"}
"""The levels, and what a backend does that reached one."""


def is_newer(since: str, kit: str) -> bool:
    """Whether a check came after the version of the kit that a vendor pins."""
    return tuple(map(int, since.split("."))) > tuple(map(int, kit.split(".")))
