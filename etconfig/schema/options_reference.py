"""The Markdown reference of a backend's options."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from etconfig.base.plain_data import jsonable
from etconfig.schema.declaration import MISSING, OptionInfo
from etconfig.schema.environment import described_variables
from etconfig.schema.option_type import OptionType
from etconfig.schema.spec import Advice, BackendSpec

_FIELD_HEADERS = ("Option", "Type", "Default", "Description")
_HEADERS = ("Option", "Type", "Default", "Applies", "Scope", "Description")


def markdown_reference(spec: BackendSpec) -> str:
    """Return a section: the backend's description, and tables of its options, compile specs and variables."""
    infos = spec.options.option_infos().values()
    parts = [f"## {spec.id}", spec.doc.strip()]
    parts.append(_table(_HEADERS, map(_option_row, infos)) if infos else "It has no options.")
    for path, option_type in _nested(infos):
        parts += [_tables_of(path, option_type), _table(_FIELD_HEADERS, _field_rows(option_type))]
    for info in infos:
        if info.type.known_keys is not None:
            parts.append(f"Keys of `{info.name}`; others are refused:")
            rows = [(f"`{key}`", known.expected, known.doc) for key, known in info.type.known_keys.items()]
            parts.append(_table(("Key", "Value", "Description"), rows))
    if spec.advice:
        parts.append("Recommended values; of the rows of an option, the first that applies counts:")
        parts.append(_table(("Option", "Value", "Where", "Reason"), map(_advice_row, spec.advice)))
    if spec.compile_specs:
        rows = [(f"`{key}`", info.encoding.value, info.doc) for key, info in spec.compile_specs.items()]
        parts.append(_table(("Compile spec", "Encoding", "Description"), rows))
    if spec.environment:
        variables = [(f"`{name}`", doc) for name, doc in described_variables(spec).items()]
        parts.append(_table(("Environment variable", "Description"), variables))
    return "\n\n".join(parts) + "\n"


def _nested(infos: Iterable[OptionInfo], prefix: str = "") -> Iterator[tuple[str, OptionType]]:
    """Yield the types of the tables of options in options, and in those tables, each with its path."""
    for info in infos:
        path, inner = f"{prefix}{info.name}", info.type
        while inner.item is not None:
            path, inner = f"{path}[]", inner.item
        if inner.tables:
            yield path, inner
        for table in inner.tables:
            yield from _nested(table.option_infos().values(), f"{path}.")


def _tables_of(path: str, option_type: OptionType) -> str:
    if option_type.discriminator is None:
        return f"The table `{path}`:"
    return f"The tables of `{path}`; `{option_type.discriminator}` chooses one of them:"


def _field_rows(option_type: OptionType) -> Iterator[tuple[str, ...]]:
    key = option_type.discriminator
    if key is not None:
        texts = ", ".join(f"`{json.dumps(text)}`" for text in option_type.tables_by_name)
        yield f"`{key}`", f"choice: {texts}", "required", "Chooses the table."
    for text, table in option_type.tables_by_name.items():
        for info in table.option_infos().values():
            if info.name != key:
                name = f"`{info.name}` of {text}" if text else f"`{info.name}`"
                yield name, _type(info), _default(info), " ".join(_sentences(info))


def _option_row(info: OptionInfo) -> tuple[str, ...]:
    words = (f"`{info.name}`", _type(info), _default(info), info.applies.value, info.scope.value)
    return (*words, " ".join(_sentences(info)))


def _advice_row(entry: Advice) -> tuple[str, ...]:
    where = "wherever its facts are known" if entry.when is None else f"`{entry.when}`"
    return f"`{entry.option}`", f"`{entry.expr}`", where, entry.reason


def _type(info: OptionInfo) -> str:
    details = [f"`{json.dumps(choice)}`" for choice in info.choices]
    details += [f"`{text}`" for text in info.constraints]
    if info.unit is not None:
        details.append(f"in {info.unit.value}")
    return f"{info.type}: {', '.join(details)}" if details else str(info.type)


def _default(info: OptionInfo) -> str:
    default = "" if info.default is MISSING else f"`{_value(info.default)}`"
    if info.from_fact is None:
        return default or "required"
    return f"fact `{info.from_fact}`" + (f", else {default}" if default else "")


def _value(default: object) -> str:
    return "none" if default is None else json.dumps(jsonable(default))


def _sentences(info: OptionInfo) -> Iterator[str]:
    yield info.doc.strip()
    if info.deprecated is not None:
        yield f"Deprecated: {info.deprecated}"
    if info.renamed_from:
        yield f"Formerly {', '.join(f'`{name}`' for name in info.renamed_from)}."
    if info.invalidates_cache:
        yield "Another value compiles anew."
    if info.since is not None:
        yield f"Since {info.since}."


def _table(headers: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    headers = tuple(headers)
    lines = [headers, ("---",) * len(headers), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
