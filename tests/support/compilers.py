"""The system's compilers of C and C++, with one cache of what they made, under build/."""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CACHE = ROOT / "build" / "compiled"
KOTLINC = ROOT / "build" / "kotlin" / "node_modules" / "kotlin-compiler" / "bin" / "kotlinc"


def system_compiler() -> str:
    """Return the C++ compiler of this system; skips the test if there is none."""
    for name in ("c++", "g++", "clang++"):
        if (found := shutil.which(name)) is not None:
            return found
    pytest.skip("no C++ compiler (c++, g++ or clang++) on the PATH")


def kotlin_compiler() -> str:
    """Return the compiler of Kotlin; skips the test without it."""
    found = shutil.which("kotlinc") or (str(KOTLINC) if KOTLINC.is_file() else None)
    if found is None:
        pytest.skip("no kotlinc; `make test-device` installs it from npm (package kotlin-compiler)")
    return found


def cmake() -> str:
    """Return the command of CMake, first of this environment; skips the test without it."""
    found = shutil.which(
        "cmake", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    )
    if found is None:
        pytest.skip("no cmake on the PATH; `make test-device` installs it")
    return found


def compiled(command: Sequence[str | Path], target: Path) -> Path:
    """Run `COMMAND -o TARGET`, or copy what the same compiler made of the same arguments and files before.

    A file among the arguments counts by its name and bytes, with the headers beside it; a directory counts by
    the bytes of its files inside this repository, and by their sizes and times elsewhere. If the compiler
    fails, the test fails with its messages.
    """
    arguments = [str(each) for each in command]
    kept = CACHE / _digest(arguments)
    if kept.is_file():
        shutil.copy2(kept, target)
        return target
    done = subprocess.run([*arguments, "-o", str(target)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    _keep(target, kept)
    return target


def _keep(made: Path, kept: Path) -> None:
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=kept.parent)
    except OSError:
        return  # a checkout that belongs to somebody else
    os.close(descriptor)
    shutil.copy2(made, name)
    Path(name).replace(kept)  # other processes see all of it or nothing


def _digest(arguments: Sequence[str]) -> str:
    digest = hashlib.sha256(_compiler(arguments[0]).encode())
    for argument in arguments[1:]:
        path = Path(argument.removeprefix("-I") or "-I")
        if path.is_dir():
            digest.update(_directory(path).encode())
        elif path.is_file():
            for file in (path, *sorted(path.parent.glob("*.h*"))):
                digest.update(f"{file.name}\0".encode() + file.read_bytes())
        else:
            digest.update(argument.encode())
        digest.update(b"\0")
    return digest.hexdigest()


@functools.cache
def _compiler(name: str) -> str:
    found = Path(shutil.which(name) or name).resolve()
    version = subprocess.run([name, "--version"], capture_output=True, text=True, check=False).stdout
    return f"{found} {found.stat().st_size} {version}\0"


@functools.cache
def _directory(directory: Path) -> str:
    digest = hashlib.sha256()
    is_ours = directory.resolve().is_relative_to(ROOT)
    for file in _files(directory):
        digest.update(f"{file.relative_to(directory)}\0".encode())
        found = file.stat()
        digest.update(file.read_bytes() if is_ours else f"{found.st_size} {found.st_mtime_ns}".encode())
    return digest.hexdigest()


def _files(directory: Path) -> Iterator[Path]:
    return (file for file in sorted(directory.rglob("*")) if file.is_file())
