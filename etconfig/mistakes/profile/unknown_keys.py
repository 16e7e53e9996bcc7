"""The way out for tables and keys that nothing reads: the key or the place that was meant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from etconfig.base.records import record
from etconfig.diagnostics import Fix, Respelling, Span, is_certain, nearest
from etconfig.mistakes.profile.header_fixes import header_fix, header_text
from etconfig.profile.document import Document
from etconfig.profile.positions import KeyPath

_SETTINGS = ("facts", "options", "methods", "instances", "when", "budget", "groups")
_HEAD = ("name", "extends", "description", "match")
_SYNONYMS: Mapping[str, Mapping[str, str]] = {
    "head": {
        **dict.fromkeys(("base", "bases", "parent", "parents", "inherit", "inherits", "include"), "extends"),
        **dict.fromkeys(("id", "title", "label"), "name"),
        **dict.fromkeys(("desc", "comment", "doc", "summary", "about"), "description"),
        **dict.fromkeys(("if", "when", "condition", "matches", "select", "selector"), "match"),
    },
    "when": dict.fromkeys(("condition", "cond", "match", "when", "expr", "where", "is", "test"), "if"),
    "project": dict.fromkeys(("extends", "use", "base", "select", "default", "name"), "profile"),
    "plugins": {"allowed": "allow", "denied": "deny", "preferred": "prefer"},
    "instance": dict.fromkeys(("model", "of", "instance_of", "function"), "method"),
    "models": dict.fromkeys(("models",), "model"),
    "model": dict.fromkeys(("variant", "files", "programs"), "variants"),
    "variant": {
        **dict.fromkeys(("if", "condition", "cond", "match", "where", "expr"), "when"),
        **dict.fromkeys(("path", "program", "model", "pte", "name"), "file"),
        **dict.fromkeys(("ptd", "data_file", "data_files", "weights"), "data"),
        **dict.fromkeys(("backends", "engine", "runtime"), "backend"),
        **dict.fromkeys(("size", "size_bytes", "length"), "bytes"),
        **dict.fromkeys(("hash", "sha", "digest", "checksum"), "sha256"),
        **dict.fromkeys(("url", "uri", "href"), "source"),
    },
}
_METHODS = frozenset(("models", "model", "functions", "function"))
"""Words for `methods`."""
_OF_TEXTS = frozenset(("project", "when", "instance"))
"""The kinds of tables whose synonyms stand for keys with a text."""
_IN_PROJECT = {
    **{key: f"[{key}] belongs in the project file" for key in ("plugins", "kernels", "rules")},
    **{key: f"[[{key}]] belongs in the project file" for key in ("test", "guard")},
    "model": "[model.NAME] belongs in the project file, or in a file that its key `models` names",
}
_OVERLAY = "write if under [[when]], and the options below [when.{table}]"
_OPPOSITE = "write another [[when]] with the opposite condition"
_ELSEWHERE: Mapping[str, Mapping[str, str]] = {
    "root": {
        **_IN_PROJECT,
        **{key: f"write {key} under [profile]" for key in _HEAD},
        **dict.fromkeys(("else", "elif"), _OPPOSITE),
        "if": "write if under [[when]]",
    },
    "head": _IN_PROJECT,
    "when": {
        "facts": "write [facts] for the whole document: facts decide conditions, not the other way round",
        "profile": "a condition selects a profile as match under [profile]",
        "when": "write one [[when]], with both conditions joined by &&",
        **dict.fromkeys(("else", "elif"), _OPPOSITE),
        "then": "write its options in [when.options.BACKEND]",
    },
    "project": {
        **dict.fromkeys(("match", "description"), "it belongs in a profile, under [profile]"),
        **dict.fromkeys(("allow", "deny", "prefer"), "write it under [plugins]"),
        **dict.fromkeys(("else", "elif"), _OPPOSITE),
        "if": "write if under [[when]]",
        "tool": "leave out tool.etconfig, which only pyproject.toml needs",
        "etconfig": "leave out etconfig, and write its keys alone",
    },
    **dict.fromkeys(("method", "instance", "backend"), dict.fromkeys(("if", "when"), _OVERLAY)),
    "model": {
        "file": "write a program's file under [[{table}.variants]]; an engine's is an argument of build",
        "when": "write when under [[{table}.variants]]",
        "options": "options belong in [methods.NAME.options.BACKEND] of a profile or the project file",
    },
    "variant": dict.fromkeys(("needs", "requires", "facts"), "write what the device must have as its when"),
}
"""Keys that belong elsewhere, by the kind of the table in which they are written."""


@record(frozen=True)
class Remedy:
    """The way out for a key that a table does not have.

    Attributes:
        help: An instruction.
        fix: A change of the text, or None.
        meant: The key of the same table that was probably meant, or None.
    """

    help: str
    fix: Fix | None = None
    meant: str | None = None


@record(frozen=True)
class UnknownKey:
    """A key that its table does not have.

    Attributes:
        document: The document.
        path: The path of its table.
        key: The key.
        value: Its value.
        known: The keys of the table.
        siblings: The keys that the table has in the document.
    """

    document: Document
    path: KeyPath
    key: str
    value: object
    known: Sequence[str]
    siblings: Mapping[str, object]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the table and the key, without indices."""
        return (*(part for part in self.path if isinstance(part, str)), self.key)

    @property
    def is_table(self) -> bool:
        """True for a table or an array of tables."""
        is_list = isinstance(self.value, list) and self.value != []
        items = self.value if is_list and isinstance(self.value, list) else [self.value]
        return all(isinstance(item, dict) for item in items)

    def span(self) -> Span:
        """Return its place."""
        return self.document.key_span((*self.path, self.key))

    def spelled(self, meant: str) -> Remedy:
        """Return the advice to write another key of the same table, with a fix if that is certain."""
        fix = None
        if meant not in self.siblings:
            fix = self.moved((*self.names[:-1], meant)) if self.is_table else None
            fix = fix or Respelling(self.key, meant).at(self.span())
        is_synonym = any(words.get(self.key) == meant for words in _SYNONYMS.values())
        is_synonym = is_synonym or (meant == "methods" and self.key in _METHODS)
        if not is_synonym and not is_certain(self.key, meant, self.known):
            fix = None
        return Remedy(f"did you mean {meant!r}?", fix, meant)

    def moved(self, new: Sequence[str]) -> Fix | None:
        """Return the fix that moves a table by its headers."""
        return header_fix(self.document, self.names, new, is_array=True if list(new) == ["when"] else None)

    def place(self, new: Sequence[str]) -> Remedy:
        """Return the advice to write a table elsewhere."""
        return Remedy(f"write {header_text(new, is_array=list(new) == ['when'])}", self.moved(new), new[0])


