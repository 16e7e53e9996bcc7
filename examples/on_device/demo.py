"""A C++ program with ExecuTorch's own runtime, which chooses a model, its options and threads where it runs.

make demo-device
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from etconfig.device import device_include_dir

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
DIGITS = ROOT / "tests" / "data" / "digits"
FILES = (DIGITS / "digits_xnnpack.pte", DIGITS / "digits_portable.pte", HERE / "etconfig.toml")


def main(directory: Path) -> None:
    """Pack a bundle, build the program, and run it twice.

    Args:
        directory: Where everything is made.
    """
    directory.mkdir(parents=True, exist_ok=True)
    for file in FILES:
        shutil.copy(file, directory)
    recorded = np.load(DIGITS / "digits.npz")
    (directory / "image.bin").write_bytes(recorded["images"][0].astype("<f4").tobytes())

    title("On the desk: pack the profiles, the project file and the models")
    programs = [file.name for file in FILES if file.suffix == ".pte"]
    run(directory, sys.executable, "-m", "etconfig", "pack", *programs, "-o", "app.etbundle")
    title("Build the program with ExecuTorch's libraries")
    run(directory, *compile_command(HERE / "app.cpp", Path("app")))
    title("On the device")
    run(directory, "./app", "app.etbundle", "image.bin", "power.source=mains")
    title("On battery")
    run(directory, "./app", "app.etbundle", "image.bin", "power.source=battery")
    print(f"\nthe digit is a {recorded['labels'][0]}")


def compile_command(source: Path, target: Path) -> list[str]:
    """Return the command that builds a program with the ExecuTorch that is installed."""
    spec = find_spec("executorch")
    if spec is None or not spec.submodule_search_locations:
        sys.exit("executorch is not installed: run make demo-device")
    wheel = Path(spec.submodule_search_locations[0])
    return [
        *(os.environ.get("CXX", "g++"), "-std=c++17", "-O2", "-Wall", "-Wextra", "-Werror"),
        *("-DC10_USING_CUSTOM_GENERATED_MACROS", "-DET_EVENT_TRACER_ENABLED", "-DET_USE_THREADPOOL"),
        *("-I", str(device_include_dir()), "-isystem", str(wheel / "include")),
        *("-isystem", str(wheel / "include/executorch/runtime/core/portable_type/c10")),
        *(str(source), "-o", str(target)),
        *(f"-L{wheel / 'lib'}", f"-Wl,-rpath,{wheel / 'lib'}", "-Wl,--no-as-needed"),
        *("-lexecutorch", "-lexecutorch_kernels_optimized"),
        *("-lexecutorch_backend_xnnpack", "-lexecutorch_threadpool"),
    ]


def run(directory: Path, *command: str) -> None:
    """Show a command and run it; end if it fails."""
    print("$", shlex.join([Path(command[0]).name, *command[1:]]), flush=True)
    done = subprocess.run(command, cwd=directory, check=False)
    if done.returncode != 0:
        sys.exit(done.returncode)


def title(text: str) -> None:
    """Print the title of a step."""
    print(f"\n== {text}", flush=True)


if __name__ == "__main__":
    main(ROOT / "build" / "on_device")
