"""A plugin that fails, or two of one backend, concern nobody who does not use that backend."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
from command_line import ON_DEVICE, Outcome
from plugin_data import write_distribution

from etconfig.fleet.deciding.recipe import different_surroundings

GOOD = """\
from etconfig.plugin.v1 import ApiRange, BackendOptions, BackendRequest, BackendSpec, hookimpl
@hookimpl
def etconfig_backend(request: BackendRequest) -> BackendSpec:
    return BackendSpec(id="Unused", doc="Doc.", options=BackendOptions, api=ApiRange(min=1, built=1))
"""
BROKEN = {
    "two of one backend": GOOD,
    "fails on import": "raise RuntimeError('no SDK')",
    "exits on import": "raise SystemExit(3)",
    "not Python": "def",
    "no hook": "x = 1",
    "another id": GOOD.replace("Unused", "Other"),
    "newer API": GOOD.replace("min=1, built=1", "min=99, built=99"),
    "hook raises": GOOD.replace("return BackendSpec(", "raise KeyError("),
}
COMMANDS = (
    ("resolve", "model.pte", *ON_DEVICE),
    ("lock", "model.pte", *ON_DEVICE),
    ("matrix", "model.pte", *ON_DEVICE),
    ("pack", "model.pte", "--profile", "generic/any", "-o", "x.etbundle"),
)
FLEET = (
    ("fleet", "coverage", "d.jsonl", "--program", "model.pte"),
    ("fleet", "resolve", "d.jsonl", "--program", "model.pte", "-o", "results", "--force"),
)


def _write_plugin(site: Path, name: str, source: str) -> None:
    """Write a distribution whose module, with the given source, declares the backend Unused."""
    metadata, entries = f"Name: {name}\nVersion: 1.0\n", f"[etconfig.backends]\nUnused = unused_{name}\n"
    write_distribution(site, f"{name}-1.0.dist-info", entries, metadata)
    (site / f"unused_{name}.py").write_text(source)


def test_no_command_fails(cli: Callable[..., Outcome], place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = (*COMMANDS, *(FLEET if find_spec("duckdb") else ()))
    (place / "d.jsonl").write_text('{"device_id": "d1", "os.name": "linux", "cpu.available_cores": 4}\n')
    wrong = []
    for number, (kind, source) in enumerate(BROKEN.items()):
        site = place / f"site{number}"
        for name in ("one", "two") if kind == "two of one backend" else ("one",):
            _write_plugin(site, name, source)
        with monkeypatch.context() as patch:
            patch.syspath_prepend(str(site))
            wrong += [(kind, command, done) for command in commands if (done := cli(*command)).status != 0]
        for name in ("one", "two"):
            sys.modules.pop(f"unused_{name}", None)
    assert not wrong


def test_workers_may_have_a_backend_that_is_unusable_here() -> None:
    here = {"etconfig": "1", "the backend A": "unusable here", "the backend B": "b 1"}
    assert not [*different_surroundings(here, {**here, "the backend A": "a 1, schema 0"})]
    assert [*different_surroundings(here, {**here, "the backend B": "unusable here"})] == [
        "the backend B is another one there"
    ]
