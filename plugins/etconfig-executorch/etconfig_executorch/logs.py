"""The runtime's log lines, in a logger of Python's `logging`."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

LOGGER = logging.getLogger("etconfig.executorch")

_LEVELS: Mapping[str, int] = {
    "D": logging.DEBUG,
    "I": logging.INFO,
    "E": logging.ERROR,
    "F": logging.CRITICAL,
}
"""The runtime's levels. Source: runtime/platform/types.h."""


def receive(lines: Sequence[tuple[str, str, int, str, str]]) -> bool:
    """Log lines of a call that has ended, in the thread of the call.

    Args:
        lines: The level, file, number, function and message of each, as text without control characters.

    Returns:
        True if the logger takes errors; else errors without an exception go to stderr.
    """
    if not LOGGER.hasHandlers():  # logging would print errors to stderr itself, without their place
        return False
    for level, file, number, function, message in lines:
        severity = _LEVELS.get(level, logging.INFO)
        if LOGGER.isEnabledFor(severity):
            LOGGER.handle(
                LOGGER.makeRecord(LOGGER.name, severity, file, number, message, (), None, func=function)
            )
    return LOGGER.isEnabledFor(logging.ERROR)
