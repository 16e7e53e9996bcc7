"""The sheets that C++ and Python detect from the same files, and the facts that differ on purpose."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from captured_trees import STORED, TREES

from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.facts.detecting.detection import detect
from etconfig.facts.detecting.host import Host
from etconfig.facts.detecting.sources import DEVICE_ROOT
from etconfig.facts.detecting.system import System
from etconfig.facts.sheet import FactSheet

ONLY_IN_PYTHON = {
    "unknown": "etconfig detects it only in Python; the application sets it",
    "origin": "detected nothing",
}
NVML = {"unknown": "only NVIDIA's library lists its GPUs; the application sets it", "origin": "detected NVML"}
NOT_BY_SYSCTL = ("memory.available", "power.", "thermal.state", "gpu.")
"""The beginnings of the names of facts that Python finds on macOS by running commands."""


def restored_tree(name: str, directory: Path) -> Path:
    """Copy a captured tree, with the names that the device has."""
    root = directory / name
    shutil.copytree(TREES / name, root)
    for path in sorted(root.rglob("*"), reverse=True):
        restored = path.name
        for character, stored in STORED.items():
            restored = restored.replace(stored, character)
        if restored != path.name:
            path.rename(path.with_name(restored))
    return root


def detected_in_cpp(program: Path, *arguments: str, under: str | None = None) -> str:
    """Return what the program of tests/data/device/facts.cpp prints."""
    command = [*([under] if under else []), str(program), *arguments]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr).decode(errors="replace")
    return done.stdout.decode("ascii")


def expected_in_cpp(sheet: FactSheet, system: str | None, *, uses_nvml: bool = False) -> str:
    """Return the text of a sheet of Python with the facts replaced that C++ leaves to the application."""
    head, _, _ = sheet.to_json().partition('  "facts": {')
    facts: dict[str, Mapping[str, Any]] = json.loads(sheet.to_json())["facts"]
    for name in list(facts):
        is_family = name not in BUILTIN_FACTS.names
        if (
            (system == "Windows" and name != "device.id")  # which no language detects
            or name.startswith("runtime.")
            or (system == "Darwin" and name.startswith(NOT_BY_SYSCTL))
        ):
            facts[name] = ONLY_IN_PYTHON
        elif uses_nvml and name.startswith("gpu."):
            facts[name] = NVML
        else:
            continue
        if is_family:
            del facts[name]
    lines = (f"    {json.dumps(name)}: {json.dumps(fact)}" for name, fact in facts.items())
    return f'{head}  "facts": {{\n' + ",\n".join(lines) + "\n  }\n}\n"


def python_sheet(root: Path) -> str:
    """Return the text of the sheet that Python detects in a tree, as C++ is expected to print it."""
    host = Host.current() if root == DEVICE_ROOT else Host.captured(root)
    system = System(root, host)
    is_nvml_asked = False
    list_gpus = system.nvml_gpus

    def ask() -> object:
        nonlocal is_nvml_asked
        is_nvml_asked = True
        return list_gpus()

    system.nvml_gpus = ask  # type: ignore[assignment,method-assign]
    sheet = detect(system, limit_s=60)
    return expected_in_cpp(sheet, host.system, uses_nvml=is_nvml_asked)
