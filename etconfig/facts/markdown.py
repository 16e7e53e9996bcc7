"""The reference of all facts as Markdown."""

from __future__ import annotations

from etconfig.facts.registry import FactInfo, FactRegistry, FactType

_HEAD = "| fact | type | unit | volatility | meaning |\n|---|---|---|---|---|\n"


def facts_markdown(registry: FactRegistry) -> str:
    """Return a Markdown table with a row for each fact, in the order of the registry."""
    return _HEAD + "".join(map(_row, registry.infos))


def _row(info: FactInfo) -> str:
    cells = (f"`{info.name}`", info.type.value, info.unit or "", info.volatility.value, _meaning(info))
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def _meaning(info: FactInfo) -> str:
    if not info.choices:
        return info.doc
    words = "One of" if info.type is FactType.STRING else "Usual items are"
    return f"{info.doc} {words} {', '.join(f'`{choice}`' for choice in info.choices)}."
