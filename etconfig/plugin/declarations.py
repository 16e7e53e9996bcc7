"""`Declarations`: what plugins say about themselves in a file, so that nothing of them need be imported.

The entry-point group `etconfig.declared` names the file: `acme-npu = "acme_npu:declared.json"`. It has the
facts of the distribution's plugins, and which of its backends have an implementation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from etconfig.diagnostics.error_text import error_text
from etconfig.plugin.entry_points import BACKENDS, FACTS, EntryPoint
from etconfig.plugin.failure import PluginFailure, load_error

if TYPE_CHECKING:
    from etconfig.facts.registry import FactInfo

VERSION_KEY = "etconfig_declarations"
VERSION = 1
_MAX_BYTES = 1 << 20


class Declarations:
    """The declarations of the plugins that may be used. A file of another version counts as none.

    Args:
        entries: The entry points of `etconfig.declared`.
    """

    def __init__(self, entries: Sequence[EntryPoint]) -> None:
        self._entries = entries
        self._broken: list[PluginFailure] = []

    @property
    def failures(self) -> tuple[PluginFailure, ...]:
        """The files that cannot be read; their plugins are imported instead."""
        _ = self._tables
        return tuple(self._broken)

    def facts(self, entry: EntryPoint) -> tuple[FactInfo, ...] | None:
        """Return the facts of a plugin, or None if it does not declare them."""
        found: tuple[FactInfo, ...] | None = self._tables.get((entry.location, FACTS), {}).get(entry.name)
        return found

    def has_implementation(self, entry: EntryPoint) -> bool | None:
        """Return whether a plugin implements its backend or only describes its options; None if unknown."""
        found: bool | None = self._tables.get((entry.location, BACKENDS), {}).get(entry.name)
        return found

    @cached_property
    def _tables(self) -> Mapping[tuple[str, str], Mapping[str, Any]]:
        """The contents of all files, by the location of the distribution and the group."""
        tables: dict[tuple[str, str], Mapping[str, Any]] = {}
        for entry in self._entries:
            try:
                tables |= {(entry.location, group): table for group, table in _read(entry).items()}
            except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
                cause = f"{entry.value} cannot be read: {error_text(error)}"
                fix = "write it as docs/conformance.md says, and install it again"
                self._broken.append(PluginFailure.of(load_error(entry, cause, fix)))
        return tables


def _read(entry: EntryPoint) -> dict[str, dict[str, Any]]:
    import json  # most commands need no declaration

    data = json.loads(_path(entry).read_bytes()[:_MAX_BYTES])
    if data[VERSION_KEY] != VERSION:
        return {}
    from etconfig.facts.registry import FactRegistry

    facts = {name: tuple(map(_fact, infos)) for name, infos in data.get("facts", {}).items()}
    for infos in facts.values():
        FactRegistry(infos)  # raises ValueError for a name that occurs twice
    backends = {name: each["has_implementation"] for name, each in data.get("backends", {}).items()}
    return {FACTS: facts, BACKENDS: backends}


def _fact(fields: dict[str, Any]) -> FactInfo:
    from etconfig.facts.registry import FactInfo, FactType, Volatility

    kind, volatility = FactType(fields["type"]), Volatility(fields["volatility"])
    choices = tuple(fields.get("choices", ()))
    return FactInfo(**{**fields, "type": kind, "volatility": volatility, "choices": choices})


def declaration_text(
    facts: Mapping[str, tuple[FactInfo, ...]], has_implementation: Mapping[str, bool]
) -> str:
    """Return the file that declares these facts by plugin, and these backends by id."""
    import json

    data: dict[str, object] = {VERSION_KEY: VERSION}
    if facts:
        data["facts"] = {name: [dict(_fields(info)) for info in infos] for name, infos in facts.items()}
    if has_implementation:
        data["backends"] = {name: {"has_implementation": each} for name, each in has_implementation.items()}
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def _fields(info: FactInfo) -> Iterator[tuple[str, object]]:
    """Yield the fields that differ from their defaults."""
    yield "name", info.name
    yield "type", info.type.value
    yield "doc", info.doc
    yield "volatility", info.volatility.value
    for name in ("unit", "choices", "minimum", "maximum", "is_identifying"):
        value = getattr(info, name)
        if value is not None and value != ():
            yield name, value


def _path(entry: EntryPoint) -> Path:
    """Return the file that a value such as `acme_npu:declared.json` names; nothing is imported.

    Raises:
        ValueError: there is none.
    """
    package, _, name = entry.value.partition(":")
    beside = Path(entry.location).parent.joinpath(*package.strip().split("."), name.strip())
    if beside.is_file():
        return beside
    import importlib.util  # for editable installations, whose package lies elsewhere

    spec = importlib.util.find_spec(entry.package)  # of a top-level package, so nothing is imported
    for root in () if spec is None else spec.submodule_search_locations or ():
        path = Path(root).joinpath(*package.strip().split(".")[1:], name.strip())
        if path.is_file():
            return path
    raise ValueError("there is no such file")
