"""The number of random examples of a run; `make weekly` asks for twenty times as many."""

from __future__ import annotations

import os

EFFORT = int(os.environ.get("ETCONFIG_TEST_EFFORT", "1"))


def scaled(count: int) -> int:
    """Return the number of examples to try: half of `count` for each change, ten times `count` weekly."""
    return max(1, count * EFFORT // 2)


def seeds(count: int) -> range:
    """Return the seeds of so many examples; the first ones are always the same."""
    return range(scaled(count))
