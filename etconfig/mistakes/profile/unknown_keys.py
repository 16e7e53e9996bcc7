"""The way out for tables and keys that nothing reads: the key or the place that was meant."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

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
    },
}
_METHODS = frozenset(("models", "model", "functions", "function"))
"""Words for `methods`."""
_OF_TEXTS = frozenset(("project", "when", "instance"))
"""The kinds of tables whose synonyms stand for keys with a text."""
_ELSEWHERE: Mapping[str, Mapping[str, str]] = {
    "root": {"plugins": "[plugins] belongs in the project file", "if": "write if under [[when]]"}
    | {"kernels": "[kernels.prefer] belongs in the project file"}
    | {"model": "[model.NAME] belongs in the project file, or in a file that its key `models` names"}
    | {"else": "write [[when]] with the opposite condition", "elif": "write another [[when]]"},
    "head": {
        "plugins": "[plugins] belongs in the project file",
        "kernels": "[kernels.prefer] belongs in the project file",
    },
    "when": {
        "facts": "write [facts] for the whole document: facts decide conditions, not the other way round",
        "profile": "a condition selects a profile as match under [profile]",
        "when": "write one [[when]], with both conditions joined by &&",
        "else": "write another [[when]] with the opposite condition",
        "then": "write its options in [when.options.BACKEND]",
    },
    "project": {
        "match": "match belongs in a profile, under [profile]",
        "description": "description belongs in a profile, under [profile]",
        "else": "write [[when]] with the opposite condition",
        "if": "write if under [[when]]",
        "allow": "write allow under [plugins]",
        "deny": "write deny under [plugins]",
    },
    "method": {
        "if": "write if under [[when]], and the options below [when.{table}]",
        "method": "only [instances.NAME] names a method, outside [[when]]",
    },
    "instance": {
        "if": "write if under [[when]], and the options below [when.{table}]",
        "method": "only [instances.NAME] names a method, outside [[when]]",
    },
    "models": {"profile": "a file of models has no profile: write [profile] in a file of its own"},
    "model": {
        "file": "write a program's file under [[{table}.variants]]; an engine's is an argument of build",
        "when": "write when under [[{table}.variants]]",
        "options": "options belong in [methods.NAME.options.BACKEND] of a profile or the project file",
    },
    "variant": {
        "fallback": "write fallback above the variants, under the model's own header",
        "backends": "leave it out: the program itself names the backends that it needs",
        "needs": "leave it out: the program itself says what it needs",
    },
}


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

    def moved(self, new: Sequence[str], below: Sequence[str] | None = None) -> Fix | None:
        """Return the fix that moves a table by its headers."""
        is_array = True if list(new) == ["when"] else None
        return header_fix(self.document, self.names, new, below, is_array=is_array)

    def place(self, new: Sequence[str], below: Sequence[str] | None = None) -> Remedy:
        """Return the advice to write a table elsewhere."""
        return Remedy(
            f"write {header_text(new, is_array=list(new) == ['when'])}", self.moved(new, below), new[0]
        )


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
    return _ADVISERS[kind](unknown)


def _of_root(unknown: UnknownKey) -> Remedy:
    if unknown.key in _HEAD:
        return Remedy(f"write {unknown.key} under [profile]")
    return _of_settings(unknown, ())


def _of_project(unknown: UnknownKey) -> Remedy:
    key, prefix = unknown.key, unknown.names[:-1]
    if key == "prefer":
        return unknown.place((*prefix, "plugins", key))
    if key == "tool" and isinstance(unknown.value, dict) and "etconfig" in unknown.value:
        fix = header_fix(unknown.document, ("tool", "etconfig"), ())
        return Remedy("leave out tool.etconfig, which only pyproject.toml needs", fix)
    if key == "etconfig" and unknown.is_table:
        return Remedy("write its keys without [etconfig]", unknown.moved(prefix))
    return _of_settings(unknown, prefix)


def _of_head(unknown: UnknownKey) -> Remedy:
    if unknown.key in _SETTINGS and (unknown.is_table or unknown.key != "when"):
        return unknown.place((unknown.key,))
    return _of_settings(unknown, ())


def _of_when(unknown: UnknownKey) -> Remedy:
    return _of_settings(unknown, unknown.names[:-1])


def _of_settings(unknown: UnknownKey, prefix: Sequence[str]) -> Remedy:
    """Advise for a key beside `options`, `methods` and `instances`, whose tables have the names `prefix`."""
    if guess := nearest(unknown.key, unknown.known):
        return unknown.spelled(guess)
    entries = unknown.value
    if isinstance(entries, dict) and (isinstance(entries.get("options"), dict) or "method" in entries):
        is_instance = isinstance(entries.get("method"), str)
        return unknown.place((*prefix, "instances" if is_instance else "methods", unknown.key))
    if isinstance(entries, dict) and _is_backend(unknown.key):
        return unknown.place((*prefix, "options", unknown.key))
    if isinstance(entries, dict) and entries and all(map(_is_backend, entries)):
        return Remedy(f"write {header_text((*prefix, 'methods', unknown.key, 'options', 'BACKEND'))}")
    backend = header_text((*prefix, "options", "BACKEND"))
    return Remedy(f"its keys are {', '.join(unknown.known)}; options of a backend belong in {backend}")


def _is_backend(key: str) -> bool:
    """Return True for a key that may be the id of a backend, which has capitals."""
    return key != key.lower()


def _of_entry(unknown: UnknownKey) -> Remedy:
    """Advise for a key of `methods.METHOD` or `instances.NAME`, whose options are in a table `options`."""
    key, table = unknown.key, unknown.names[:-1]
    if table[-1] in _SETTINGS:
        name = "NAME" if table[-1] == "instances" or "instances" in table else "METHOD"
        return Remedy(f"write {header_text((*table[:-1], name, 'options', 'BACKEND'))}")
    if key == "when" and table[0] in ("methods", "instances") and unknown.is_table:
        return unknown.place(("when",), ("when", *table))
    if guess := nearest(key, unknown.known):
        return unknown.spelled(guess)
    if unknown.is_table and _is_backend(key):
        return unknown.place((*table, "options", key))
    if isinstance(unknown.value, dict) and "options" in unknown.value:
        return Remedy('an instance is written as [instances.NAME], with method = "METHOD" below it')
    return Remedy(f"write {header_text((*table, 'options', 'BACKEND'))} above the options of a backend")


def _of_plugins(unknown: UnknownKey) -> Remedy:
    if guess := nearest(unknown.key, unknown.known):
        return unknown.spelled(guess)
    if isinstance(unknown.value, str) and "prefer" in unknown.known:
        return Remedy(f"write {header_text((*unknown.names[:-1], 'prefer'))} above it")
    return Remedy(f"its keys are {', '.join(unknown.known)}")


def _of_value(unknown: UnknownKey) -> Remedy:
    return Remedy(f"a table with {unknown.known[0]!r} has no other key")


def _of_backend(unknown: UnknownKey) -> Remedy:
    """Advise for `when` among the options of a backend."""
    return Remedy(f"write [[when]], and the options in {header_text(('when', *unknown.names[:-1]))}")


_ADVISERS: Mapping[str, Callable[[UnknownKey], Remedy]] = {
    "root": _of_root,
    "project": _of_project,
    "head": _of_head,
    "when": _of_when,
    **dict.fromkeys(("method", "instance"), _of_entry),
    **dict.fromkeys(
        ("plugins", "kernels", "models", "model", "variant", "evidence", "budget", "group", "test"),
        _of_plugins,
    ),
    "value": _of_value,
    "backend": _of_backend,
}
