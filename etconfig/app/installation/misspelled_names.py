"""Warnings about names that no schema checks: plugins in `[plugins]` and a variable, backends among facts.

Such a name may be right elsewhere, so only one that can hardly mean anything but a known name is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING

from etconfig.base.packages import BACKEND_PACKAGES, REMOVED_BACKENDS
from etconfig.diagnostics import Diagnostic, Severity
from etconfig.diagnostics.suggest import is_certain, nearest, nearest_backend
from etconfig.plugin.index import ENVIRONMENT_VARIABLE

if TYPE_CHECKING:
    from etconfig.facts.sheet import FactSheet
    from etconfig.plugin import PluginIndex
    from etconfig.profile.document import Document

_BACKENDS_FACT = "runtime.backends"


def misspelled_plugins(index: PluginIndex, project: Document | None) -> Iterator[Diagnostic]:
    """Yield a warning for each name in the choice of plugins that is nearly one of an installed plugin.

    Args:
        index: The installed plugins, and the choice among them.
        project: The project file, which has the places of the names.
    """
    unmatched = index.policy.unmatched(index.installed)
    if not unmatched:
        return
    from etconfig.profile.project import PluginChoices, parse_part, read_plugins

    known = {name for entry in index.installed for name in (entry.name, entry.distribution)}
    references = () if project is None else parse_part(project, read_plugins, PluginChoices()).references
    places = {each.target: each.span for each in references}
    for name in unmatched:
        guess = _certain(name, known, nearest)
        if guess is not None:
            yield Diagnostic(
                code="unknown-plugin",
                message=f"{name!r} names no installed plugin",
                spans=(places[name],) if name in places else (),
                notes=() if name in places else (f"in {ENVIRONMENT_VARIABLE}",),
                help=f"did you mean {guess!r}?",
                severity=Severity.WARNING,
            )


def misspelled_backends(facts: FactSheet, backend_ids: Collection[str]) -> Iterator[Diagnostic]:
    """Yield a warning for each name in the fact `runtime.backends` that is nearly the id of a backend.

    Args:
        facts: The facts of a device.
        backend_ids: The ids of installed backends.
    """
    names = facts.values.get(_BACKENDS_FACT)
    if not isinstance(names, tuple):
        return
    known = {*backend_ids, *BACKEND_PACKAGES, *REMOVED_BACKENDS}
    where = f"in the fact {_BACKENDS_FACT}, from {facts[_BACKENDS_FACT].origin}"
    for name in names:
        guess = None if name in known else _certain(name, known, nearest_backend)
        if guess is not None:
            yield Diagnostic(
                code="unknown-backend",
                message=f"{name!r} {where}, is not a known backend",
                help=f"did you mean {guess!r}?",
                severity=Severity.WARNING,
            )


def _certain(
    name: str, known: Collection[str], find: Callable[[str, Collection[str]], str | None]
) -> str | None:
    guess = find(name, known)
    return guess if guess is not None and is_certain(name, guess, known) else None
