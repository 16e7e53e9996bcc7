"""`etconfig.compare` on ONNX Runtime and OpenVINO: one file, made and run by the way of each."""

from __future__ import annotations

from pathlib import Path

import pytest

import etconfig
from etconfig.measuring.picture import MARK, comparison_svg

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
pytest.importorskip("openvino")
pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]  # engines warn about their own code


@pytest.fixture
def model(tmp_path: Path) -> str:
    """A model that subtracts its second input, which has an open batch, from its first, twice."""
    shape = ["batch", 3]
    inputs = [onnx.helper.make_tensor_value_info(name, 1, shape) for name in ("b", "a")]
    output = onnx.helper.make_tensor_value_info("y", 1, shape)
    nodes = [onnx.helper.make_node("Sub", pair, [to]) for pair, to in ((["a", "b"], "c"), (["c", "b"], "y"))]
    graph = onnx.helper.make_graph(nodes, "g", inputs, [output])
    made = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=10)
    onnx.save(made, tmp_path / "model.onnx")
    return str(tmp_path / "model.onnx")


def test_engines_are_compared_on_one_file(model: str) -> None:
    report = etconfig.compare(
        model,
        backend="OnnxRuntimeBackend",
        sweep={"OnnxRuntimeBackend.intra_op_num_threads": [1, -1]},
        against=["backend=OpenvinoBackend", "backend=OpenvinoBackend OpenvinoBackend.num_streams=1"],
        pairs=6,
    )
    assert report.inputs == ("float32 [1, 3]", "float32 [1, 3]")
    assert [row.failure is None for row in report.rows] == [True, False, True, True], report
    assert all((row.error or 0) < 1e-6 for row in report.rows)


def test_processes_give_the_same_outputs_and_have_the_engine_in_their_peak(model: str) -> None:
    report = etconfig.compare(
        model,
        backend="OpenvinoBackend",
        against="backend=OnnxRuntimeBackend",
        own_processes=True,
        pairs=6,
    )
    (row,) = report.rows
    assert row.failure is None, report
    assert (row.error or 0) < 1e-6
    assert min(report.incumbent.peak_bytes or 0, row.peak_bytes or 0) > 10 << 20


def test_the_file_is_not_clear_with_several_engines(model: str) -> None:
    with pytest.raises(etconfig.ExecutionError, match="several installed backends run such a file"):
        etconfig.compare(model)


def test_an_exported_program_of_pytorch_is_measured(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")

    class Network(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: object, *, flag: object) -> object:
            return {"sum": torch.where(flag, x @ x.T, 0.0), "half": x.to(torch.bfloat16)}  # type: ignore[attr-defined]

    values = {"x": torch.randn(3, 4)}, {"flag": torch.ones(1, dtype=torch.bool)}
    sizes = {"x": {0: torch.export.Dim("rows", min=1, max=64)}, "flag": None}
    program = torch.export.export(Network(), (values[0]["x"],), values[1], dynamic_shapes=sizes)
    torch.export.save(program, tmp_path / "model.pt2")
    report = etconfig.compare(
        tmp_path / "model.pt2",
        against=[
            {"TorchBackend.num_threads": 1},
            {"TorchBackend.compile_backend": "eager", "TorchBackend.compile_mode": "default"},
        ],
        shapes={"x": [5, 4]},
        pairs=6,
    )
    assert report.runs_on == "TorchBackend"
    assert report.inputs == ("float32 [5, 4]", "bool [1]")
    assert [(row.failure, row.error) for row in report.rows] == [(None, 0.0)] * 2


def test_a_library_of_tvm_is_measured_on_given_inputs(tmp_path: Path) -> None:
    torch, aot = pytest.importorskip("torch"), pytest.importorskip("etconfig_tvm.aot")
    model, x = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU()).eval(), torch.randn(2, 4)
    aot.compile_model(torch.export.export(model, (x,))).save(tmp_path / "model.so")
    report = etconfig.compare(
        tmp_path / "model.so",
        inputs=[x.numpy()],
        reference=[model(x).detach().numpy()],
        sweep={"TvmBackend.num_threads": [1]},
        pairs=6,
    )
    assert report.runs_on == "TvmBackend"
    assert [each for each in report.notes if "two equal objects differ" not in each] == []  # a busy machine
    assert max(row.error or 0 for row in (report.incumbent, *report.rows)) < 1e-5
    with pytest.raises(etconfig.ExecutionError, match="does not say what the model takes"):
        etconfig.compare(tmp_path / "model.so", pairs=6)


def test_vega_lite_draws_the_intervals(model: str) -> None:
    pytest.importorskip("vl_convert")
    sweep = {"OnnxRuntimeBackend.intra_op_num_threads": [1, 2]}
    svg = comparison_svg(etconfig.compare(model, backend="OnnxRuntimeBackend", sweep=sweep, pairs=6))
    assert svg.startswith(f"{MARK}\n<svg")
    assert all(f">intra_op_num_threads={threads}</text>" in svg for threads in (1, 2))
