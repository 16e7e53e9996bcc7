"""Exports the test programs under tests/data with real ExecuTorch.

Needs torch, executorch and scikit-learn, and the reference plugin on the path; the tests
need none of these, since the files that this tool writes are checked in:

    PYTHONPATH=plugins/etconfig-reference python tools/build_models.py --out tests/data
    PYTHONPATH=plugins/etconfig-reference python tools/build_models.py --only digits

Every entry has a module here with a function `build(folder)`, which writes its files into
`folder` and returns the record for `<name>.json`. The same versions on the same kind of CPU
write the same bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import architecture_programs
import digits_model
import export_cases
import shared_state_programs

BUILDERS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "architectures": architecture_programs.build,
    "digits": digits_model.build,
    "exports": export_cases.build,
    "shared_state": shared_state_programs.build,
}
"""The modules by the name of their output, which is also the name of its folder."""

_RECORDED_PACKAGES = ("executorch", "torch", "scikit-learn", "numpy")


def main(argv: Sequence[str] | None = None) -> None:
    """Build the chosen entries, and write a record next to each."""
    arguments = _parser().parse_args(argv)
    for name in arguments.only or BUILDERS:
        folder = arguments.out / name
        folder.mkdir(parents=True, exist_ok=True)
        record = {"made_by": f"tools/build_models.py --only {name}", "versions": _versions()}
        record |= BUILDERS[name](folder)
        record_path = folder / f"{name}.json"
        files = sorted(path for path in folder.iterdir() if path != record_path)
        record["files"] = {path.name: _describe(path) for path in files}
        record_path.write_text(json.dumps(record, indent=2) + "\n")
        for path in files:
            print(f"{path} {path.stat().st_size} bytes")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--out", type=Path, default=Path("tests/data"), help="holds a folder for each (default: %(default)s)"
    )
    parser.add_argument(
        "--only", action="append", choices=sorted(BUILDERS), help="build this one; may be given repeatedly"
    )
    return parser


def _versions() -> dict[str, str]:
    return {"python": platform.python_version()} | {name: version(name) for name in _RECORDED_PACKAGES}


def _describe(path: Path) -> dict[str, Any]:
    return {"bytes": path.stat().st_size, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}


if __name__ == "__main__":
    main()
