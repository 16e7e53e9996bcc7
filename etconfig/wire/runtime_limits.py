"""`RuntimeLimits`: the option values that one binding to a runtime can carry."""

from __future__ import annotations

from typing import TypeAlias

from etconfig.base.records import record

WireValue: TypeAlias = "bool | int | str"
"""A value in ExecuTorch's option map."""


@record(frozen=True, kw_only=True)
class RuntimeLimits:
    """The limits of one binding to a runtime. Other values are refused by name, never cut off.

    Attributes:
        name: The name of the binding in messages.
        kinds: The types of values that it carries.
        max_text_bytes: The longest text, in bytes of UTF-8; texts contain no NUL.
        max_backends: The largest number of backends of one method.
        has_process_scope: True if it can set options of the whole process.
    """

    name: str
    kinds: frozenset[type] = frozenset({bool, int, str})
    max_text_bytes: int = 255
    max_backends: int = 8
    has_process_scope: bool = True

    def problem(self, value: object) -> str | None:
        """Return the reason why it cannot carry a value, or None if it can."""
        if type(value) not in self.kinds:
            known = ", ".join(sorted(kind.__name__ for kind in self.kinds))
            return f"it carries {known}, not {type(value).__name__}"
        if type(value) is int and not -(2**31) <= value < 2**31:
            return f"its integers have 32 bits, and {value} needs more"
        if type(value) is str:
            return self._text_problem(value)
        return None

    def _text_problem(self, text: str) -> str | None:
        try:
            size_bytes = len(text.encode())
        except UnicodeEncodeError:
            return "its texts are UTF-8, and this one contains half a character"
        if size_bytes > self.max_text_bytes:
            return f"its texts have at most {self.max_text_bytes} bytes, and this one {size_bytes}"
        return "its texts end at a NUL, and this one contains one" if "\0" in text else None


EXECUTORCH = RuntimeLimits(name="ExecuTorch's option map")
"""`LoadBackendOptionsMap`. Source: runtime/backend/options.h, backend_options_map.h."""

APPLE = RuntimeLimits(name="ExecuTorch's Apple binding", has_process_scope=False)
"""`BackendOptionsMap` of Swift, which makes a `LoadBackendOptionsMap`. Source: extension/apple."""

ANDROID = RuntimeLimits(name="ExecuTorch's Android binding", kinds=frozenset({int}), has_process_scope=False)
"""`BackendOptionsMap` of Kotlin, which has `setInt` only. Source: extension/android."""

THREAD_POOL_OPTIONS = frozenset({("XnnpackBackend", "num_threads"), ("XnnpackBackend", "single_threaded")})
"""Backends and options that no map has a key for and that C++ code applies to ExecuTorch's thread pool.

`device_executorch.h` does it for bundles. Source: extension/threadpool.
"""