def advise(kind: str, unknown: UnknownKey) -> Remedy:
    """Return the way out for a key that a table of this kind does not have.

    Args:
        kind: `root` or `project` (the whole document), `head` ([profile]), `when`, `method`,
            `instance`, `backend`, `value` (of an option), `plugins`, `kernels`, `models` (a file of them),
            `model`, `variant`, `evidence`, `budget` or `group`.
        unknown: The key.
    """
    key, meant = unknown.key, _SYNONYMS.get(kind, {}).get(unknown.key)
    if unknown.is_table and key in _METHODS and (kind == "when" or (kind == "root" and key != "model")):
        return unknown.spelled("methods")
    is_fitting = (
        isinstance(unknown.value, str) if kind in _OF_TEXTS else kind != "head" or not unknown.is_table
    )
    if meant is not None and is_fitting and meant in unknown.known and meant not in unknown.siblings:
        return unknown.spelled(meant)
    if key in _ELSEWHERE.get(kind, ()):
        return Remedy(_ELSEWHERE[kind][key].replace("{table}", ".".join(unknown.names[:-1])))
    if kind == "head" and key in _SETTINGS and (unknown.is_table or key != "when"):
        return unknown.place((key,))
    if guess := nearest(key, unknown.known):
        return unknown.spelled(guess)
    if kind in ("method", "instance"):
        return _of_entry(unknown)
    if kind in ("root", "project", "head", "when"):
        return _of_settings(unknown, () if kind in ("root", "head") else unknown.names[:-1])
    return Remedy(f"its keys are {', '.join(unknown.known)}")


def _of_settings(unknown: UnknownKey, prefix: Sequence[str]) -> Remedy:
    """Advise for a key beside `options`, `methods` and `instances`, whose tables have the names `prefix`."""
    entries = unknown.value
    if isinstance(entries, dict) and (isinstance(entries.get("options"), dict) or "method" in entries):
        is_instance = isinstance(entries.get("method"), str)
        return unknown.place((*prefix, "instances" if is_instance else "methods", unknown.key))
    if isinstance(entries, dict) and _is_backend(unknown.key):
        return unknown.place((*prefix, "options", unknown.key))
    backend = header_text((*prefix, "options", "BACKEND"))
    return Remedy(f"its keys are {', '.join(unknown.known)}; options of a backend belong in {backend}")


def _is_backend(key: str) -> bool:
    """Return True for a key that may be the id of a backend, which has capitals."""
    return key != key.lower()


def _of_entry(unknown: UnknownKey) -> Remedy:
    """Advise for a key of `methods.METHOD` or `instances.NAME`, whose options are in a table `options`."""
    table = unknown.names[:-1]
    if table[-1] in _SETTINGS:
        return Remedy(f"write {header_text((*table[:-1], 'NAME', 'options', 'BACKEND'))}")
    if unknown.is_table and _is_backend(unknown.key):
        return unknown.place((*table, "options", unknown.key))
    return Remedy(f"write {header_text((*table, 'options', 'BACKEND'))} above the options of a backend")
