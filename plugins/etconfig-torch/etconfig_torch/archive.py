"""Exported programs as bytes, without code.

`torch.export.load` runs what a file contains: it unpickles sample inputs and weights, evaluates the
expressions of sizes, compiles guards, and calls any function of `torch` that the graph names. So a file is
read here first: each part is one of those that data need, and each text is a name or plain arithmetic. Then
the parts are written to a new file, the only one that PyTorch sees.
"""

from __future__ import annotations

import ast
import io
import json
import re
import threading
import zipfile
from collections.abc import Iterator
from typing import Any

import torch

from etconfig_torch.errors import UnsafeArchiveError

_LOADING = threading.Lock()
"""PyTorch reads one program at a time: a second thread meets an assertion."""

_MODEL = "models/model.json"
_SAMPLES = "data/sample_inputs/model.pt"
_CONFIGS = {
    "data/weights/model_weights_config.json": re.compile(r"weight_[0-9]{1,9}"),
    "data/constants/model_constants_config.json": re.compile(r"tensor_[0-9]{1,9}"),
}
_PARTS = re.compile(
    r"models/model\.json|data/weights/(weight_[0-9]{1,9}|model_weights_config\.json)"
    r"|data/constants/(tensor_[0-9]{1,9}|model_constants_config\.json)|data/sample_inputs/model\.pt"
    r"|archive_format|archive_version|byteorder|\.data/(version|serialization_id|alignment)|version"
)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAMES = frozenset({"name", "as_name", "as_tensor_name"})
_OPERATOR = re.compile(
    r"torch\.ops\.(aten|prims|dim_order_ops|quantized_decomposed)(\.[A-Za-z_][A-Za-z0-9_]*){2}"
)
_ARITHMETIC = frozenset(
    f"_operator.{name}"
    for name in [
        "add",
        "and_",
        "eq",
        "floordiv",
        "ge",
        "getitem",
        "gt",
        "le",
        "lt",
        "mod",
        "mul",
        "ne",
        "neg",
        "or_",
        "pow",
        "sub",
        "truediv",
    ]
) | frozenset({"math.ceil", "math.floor", "math.trunc", "torch.sym_float", "torch.sym_int", "torch.sym_max"})
_ARITHMETIC |= {"torch.sym_min", "torch.sym_not", "torch.sym_ite"}
_READS_FILES = ("torch.ops.aten.from_file",)
_FUNCTIONS = frozenset(
    [
        "Abs",
        "CeilDiv",
        "CleanDiv",
        "Eq",
        "FloorDiv",
        "FloatTrueDiv",
        "Ge",
        "Gt",
        "IntTrueDiv",
        "Le",
        "Lt",
        "Max",
        "Min",
        "Mod",
        "ModularIndexing",
        "Ne",
        "Not",
        "Add",
        "Mul",
        "Pow",
        "Integer",
        "Rational",
        "Symbol",
        "Float",
        "Equality",
        "Unequality",
        "GreaterThan",
        "LessThan",
        "StrictGreaterThan",
        "StrictLessThan",
        "Half",
        "One",
        "Zero",
        "NegativeOne",
        "PowByNatural",
        "PythonMod",
        "RShift",
        "LShift",
        "RoundToInt",
        "ToFloat",
        "TruncToInt",
        "Where",
        "CeilToInt",
        "FloorToInt",
        "And",
        "Or",
    ]
)
_SYMBOL = re.compile(r"[a-z]{1,4}[0-9]{1,6}|oo|int_oo|true|false|True|False")
_SYNTAX = (
    ast.Expression, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Call, ast.Name, ast.Load, ast.Constant,
    ast.operator, ast.unaryop, ast.cmpop, ast.keyword,
)  # fmt: skip


def load_program(data: bytes | bytearray | memoryview) -> torch.export.ExportedProgram:
    """Return the program of the bytes that `torch.export.save` writes, without running any code of them.

    Guards of the export are dropped, since they are code; shapes are checked by what runs the program.

    Raises:
        UnsafeArchiveError: the file contains code, is damaged, or is something else.
    """
    parts = dict(_parts(data))
    for required in (_MODEL, *_CONFIGS):
        if required not in parts:
            raise UnsafeArchiveError(
                f"the exported program lacks {required}; save it again with torch.export.save"
            )
    for config, names in _CONFIGS.items():
        _check_config(config, _json(config, parts[config]), names)
    _check_samples(parts.get(_SAMPLES, b""))
    model = _json(_MODEL, parts[_MODEL])
    if isinstance(model, dict) and model.get("guards_code"):
        model["guards_code"] = []
        parts[_MODEL] = json.dumps(model).encode()
    _check_model(model, "model")
    written = io.BytesIO(_written(parts))
    with _LOADING:
        return torch.export.load(written)


