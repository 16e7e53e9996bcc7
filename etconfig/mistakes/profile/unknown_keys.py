"""Remedies for tables and keys in a place where nothing reads them: the place that was probably meant."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from etconfig.diagnostics import Edit, Fix, Respelling, Span, is_certain, nearest
from etconfig.mistakes.profile.header_fixes import header_fix, header_text
from etconfig.profile.document import Document
from etconfig.profile.positions import KeyPath
from etconfig.records import record

_SETTINGS = ("facts", "options", "methods", "instances", "when")
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
    "settings": dict.fromkeys(("models", "model", "functions", "function"), "methods"),
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
        """The name of the key with that of its table, without indices."""
        return (*(part for part in self.path if isinstance(part, str)), self.key)

    @property
    def is_table(self) -> bool:
        """True for a table or an array of tables."""
        is_list = isinstance(self.value, list) and self.value != []
        items = self.value if is_list and isinstance(self.value, list) else [self.value]
        return all(isinstance(item, dict) for item in items)

    @property
    def entries(self) -> Sequence[Mapping[str, object]]:
        """The tables directly below it."""
        below = self.value.values() if isinstance(self.value, dict) else ()
        return [entry for entry in below if isinstance(entry, dict)]

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
            `model` or `variant`.
        unknown: The key.
    """
    return _ADVISERS[kind](unknown)


def _of_root(unknown: UnknownKey) -> Remedy:
    key = unknown.key
    if key in _ELSEWHERE["root"] and not _names_methods(unknown):
        return Remedy(_ELSEWHERE["root"][key])
    if key in _HEAD:
        return Remedy(f"write {key} under [profile]")
    return _of_settings(unknown, ())


def _of_project(unknown: UnknownKey) -> Remedy:
    key = unknown.key
    if key in _ELSEWHERE["project"]:
        return Remedy(_ELSEWHERE["project"][key])
    meant = _SYNONYMS["project"].get(key)
    if meant is not None and isinstance(unknown.value, str):
        return unknown.spelled(meant)
    prefix = unknown.names[:-1]
    if key in ("prefer", "allow", "deny"):
        if unknown.is_table:
            return unknown.place((*prefix, "plugins", key))
        return Remedy(f"write {key} under {header_text((*prefix, 'plugins'))}")
    if key == "tool" and isinstance(unknown.value, dict) and "etconfig" in unknown.value:
        fix = header_fix(unknown.document, ("tool", "etconfig"), ())
        return Remedy("leave out tool.etconfig, which only pyproject.toml needs", fix)
    if key == "etconfig" and unknown.is_table:
        return Remedy(
            "write its keys without [etconfig]", header_fix(unknown.document, unknown.names, prefix)
        )
    return _of_settings(unknown, prefix)


def _of_head(unknown: UnknownKey) -> Remedy:
    key = unknown.key
    if key in _ELSEWHERE["head"]:
        return Remedy(_ELSEWHERE["head"][key])
    if key in _SETTINGS and (unknown.is_table or key != "when"):
        return unknown.place((key,))
    meant = None if unknown.is_table else _SYNONYMS["head"].get(key)
    meant = meant or nearest(key, unknown.known)
    if meant is not None:
        return unknown.spelled(meant)
    return _of_settings(unknown, ())


def _of_when(unknown: UnknownKey) -> Remedy:
    key = unknown.key
    if isinstance(unknown.value, str) and key in _SYNONYMS["when"] and "if" not in unknown.siblings:
        return unknown.spelled("if")
    if key in _ELSEWHERE["when"]:
        return Remedy(_ELSEWHERE["when"][key])
    return _of_settings(unknown, unknown.names[:-1])


def _of_settings(unknown: UnknownKey, prefix: Sequence[str]) -> Remedy:
    """Advise for a key beside `options`, `methods` and `instances`, whose tables have the names `prefix`."""
    if _names_methods(unknown):
        return _of_methods(unknown, prefix)
    if guess := nearest(unknown.key, unknown.known):
        return unknown.spelled(guess)
    if any(isinstance(entry.get("options"), dict) for entry in unknown.entries):
        methods, instances = (header_text((*prefix, key, "NAME")) for key in ("methods", "instances"))
        return Remedy(f"options of a method or model belong in {methods}, of an instance in {instances}")
    meant = _meant_table(unknown, prefix) if unknown.is_table else None
    if meant is None:
        backend = header_text((*prefix, "options", "BACKEND"))
        return Remedy(f"its keys are {', '.join(unknown.known)}; options of a backend belong in {backend}")
    return unknown.place(*meant)


def _names_methods(unknown: UnknownKey) -> bool:
    """Return True for a table with the meaning of `methods`: options below names of models or methods."""
    if _SYNONYMS["settings"].get(unknown.key) is None:
        return False
    return any("options" in entry or any(map(_is_backend, entry)) for entry in unknown.entries)


def _of_methods(unknown: UnknownKey, prefix: Sequence[str]) -> Remedy:
    """Advise for options of models in a table `models`, with the fix where all headers say `options`."""
    fix = unknown.moved((*prefix, "methods")) if all("options" in x for x in unknown.entries) else None
    header = header_text((*prefix, "methods", "NAME", "options", "BACKEND"))
    return Remedy(f"write {header} for the options of a model or method", fix, "methods")


def _is_backend(key: str) -> bool:
    """Return True for a key that may be the id of a backend, which has capitals."""
    return key != key.lower()


