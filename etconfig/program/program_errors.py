"""The closed list of program error codes, and the functions that make the errors."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeVar

from etconfig.errors import (
    MalformedProgramError,
    ProgramError,
    TruncatedProgramError,
    UnreadableProgramError,
    UnsupportedProgramError,
)

_T = TypeVar("_T")

PROGRAM_ERROR_CODES: Mapping[str, str] = MappingProxyType(
    {
        "unreadable-file": "The file cannot be opened or read.",
        "changed-file": "The file has changed since the same part of it was read before.",
        "program-closed": "The program was closed before it was used.",
        "not-a-program": "The file is not an ExecuTorch program.",
        "not-a-data-file": "The file is not an ExecuTorch data file (.ptd).",
        "unsupported-version": "The file is a program of another schema version.",
        "limit-exceeded": "The program exceeds a bound of `Limits`.",
        "truncated": "The file ends before something that it refers to.",
        "bad-header": "The extended header contradicts itself or the file.",
        "missing-header": "There are segments, but no header states where they start.",
        "bad-offset": "An offset inside the program leads nowhere.",
        "misaligned": "A table, vector or constant is not aligned to its element size.",
        "bad-vtable": "The description of a table's fields contradicts itself.",
        "bad-string": "A string is not UTF-8 or lacks its end.",
        "missing-field": "A field that the runtime needs is absent.",
        "unknown-value": "An enumeration or union holds a number that this version does not know.",
        "index-out-of-range": "An index points past the table that it is for.",
        "wrong-value-type": "An index points at a value of the wrong type.",
        "negative-size": "A size or a rank is negative.",
        "rank-too-large": "A tensor has more than 16 dimensions.",
        "tensor-too-large": "A tensor's size in bytes does not fit 63 bits.",
        "bad-dim-order": "A dim order is not a permutation of the tensor's dimensions.",
        "bad-memory-plan": "A tensor lies outside the memory that is planned for it.",
        "unsupported-storage-offset": "A tensor starts at an offset inside its storage.",
        "duplicate-name": "Two methods or two named blobs have the same name.",
        "overlapping-segments": "Two segments share bytes.",
        "conflicting-constants": "Constants are stored inline and in a segment.",
        "missing-external-data": "A tensor's data lie outside the program, and no data file has them.",
        "external-data-mismatch": "A data file has another tensor under the key than the program expects.",
    }
)
"""Every code a `ProgramError` can carry, with its meaning."""


NO_MEMORY = "there is not enough memory"
"""A reason for which a file cannot be read."""


def malformed(
    code: str, region: str, detail: str, *, offset: int | None = None, advice: str | None = None
) -> MalformedProgramError:
    """The file contradicts itself or the format."""
    return MalformedProgramError(code=code, region=region, offset=offset, detail=detail, help=advice)


def unsupported(
    code: str, region: str, detail: str, *, offset: int | None = None, advice: str | None = None
) -> UnsupportedProgramError:
    """The file may be valid, but uses what this version cannot read."""
    return UnsupportedProgramError(code=code, region=region, offset=offset, detail=detail, help=advice)


def unreadable(code: str, reason: str, *, advice: str | None = None) -> UnreadableProgramError:
    """The file cannot be read at all."""
    return UnreadableProgramError(code=code, region="file", reason=reason, help=advice)


def truncated(region: str, offset: int, needed_bytes: int, available_bytes: int) -> TruncatedProgramError:
    """Something at `offset` takes more bytes than are left there."""
    return TruncatedProgramError(
        code="truncated",
        region=region,
        offset=offset,
        needed_bytes=needed_bytes,
        available_bytes=max(available_bytes, 0),
    )


def undecodable(field: str, reason: str, offset: int) -> MalformedProgramError:
    """A string is not UTF-8."""
    return malformed("bad-string", field, f"the string is not UTF-8: {reason}", offset=offset)


def missing_field(field: str) -> MalformedProgramError:
    """A required field is absent; `Cursor.each` adds where."""
    return malformed("missing-field", field, "the field is required, but absent")


def limit_exceeded(
    region: str, found: str, limit_name: str, limit: int, *, offset: int | None = None
) -> UnsupportedProgramError:
    """The program exceeds the field `limit_name` of `Limits`."""
    return unsupported(
        "limit-exceeded",
        region,
        f"{found} exceeds the limit of {limit}",
        offset=offset,
        advice=f"if you trust the file, raise Limits.{limit_name}",
    )


def string_too_long(field: str, offset: int, size_bytes: int, limit: int) -> UnsupportedProgramError:
    """A string is longer than `Limits` allow."""
    return limit_exceeded(field, f"a string of {size_bytes} bytes", "max_string_bytes", limit, offset=offset)


def too_much_work(field: str, limit: int) -> UnsupportedProgramError:
    """Many references lead to the same bytes, so that decoding takes more work than `Limits` allow."""
    found = "the number of bytes to decode for each byte of the program"
    return limit_exceeded(field, found, "max_work_per_byte", limit)


def bad_index(field: str, index: int, valid: range, target: str, offset: int | None = None) -> ProgramError:
    """`index` is not among the `valid` indices into `target`."""
    expected = f"expected {valid.start} to {valid.stop - 1}" if valid else "there are none"
    detail = f"{index} is not an index into {target}, {expected}"
    return malformed("index-out-of-range", field, detail, offset=offset)


def known(members: Mapping[int, _T], number: int, field: str) -> _T:
    """Return the member of an enumeration with this number.

    Raises:
        UnsupportedProgramError: there is none; a later version may know it.
    """
    try:
        return members[number]
    except KeyError:
        raise unsupported("unknown-value", field, f"this version does not know {field} {number}") from None


class naming:  # noqa: N801  # it is called as contextlib's are
    """A context that adds the file's path to every ProgramError, and counts its offset from the file's start.

    An error that names a file already is left as it is. A MemoryError becomes a ProgramError, too: the
    file may contain more than fits into this process.
    """

    __slots__ = ("_base", "_path")

    def __init__(self, path: str | None, base: int = 0) -> None:
        """Take the file's path, and the position in it at which the part begins that is read."""
        self._path = path
        self._base = base

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, ProgramError) and error.path is None:
            error.path = self._path
            error.offset = None if error.offset is None else error.offset + self._base
        if isinstance(error, MemoryError):
            refusal = unreadable("unreadable-file", NO_MEMORY)
            refusal.path = self._path
            raise refusal from error


def locate(error: ProgramError, region: str = "", offset: int | None = None) -> None:
    """Prefix the error's region with the enclosing one; `offset` applies if the error has none."""
    error.region = ".".join(filter(None, (region, error.region)))
    if error.offset is None:
        error.offset = offset
