"""Models that cannot be loaded: the error names the model and what to do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")

from etconfig_onnxruntime import ModelRefusedError, OnnxRuntimeOptions, build_session
from onnx import TensorProto, helper

pytestmark = pytest.mark.engines


def model(*, operator: str = "Relu", opset: int = 18, ir_version: int = 10) -> bytes:
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "xy"]
    graph = helper.make_graph([helper.make_node(operator, ["x"], ["y"])], "g", value[:1], value[1:])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir_version)
    data: bytes = made.SerializeToString()
    return data


@pytest.mark.parametrize(
    ("data", "cause", "help"),
    [
        (b"", "it is empty", "download it again"),
        (b"\x00garbage" * 40, "Protobuf parsing failed", "cut off, damaged or not a model"),
        (model()[:-20], "Protobuf parsing failed", "cut off, damaged or not a model"),
        (model(ir_version=99), "Unsupported model IR version", "export for an older version"),
        (model(opset=99), "opset", "export for an older opset"),
        (model(operator="Rleu"), "Rleu", "install an ONNX Runtime that has the operator"),
    ],
)
def test_a_wrong_model(tmp_path: Path, data: bytes, cause: str, help: str) -> None:
    path = tmp_path / "odd näme ü (1).onnx"
    path.write_bytes(data)
    with pytest.raises(ModelRefusedError) as caught:
        build_session(OnnxRuntimeOptions(intra_op_num_threads=1), path)
    assert str(caught.value).startswith(f"{path}: ")
    assert cause in str(caught.value)
    assert help in str(caught.value)


def test_no_bytes() -> None:
    with pytest.raises(ModelRefusedError, match="model of 0 bytes: it is empty; pass the bytes of a model"):
        build_session(OnnxRuntimeOptions(), b"")


def test_bytes_that_are_not_a_model() -> None:
    help = "it is cut off, damaged or not a model: export or download it again"
    with pytest.raises(ModelRefusedError, match=f"^model of 7 bytes: .*; {help}$"):
        build_session(OnnxRuntimeOptions(), b"garbage")


def test_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for path, cause in (("modle.onnx", "No such file or directory"), (".", "Is a directory")):
        with pytest.raises(ModelRefusedError) as caught:
            build_session(OnnxRuntimeOptions(), path)
        assert str(caught.value) == (
            f"{path}: it cannot be read: {cause}; pass the path of a model, seen from {tmp_path}"
        )
    with pytest.raises(ModelRefusedError, match="its path has a NUL character"):
        build_session(OnnxRuntimeOptions(), "a\0.onnx")


@pytest.mark.posix
def test_a_name_that_cannot_be_shown_is_escaped(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"a\xff\n.onnx")
    for name, cause in ((path, "its path is not UTF-8 text"), (tmp_path / "a\nb.onnx", "cannot be read")):
        with pytest.raises(ModelRefusedError, match=cause) as caught:
            build_session(OnnxRuntimeOptions(), name)
        assert str(caught.value).isprintable()
    path.write_bytes(model())
    with pytest.raises(ModelRefusedError, match="which ONNX Runtime needs; rename it, or pass its bytes"):
        build_session(OnnxRuntimeOptions(), path)


@pytest.mark.posix
def test_a_pipe_or_a_device(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (str(tmp_path / "pipe"), "/dev/zero"):
        with pytest.raises(ModelRefusedError, match="it is neither a file nor a link to one; pass the path"):
            build_session(OnnxRuntimeOptions(), path)


def test_an_order_that_this_build_lacks() -> None:
    with pytest.raises(ModelRefusedError, match="needs a build for training"):
        build_session(OnnxRuntimeOptions(execution_order="memory_efficient"), model())


def test_an_old_opset_is_to_be_converted() -> None:
    from onnx import TensorProto, helper, version_converter

    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "abc"]
    graph = helper.make_graph([helper.make_node("Mul", ["a", "b"], ["c"])], "g", values[:2], values[2:])
    old = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 6)], ir_version=4)
    with pytest.raises(ModelRefusedError) as caught:
        build_session(OnnxRuntimeOptions(log_severity_level="fatal"), old.SerializeToString())
    assert caught.value.help == (
        "its opset is old: Mul is that of opset 6, and newer ones are of 7, 13, 14; convert the model "
        "(onnx.version_converter.convert_version(model, 14)), or export for a newer opset"
    )
    new = version_converter.convert_version(old, 14)
    assert build_session(OnnxRuntimeOptions(), new.SerializeToString()).get_inputs()[0].name == "a"


def test_odd_names_work(tmp_path: Path) -> None:
    path = tmp_path / "näme 'with\" $odd; chars\n.onnx"
    path.write_bytes(model())
    assert build_session(OnnxRuntimeOptions(intra_op_num_threads=1), path).get_inputs()[0].name == "x"
