"""The notebook runs, and shows what it says; UPDATE_SNAPSHOTS=1 writes its outputs again."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat", reason="nbclient is not installed")
nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
pytest.importorskip("ipykernel", reason="ipykernel is not installed")

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "examples" / "notebook" / "two_devices.ipynb"
VARYING = ("etconfig.compare", "etconfig.tune", "explain(", "what_if(", "device_page")
"""Cells with numbers of a machine, with a path that is cut, or with a whole page."""


@pytest.mark.posix
@pytest.mark.filterwarnings("ignore")  # of Jupyter's own
def test_each_cell_runs_and_shows_what_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    stored = nbformat.read(NOTEBOOK, as_version=4)
    run = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(run, timeout=60, resources={"metadata": {"path": NOTEBOOK.parent}}).execute()
    for cell in run.cells:
        cell.metadata.pop("execution", None)
    run.metadata = stored.metadata
    run = nbformat.reads(nbformat.writes(run).replace(str(ROOT), "/path/to/etconfig"), as_version=4)
    if os.environ.get("UPDATE_SNAPSHOTS"):
        nbformat.write(run, NOTEBOOK)
    assert str(ROOT) not in NOTEBOOK.read_text(encoding="utf-8")
    cells = [*zip(stored.cells, run.cells, strict=True)]
    for before, now in cells:
        if before.cell_type == "code":
            assert [*map(_kinds, before.outputs)] == [*map(_kinds, now.outputs)], before.source
            if not any(name in before.source for name in VARYING):
                assert before.outputs == now.outputs, before.source
    (threads,) = (now for _, now in cells if "explain(" in now.source)
    assert re.match("<Explanation: forward:ReferenceCpuBackend.num_threads = 3 from", _plain(threads))
    for _, now in cells:
        if now.cell_type == "code":
            assert _plain(now).count("\n") < 10, now.source


def _kinds(output: Any) -> tuple[str, ...]:
    assert output.output_type == "execute_result", output
    return tuple(sorted(output.data))


def _plain(cell: Any) -> str:
    return str(cell.outputs[-1].data["text/plain"]) if cell.outputs else ""
