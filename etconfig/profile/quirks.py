"""Quirks: reports of wrong results and crashes of a backend on some devices, from `quirks/BACKEND.toml`.

They are not profiles: one profile is selected for a device and sets options. Several quirks may concern a
device, whatever its profile, and no option avoids them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path

import tomli

from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic, Severity, Span
from etconfig.expression import Expression, ExpressionType
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.profile.bundled_conditions import bundled_parser

DIRECTORY = Path(__file__).with_name("quirks")


@record(frozen=True, kw_only=True)
class Quirk:
    """A report about a backend on some devices.

    Attributes:
        report: The repository and number of the report: `pytorch/executorch#22322`.
        condition: True on devices like the one of the report.
        seen: The behavior that was reported.
        help: The way around it.
    """

    report: str
    condition: Expression
    seen: str
    help: str


@lru_cache(maxsize=64)  # the files do not change while etconfig is installed
def quirks_of(backend: str) -> tuple[Quirk, ...]:
    """Return the quirks of a backend."""
    path = DIRECTORY / f"{backend}.toml"
    if not path.is_file():
        return ()
    parser = bundled_parser(BUILTIN_FACTS)
    return tuple(
        Quirk(condition=parser.parse(row.pop("if"), lambda: Span(file=str(path)), ExpressionType.BOOL), **row)
        for row in tomli.loads(path.read_text(encoding="utf-8"))["quirk"]
    )


def quirk_warnings(backends: Iterable[str], facts: Mapping[str, object]) -> Iterator[Diagnostic]:
    """Yield a warning for each quirk of these backends on a device with these known facts."""
    for backend in backends:
        for quirk in quirks_of(backend):
            if quirk.condition.evaluate(facts) is True:
                yield Diagnostic(
                    code="known-quirk",
                    message=f"{backend} on such a device: {quirk.seen} ({quirk.report})",
                    severity=Severity.WARNING,
                    help=quirk.help,
                )
