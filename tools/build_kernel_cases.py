"""Records the results of eager PyTorch for ExecuTorch's operators, as reference for the numpy kernels.

Writes tests/data/kernels/cases.json (operators, arguments, the places of their data, numbers of variants)
and tests/data/kernels/cases.npz (one flat array for each dtype), on data from fixed seeds, so that the
files are the same each time.

Needs torch and executorch:

    python tools/build_kernel_cases.py
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import kernel_case_exports  # noqa: F401  adds to CASES
import numpy as np
import torch
from kernel_case_recording import Recorder, call
from kernel_case_table import CASES
from kernel_case_variants import variant_calls

OUTPUT = Path(__file__).parents[1] / "tests" / "data" / "kernels"


def main() -> None:
    recorder = Recorder()
    described = []
    for index, each in enumerate(CASES):
        try:
            described.append(recorder.describe(each.operator, call(each, seed=index)))
        except Exception as error:
            raise RuntimeError(f"{each} is not a valid case") from error
    OUTPUT.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(json.dumps(each) for each in described)
    counts = json.dumps(Counter(each.operator for _, _, each, _, _ in variant_calls(CASES)))
    (OUTPUT / "cases.json").write_text(
        f'{{"torch": "{torch.__version__}", "variants": {counts}, "cases": [\n{lines}\n]}}\n'
    )
    np.savez_compressed(OUTPUT / "cases.npz", **recorder.arrays)
    print(f"{len(described)} cases of {len({each.operator for each in CASES})} operators in {OUTPUT}")


if __name__ == "__main__":
    main()
