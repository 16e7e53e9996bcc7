"""Completion: the keys, values and names that may stand at a place, read from the document's JSON Schema."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from lsprotocol import types

from etconfig.errors import EtconfigError
from etconfig.expression.operations import OPERATIONS
from etconfig.expression.signatures import FUNCTIONS
from etconfig.facts.problems import usual_texts
from etconfig.facts.registry import INDEX, FactInfo
from etconfig.facts.sheet import fact_text
from etconfig.lsp.cursor import EditorCursor
from etconfig.lsp.session import Session
from etconfig.profile.names import PROJECT_FILES

_Schema: TypeAlias = Mapping[str, Any]
_Kind = types.CompletionItemKind

_WORD = re.compile(r"[A-Za-z_][\w.]*\Z", re.ASCII)
_COMPARED = re.compile(
    r"""([a-z][\w.]*)\s*(?:[=!]=|in\s*\[(?:\s*(?:"[^"]*"|'[^']*')\s*,)*)\s*(["'])([^"']*)\Z""", re.ASCII
)
_MENTIONED = r"""^[ \t]*\[\[?[^\]\n]*\b{}s[ \t]*\.[ \t]*(?:"([^"\n]+)"|([\w-]+))"""
_BARE = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_OTHER_FUNCTIONS = {
    "has": "has(fact) is true if the fact is known",
    "share": 'share("threads") and share("memory") are the parts of [budget] that a method or model gets',
}


class EditorWord(NamedTuple):
    """A word that may stand at a place, the beginning of it that is written, and the text to write."""

    item: types.CompletionItem
    replaces: str
    text: str


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


def candidates(session: Session, path: Path, text: str, cursor: EditorCursor) -> Iterator[EditorWord]:
    """Yield what may stand at a place of a document."""
    keys = inside(path, cursor.path)
    if keys is None:
        return
    schema = session.schema(path, text)
    nodes = nodes_at(schema, keys)
    if cursor.kind in ("key", "header"):
        yield from _keys(_Names(session, path, text), schema, nodes, cursor)
    elif cursor.kind == "text" and any(node.get("x-etconfig-names") == "expression" for node in nodes):
        yield from _in_expression(session, cursor.prefix)
    elif cursor.kind in ("text", "value"):
        yield from _values(_Names(session, path, text), nodes, cursor)


def _keys(names: _Names, schema: _Schema, nodes: list[_Schema], cursor: EditorCursor) -> Iterator[EditorWord]:
    for node in nodes:
        known = node.get("properties", {})
        for name, child in known.items():
            target = _reference(child, schema)
            is_table = "properties" in target or "patternProperties" in target
            if cursor.kind == "key" or is_table or target.get("type") == "array":
                kind = _Kind.Module if is_table else _Kind.Property
                first: _Schema = next(_resolved(child, schema), {})
                words = " | ".join(json.dumps(each) for each in first.get("enum", ()))
                detail = words or str(first.get("type", ""))
                yield _candidate(
                    name, kind, cursor.prefix, _key(name, cursor), _doc(child) or _doc(target), detail
                )
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

    def __init__(self, session: Session, path: Path, text: str) -> None:
        self.session, self.path, self.text = session, path, text

    def of(self, node: _Schema) -> Iterable[str]:
        """Return the known names of the profiles, backends, methods or instances that a schema names."""
        named, installation = node.get("x-etconfig-names"), self.session.installation
        with suppress(EtconfigError):
            if named == "profile":
                return ["auto"] * (self.path.name in PROJECT_FILES) + [*installation.readable_profiles.names]
            if named == "backend":
                return installation.backend_ids
            if named in ("method", "instance"):
                mentioned = re.findall(_MENTIONED.format(named), self.text, re.MULTILINE)
                known = self._methods() if named == "method" else self._instances()
                return dict.fromkeys((*known, *(quoted or bare for quoted, bare in mentioned)))
        return ()

    def _methods(self) -> Iterator[str]:
        for program in self.session.programs.loaded.values():
            yield from program.method_names

    def _instances(self) -> Iterator[str]:
        found = self.session.configured(self.path)
        yield from (instance for _, instance in found[1].instances if instance) if found else ()


def _in_expression(session: Session, before: str) -> Iterator[EditorWord]:
    registry, facts = session.installation.fact_registry, session.facts
    compared = _COMPARED.search(before)
    if compared:
        info = registry.get(compared[1])
        yield from (
            _candidate(each, _Kind.EnumMember, compared[3]) for each in (usual_texts(info) if info else ())
        )
        return
    if before.replace('\\"', "").count('"') % 2 or before.count("'") % 2:  # an item of a list of texts
        start = re.split("[\"']", before)[-1]
        lists = (each for each in facts.values.values() if isinstance(each, tuple))
        yield from (_candidate(each, _Kind.EnumMember, start) for each in dict.fromkeys(chain(*lists)))
        return
    word = _WORD.search(before)
    start = word[0] if word else ""
    for info in registry.infos:
        name = info.name.replace(INDEX, "0")
        value = facts.values.get(name)
        known = fact_text(value) if value is not None and not facts.is_hidden(name) else "unknown here"
        yield _candidate(name, _Kind.Variable, start, name, fact_doc(info), known)
    for name in FUNCTIONS:
        yield _candidate(name, _Kind.Function, start.rpartition(".")[2], name, function_doc(name))
    yield from (_candidate(name, _Kind.Value, start) for name in ("true", "false"))


def fact_doc(info: FactInfo) -> str:
    """Return the documentation of a fact, in Markdown."""
    unit = f" in {info.unit}" if info.unit else ""
    usual = usual_texts(info)
    choices = f" Usually {', '.join(f'`{choice}`' for choice in usual)}." if usual else ""
    return f"{info.doc}{choices}\n\n{info.type.value}{unit}, {info.volatility.value}"


def function_doc(name: str) -> str:
    """Return how to call a function of expressions."""
    return _OTHER_FUNCTIONS.get(name) or OPERATIONS[name].usage or ""
