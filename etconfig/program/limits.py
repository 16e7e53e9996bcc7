"""`Limits`: the bounds within which programs are accepted."""

from __future__ import annotations

from etconfig.base.records import record


@record(frozen=True, kw_only=True)
class Limits:
    """Bounds on a program. The defaults fit every program that ExecuTorch exports.

    The rank of a tensor is not among them: `etconfig.base.scalar_types.MAX_RANK` is part of the format.

    Attributes:
        max_file_bytes: Size of the file, segments included.
        max_methods: Methods in one program.
        max_values: Entries of one method's `values`.
        max_instructions: Instructions of one chain.
        max_string_bytes: One name, key or string value, in UTF-8.
        max_work_per_byte: Bytes decoded for each byte of the program's tables. An exporter's
            program is decoded once, so 1 would do for it. In a hostile one, many references can
            lead to one table; this limit bounds the time and memory that such a program takes.
    """

    max_file_bytes: int = 64 << 30
    max_methods: int = 10_000
    max_values: int = 5_000_000
    max_instructions: int = 5_000_000
    max_string_bytes: int = 64 << 10
    max_work_per_byte: int = 4


DEFAULT_LIMITS = Limits()
"""The limits that apply unless a caller passes others."""
