"""The checks of an exported program's graph: each text is data, a name, an operator, or plain arithmetic.

PyTorch turns names into Python code, evaluates the expressions of sizes, imports the modules that the
structures of arguments name, and calls any function of `torch` that the graph names.
"""

from __future__ import annotations

import ast
import importlib
import json
import re
from collections.abc import Sequence
from typing import Any

import torch

from etconfig_torch.errors import UnsafeArchiveError

_MOST_NESTED = 200
_PATH = re.compile(r"[\w \-/:+@,=<>#\[\]]*(\.[\w \-/:+@,=<>#\[\]]*)*")
"""Names of weights, versions, and other words: PyTorch writes some of them into code, between quotes."""
_TEXTS = frozenset({"as_string", "as_strings"})
"""Where an operator may get any text."""
_STRUCTURES = frozenset({"in_spec", "out_spec"})
_CONTAINERS = frozenset({"builtins.tuple", "builtins.list", "builtins.dict", "collections.OrderedDict"})
_POWERS = frozenset({"Pow", "PowByNatural", "LShift", "RShift"})
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
_REFUSED = re.compile(
    r"from_file|save|set_data|_print|_test_\w+|_?sparse_\w+|_nested_\w+|_cslt_\w+|_cufft_\w+"
)
"""Operators that access files or the terminal, or trust indices that they get."""
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


def checked_model(model: Any) -> Any:
    """Return the graph of a program, without descriptions of its source code and guards, which are code.

    Raises:
        UnsafeArchiveError: a text is something that PyTorch would run or evaluate.
    """
    model = _without_source(model, 0)
    if isinstance(model, dict) and model.get("guards_code"):
        model["guards_code"] = []
    _check_model(model, "model")
    return model


def check_path(text: str, where: str) -> None:
    """Raise UnsafeArchiveError unless the text is a name of a weight, or another word."""
    if not _PATH.fullmatch(text) or any(part.startswith("__") for part in text.split(".")):
        raise UnsafeArchiveError(f"{where} is {text!r:.80}, which is not a name")


def _without_source(value: Any, depth: int) -> Any:
    if depth > _MOST_NESTED:
        raise UnsafeArchiveError(f"the graph of the exported program is nested over {_MOST_NESTED} times")
    if isinstance(value, list):
        return [_without_source(item, depth + 1) for item in value]
    if isinstance(value, dict):
        return {
            key: {} if key == "metadata" else _without_source(item, depth + 1) for key, item in value.items()
        }
    return value


