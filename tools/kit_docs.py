"""The generated parts of docs/conformance.md and docs/checks.md, from the code of the conformance kit."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from inspect import cleandoc, getsource

from etconfig.backend import Capabilities
from etconfig.conformance.cases.stored_cases import load_cases
from etconfig.conformance.checks.check_catalog import all_checks
from etconfig.conformance.kit.outcomes import LEVELS, Outcome

_ATTRIBUTE = re.compile(r"^    (\w+): (.+(?:\n        .+)*)", re.MULTILINE)


def levels(_: str) -> str:
    """Return the levels, with the number of their checks."""
    rows = (
        (f"L{level}", what, sum(check.level == level for check in all_checks()))
        for level, what in LEVELS.items()
    )
    return table(("level", "a backend that reached it", "checks"), rows)


def outcomes(_: str) -> str:
    """Return the outcomes of checks, and whether a level can be reached with them."""
    documented = member_docs(Outcome)
    rows = ((f"`{each.value}`", documented[each.name], _reaches(each)) for each in Outcome)
    return table(("outcome", "meaning", "reaches a level"), rows)


def _reaches(outcome: Outcome) -> str:
    if outcome is Outcome.XFAILED:
        return "from L2 on"
    return "yes" if outcome.is_good else "no"


def capabilities(_: str) -> str:
    """Return the capabilities that a backend can declare."""
    doc = cleandoc(Capabilities.__doc__ or "")
    meanings = {name: " ".join(text.split()) for name, text in _ATTRIBUTE.findall(doc)}
    rows = (
        (f"`{each.name}`", f"`{_shown(each.default)}`", meanings[each.name]) for each in fields(Capabilities)
    )
    return table(("capability", "default", "meaning"), rows)


def _shown(default: object) -> str:
    return str(sorted(default)) if isinstance(default, frozenset) else str(default)


def cases(_: str) -> str:
    """Return the programs of the kit, and the capabilities that each needs."""
    rows = (
        (f"`{case.name}.pte`", case.doc, _code(sorted(case.dtypes | case.dim_orders | case.requires)))
        for case in load_cases().values()
    )
    return table(("program", "what it is", "needs"), rows)


def checks(_: str) -> str:
    """Return every check, in a table for each level."""
    return "\n\n".join(
        f"## L{level}: {what}\n\n{_checks_of(level)}" for level, what in LEVELS.items() if _checks_of(level)
    )


def _checks_of(level: int) -> str:
    rows = [
        (f"`{each.id}`", each.doc, each.prevents, _code(each.rests_on), _code(each.requires), each.since)
        for each in all_checks()
        if each.level == level
    ]
    heads = ("check", "what it verifies", "prevents", "rests on", "requires", "since kit")
    return table(heads, rows) if rows else ""


def table(heads: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> str:
    """Return a table in Markdown."""
    cells = (" | ".join(str(cell).replace("|", r"\|") for cell in row) for row in rows)
    head, *lines = (f"| {row} |" for row in (" | ".join(heads), *cells))
    return "\n".join((head, "|---" * len(heads) + "|", *lines))


def member_docs(enumeration: type[Outcome]) -> Mapping[str, str]:
    """Return the docstring below each member of an enum, by the member's name."""
    (definition,) = ast.parse(getsource(enumeration)).body
    assert isinstance(definition, ast.ClassDef)
    return dict(_documented(definition.body))


def _documented(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for member, below in itertools.pairwise(body):
        if isinstance(member, ast.Assign) and isinstance(below, ast.Expr):
            (target,) = member.targets
            yield ast.unparse(target), " ".join(str(ast.literal_eval(below.value)).split())


def _code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


KIT_PARTS: Mapping[str, Callable[[str], str]] = {
    "capabilities": capabilities,
    "cases": cases,
    "checks": checks,
    "levels": levels,
    "outcomes": outcomes,
}
"""The function of each part, by the name in `<!-- generated: NAME -->`."""
