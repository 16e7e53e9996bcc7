"""A small registry of facts, and helpers to read texts and to collect their diagnostics."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from etconfig.diagnostics import Diagnostic
from etconfig.errors import ConfigError
from etconfig.expression import Expression, ExpressionParser, ExpressionType, parse_expression
from etconfig.facts.registry import FactInfo, FactRegistry, FactType, Volatility
from etconfig.profile import inheritance
from etconfig.profile.document import parse_document
from etconfig.profile.inheritance import ProfileReader
from etconfig.profile.library import ProfileLibrary
from etconfig.profile.profile import Profile, parse_profile
from etconfig.profile.project import ProjectFile, parse_project


def fact(name: str, fact_type: FactType, choices: tuple[str, ...] = ()) -> FactInfo:
    return FactInfo(name=name, type=fact_type, doc="A fact.", volatility=Volatility.STATIC, choices=choices)


REGISTRY = FactRegistry(
    (
        fact("os.name", FactType.STRING),
        fact("cpu.cores", FactType.INT),
        fact("cpu.quota", FactType.FLOAT),
        fact("cpu.features", FactType.STRING_LIST),
        fact("net.is_up", FactType.BOOL),
        fact("power.source", FactType.STRING, choices=("battery", "mains")),
        fact("gpu.<n>.name", FactType.STRING),
    )
)


def expression(text: str, expect: ExpressionType | None = None) -> Expression:
    return parse_expression(text, REGISTRY, expect=expect)


def profile(text: str, name: str = "p.toml") -> Profile:
    return parse_profile(parse_document(text, name), ExpressionParser(REGISTRY))


def project(text: str, name: str = "etconfig.toml") -> ProjectFile:
    return parse_project(parse_document(text, name), ExpressionParser(REGISTRY))


def problems_of(read: Callable[[], object]) -> tuple[Diagnostic, ...]:
    """Return the diagnostics of the `ConfigError` that `read` raises."""
    with pytest.raises(ConfigError) as caught:
        read()
    return caught.value.diagnostics


def said(diagnostic: Diagnostic) -> str:
    """Return `line:column-end code: message; help`, where `end` is the last underlined column."""
    span = diagnostic.spans[0]
    place = f"{span.line}:{span.column}-{span.column + span.length - 1}"
    return f"{place} {diagnostic.code}: {diagnostic.message}; {diagnostic.help}"


def write_diamond(directory: Path, levels: int) -> None:
    """Write l0, r0, l1, r1, ...: each extends both of the level below, so paths double at each level."""
    texts = {"l0": "", "r0": ""}
    for level in range(1, levels + 1):
        bases = f"extends = ['l{level - 1}', 'r{level - 1}']"
        texts |= {f"l{level}": bases, f"r{level}": bases}
    write_profiles(directory, **texts)


def write_lattice(directory: Path, levels: int, width: int, text: str = "", reference: str = "{}") -> None:
    """Write `levels` times `width` profiles: each of l0-0, l0-1, ... extends all of l1-0, l1-1, ..."""
    texts = {}
    for level in range(levels):
        bases = [reference.format(f"l{level + 1}-{each}") for each in range(width)]
        extends = f"extends = {bases}\n" if level < levels - 1 else ""
        texts |= {f"l{level}-{each}": extends + text for each in range(width)}
    write_profiles(directory, **texts)


def note_reads(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Return a list that collects the files from which profiles are read from now on."""
    read: list[Path] = []
    load_document = inheritance.load_document
    monkeypatch.setattr(
        inheritance, "load_document", lambda path, *texts: (read.append(path), load_document(path, *texts))[1]
    )
    return read


def write_profiles(directory: Path, **texts: str) -> Path:
    """Write `vendor__device="..."` to `vendor/device.toml`; the text follows `name = "vendor/device"`."""
    for key, text in texts.items():
        name = key.replace("__", "/")
        path = directory / f"{name}.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'[profile]\nname = "{name}"\n{text}', encoding="utf-8")
    return directory


def load_profile(library: ProfileLibrary, target: str | Path) -> Profile:
    """Read the one profile that `target` names, without what it extends.

    Raises:
        ConfigError: it cannot be found or read, or is wrong.
    """
    return ProfileReader(library).profile(library.find(target))
