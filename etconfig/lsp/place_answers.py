"""Answers about a place in a document: its meaning, the value on the device, and the line that decides it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from etconfig.base.option_path import OptionPath
from etconfig.diagnostics.span import Span
from etconfig.errors import ConfigError, EtconfigError, FactError
from etconfig.expression import Expression, Unknown
from etconfig.expression.signatures import FUNCTIONS
from etconfig.facts.known_devices import DeviceSummary, find_device, load_device
from etconfig.facts.sheet import fact_text
from etconfig.lsp.candidates import fact_doc, function_doc, inside, key_doc, nodes_at, shown_fact
from etconfig.lsp.edited_place import EditorCursor
from etconfig.lsp.session import Session
from etconfig.profile.layer import Assignment
from etconfig.resolver.compiling.option_facts import OptionAsFact
from etconfig.resolver.deciding.arguments import BackendArguments
from etconfig.resolver.deciding.resolution import Resolution
from etconfig.resolver.explaining.explain import find_provenance, option_text, show_setting

_WORD = re.compile(r"[A-Za-z_][\w.]*\Z", re.ASCII)
_MAX_INSTANCES = 3
"""The most method instances whose values are shown."""


def hover(session: Session, path: Path, text: str, cursor: EditorCursor, line: int) -> str:
    """Return what is known about a place of a document, in Markdown; empty if nothing is.

    Args:
        session: The session.
        path: The document.
        text: Its text.
        cursor: The place behind the word.
        line: The line, from 1.
    """
    keys = inside(path, cursor.path)
    if keys is None:
        return ""
    schema = session.schema(path, text)
    names = {node.get("x-etconfig-names") for node in nodes_at(schema, keys)}
    if cursor.kind == "text" and not names.isdisjoint(("expression", "assertion")):
        word = _WORD.search(cursor.prefix)
        if word and (found := _word_of_expression(session, word[0])):
            return found
    if cursor.kind == "text" and "profile" in names:
        return _profile(session, path, cursor.prefix)
    if cursor.kind == "text" and "device" in names:
        with suppress(FactError):
            name = find_device(cursor.prefix)
            known = DeviceSummary.of(name, load_device(name, session.installation.fact_registry))
            return f"`{name}`: {known.model}, {known.system}, {known.facts} facts"
    if cursor.kind in ("key", "header"):
        keys = (*keys, cursor.prefix)
    doc = key_doc(schema, keys)
    if not doc and keys[-1:] == ("expr",):
        doc = key_doc(schema, keys[:-1])
    values = "\n\n".join(_values(session, path, line))
    shown = f"On {session.device}:\n\n```text\n{values}\n```" if values else ""
    missing = session.failure(path, line)
    condition = _condition(session, path, line) if not missing else f"On {session.device}: {missing}"
    return "\n\n".join(each for each in (doc, shown, condition) if each)


def _word_of_expression(session: Session, word: str) -> str:
    info = session.options_and_facts.get(word)
    if isinstance(info, OptionAsFact):
        return f"`{word}`: {info.doc}"
    if info is None:
        name = word.rpartition(".")[2]
        return function_doc(name) if name in FUNCTIONS else ""
    fact, facts = session.facts.get(word), session.facts
    if fact is None or not fact.is_known:
        known = f"unknown: {fact.reason}" if fact is not None else "unknown"
    elif facts.is_hidden(word):
        known = "known, and not shown"
    else:
        known = f"`{shown_fact(info, fact.value)}`, from {fact.origin}"
    return f"`{word}`: {fact_doc(info)}\n\nOn {session.device}: {known}"


def _profile(session: Session, path: Path, name: str) -> str:
    with suppress(ConfigError):
        profile = session.installation.profile_chain(_target(path, name))[-1]
        match = f"\n\n`{profile.match}`" if profile.match is not None else ""
        return f"`{profile.name}`: {profile.description or ''}{match}"
    return ""


def _target(path: Path, name: str) -> str | Path:
    return path.parent / name if name.endswith(".toml") else name


def _condition(session: Session, path: Path, line: int) -> str:
    """Return the value of the condition in a line on the device."""
    found = session.configured(path)
    if found is None:
        return ""
    configuration, resolution = found
    assigned = [each.condition for layer in configuration.resolver.layers for each in layer.assignments]
    conditions = [each.match for each in configuration.chain] + assigned
    for each in conditions:
        if each is not None and each.span.file == str(path) and each.span.line == line:
            value, parts = each.evaluate(resolution.facts.values), each.explain(resolution.facts.values)
            why = "; ".join(part.explanation for part in parts if part.result is not True)
            known = "unknown" if isinstance(value, Unknown) else f"`{fact_text(value is True)}`"
            return f"On {session.device}: {known}{': ' if why else ''}{why}"
    return ""


def _assignments(session: Session, path: Path) -> Iterator[tuple[Assignment, Resolution]]:
    """Yield the assignments in a document, if it can be resolved."""
    found = session.configured(path)
    for layer in found[0].resolver.layers if found else ():
        for each in layer.assignments:
            if found and each.span.file == str(path):
                yield each, found[1]


def _deciding(resolution: Resolution, option: OptionPath) -> list[tuple[OptionPath, BackendArguments]]:
    """Return the method instances that an assignment is about; a pattern of methods is about all."""
    for path in (option, OptionPath(option.backend, option.option)):
        with suppress(EtconfigError):
            names = [each for each, _ in find_provenance(resolution, path)][:_MAX_INSTANCES]
            return [(n, resolution.arguments(str(n.method), n.instance).backends[n.backend]) for n in names]
    return []


def _values(session: Session, path: Path, line: int) -> Iterator[str]:
    for each, resolution in _assignments(session, path):
        if each.span.line == line:
            for option, arguments in _deciding(resolution, each.path):
                found = arguments.provenance(option.option)
                yield option_text(option, found, resolution.facts, each.path.option, resolution.evidence)


def definitions(session: Session, path: Path, text: str, cursor: EditorCursor, line: int) -> list[Span]:
    """Return the places of the profile that is named at a place, or of the value that wins there."""
    keys = inside(path, cursor.path)
    schema = session.schema(path, text)
    nodes = nodes_at(schema, keys) if keys is not None else []
    if cursor.kind == "text" and any(node.get("x-etconfig-names") == "profile" for node in nodes):
        with suppress(ConfigError):
            return [session.installation.profile_chain(_target(path, cursor.prefix))[-1].name_span]
        return []
    found = [
        arguments.place_of(option.option)
        for each, resolution in _assignments(session, path)
        if each.span.line == line
        for option, arguments in _deciding(resolution, each.path)
    ]
    return list(dict.fromkeys(span for span in found if span is not None))


def hints(session: Session, path: Path, first: int, last: int) -> Iterator[tuple[Span, str, str]]:
    """Yield the values that count in some lines if others are written there: place, value and explanation."""
    configured = session.configured(path)
    match = configured[0].chain[-1].match if configured and configured[0].chain else None
    if configured and match is not None and match.evaluate(configured[1].facts.values) is False:
        return  # the profile is for other devices
    for each, resolution in _assignments(session, path):
        span = each.span
        found = _deciding(resolution, each.path) if first <= span.line <= last else []
        for option, arguments in found[:1]:
            winner, place = arguments.provenance(option.option), arguments.place_of(option.option)
            value, where = show_setting(winner.winner.value), winner.winner.origin.kind.value
            detail = option_text(option, winner, resolution.facts, option.option, resolution.evidence)
            if place is not None:
                name = Path(place.file).name
                where = f"line {place.line}" if place.file == span.file else f"{name}:{place.line}"
            if place != span:
                yield span, f"→ {value} ({where})", detail
            elif isinstance(each.value, Expression) or value not in (span.underlined, str(each.value)):
                yield span, f"= {value}", detail
