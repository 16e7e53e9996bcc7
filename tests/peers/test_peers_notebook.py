"""The notebook runs on the real runtime and shows what it says; UPDATE_SNAPSHOTS=1 writes its outputs."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

import nbformat
import pytest

# of Jupyter's own
pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("ignore")]

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "examples" / "phone_and_pi" / "two_devices.ipynb"
VARYING = ("etconfig.compare", "etconfig.tune", "device_page(")
"""Cells with numbers of a machine, or with a whole page."""


def test_each_cell_runs_and_shows_what_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    import nbclient

    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    monkeypatch.setenv("ETCONFIG_PROJECT", "etconfig.toml")  # shown as it is given: without a directory
    stored = nbformat.read(NOTEBOOK, as_version=4)
    run = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(run, timeout=120, resources={"metadata": {"path": NOTEBOOK.parent}}).execute()
    for cell in run.cells:
        cell.metadata.pop("execution", None)
    run.metadata = stored.metadata
    if os.environ.get("UPDATE_SNAPSHOTS"):
        assert platform.node() not in nbformat.writes(run)
        nbformat.write(run, NOTEBOOK)
        return
    for before, now in zip(stored.cells, run.cells, strict=True):
        if before.cell_type == "code":
            assert [*map(_kinds, before.outputs)] == [*map(_kinds, now.outputs)], before.source
            if not any(name in before.source for name in VARYING):
                assert before.outputs == now.outputs, before.source


def _kinds(output: Any) -> tuple[str, ...]:
    assert output.output_type == "execute_result", output
    return tuple(sorted(output.data))