def _meant_table(
    unknown: UnknownKey, prefix: Sequence[str]
) -> tuple[Sequence[str], Sequence[str] | None] | None:
    """Return where a table belongs that is written in place of `options`, `methods` or `instances`.

    Returns:
        Its name, and the name in the headers of the tables below it if that differs; None without a guess.
    """
    key, entries = unknown.key, unknown.value
    if not isinstance(entries, dict):
        return None
    if isinstance(entries.get("method"), str):
        return (*prefix, "instances", key), None
    if isinstance(entries.get("options"), dict):
        return (*prefix, "methods", key), None
    if entries and all(
        isinstance(item, dict) and not {"expr", "unset"} & set(item) and _is_backend(name)
        for name, item in entries.items()
    ):
        return (*prefix, "methods", key), (*prefix, "methods", key, "options")
    if not _is_backend(key):
        return None
    return (*prefix, "options", key), None


def _of_method(unknown: UnknownKey) -> Remedy:
    return _of_entry(unknown, "METHOD")


def _of_instance(unknown: UnknownKey) -> Remedy:
    return _of_entry(unknown, "NAME")


def _of_entry(unknown: UnknownKey, placeholder: str) -> Remedy:
    """Advise for a key of `methods.METHOD` or `instances.NAME`, whose options are in a table `options`."""
    key, table = unknown.key, unknown.names[:-1]
    if table[-1] in _SETTINGS:
        return Remedy(f"write {header_text((*table[:-1], placeholder, 'options', 'BACKEND'))}")
    if key == "when" and table[0] in ("methods", "instances") and unknown.is_table:
        return unknown.place(("when",), ("when", *table))
    if key == "if":
        return Remedy("write if under [[when]], and the options below " + header_text(("when", *table)))
    if key in _SYNONYMS["instance"] and "method" in unknown.known and isinstance(unknown.value, str):
        return unknown.spelled("method")
    if key == "method":
        return Remedy("only [instances.NAME] names a method, outside [[when]]")
    if unknown.is_table and key not in _SETTINGS:
        if guess := nearest(key, unknown.known):
            return unknown.spelled(guess)
        if isinstance(unknown.value, dict) and isinstance(unknown.value.get("options"), dict):
            return _of_instance_below(unknown)
        advice = unknown.place((*table, "options", key))
        return advice if _is_backend(key) else Remedy(advice.help)
    if guess := nearest(key, unknown.known):
        return unknown.spelled(guess)
    return Remedy(f"write {header_text((*table, 'options', 'BACKEND'))} above the options of a backend")


def _of_instance_below(unknown: UnknownKey) -> Remedy:
    """Advise for `METHOD.NAME` in place of `instances.NAME`, which names its method."""
    *prefix, _, method = unknown.names[:-1]
    header = header_text((*prefix, "instances", unknown.key))
    if prefix:  # in [[when]]
        return Remedy(f"write {header}")
    return Remedy(f'write {header}, and method = "{method}" below it')


def _of_plugins(unknown: UnknownKey) -> Remedy:
    if guess := nearest(unknown.key, unknown.known):
        return unknown.spelled(guess)
    if isinstance(unknown.value, str):
        return Remedy(f"write {header_text((*unknown.names[:-1], 'prefer'))} above it")
    return Remedy(f"its keys are {', '.join(unknown.known)}")


def _of_models(unknown: UnknownKey) -> Remedy:
    return _of_model_table("models", unknown)


def _of_model(unknown: UnknownKey) -> Remedy:
    return _of_model_table("model", unknown)


def _of_variant(unknown: UnknownKey) -> Remedy:
    return _of_model_table("variant", unknown)


def _of_model_table(kind: str, unknown: UnknownKey) -> Remedy:
    meant = _SYNONYMS[kind].get(unknown.key) or nearest(unknown.key, unknown.known)
    if meant is not None and meant not in unknown.siblings:
        return unknown.spelled(meant)
    if unknown.key in _ELSEWHERE[kind]:
        return Remedy(_ELSEWHERE[kind][unknown.key].replace("{table}", ".".join(unknown.names[:-1])))
    return Remedy(f"its keys are {', '.join(unknown.known)}")


def _of_value(unknown: UnknownKey) -> Remedy:
    return Remedy(f"a table with {unknown.known[0]!r} has no other key")


def _of_backend(unknown: UnknownKey) -> Remedy:
    """Advise for `when` among the options of a backend."""
    table = unknown.names[:-1]
    advice = unknown.place(("when",), ("when", *table))
    items = unknown.value if isinstance(unknown.value, list) else [unknown.value]
    first = items[0]
    if table[0] == "when" or len(items) > 1 or not isinstance(first, dict):
        return Remedy(advice.help)
    if advice.fix is None or first.keys() == {"if"} or next(iter(first)) != "if":
        return advice
    index = (0,) if isinstance(unknown.value, list) else ()
    condition = unknown.document.value_span((*unknown.path, unknown.key, *index, "if"))
    text = f"{condition.underlined}\n{header_text(('when', *table))}"
    further = (Edit(span=condition, replacement=text), *advice.fix.further)
    return Remedy(advice.help, replace(advice.fix, further=further), advice.meant)


_ADVISERS: Mapping[str, Callable[[UnknownKey], Remedy]] = {
    "root": _of_root,
    "project": _of_project,
    "head": _of_head,
    "when": _of_when,
    "method": _of_method,
    "instance": _of_instance,
    "plugins": _of_plugins,
    "kernels": _of_plugins,
    "models": _of_models,
    "model": _of_model,
    "variant": _of_variant,
    "value": _of_value,
    "backend": _of_backend,
}
