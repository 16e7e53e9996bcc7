"""One model of PyTorch, compiled by TVM, in two sessions with different options.

Usage: python examples/standalone/tvm/run.py [DIRECTORY]

Needs etconfig-tvm[aot]. The library is written to DIRECTORY, or else to a temporary one.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from etconfig_tvm.aot import compile_model
from etconfig_tvm.arrays import aligned

import etconfig

PROFILE = Path(__file__).with_name("two_cameras.toml")
SHAPE = (1, 3, 96, 96)
ROUNDS = 50


def write_model(path: Path) -> None:
    """Compile a network of four convolutions for this machine."""
    torch.manual_seed(0)
    layers: list[torch.nn.Module] = []
    for channels in (3, 32, 32, 32):
        layers += [torch.nn.Conv2d(channels, 32, 3, padding=1), torch.nn.ReLU()]
    model = torch.nn.Sequential(*layers).eval()
    compile_model(torch.export.export(model, (torch.zeros(SHAPE),))).save(path)


def serve(config: etconfig.Resolution, path: Path, camera: str) -> None:
    """Build and run the session of a camera, and show its threads and how long a run took."""
    session = config.build("detector", path, instance=camera)
    image = aligned(np.ones(SHAPE, np.float32))
    session["main"](image)
    begin = time.perf_counter()
    for _ in range(ROUNDS):
        session["main"](image)
    took_ms = 1000 * (time.perf_counter() - begin) / ROUNDS
    threads = config.effective("detector", session)["num_threads"].effective
    print(f"{camera}: {threads.value} threads ({threads.source.value}), {took_ms:.1f} ms")


def main(directory: Path) -> None:
    """Build and run both sessions, one after the other."""
    path = directory / "detector.so"
    write_model(path)
    config = etconfig.resolve(models={"detector": "TvmBackend"}, profile=PROFILE)
    for camera in ("left", "right"):
        serve(config, path, camera)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))
