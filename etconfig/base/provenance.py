"""`Origin`, the place that a value came from, and `Sourced`, a value with its origin."""

from __future__ import annotations

import enum
from dataclasses import field
from typing import Generic, TypeVar

from etconfig.base.records import record

T_co = TypeVar("T_co", covariant=True)


class OriginKind(enum.Enum):
    """The kind of source, in precedence order: a later member beats an earlier one."""

    DEFAULT = "default"
    """The default in a backend's schema, or the fact that the schema names as default."""
    PROGRAM = "program"
    """A compile spec of the program, fixed ahead of time; some backends let it beat a recommendation."""
    RECOMMENDATION = "recommendation"
    """A vendor's recommendation for these facts."""
    PROFILE = "profile"
    """A profile, or one that it extends."""
    PROJECT = "project"
    """`etconfig.toml`, or `[tool.etconfig]` in pyproject.toml."""
    ENVIRONMENT = "environment"
    """`ETCONFIG_SET`."""
    OVERRIDE = "override"
    """`--set`, or the `overrides` argument of the API."""
    DETECTED = "detected"
    """Measured on the device (facts only)."""
    SHEET = "sheet"
    """Read from a saved fact sheet (facts only)."""


@record(frozen=True)
class Origin:
    """The place that one value came from.

    Attributes:
        kind: The kind of source.
        source: The name of the source: a file path, a profile's name, a variable,
            a detector, a backend's options class.
        line: 1-based line in `source`, if it is a text file.
        column: 1-based column in `source`, counted in characters.
        detail: The condition that held, the expression or the fact that decided, too.
    """

    kind: OriginKind
    source: str
    line: int | None = None
    column: int | None = None
    detail: str | None = None

    @property
    def place(self) -> str:
        """`source`, with `:line:column` if known; editors turn it into a link."""
        if self.line is None:
            return self.source
        if self.column is None:
            return f"{self.source}:{self.line}"
        return f"{self.source}:{self.line}:{self.column}"

    def __str__(self) -> str:
        text = f"{self.kind.value} {self.place}"
        return f"{text} ({self.detail})" if self.detail else text


@record(frozen=True)
class Sourced(Generic[T_co]):
    """A value and its origin. Two are equal if their values are: the origin does not count."""

    value: T_co
    origin: Origin = field(compare=False)
