"""Privacy: `hide_identifying` for reports, `redact` for sheets that are given away, and their rule."""

from __future__ import annotations

import re

from etconfig.base.provenance import Origin, OriginKind
from etconfig.facts.fact import Fact
from etconfig.facts.registry import FactInfo, FactType
from etconfig.facts.sheet import FactSheet

_REMOVED = "removed: it may identify the device or its user"
_SET = "it is set, but not shown: it identifies the device"
_PLACE = re.compile(
    r"""https?://\S+|(?:~|[A-Za-z]:|\\)?[/\\][^\s,;:'")]*(?::\d+)*|[^\s/]+\.(?:json|toml)(?::\d+)*"""
)
"""An address, a path or the name of a configuration file."""

_PUBLIC = re.compile(r"https?://|/(?:proc|sys|dev/null|etc/os-release|usr/lib/os-release)(?:/|$)")
_TEXTS = (FactType.STRING, FactType.STRING_LIST)


def hide_identifying(sheet: FactSheet) -> FactSheet:
    """Return a sheet for a report: what identifies the device is unknown, with the reason."""
    return _without(sheet, [name for name in sheet.values if sheet.is_hidden(name)], _SET)


def redact(sheet: FactSheet) -> FactSheet:
    """Return a sheet that can be given away: of a model, not of one device or its user.

    Facts that identify the device lose their values, and so do texts that a plugin provides without
    declaring whether they do. Of origins and reasons, paths are removed, except for paths of the system.
    """
    removed = [name for name in sheet.values if may_identify(sheet.registry.get(name))]
    facts = _without(sheet, removed, _REMOVED).facts
    return FactSheet({name: _without_paths(fact) for name, fact in facts.items()}, sheet.registry)


def may_identify(info: FactInfo | None) -> bool:
    """Return True if a fact may identify the device or its user; so may a text of which no plugin says so."""
    if info is None or info.is_identifying is not None:
        return info is None or bool(info.is_identifying)
    return info.type in _TEXTS and not (info.choices and info.type is FactType.STRING)


def _without(sheet: FactSheet, names: list[str], reason: str) -> FactSheet:
    facts = dict(sheet.facts)
    for name in names:
        info = sheet.registry.get(name)
        assert info is not None
        facts[name] = Fact.unknown(name, info, reason, facts[name].origin)
    return FactSheet(facts, sheet.registry)


def _without_paths(fact: Fact) -> Fact:
    origin = fact.origin
    text = origin.detail if origin.kind is OriginKind.SHEET else str(origin)
    is_public = origin.kind is OriginKind.DETECTED or text == origin.detail
    shown = _without_own_places(text or "") if is_public else origin.kind.value
    reason = None if fact.reason is None else _without_own_places(fact.reason)
    return Fact(
        fact.name,
        fact.value,
        fact.unit,
        fact.volatility,
        Origin(OriginKind.SHEET, shown or origin.kind.value, detail=shown or origin.kind.value),
        reason,
    )


def _without_own_places(text: str) -> str:
    return _PLACE.sub(lambda place: place[0] if _PUBLIC.match(place[0]) else "(a file)", text)
