"""Loads damaged programs that etconfig accepts with ExecuTorch; prints those that it refuses, as JSON.

Run it as `python compare_mutants.py COUNT FILE...`, to try COUNT mutants of each file. ExecuTorch runs
in a new process for each of them, since it may crash; that counts as a refusal.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections import Counter
from pathlib import Path

from mutations import VERIFIER, mutants

from etconfig.errors import EtconfigError
from etconfig.kernels import builtin_kernels
from etconfig.numpy_executor import load_method
from etconfig.program.program import open_program

warnings.simplefilter("ignore")

from executorch.runtime import Runtime, Verification  # noqa: E402  it warns when it is imported

KERNELS = builtin_kernels()


def is_loaded_here(data: bytes) -> bool:
    try:
        program = open_program(data)
        for name in program.method_names:
            load_method(program, name, KERNELS, {}).close()
    except EtconfigError:
        return False
    return True


def load_there(data: bytes, verification: Verification) -> str:
    """Return `loaded`, or ExecuTorch's message if it refuses the program."""
    try:
        program = Runtime.get().load_program(data, verification=verification)
        for name in sorted(program.method_names):
            program.load_method(name)
    except Exception as error:
        return " ".join(str(error).split())
    return "loaded"


def verdict_there(data: bytes) -> str:
    """Return `loaded`, VERIFIER if only the verifier refuses, else ExecuTorch's message, or `crash`."""
    log, into = os.pipe()
    child = os.fork()
    if not child:
        os.dup2(into, 1)
        os.dup2(into, 2)
        verdict = load_there(data, Verification.InternalConsistency)
        if verdict != "loaded" and load_there(data, Verification.Minimal) == "loaded":
            verdict = VERIFIER
        os.write(into, f"\n{verdict}\n".encode())
        os._exit(0)
    os.close(into)
    with os.fdopen(log, encoding="utf-8", errors="replace") as stream:
        lines = [line.strip() for line in stream if line.strip()]
    _, status = os.waitpid(child, 0)
    return f"crash: {' | '.join(lines[-2:])}" if status else lines[-1]


def main(count: int, paths: list[Path]) -> None:
    tally, refusals = Counter[str](), []
    for path in paths:
        for number, data in enumerate(mutants(path, count)):
            tally["tried"] += 1
            if not is_loaded_here(data):
                continue
            tally["loaded here"] += 1
            verdict = verdict_there(data)
            if verdict != "loaded":
                refusals.append([path.name, number, verdict])
    json.dump({"tally": tally, "refusals": refusals}, sys.stdout)


if __name__ == "__main__":
    main(int(sys.argv[1]), [Path(each) for each in sys.argv[2:]])
