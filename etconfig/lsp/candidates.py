"""Completion: the keys, values and names that may stand at a place, read from the document's JSON Schema."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from lsprotocol import types

from etconfig.base.number_text import format_bytes
from etconfig.diagnostics import CODES
from etconfig.diagnostics.rules import ALWAYS_ERRORS
from etconfig.errors import EtconfigError
from etconfig.expression.lexer import MAX_LENGTH
from etconfig.expression.operations import OPERATIONS
from etconfig.expression.signatures import FUNCTIONS
from etconfig.facts.known_devices import device_names
from etconfig.facts.problems import usual_texts
from etconfig.facts.registry import INDEX, FactInfo, FactValue
from etconfig.facts.sheet import fact_text
from etconfig.lsp.edited_place import EditorCursor, cursor_at
from etconfig.lsp.session import Session
from etconfig.profile.names import PROJECT_FILES
from etconfig.resolver.compiling.option_facts import OptionAsFact

_Schema: TypeAlias = Mapping[str, Any]
_Kind = types.CompletionItemKind

_WORD = re.compile(r"[A-Za-z_][\w.]*\Z", re.ASCII)
_COMPARED = re.compile(
    r"""([A-Za-z][\w.]*)\s*(?:[=!]=|\bin\s*\[(?:\s*(?:"[^"]*"|'[^']*')\s*,)*)\s*((["'])[^"']*|[\w.]*)\Z""",
    re.ASCII,
)
_OPERAND = re.compile(r"""(?:["')\]]|\b(?!in\Z)\w+)\Z""", re.ASCII)
_AFTER_OPERAND = re.compile(r"[-=!<>+*/%?:,)\]&|]|in\b|\Z")
_OPERATORS = ("==", "!=", "<", "<=", ">", ">=", "in", "&&", "||", "+", "-", "*", "/", "%")
_ALLOWED = re.compile(r"#[ \t]*etconfig:[ \t]*allow[ \t]+(?:[\w-]+[ \t]*,[ \t]*)*([\w-]*)\Z")
_RESTS = {
    "key": (r"[\w-]*", r"[ \t]*(?:[.=\]}]|\Z)"),
    "header": (r"[\w-]*", r"[ \t]*(?:[.\]]|\Z)"),
    "value": (r"""[^\s=,\[\]{}#"']*""", r"[ \t]*(?:[,\]}#]|\Z)"),
    "text": (r"[\w./-]*", ""),
    "comment": (r"[\w-]*", ""),
    "expression": (r"(?:[\w.]*(?![\w.(]))?", ""),
}
"""The rest of a word behind the cursor, by the kind of place, and what may follow where a word may stand."""
_MAX_SHOWN = 60
"""The most characters of a fact's value beside its name."""
_MENTIONED = r"""^[ \t]*\[\[?[^\]\n]*\b{}s[ \t]*\.[ \t]*(?:"([^"\n]+)"|([\w-]+))"""
_BARE = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_OTHER_FUNCTIONS = {
    "has": "has(fact) is true if the fact is known",
    "share": 'share("threads") and share("memory") are the parts of [budget] that a method or model gets',
}


class EditorWord(NamedTuple):
    """A word that may stand at a place, the text to write, and what is written of it before and behind."""

    item: types.CompletionItem
    replaces: str
    text: str
    rest: str = ""


def _candidate(
    label: str, kind: types.CompletionItemKind, replaces: str, text: str = "", doc: str = "", detail: str = ""
) -> EditorWord:
    documentation = types.MarkupContent(types.MarkupKind.Markdown, doc) if doc else None
    item = types.CompletionItem(label, kind=kind, detail=detail or None, documentation=documentation)
    return EditorWord(item, replaces, text or label)


def nodes_at(schema: _Schema, path: Iterable[str]) -> list[_Schema]:
    """Return the schemas of the tables or values at a path; items of arrays have the array's path."""
    found = list(_resolved(schema, schema))
    for key in path:
        found = [
            each for node in found for child in _children(node, key) for each in _resolved(child, schema)
        ]
    return found


def key_doc(schema: _Schema, path: tuple[str, ...]) -> str:
    """Return the documentation of the key that a path ends with, in Markdown; empty if there is none."""
    if not path:
        return ""
    for parent in nodes_at(schema, path[:-1]):
        for node in _children(parent, path[-1]):
            target = _reference(node, schema)
            if found := _doc(node) or _doc(target):
                return found
    return ""


def _children(node: _Schema, key: str) -> Iterator[_Schema]:
    if key in node.get("properties", {}):
        yield node["properties"][key]
        return
    fitting = [each for pattern, each in node.get("patternProperties", {}).items() if re.search(pattern, key)]
    others = node.get("additionalProperties")
    yield from fitting or ([others] if isinstance(others, dict) else [])


def _reference(node: _Schema, root: _Schema) -> _Schema:
    name = node.get("$ref", "").rpartition("/")[2]
    return root["definitions"][name] if name else node


def _resolved(node: _Schema, root: _Schema) -> Iterator[_Schema]:
    """Yield the alternatives of a schema, of arrays the alternatives of their items."""
    node = _reference(node, root)
    parts = [*node.get("anyOf", ()), *node.get("oneOf", ())]
    if isinstance(node.get("items"), dict):
        parts.append(node["items"])
    if parts and "properties" not in node:
        for each in parts:
            yield from _resolved(each, root)
    else:
        yield node


def inside(path: Path, keys: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return keys without `tool.etconfig` of a pyproject.toml; None if they are not below it."""
    if path.name != PROJECT_FILES[1]:
        return keys
    return keys[2:] if keys[:2] == ("tool", "etconfig") else None


def candidates(session: Session, path: Path, text: str, offset: int) -> Iterator[EditorWord]:
    """Yield what may stand at a place of a document, unless it would not fit to what is behind it."""
    cursor, behind = cursor_at(text, offset), text[offset:].partition("\n")[0].removesuffix("\r")
    keys = inside(path, cursor.path)
    if keys is None or cursor.kind == "end":
        return
    schema = session.schema(path, text)
    nodes = nodes_at(schema, keys)
    named = {node.get("x-etconfig-names") for node in nodes} if cursor.kind == "text" else set()
    is_expression = not named.isdisjoint(("expression", "assertion"))
    rest, following = _RESTS["expression" if is_expression else "text" if cursor.quote else cursor.kind]
    word = re.match(rf"({rest}){following}", behind, re.ASCII)
    if word is None:
        return
    found: Iterator[EditorWord]
    if cursor.kind in ("key", "header"):
        found = _keys(_Names(session, path, text, cursor.prefix), schema, nodes, cursor)
    elif cursor.kind == "comment":
        found = _codes(cursor.prefix)
    elif is_expression:
        after = behind[word.end(1) :].lstrip()
        is_last = not after or after.startswith(cursor.quote[0])
        found = _in_expression(session, cursor, keys, None if is_last else after, "assertion" in named)
    else:
        found = _values(_Names(session, path, text, cursor.prefix), nodes, cursor)
    yield from (each._replace(rest=word[1]) for each in found)


def _codes(before: str) -> Iterator[EditorWord]:
    allowed = _ALLOWED.search(before)
    for each in CODES.values() if allowed else ():
        if allowed and each.code not in ALWAYS_ERRORS:
            yield _candidate(each.code, _Kind.EnumMember, allowed[1], doc=each.summary)


def _keys(names: _Names, schema: _Schema, nodes: list[_Schema], cursor: EditorCursor) -> Iterator[EditorWord]:
    for node in nodes:
        known = node.get("properties", {})
        for name, child in known.items():
            target, below = _reference(child, schema), [*_resolved(child, schema), {}]
            is_table = any("properties" in each or "patternProperties" in each for each in below)
            is_list = target.get("type") == "array"
            if cursor.kind == "key" or (is_table and (is_list or cursor.bracket != "[[")):
                kind = _Kind.Module if is_table else _Kind.Property
                words = " | ".join(json.dumps(each) for each in below[0].get("enum", ()))
                detail, doc = words or str(below[0].get("type", "")), _doc(child) or _doc(target)
                yield _candidate(name, kind, cursor.prefix, _key(name, cursor), doc, detail)
        for name in names.of(node):
            if name not in known:
                yield _candidate(name, _Kind.Reference, cursor.prefix, _key(name, cursor))


def _key(name: str, cursor: EditorCursor) -> str:
    return name if cursor.quote or _BARE.fullmatch(name) else json.dumps(name, ensure_ascii=False)


def _doc(node: _Schema) -> str:
    return str(node.get("x-taplo", {}).get("docs", {}).get("main") or node.get("description", ""))


def _values(names: _Names, nodes: list[_Schema], cursor: EditorCursor) -> Iterator[EditorWord]:
    for node in nodes:
        words = node.get("enum", [True, False] if node.get("type") == "boolean" else [])
        docs = node.get("x-taplo", {}).get("docs", {}).get("enumValues") or [None] * len(words)
        for value, doc in (*zip(words, docs, strict=True), *((name, None) for name in names.of(node))):
            label = value if isinstance(value, str) else json.dumps(value)
            written = json.dumps(value, ensure_ascii=False) if cursor.kind == "value" else label
            if cursor.kind == "value" or isinstance(value, str):
                yield _candidate(label, _Kind.Value, cursor.prefix, written, doc or "")


class _Names:
    """The names that may stand in a document."""

    def __init__(self, session: Session, path: Path, text: str, begun: str) -> None:
        self.session, self.path, self.text, self.begun = session, path, text, begun

    def of(self, node: _Schema) -> Iterable[str]:
        """Return the known names of what a schema names, such as profiles, methods or files."""
        named, installation = node.get("x-etconfig-names"), self.session.installation
        with suppress(EtconfigError):
            if named == "profile":
                return ["auto"] * (self.path.name in PROJECT_FILES) + [*installation.readable_profiles.names]
            if named == "own":
                return [installation.readable_profiles.find(self.path).name or self.path.stem]
            if named == "backend":
                return installation.backend_ids
            if named in ("device", "file"):
                return (*(device_names() if named == "device" else ()), *self._files())
            if named in ("method", "instance"):
                mentioned = re.findall(_MENTIONED.format(named), self.text, re.MULTILINE)
                known = self._methods() if named == "method" else self._instances()
                return dict.fromkeys((*known, *(quoted or bare for quoted, bare in mentioned)))
        return ()

    def _files(self) -> list[str]:
        above = self.begun.rpartition("/")
        with suppress(OSError, ValueError), os.scandir(self.path.parent / above[0]) as found:
            names = sorted(each.name + "/" * each.is_dir() for each in found)
            return ["".join((*above[:2], name)) for name in names if name[0] != "."]
        return []

    def _methods(self) -> Iterator[str]:
        for program in self.session.programs.loaded.values():
            yield from program.method_names

    def _instances(self) -> Iterator[str]:
        found = self.session.configured(self.path)
        yield from (instance for _, instance in found[1].instances if instance) if found else ()


def _in_expression(
    session: Session, cursor: EditorCursor, keys: tuple[str, ...], after: str | None, is_test: bool
) -> Iterator[EditorWord]:
    """Yield what may stand in an expression, before a text or at its end."""
    registry = session.options_and_facts if is_test else session.installation.fact_registry
    before, facts = cursor.prefix, session.facts
    if len(before) > MAX_LENGTH:
        return
    compared = _COMPARED.search(before)
    info = registry.get(compared[1]) if compared else None
    if compared and info and (texts := usual_texts(info)):
        quote = "" if compared[3] else "'" if cursor.quote[0] == '"' else '"'
        start = compared[2].removeprefix(compared[3] or "")
        yield from (_candidate(each, _Kind.EnumMember, start, f"{quote}{each}{quote}") for each in texts)
        return
    if before.replace('\\"', "").count('"') % 2 or before.count("'") % 2:  # an item of a list of texts
        start = re.split("[\"']", before)[-1]
        lists = (each for each in facts.values.values() if isinstance(each, tuple))
        yield from (_candidate(each, _Kind.EnumMember, start) for each in dict.fromkeys(chain(*lists)))
        return
    word = _WORD.search(before)
    start = word[0] if word else ""
    operand = before[: len(before) - len(start)]
    if _OPERAND.search(operand) or (after and not _AFTER_OPERAND.match(after)):
        return
    if _OPERAND.search(operand.rstrip()):
        yield from (_candidate(sign, _Kind.Operator, start) for sign in _OPERATORS if not after)
        return
    for info in registry.infos:
        name = info.name.replace(INDEX, "0")
        value = facts.values.get(name)
        known = "an option" if isinstance(info, OptionAsFact) else "unknown here"
        if value is not None and not facts.is_hidden(name):
            known = shown_fact(info, value)
            known = known if len(known) <= _MAX_SHOWN else f"{known[:_MAX_SHOWN]}..."
        yield _candidate(name, _Kind.Variable, start, name, fact_doc(info), known)
    is_method, may_share = "." in start, keys[-1:] == ("expr",) and keys[0] != "budget"
    for name in FUNCTIONS if may_share else (each for each in FUNCTIONS if each != "share"):
        if is_method in (OPERATIONS[name].call if name in OPERATIONS else (False,)):
            yield _candidate(name, _Kind.Function, start.rpartition(".")[2], name, function_doc(name))
    yield from (_candidate(name, _Kind.Value, start) for name in ("true", "false"))


def shown_fact(info: FactInfo, value: FactValue | None) -> str:
    """Return the value of a fact as expressions write it; many bytes also in a larger unit."""
    if info.unit == "bytes" and isinstance(value, int) and value >= 1024:
        return f"{value} ({format_bytes(value)})"
    return fact_text(value)


def fact_doc(info: FactInfo) -> str:
    """Return the documentation of a fact, in Markdown."""
    unit = f" in {info.unit}" if info.unit else ""
    usual = usual_texts(info)
    choices = f" Usually {', '.join(f'`{choice}`' for choice in usual)}." if usual else ""
    return f"{info.doc}{choices}\n\n{info.type.value}{unit}, {info.volatility.value}"


def function_doc(name: str) -> str:
    """Return how to call a function of expressions."""
    return _OTHER_FUNCTIONS.get(name) or OPERATIONS[name].usage or ""
