"""Messages about files that are not programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from etconfig.errors import NotAProgramError
from etconfig.program.program import open_program

EXPECTED = "expected an ExecuTorch program (.pte), which has 'ET12' at byte 4"
ENGINE = (
    "name it as [model.NAME], with its backends, in a TOML file for --models or models=; its own file is an "
    "argument of build()"
)
EXPORT = (
    "for ExecuTorch, export it first: torch.export.export(...), then to_edge(...).to_executorch(); for "
    f"PyTorch itself, {ENGINE}"
)
OTHER = f"give a .pte here; a model of another engine is not a program: {ENGINE}"

TEXT = "give a .pte here; a profile goes to --profile or profile=, a file of models to --models or models="

FILES = {
    "empty": (b"", "an empty file", "export or copy the program again"),
    "ptd": (
        b"\x18\0\0\0FT01" + bytes(40),
        "an ExecuTorch data file (.ptd)",
        "give the program (.pte) that uses it, and this file as data",
    ),
    "zip": (b"PK\x03\x04" + bytes(40), "a zip archive, such as a .pt2, .pt or .pth of PyTorch", EXPORT),
    "pickle": (b"\x80\x02\x8a\nl\xfc\x9cF", "a Python pickle, such as an old .pt or .pth of PyTorch", EXPORT),
    "lfs": (
        b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n",
        "a Git LFS pointer",
        "fetch the file itself with `git lfs pull`",
    ),
    "device bundle": (
        b"\x44\0\0\0ETCB" + bytes(40),
        "a device bundle of `etconfig pack`",
        "give a .pte; `etconfig resolve --bundle` and `etconfig inspect FILE.etbundle` read bundles",
    ),
    "toml": (
        '[profile]\nname = "größe"\n'.encode(),
        "a text file that begins with '[profile]'",
        TEXT,
    ),
    "fact sheet": (
        b'{"etconfig_fact_sheet": 1, "facts": {}}',
        """a text file that begins with '{"etconfig_fact_sheet": 1, "facts": {}}'""",
        "give a .pte here; a fact sheet goes to --facts or facts=, and a pattern needs quotes, or the shell "
        "makes several words of it: --facts 'sheets/*.json'",
    ),
    "text cut inside a character": (
        ("x" * 63 + "é").encode(),
        f"a text file that begins with '{'x' * 40}'",
        TEXT,
    ),
    "ONNX": (b"\x08\x0a\x12\x07pytorch", "an ONNX model", ENGINE),
    "ORT": (b"\x20\0\0\0ORTM", "a model in the ORT format of ONNX Runtime", ENGINE),
    "OpenVINO": (b'<?xml version="1.0"?>\n<net', "an XML file, such as a model of OpenVINO", ENGINE),
    "TVM": (b"\x7fELF\x02\x01", "a shared library, such as a model that TVM compiled", ENGINE),
    "binary": (bytes(range(200, 240)), f"bytes that begin with {bytes(range(200, 216)).hex(' ')}", OTHER),
    "other version of the identifier": (
        b"\x18\0\0\0ETxx",
        "bytes that begin with 18 00 00 00 45 54 78 78",
        OTHER,
    ),
}


class TestIdentify:
    """The error for another kind of file says what the file is and what to do."""

    @pytest.mark.parametrize("kind", FILES)
    def test_the_file_is_recognized(self, kind: str, tmp_path: Path) -> None:
        data, found, advice = FILES[kind]
        path = tmp_path / "model.pte"
        path.write_bytes(data)
        with pytest.raises(NotAProgramError) as caught:
            open_program(path)
        assert caught.value.message == (f"{path}: file at byte 0: {EXPECTED}, found {found} [not-a-program]")
        assert caught.value.help == advice
