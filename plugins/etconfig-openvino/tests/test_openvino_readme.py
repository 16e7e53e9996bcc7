"""The README's example and the standalone one run as they stand."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

import etconfig

pytestmark = pytest.mark.engines

ROOT = Path(__file__).parents[3]
TEXT = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with the README's profile and a model."""
    import openvino
    from openvino import opset13 as ops

    match = re.search(r"^`detector.toml`:\n\n```toml\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    assert match is not None
    (tmp_path / "detector.toml").write_text(match[1])
    x = ops.parameter([1, 4], np.float32, name="x")
    x.output(0).get_tensor().set_names({"x"})
    openvino.save_model(openvino.Model([ops.relu(x)], [x], "net"), tmp_path / "model.xml")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_example_runs(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    assert len(code.strip().splitlines()) <= 15
    names: dict[str, object] = {}
    exec(code, names)
    assert names["outputs"][0].tolist() == [[1.0] * 4]  # type: ignore[index]
    assert "inference_num_threads" in capsys.readouterr().out


def test_a_mistake_in_its_profile_is_found_with_the_fix(page: Path) -> None:
    path = page / "detector.toml"
    path.write_text(path.read_text().replace("performance_hint =", "performance_hin ="))
    (problem,) = etconfig.validate_file(path)
    assert problem.help == "did you mean 'performance_hint'?"


def test_two_cameras_have_their_own_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = ROOT / "examples" / "standalone" / "openvino" / "run.py"
    monkeypatch.setattr(sys, "argv", [str(script), str(tmp_path)])
    runpy.run_path(str(script), run_name="__main__")
    left, right, difference = capsys.readouterr().out.splitlines()
    assert left == "left: f32, 1 threads"
    assert right.startswith("right: ")
    if "bf16" in right:
        assert difference != "largest difference: 0.00%"
