"""The formats of engines' files, and their versions, read from any bytes."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest

from etconfig.app.programs.engine_files import engine_file_format

ONNX = b"\x08\x08\x12\x04test" + b"\x3a\xac\x02" + bytes(300) + b"\x42\x04\x0a\x00\x10\x11"
"""IR 8, a producer, a graph of 300 bytes, and the operators of ONNX, version 17."""
SECOND_DOMAIN = b"\x42\x0e\x0a\x0aai.onnx.ml\x10\x03"
ORT = (
    b"\x10\0\0\0ORTM\0\0"
    b"\x06\0\x08\0\x04\0"  # the description of the table
    b"\x06\0\0\0\x04\0\0\0"  # the table
    b"\x01\0\0\x006\0"
)
"""An InferenceSession whose first field is the text `6`."""


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (ONNX, "ONNX, IR 8, opset 17"),
        (ONNX + SECOND_DOMAIN, "ONNX, IR 8, opset 17, ai.onnx.ml 3"),
        (ONNX[:-2], "an ONNX model"),
        (ONNX[:20], "an ONNX model"),
        (b"\x08\x08\x12\x04test\x0d", "an ONNX model"),
        (ORT, "ORT format, version 6"),
        (ORT[:20], "a model in the ORT format of ONNX Runtime"),
        (b'<?xml version="1.0"?>\n<net name="version=3" version="11">', "OpenVINO IR, version 11"),
        (b'<?xml version="1.0"?><other version="7">', "an XML file, such as a model of OpenVINO"),
        (b"\x7fELF\x02\x01", "a shared library, such as a model that TVM compiled"),
        (b"PK\x03\x04", "a zip archive, such as a .pt2, .pt or .pth of PyTorch"),
        (b"", "unknown"),
        (b"GGUF\x03\0\0\0", "unknown"),
    ],
)
def test_a_format_has_its_version(tmp_path: Path, data: bytes, expected: str) -> None:
    path = tmp_path / "model"
    path.write_bytes(data)
    assert engine_file_format(path) == expected


def test_damaged_files_have_a_format(tmp_path: Path) -> None:
    random, path = Random(3), tmp_path / "model"
    for _ in range(2_000):
        data = bytearray(random.choice((ONNX + SECOND_DOMAIN, ORT)))
        for _ in range(random.randint(1, 4)):
            data[random.randrange(len(data))] = random.randrange(256)
        path.write_bytes(data[: random.randint(0, len(data))])
        assert engine_file_format(path)


def test_a_directory_is_one_and_no_file_is_an_error(tmp_path: Path) -> None:
    assert engine_file_format(tmp_path) == "a directory"
    with pytest.raises(FileNotFoundError):
        engine_file_format(tmp_path / "none")


def test_a_pipe_is_refused_before_it_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    os.mkfifo(path)
    with pytest.raises(OSError, match="it is not a regular file"):
        engine_file_format(path)
