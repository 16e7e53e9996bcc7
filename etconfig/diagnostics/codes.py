"""Every diagnostic code, in one place. Each has a page: docs/diagnostics/<code>.md."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class CodeInfo:
    """One code: what kind of problem it names."""

    code: str
    summary: str


def _codes(*rows: tuple[str, str]) -> Mapping[str, CodeInfo]:
    return {code: CodeInfo(code, summary) for code, summary in rows}


CODES: Mapping[str, CodeInfo] = _codes(
    # TOML documents
    ("invalid-toml", "The file is not valid TOML."),
    ("document-too-large", "The file exceeds a bound on size, depth, key parts or digits."),
    ("unreadable-file", "The file cannot be read."),
)
