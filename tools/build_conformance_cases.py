"""Write the conformance kit's frozen cases: run their modules with eager PyTorch. Needs torch."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import torch

from etconfig.conformance.cases import ARRAYS, CASES
from etconfig.conformance.cases.models import CaseModel, models


class Recorder:
    """Gives every tensor a name in the archive."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray[Any, Any]] = {}
        self.dtypes: set[str] = set()
        self.dim_orders: set[str] = set()

    def describe(self, name: str, value: Any) -> Any:
        """The value as JSON; a tensor goes to the archive."""
        if not isinstance(value, torch.Tensor):
            return value
        dtype = str(value.dtype).removeprefix("torch.")
        self.dtypes.add(dtype)
        order = None
        if value.dim() == 4 and not value.is_contiguous():
            order = [0, 2, 3, 1]
            value = value.permute(order)
        self.dim_orders.add("contiguous" if order is None else "channels_last")
        stored = value.detach().contiguous()
        self.arrays[name] = (stored.view(torch.uint16) if dtype == "bfloat16" else stored).numpy()
        described: dict[str, Any] = {"array": name, "dtype": dtype}
        return described if order is None else {**described, "dim_order": order}


def _outputs(answer: Any) -> list[Any]:
    return list(answer) if isinstance(answer, (tuple, list)) else [answer]


def describe_case(case: CaseModel, arrays: dict[str, Any]) -> dict[str, Any]:
    """Run a case and describe it; its arrays go to `arrays`."""
    recorder = Recorder()
    runs: dict[str, list[Any]] = {}
    for method, model in case.methods.items():
        runs[method] = []
        for index, inputs in enumerate(model.inputs):
            with torch.no_grad():
                outputs = _outputs(model.module(*inputs))
            name = f"{case.name}.{method}.{index}"
            runs[method].append(
                {
                    "inputs": [recorder.describe(f"{name}.in{n}", value) for n, value in enumerate(inputs)],
                    "outputs": [
                        recorder.describe(f"{name}.out{n}", value) for n, value in enumerate(outputs)
                    ],
                }
            )
    arrays.update(recorder.arrays)
    return {
        "name": case.name,
        "doc": case.doc,
        "dtypes": sorted(recorder.dtypes),
        "dim_orders": sorted(recorder.dim_orders),
        "requires": sorted(case.requires),
        "runs": runs,
    }


def main() -> None:
    """Write both files."""
    arrays: dict[str, Any] = {}
    described = [describe_case(case, arrays) for case in models()]
    np.savez_compressed(ARRAYS, **arrays)
    CASES.write_text(json.dumps(described, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
