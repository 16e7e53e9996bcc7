"""Write the conformance kit's stored cases, by running their modules with eager PyTorch. Needs torch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from etconfig.conformance.cases.models import CaseModel, models
from etconfig.conformance.cases.stored_cases import ARRAYS, CASES


class Recorder:
    """Gives every tensor a name in the archive; the same tensor keeps its name."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray[Any, Any]] = {}
        self.dtypes: set[str] = set()
        self.dim_orders: set[str] = set()
        self._seen: list[tuple[torch.Tensor, dict[str, Any]]] = []

    def describe(self, name: str, value: Any) -> Any:
        """Return the value as JSON; a tensor is added to the archive."""
        if not isinstance(value, torch.Tensor):
            return value
        for tensor, described in self._seen:
            if tensor is value:
                return described
        self._seen.append((value, self._store(name, value)))
        return self._seen[-1][1]

    def _store(self, name: str, value: torch.Tensor) -> dict[str, Any]:
        dtype = str(value.dtype).removeprefix("torch.")
        order = list(value.dim_order())
        is_contiguous = order == sorted(order)
        self.dtypes.add(dtype)
        self.dim_orders.add("contiguous" if is_contiguous else "channels_last")
        stored = value.detach().permute(order).contiguous()
        self.arrays[name] = (stored.view(torch.uint16) if dtype == "bfloat16" else stored).numpy()
        described: dict[str, Any] = {"array": name, "dtype": dtype}
        return described if is_contiguous else {**described, "dim_order": order}


def _outputs(answer: Any) -> list[Any]:
    return list(answer) if isinstance(answer, (tuple, list)) else [answer]


def describe_case(case: CaseModel, arrays: dict[str, Any]) -> dict[str, Any]:
    """Run a case and describe it; its arrays are added to `arrays`."""
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


def write_cases(cases_path: Path, arrays_path: Path) -> None:
    """Write both files; the same versions of torch and numpy write the same bytes."""
    arrays: dict[str, Any] = {}
    described = [describe_case(case, arrays) for case in models()]
    np.savez_compressed(arrays_path, **arrays)
    cases_path.write_text(json.dumps(described, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write_cases(CASES, ARRAYS)
