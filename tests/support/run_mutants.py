"""Opens, loads and runs damaged programs in a process with little memory; prints the outcomes as JSON.

Run it as `python run_mutants.py COUNT FILE...`, to try COUNT mutants of each file.
"""

from __future__ import annotations

import faulthandler
import json
import resource
import sys
from collections import Counter
from pathlib import Path

import numpy as np
from mutations import mutants

from etconfig import Method
from etconfig.errors import EtconfigError, InvalidInputError, ProgramError
from etconfig.kernel.tensor import DTYPES
from etconfig.kernels import builtin_kernels
from etconfig.numpy_executor import load_method
from etconfig.program.program import open_program

MEMORY_BYTES = 2 << 30
INSTRUCTION_LIMIT = 2000
LARGEST_INPUT_BYTES = 1 << 20
SCALARS = {"Int": 1, "Bool": True, "Double": 1.0, "String": "a", "None": 2}
KERNELS = builtin_kernels()


def inputs_of(method: Method) -> list[object]:
    """Return inputs that fit the program, unless they would be too large."""
    meta = method.metadata
    made: list[object] = []
    for index in range(meta.num_inputs()):
        tag = meta.input_tag(index)
        if tag != "Tensor":
            made.append(SCALARS.get(tag))
            continue
        tensor = meta.input_tensor_meta(index)
        if tensor.nbytes() > LARGEST_INPUT_BYTES:
            raise InvalidInputError(
                method=method.name, input=f"input {index}", expected="little", given="much"
            )
        made.append(np.ones(tensor.sizes(), DTYPES[tensor.dtype()]))
    return made


def run(data: bytes) -> str:
    """Run every method twice; return the name of an etconfig error, or `ran`. Raises any other error."""
    try:
        program = open_program(data)
        for name in program.method_names:
            for optimize in (True, False):
                with load_method(
                    program, name, KERNELS, {}, instruction_limit=INSTRUCTION_LIMIT, optimize=optimize
                ) as method:
                    for _ in range(2):
                        method.execute(inputs_of(method))
    except ProgramError:
        return "ProgramError"
    except EtconfigError as error:
        return type(error).__name__
    return "ran"


def main(count: int, paths: list[Path]) -> None:
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    outcomes = Counter(run(data) for path in paths for data in mutants(path, count))
    json.dump(outcomes, sys.stdout)


if __name__ == "__main__":
    main(int(sys.argv[1]), [Path(each) for each in sys.argv[2:]])
