"""Builds the wheels of old plugins, which tests install with the current etconfig.

    python tools/build_api1_wheels.py

They stand for the wheels that vendors have published: once recorded, a wheel is never built again. A source
in `tests/data/plugins-api1/sources` without a wheel is built, and its hash is recorded in `SHA256SUMS`, which
a test verifies. The time in a wheel is fixed, so that the same hatchling builds the same bytes.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

DIRECTORY = Path(__file__).parents[1] / "tests" / "data" / "plugins-api1"
BUILT_AT = "1767225600"
"""The first second of 2026."""


def main(directory: Path = DIRECTORY) -> None:
    """Build and record the wheels that are not recorded yet."""
    sums = directory / "SHA256SUMS"
    recorded = sums.read_text(encoding="utf-8") if sums.exists() else ""
    for source in sorted((directory / "sources").iterdir()):
        name = re.sub("[-.]", "_", source.name)
        if f"  {name}-" in recorded:
            print(f"{source.name}: recorded, and so left alone")
            continue
        wheel = build(source, directory)
        recorded += f"{hashlib.sha256(wheel.read_bytes()).hexdigest()}  {wheel.name}\n"
        print(f"{wheel.name} built")
    sums.write_text(recorded, encoding="utf-8")


def build(source: Path, output: Path) -> Path:
    """Build the wheel of a source into `output`."""
    with tempfile.TemporaryDirectory() as temporary:
        shutil.copytree(source, Path(temporary, "source"), ignore=shutil.ignore_patterns("__pycache__"))
        command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", temporary]
        environment = {**os.environ, "SOURCE_DATE_EPOCH": BUILT_AT}
        subprocess.run(
            [*command, f"{temporary}/source"], env=environment, check=True, stdout=subprocess.DEVNULL
        )
        (wheel,) = Path(temporary).glob("*.whl")
        return Path(shutil.move(wheel, output / wheel.name))


if __name__ == "__main__":
    main()