def _check_model(value: Any, where: str, key: str = "") -> None:
    """Walk the graph; raise UnsafeArchiveError for a text that PyTorch would run or evaluate."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            _check_model(item, f"{where}[{index}]", key)
    elif isinstance(value, dict):
        for name, item in value.items():
            if key == "range_constraints":
                _check_expression(name, f"a key in {where}")
            else:
                check_path(name, f"a key in {where}")
            _check_model(item, f"{where}.{name}", name)
    elif isinstance(value, str):
        _check_text(key, value, where)


def _check_text(key: str, text: str, where: str) -> None:
    if key in _NAMES:
        if text and not _NAME.fullmatch(text):
            raise UnsafeArchiveError(f"{where} is {text!r:.80}, which is not a name")
    elif key == "target":
        _check_target(text, where)
    elif key == "expr_str":
        _check_expression(text, where)
    elif key in _STRUCTURES:
        _check_structure(text, where)
    elif key in ("as_custom_obj", "as_operator", "class_fqn"):
        raise UnsafeArchiveError(f"{where}: objects and functions are not read, only tensors and numbers")
    elif key not in _TEXTS:
        check_path(text, where)


def _check_structure(text: str, where: str) -> None:
    """Raise UnsafeArchiveError unless arguments or results are in plain containers: others name modules."""
    try:
        _, structure = json.loads(text) if text else (1, None)
    except (ValueError, TypeError, RecursionError):
        raise UnsafeArchiveError(f"{where} is not the structure of arguments") from None
    if structure is not None:
        _check_container(structure, where)


def _check_container(structure: Any, where: str) -> None:
    fields = structure if isinstance(structure, dict) else {}
    kind, context, children = (fields.get(name) for name in ("type", "context", "children_spec"))
    if kind is not None and kind not in _CONTAINERS:
        raise UnsafeArchiveError(
            f"{where} has the container {kind!r:.80}; only tuples, lists and dicts are read, so "
            "export the model with these"
        )
    if not isinstance(children, list) or not _is_plain_context(context):
        raise UnsafeArchiveError(f"{where} is not the structure of arguments")
    for child in children:
        _check_container(child, where)


def _is_plain_context(context: Any) -> bool:
    """Return True for the keys of a dict, as JSON; a table in it may name a module."""
    if context is None:
        return True
    try:
        keys = json.loads(context)
    except (ValueError, TypeError, RecursionError):
        return False
    return keys is None or (
        isinstance(keys, list) and all(isinstance(key, (str, int, float)) for key in keys)
    )


def _check_target(text: str, where: str) -> None:
    if text in _ARITHMETIC:
        return
    if not _OPERATOR.fullmatch(text):
        raise UnsafeArchiveError(
            f"{where} calls {text!r:.80}, which is not an operator of PyTorch; only these and arithmetic of "
            "sizes are called"
        )
    _, _, namespace, name, overload = text.split(".")
    if _REFUSED.fullmatch(name):
        raise UnsafeArchiveError(
            f"{where} calls {text!r:.80}, which may access files or memory that is not its own"
        )
    if namespace == "quantized_decomposed":
        importlib.import_module("torch.ao.quantization.fx._decomposed")  # registers them
    try:
        torch._C._dispatch_find_schema_or_throw(
            f"{namespace}::{name}", "" if overload == "default" else overload
        )
    except RuntimeError:
        raise UnsafeArchiveError(
            f"{where} calls {text!r:.80}, which is not an operator of this PyTorch, {torch.__version__}"
        ) from None


def _check_expression(text: str, where: str) -> None:
    """Raise UnsafeArchiveError unless the text is arithmetic of sizes: PyTorch evaluates it as Python."""
    try:
        nodes = list(ast.walk(ast.parse(text, mode="eval"))) if len(text) < 10_000 else []
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        nodes = []
    if not nodes or not all(map(_is_arithmetic, nodes)) or not _is_quick(nodes):
        raise UnsafeArchiveError(f"{where} is {text!r:.80}, which is not arithmetic of sizes")


def _is_arithmetic(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and all(keyword.arg is not None for keyword in node.keywords)
    if isinstance(node, ast.Name):
        return bool(_SYMBOL.fullmatch(node.id)) or node.id in _FUNCTIONS
    if isinstance(node, ast.Constant):  # a text is the name of a symbol
        is_symbol = isinstance(node.value, str) and _SYMBOL.fullmatch(node.value) is not None
        return is_symbol or isinstance(node.value, (int, float))
    return isinstance(node, _SYNTAX)


def _is_quick(nodes: Sequence[ast.AST]) -> bool:
    """Return True unless powers make numbers that fill the memory: exponents are small, and not nested."""
    powers = [(node, exponent) for node in nodes if (exponent := _exponent(node)) is not None]
    nested = [node for power, _ in powers for node in ast.walk(power) if node is not power]
    return all(_exponent(node) is None for node in nested) and all(
        isinstance(exponent, ast.Constant) and isinstance(exponent.value, int) and exponent.value <= 64
        for _, exponent in powers
    )


def _exponent(node: ast.AST) -> ast.AST | None:
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Pow, ast.LShift)):
        return node.right
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _POWERS:
        return node.args[1] if len(node.args) == 2 else node
    return None
