"""The README's example and the standalone one run as they stand."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest

pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")

from onnx import TensorProto, helper

import etconfig

pytestmark = pytest.mark.engines

ROOT = Path(__file__).parents[3]
README = Path(__file__).parents[1] / "README.md"
TEXT = README.read_text(encoding="utf-8")


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with the README's profile and a model."""
    match = re.search(r"^`detector.toml`:\n\n```toml\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    assert match is not None
    (tmp_path / "detector.toml").write_text(match[1])
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", value[:1], value[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_example_runs(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    assert len(code.strip().splitlines()) <= 15
    names: dict[str, object] = {}
    exec(code, names)
    (output,) = names["outputs"]  # type: ignore[misc]
    assert output.tolist() == [[1.0] * 4]
    assert "intra_op_allow_spinning" in capsys.readouterr().out


def test_a_mistake_in_its_profile_is_found_with_the_fix(page: Path) -> None:
    path = page / "detector.toml"
    path.write_text(
        path.read_text().replace("intra_op_allow_spinning = false", 'intra_op_alow_spinning = "no"')
    )
    (problem,) = etconfig.validate_file(path)
    assert problem.help == "did you mean 'intra_op_allow_spinning'?"
    path.write_text(path.read_text().replace("alow", "allow"))
    (problem,) = etconfig.validate_file(path)
    assert problem.help is not None
    assert problem.help.startswith("write false")


def test_every_toml_block_is_valid(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (description,) = re.findall(r"^```text\n(name = .*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    (page / "provider.toml").write_text(description)
    (page / "libacme_ep.so").write_text("")
    monkeypatch.setenv("ETCONFIG_ONNXRUNTIME_PROVIDERS", str(page / "provider.toml"))
    for number, block in enumerate(re.findall(r"^```toml\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)):
        path = page / f"block{number}.toml"
        head = "" if "[profile]" in block else f'[profile]\nname = "block{number}"\n'
        path.write_text(head + block)
        assert [str(problem) for problem in etconfig.validate_file(path)] == []


def test_two_cameras_have_their_own_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = ROOT / "examples" / "standalone" / "onnxruntime" / "run.py"
    monkeypatch.setattr(sys, "argv", [str(script), str(tmp_path)])
    runpy.run_path(str(script), run_name="__main__")
    left, right = capsys.readouterr().out.splitlines()
    assert left.startswith("left: 2 threads")
    assert right.startswith("right: 1 threads")
