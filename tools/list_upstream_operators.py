"""Lists the operators for which ExecuTorch's wheel has kernels.

Writes tests/data/kernels/operators.json: the operators in the lists of its portable and quantized
kernels, and the others that its runtime registers, which are the prim ops, the optimized kernels and
those for language models.

Needs executorch:

    python tools/list_upstream_operators.py
"""

from __future__ import annotations

import json
import re
from importlib.metadata import version
from pathlib import Path

import executorch.extension.llm.custom_ops.custom_ops
import executorch.kernels.quantized
from executorch.runtime import Runtime

OUTPUT = Path(__file__).parents[1] / "tests" / "data" / "kernels" / "operators.json"
KERNELS = Path(executorch.kernels.quantized.__file__).parents[1]
LISTS = {
    "portable": ("portable/functions.yaml", "portable/et_copy_ops.yaml"),
    "quantized": ("quantized/quantized.yaml",),
}
ENTRY = re.compile(r"^- (?:op|func): ([\w:.]+)", re.MULTILINE)


def listed(path: Path) -> set[str]:
    """Return the operators of one list, with their namespace."""
    names = ENTRY.findall(path.read_text(encoding="utf-8"))
    return {name if "::" in name else f"aten::{name}" for name in names}


def upstream_operators() -> dict[str, list[str]]:
    """Return the operators by source, sorted."""
    found = {name: set().union(*(listed(KERNELS / each) for each in paths)) for name, paths in LISTS.items()}
    found["runtime"] = set(Runtime.get().operator_registry.operator_names).difference(*found.values())
    return {name: sorted(operators) for name, operators in found.items()}


def main() -> None:
    described = {"executorch": version("executorch"), "operators": upstream_operators()}
    OUTPUT.write_text(json.dumps(described, indent=1) + "\n")
    print({name: len(each) for name, each in described["operators"].items()})


if __name__ == "__main__":
    main()
