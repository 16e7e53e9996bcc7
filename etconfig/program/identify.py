"""Checks of a file's first bytes: is it a program, and if not, what is it and what can the user do?"""

from __future__ import annotations

from typing import NamedTuple

from etconfig.errors import NotAProgramError
from etconfig.flatbuffer.identifier import has_program_identifier
from etconfig.program.cursor import Cursor
from etconfig.program.program_errors import unsupported

_EXPECTED = "an ExecuTorch program (.pte), which has 'ET12' at byte 4"
_EXPECTED_DATA = "an ExecuTorch data file (.ptd), which has 'FT01' at byte 4"
_TEXT_HELP = (
    "give a .pte here; a profile goes to --profile or profile=, a file of models to --models or models="
)
_JSON_HELP = (
    "give a .pte here; a fact sheet goes to --facts or facts=, and a pattern needs quotes, or the shell "
    "makes several words of it: --facts 'sheets/*.json'"
)
_ENGINE = (
    "name it as [model.NAME], with its backends, in a TOML file for --models or models=; its own file is an "
    "argument of build()"
)
_EXPORT = (
    "for ExecuTorch, export it first: torch.export.export(...), then to_edge(...).to_executorch(); for "
    f"PyTorch itself, {_ENGINE}"
)
_OTHER = f"give a .pte here; a model of another engine is not a program: {_ENGINE}"
_ONNX_FIELDS = (b"\x12", b"\x1a", b"\x22", b"\x28", b"\x32", b"\x3a", b"\x42")
"""The tags of the fields that may follow the version, the first field of an ONNX model (onnx.proto)."""
HEAD_BYTES = 64
"""The bytes that identify a file."""


class _Format(NamedTuple):
    """A file format that people mistake for a program: its magic bytes, its name, and what to do instead."""

    at: int
    magic: bytes
    name: str
    help: str


_FORMATS = (
    _Format(4, b"ET12", "an ExecuTorch program (.pte)", "give the .ptd that was exported with it"),
    _Format(
        4,
        b"FT01",
        "an ExecuTorch data file (.ptd)",
        "give the program (.pte) that uses it, and this file as data",
    ),
    _Format(4, b"BP08", "a bundled program (.bpte)", "give it as the program"),
    _Format(
        4,
        b"ETCB",
        "a device bundle of `etconfig pack`",
        "give a .pte; `etconfig resolve --bundle` and `etconfig inspect FILE.etbundle` read bundles",
    ),
    _Format(4, b"ORTM", "a model in the ORT format of ONNX Runtime", _ENGINE),
    _Format(0, b"\x7fELF", "a shared library, such as a model that TVM compiled", _ENGINE),
    _Format(0, b"PK\x03\x04", "a zip archive, such as a .pt2, .pt or .pth of PyTorch", _EXPORT),
    _Format(0, b"\x80\x02", "a Python pickle, such as an old .pt or .pth of PyTorch", _EXPORT),
    _Format(0, b"version https://git-lfs", "a Git LFS pointer", "fetch the file itself with `git lfs pull`"),
)


def is_bundled(file: Cursor) -> bool:
    """Return True if the file has the identifier of a bundled program."""
    return file.head(8)[4:] == b"BP08"


def check_is_program(file: Cursor) -> None:
    """Check that the file has the identifier of a program.

    Raises:
        NotAProgramError: it is something else; the message says what, and what to do.
        UnsupportedProgramError: it is a program of another schema version.
    """
    head = file.head(HEAD_BYTES)
    identifier = head[4:8]
    if identifier == b"ET12":
        return
    if has_program_identifier(head):
        raise unsupported(
            "unsupported-version",
            "file",
            f"the program's schema is {identifier.decode('ascii')}, this version reads ET12",
            offset=4,
            advice="export the model again with ExecuTorch 1.x",
        )
    found, way_out = _describe(head)
    raise NotAProgramError(
        code="not-a-program",
        region="file",
        offset=0,
        found=found,
        expected=_EXPECTED,
        help=way_out or _OTHER,
    )


def check_is_data_file(file: Cursor) -> None:
    """Check that the file has the identifier of a data file.

    Raises:
        NotAProgramError: it is something else; the message says what, and what to do.
    """
    head = file.head(HEAD_BYTES)
    if head[4:8] != b"FT01":
        found, way_out = _describe(head)
        raise NotAProgramError(
            code="not-a-data-file",
            region="file",
            offset=0,
            found=found,
            expected=_EXPECTED_DATA,
            help=way_out,
        )


def recognize_engine_model(head: bytes) -> tuple[str, str] | None:
    """Recognize a model of another engine by the first bytes of its file.

    Returns:
        Its format, and the help; None for other files.
    """
    if not head:
        return None
    found, way_out = _describe(head)
    return (found, way_out) if way_out in (_ENGINE, _EXPORT) else None


def _describe(head: bytes) -> tuple[str, str | None]:
    """Describe a file by its first bytes, and say what to do about it."""
    if not head:
        return "an empty file", "export or copy the program again"
    for known in _FORMATS:
        if head.startswith(known.magic, known.at):
            return known.name, known.help
    if head[0] == 8 and head[1:2] < b"\x20" and head[2:3] in _ONNX_FIELDS:
        return "an ONNX model", _ENGINE
    text = _as_text(head)
    if text is not None:
        if text.startswith(("<?xml", "<net")):
            return "an XML file, such as a model of OpenVINO", _ENGINE
        return f"a text file that begins with {text!r}", _JSON_HELP if text[:1] == "{" else _TEXT_HELP
    return f"bytes that begin with {head[:16].hex(' ')}", None


def _as_text(head: bytes) -> str | None:
    """Return the first line if the bytes are printable text, else None.

    The last character may be incomplete: the bytes are only the beginning of the file.
    """
    text = head.decode("utf-8", errors="ignore")
    if len(text.encode("utf-8")) < len(head) - 3:
        return None
    if not all(character.isprintable() or character in "\t\r\n" for character in text):
        return None
    return text.strip().partition("\n")[0].rstrip()[:40]
