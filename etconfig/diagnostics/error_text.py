"""The text of an exception that a plugin or another library raised: its `__str__` may raise, too."""

from __future__ import annotations

from etconfig.diagnostics.escape import shorten


def error_message(error: BaseException) -> str:
    """Return the message of an exception, not too long; what is wrong with it if it has none."""
    try:
        return shorten(str(error))
    except (KeyboardInterrupt, MemoryError):
        raise
    except BaseException as second:
        return f"(its text cannot be read: {type(second).__name__})"


def error_text(error: BaseException) -> str:
    """Return the type and the message of an exception, as `ValueError: no such core`."""
    return f"{type(error).__name__}: {error_message(error)}"
