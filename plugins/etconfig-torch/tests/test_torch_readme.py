"""The README's example runs as it stands, and a mistake in its profile is found with the fix."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest
from etconfig_torch.plugin import SPEC

import etconfig

pytest.importorskip("torch")
pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]

TEXT = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with the README's profile."""
    match = re.search(r"^`detector.toml`:\n\n```toml\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    assert match is not None
    (tmp_path / "detector.toml").write_text(match[1])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_example_runs(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    assert len(code.strip().splitlines()) <= 15
    names: dict[str, object] = {}
    exec(code, names)
    assert names["outputs"].shape == (2, 4)  # type: ignore[attr-defined]
    assert "float32_matmul_precision" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("right", "wrong", "fix"),
    [
        ("num_threads", "num_thread", "did you mean 'num_threads'?"),
        ('"high"', '"hihg"', "did you mean 'high'?"),
    ],
)
def test_a_mistake_in_its_profile(page: Path, right: str, wrong: str, fix: str) -> None:
    path = page / "detector.toml"
    path.write_text(path.read_text().replace(right, wrong))
    installation = etconfig.Installation().with_backends({SPEC.id: SPEC})
    (problem,) = etconfig.validate_file(path, installation=installation)
    assert problem.help == fix


def test_two_cameras_compute_in_their_own_types(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = Path(__file__).parents[3] / "examples" / "standalone" / "torch" / "run.py"
    monkeypatch.setattr(sys, "argv", [str(script), str(tmp_path)])
    runpy.run_path(str(script), run_name="__main__")
    left, right = capsys.readouterr().out.splitlines()[-2:]
    assert left.startswith("left: error 0.0e+00")
    assert right.endswith("e-03, bfloat16")
