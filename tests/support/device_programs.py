"""Programs in C++ that are compiled from the headers of etconfig/device and run."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from etconfig.device import device_include_dir

SOURCES = Path(__file__).parents[1] / "data" / "device"
STRICT = ("-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fno-exceptions", "-fno-rtti")
SANITIZED = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def system_compiler() -> str:
    """Return the C++ compiler of this system; skips the test if there is none."""
    for name in ("c++", "g++", "clang++"):
        if (found := shutil.which(name)) is not None:
            return found
    pytest.skip("no C++ compiler (c++, g++ or clang++) on the PATH")


def compile_device_program(source: str, target: Path, *flags: str, compiler: str | None = None) -> Path:
    """Compile `tests/data/device/SOURCE`, with all warnings as errors, without exceptions and RTTI."""
    command = [compiler or system_compiler(), *STRICT, f"-I{device_include_dir()}", *flags]
    done = subprocess.run(
        [*command, str(SOURCES / source), "-o", str(target)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return target


def run_device_program(program: Path, *arguments: str, expected: int = 0) -> str:
    """Run a program, and return its output."""
    done = subprocess.run([str(program), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == expected, done.stdout + done.stderr
    return done.stdout
