"""Programs in C++ that are compiled from the headers of etconfig/device and run."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from compilers import compiled, system_compiler

from etconfig.device import device_include_dir

SOURCES = Path(__file__).parents[1] / "data" / "device"
STRICT = ("-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fno-exceptions", "-fno-rtti")
SANITIZED = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def compile_device_program(source: str, target: Path, *flags: str, compiler: str | None = None) -> Path:
    """Compile `tests/data/device/SOURCE`, with all warnings as errors, without exceptions and RTTI."""
    libraries = [each for each in flags if each.startswith("-l")]  # they follow what needs them
    options = [each for each in flags if each not in libraries]
    command = [compiler or system_compiler(), *STRICT, f"-I{device_include_dir()}", *options]
    return compiled([*command, SOURCES / source, *libraries], target)


def device_program(source: str, *flags: str) -> Any:
    """Return the fixture of a program that is compiled once for a module of tests."""

    @pytest.fixture(scope="module")
    def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
        name = Path(source).stem
        return compile_device_program(source, tmp_path_factory.mktemp(name) / name, *flags)

    return program


class Toolchain(NamedTuple):
    """A compiler other than the system's, and the emulator of the processor that it compiles for."""

    compiler: str
    package: str
    """Debian's package of the compiler."""
    emulator: str | None = None

    def compile(self, source: str, target: Path, *flags: str) -> Path:
        """Compile as `compile_device_program`; skips the test without the compiler or the emulator."""
        for program, package in ((self.compiler, self.package), (self.emulator, "qemu-user")):
            if program is not None and shutil.which(program) is None:
                pytest.skip(f"no {program}; Debian's package {package} has it")
        # emulators do not find the libraries of another processor
        linked = () if self.emulator is None else ("-static",)
        return compile_device_program(source, target, *linked, *flags, compiler=self.compiler)


TOOLCHAINS = (
    Toolchain("clang++", "clang"),
    Toolchain("aarch64-linux-gnu-g++", "g++-aarch64-linux-gnu", "qemu-aarch64"),
    Toolchain("arm-linux-gnueabihf-g++", "g++-arm-linux-gnueabihf", "qemu-arm"),
)


def run_device_program(program: Path, *arguments: str, expected: int = 0, emulator: str | None = None) -> str:
    """Run a program, and return its output."""
    command = [*([emulator] if emulator else []), str(program), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == expected, done.stdout + done.stderr
    return done.stdout
