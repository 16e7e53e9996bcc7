"""Records what eager PyTorch computes for the portable operators, as reference for the numpy kernels.

Writes tests/data/kernels/cases.json (operators, arguments, where their data lie) and
tests/data/kernels/cases.npz (one flat array for each dtype). The out-variants of torch.ops
are run, on data from a fixed seed, so that the files come out the same each time.

Needs torch and executorch:

    python tools/build_kernel_cases.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import executorch.exir.passes.dim_order_ops_registry  # noqa: F401  registers torch.ops.dim_order_ops
import numpy as np
import torch
from kernel_case_table import CASES, Case, T, bf16, f32, f64, i64

OUTPUT = Path(__file__).parents[1] / "tests" / "data" / "kernels"


class Recorder:
    """Collects tensors by dtype, and says where each lies."""

    def __init__(self) -> None:
        self.parts: dict[str, list[np.ndarray]] = {}
        self.sizes: dict[str, int] = {}

    def tensor(self, tensor: torch.Tensor) -> dict[str, Any]:
        name = str(tensor.dtype).removeprefix("torch.")
        flat = tensor.contiguous().view(torch.uint16) if tensor.dtype is bf16 else tensor.contiguous()
        start = self.sizes.get(name, 0)
        self.parts.setdefault(name, []).append(flat.numpy().reshape(-1))
        self.sizes[name] = start + tensor.numel()
        described: dict[str, Any] = {"dtype": name, "shape": list(tensor.shape), "start": start}
        if tensor.dim() == 4 and not tensor.is_contiguous():
            described["dim_order"] = [0, 2, 3, 1]
        return described

    def argument(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return self.tensor(value)
        if isinstance(value, list):
            return [self.argument(each) for each in value]
        return SCALAR_TYPES[value] if isinstance(value, torch.dtype) else value


SCALAR_TYPES = {f32: 6, f64: 7, i64: 4}


def make(value: Any) -> Any:
    if isinstance(value, T):
        return value.make()
    return [make(each) for each in value] if isinstance(value, list) else value


def output(dtype: Any, channels_last: bool) -> Any:
    if isinstance(dtype, list):
        return [output(each, channels_last) for each in dtype]
    if isinstance(dtype, T):
        return dtype.make()
    if channels_last:
        return torch.empty(0, 1, 1, 1, dtype=dtype, memory_format=torch.channels_last)
    return torch.empty(0, dtype=dtype)


def run(each: Case) -> tuple[list[Any], list[Any]]:
    """The arguments and the outputs of one call."""
    namespace, _, full_name = each.operator.partition("::")
    name, _, overload = full_name.partition(".")
    function = getattr(getattr(getattr(torch.ops, namespace), name), overload)
    args = [make(arg) for arg in each.args]
    outs = [output(dtype, each.channels_last) for dtype in each.out]
    parameters = function._schema.arguments
    assert len(parameters) == len(args) + len(outs), f"{each.operator}: {function._schema}"
    given = list(zip(parameters, [*args, *outs], strict=True))
    positional = [value for parameter, value in given if not parameter.kwarg_only]
    keywords = {parameter.name: value for parameter, value in given if parameter.kwarg_only}
    try:
        function(*positional, **keywords)
    except RuntimeError as error:
        raise RuntimeError(f"{each} is no valid case") from error
    return args, outs


def main() -> None:
    recorder = Recorder()
    described = []
    for index, each in enumerate(CASES):
        torch.manual_seed(index)
        args, outs = run(each)
        described.append(
            {
                "operator": each.operator,
                "arguments": [recorder.argument(arg) for arg in args],
                "outputs": [recorder.argument(out) for out in outs],
            }
        )
    OUTPUT.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(json.dumps(each) for each in described)
    (OUTPUT / "cases.json").write_text(f'{{"torch": "{torch.__version__}", "cases": [\n{lines}\n]}}\n')
    arrays = {name: np.concatenate(parts) for name, parts in recorder.parts.items()}
    np.savez_compressed(OUTPUT / "cases.npz", **arrays)
    print(f"{len(described)} cases of {len({each.operator for each in CASES})} operators in {OUTPUT}")


if __name__ == "__main__":
    main()
