"""Writes the signatures of the operators that ExecuTorch's wheel has kernels for.

Run it in an environment with torch and executorch: `python tools/write_native_operators.py`. The names come
from the wheel's lists of kernels, the parameters from the lists or from PyTorch's own schemas.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

TABLE = Path(__file__).parents[1] / "plugins/etconfig-executorch/etconfig_executorch/operators.txt"
LISTS = (
    "kernels/portable/functions.yaml",
    "kernels/portable/custom_ops.yaml",
    "kernels/quantized/quantized.yaml",
)
LETTERS = {
    "Tensor": "t",
    "Scalar": "n",
    "number": "n",
    "float": "f",
    "bool": "b",
    "str": "s",
    "string": "s",
    "int": "i",
    "SymInt": "i",
    "ScalarType": "i",
    "MemoryFormat": "i",
    "Layout": "i",
    "Device": "i",
}
"""The letter of each type; a list has a capital one, and `?` follows what may be None."""

PRIMITIVE = """
aten::sym_size.int tiN
aten::_local_scalar_dense tN
aten::sym_numel tN
executorch_prim::sym_ite.Scalar bnnN
executorch_prim::et_copy_index.tensor tti
executorch_prim::et_view.default tIv
"""
"""Operators without a schema: N is a number that is written, v a tensor that becomes a view."""

UNARY = ("sym_float.Scalar", "sym_int.Scalar", "neg.Scalar", "sym_not.Scalar")
UNARY += ("ceil.Scalar", "round.Scalar", "trunc.Scalar")
BINARY = ("sym_max.Scalar", "sym_min.Scalar", "add.Scalar", "sub.Scalar", "mul.Scalar", "floordiv.Scalar")
BINARY += ("truediv.Scalar", "eq.Scalar", "gt.Scalar", "lt.Scalar", "ge.Scalar", "le.Scalar")
BINARY += ("floordiv.int", "mod.int", "mod.Scalar")


def letters(types: list[str]) -> str:
    """Return the letters of a signature from the names of its types."""
    found = []
    for name in types:
        base = re.sub(r"\(.*?\)", "", name)
        is_optional, base = base.endswith("?"), base.removesuffix("?")
        is_list, base = base.endswith("]"), re.sub(r"\[\d*\]$", "", base)
        if is_list and base.endswith("?"):
            letter = "O"
        else:
            letter = LETTERS[base].upper() if is_list else LETTERS[base]
        found.append(letter + "?" * is_optional)
    return "".join(found)


def parameters(schema: str) -> list[str]:
    """Return the types of the parameters of a schema's text."""
    inside = schema[schema.index("(") + 1 : schema.rindex(") ->")]
    parts = re.split(r",\s*(?![^\[]*\])", inside)
    return [each.split()[0] for each in parts if each and each.strip() != "*"]


def aten_schema(operator: str) -> str:
    """Return PyTorch's schema of an operator."""
    import torch

    name, _, overload = operator.partition(".")
    schemas = torch._C._jit_get_schemas_for_operator(name)
    return next(str(each) for each in schemas if each.overload_name == overload)


def operators(root: Path) -> Iterator[tuple[str, str]]:
    """Yield the operators of the wheel's lists, each with its letters."""
    for name in LISTS:
        for line in (root / name).read_text("utf-8").splitlines():
            if found := re.match(r"- (op|func): (.*)", line):
                kind, text = found.groups()
                operator = text.partition("(")[0].strip()
                operator = operator if "::" in operator else f"aten::{operator}"
                schema = aten_schema(operator) if kind == "op" else text
                yield operator, letters(parameters(schema))


def table() -> str:
    """Return the text of the table."""
    import executorch

    lines = {f"{name} {signature}" for name, signature in operators(Path(next(iter(executorch.__path__))))}
    lines |= {line for line in PRIMITIVE.splitlines() if line}
    lines |= {f"executorch_prim::{name} nN" for name in UNARY} | {
        f"executorch_prim::{name} nnN" for name in BINARY
    }
    return "\n".join(sorted(lines)) + "\n"


if __name__ == "__main__":
    TABLE.write_text(table(), encoding="utf-8")