def save_program(program: torch.export.ExportedProgram) -> bytes:
    """Return the bytes of a program; equal programs give equal bytes."""
    buffer = io.BytesIO()
    torch.export.save(program, buffer)
    return buffer.getvalue()


def _parts(data: bytes | bytearray | memoryview) -> Iterator[tuple[str, bytes]]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = archive.infolist()
            if len({info.filename for info in infos}) != len(infos):
                raise UnsafeArchiveError("a part of the exported program appears twice")
            for info in infos:
                _, _, name = info.filename.partition("/")
                if not _PARTS.fullmatch(name) or info.compress_type != zipfile.ZIP_STORED:
                    raise UnsafeArchiveError(
                        f"the exported program contains {info.filename!r}, which is not data of a model; "
                        "only programs that torch.export.save wrote are read, without extra files"
                    )
                yield name, archive.read(info)
    except (zipfile.BadZipFile, NotImplementedError, EOFError, OSError) as error:
        raise UnsafeArchiveError(f"the exported program is damaged: {error}") from None


def _written(parts: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, content in parts.items():
            archive.writestr(f"archive/{name}", content)
    return buffer.getvalue()


def _json(name: str, content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise UnsafeArchiveError(f"{name} of the exported program is not JSON: {error}") from None


def _check_config(name: str, config: Any, names: re.Pattern[str]) -> None:
    """Raise UnsafeArchiveError unless every tensor is stored as plain bytes."""
    entries = config.get("config") if isinstance(config, dict) else None
    if not isinstance(entries, dict):
        raise UnsafeArchiveError(f"{name} of the exported program is malformed")
    for key, entry in entries.items():
        path = entry.get("path_name") if isinstance(entry, dict) else None
        is_plain = isinstance(path, str) and names.fullmatch(path) and not entry.get("use_pickle")
        if not is_plain or entry.get("tensor_meta") is None:
            raise UnsafeArchiveError(
                f"the exported program stores {key!r} as a pickle, which may run any code; only plain "
                "tensors are read, so leave out tensor subclasses and other objects before exporting"
            )


def _check_samples(content: bytes) -> None:
    if not content:
        return
    try:
        # torch.export.load falls back to unpickling anything
        torch.load(io.BytesIO(content), weights_only=True)
    except Exception as error:
        raise UnsafeArchiveError(
            "the sample inputs of the exported program are not plain tensors, and unpickling them may run "
            "any code; export it again with tensors and numbers as inputs"
        ) from error


def _check_model(value: Any, where: str) -> None:
    """Walk the graph; raise UnsafeArchiveError for a text that PyTorch would run or evaluate."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            _check_model(item, f"{where}[{index}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, str):
                _check_text(key, item, where)
            _check_model(item, f"{where}.{key}")


def _check_text(key: str, text: str, where: str) -> None:
    if key in _NAMES:
        if text and not _NAME.fullmatch(text):
            raise UnsafeArchiveError(f"{where}.{key} is {text!r:.80}, which is not a name")
    elif key == "target":
        _check_target(text, where)
    elif key == "expr_str":
        _check_expression(text, where)
    elif key in ("as_custom_obj", "as_operator", "class_fqn"):
        raise UnsafeArchiveError(
            f"{where}.{key}: objects and functions are not read, only tensors and numbers"
        )


def _check_target(text: str, where: str) -> None:
    if text.startswith(_READS_FILES):
        raise UnsafeArchiveError(f"{where} reads a file: {text}")
    if not (_OPERATOR.fullmatch(text) or text in _ARITHMETIC):
        raise UnsafeArchiveError(
            f"{where} calls {text!r:.80}, which is not an operator of PyTorch; only these and arithmetic of "
            "sizes are called"
        )


def _check_expression(text: str, where: str) -> None:
    """Raise UnsafeArchiveError unless the text is arithmetic of sizes: PyTorch evaluates it as Python."""
    try:
        nodes = list(ast.walk(ast.parse(text, mode="eval"))) if len(text) < 10_000 else []
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        nodes = []
    if not nodes or not all(map(_is_arithmetic, nodes)):
        raise UnsafeArchiveError(f"{where}.expr_str is {text!r:.80}, which is not arithmetic of sizes")


def _is_arithmetic(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and all(keyword.arg is not None for keyword in node.keywords)
    if isinstance(node, ast.Name):
        return bool(_SYMBOL.fullmatch(node.id)) or node.id in _FUNCTIONS
    if isinstance(node, ast.Constant):  # a text is the name of a symbol
        is_symbol = isinstance(node.value, str) and _SYMBOL.fullmatch(node.value) is not None
        return is_symbol or isinstance(node.value, (int, float))
    return isinstance(node, _SYNTAX)
