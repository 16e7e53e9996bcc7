"""The notebook as it is stored: valid, run from top to bottom, and silent about the machine that ran it.

tests/peers/test_peers_notebook.py runs it.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

NOTEBOOK = Path(__file__).parents[2] / "examples" / "phone_and_pi" / "two_devices.ipynb"
OF_DEVICES = ("/data/local/tmp/", "/proc/", "/sys/")
"""Where the two devices have what the project file and the fact sheets name."""
_PATH = re.compile(r"(?<![\w<./])(?:/[\w.*+-]+){2,}|\b[A-Z]:\\\w+|~/\w+")
_HOST = re.compile(r"\w+://[\w.:-]+|\b\d+(?:\.\d+){3}\b|\w+@\w+")
"""A URL, an address, or a user at a host."""


@pytest.fixture(scope="module")
def notebook() -> Any:
    return nbformat.read(NOTEBOOK, as_version=4)


def texts(notebook: Any) -> Iterator[str]:
    """All that a reader sees, without the escapes of HTML, and of the page in HTML."""
    for cell in notebook.cells:
        yield cell.source
        for output in cell.get("outputs", ()):
            yield from (html.unescape(html.unescape(text)) for text in output.data.values())


def places(text: str) -> list[str]:
    """The absolute paths and hosts in a text."""
    paths = [path for path in _PATH.findall(text) if not path.startswith(OF_DEVICES)]
    return paths + _HOST.findall(text)


@pytest.mark.filterwarnings("ignore")  # of what nbformat validates with
def test_it_is_valid(notebook: Any) -> None:
    nbformat.validate(notebook)


def test_each_cell_was_run_in_order_and_shows_a_result_of_ten_lines_at_most(notebook: Any) -> None:
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == [*range(1, len(cells) + 1)]
    for cell in cells:
        (output,) = cell.outputs
        assert output.output_type == "execute_result", cell.source
        assert len(output.data["text/plain"].splitlines()) <= 10, cell.source
        assert "text/html" in output.data, cell.source


def test_it_names_neither_paths_nor_hosts(notebook: Any) -> None:
    assert [place for text in texts(notebook) for place in places(text)] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("from project /home/a/etconfig.toml:3:1", ["/home/a/etconfig.toml"]),
        ("'/tmp/x.pte'", ["/tmp/x.pte"]),
        (r"D:\models\x.pte and ~/models", [r"D:\models", "~/models"]),
        ("a@builder, http://builder:80/x, 10.0.0.7", ["http://builder:80", "10.0.0.7", "a@builder"]),
        ("detected /proc/device-tree/model, google/tensor-g3, ../a/b, </td></tr>, // a comment", []),
    ],
)
def test_paths_and_hosts_are_noticed(text: str, found: list[str]) -> None:
    assert sorted(places(text)) == sorted(found)


def test_only_its_last_part_needs_the_real_runtime(notebook: Any) -> None:
    sources = [cell.source for cell in notebook.cells]
    (start,) = (at for at, source in enumerate(sources) if source.startswith("## On the real runtime"))
    uses = [at for at, cell in enumerate(notebook.cells) if 'executor="executorch"' in cell.source]
    assert uses
    assert min(uses) > start
