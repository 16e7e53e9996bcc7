"""One model compiled twice by OpenVINO with different options, both running at the same time.

Usage: python examples/standalone/openvino/run.py [DIRECTORY]

Needs etconfig-openvino[engine]. The model is written to DIRECTORY, or else to a temporary one.
"""

from __future__ import annotations

import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import openvino
from openvino import opset13 as ops

import etconfig

PROFILE = Path(__file__).with_name("two_cameras.toml")
SHAPE = (1, 3, 96, 96)


def write_model(path: Path) -> None:
    """Write a network of four convolutions as OpenVINO IR."""
    random = np.random.default_rng(0)
    image = ops.parameter(list(SHAPE), np.float32, name="image")
    value, channels = image, SHAPE[1]
    for _ in range(4):
        kernel = random.standard_normal((32, channels, 3, 3)).astype(np.float32) / 10
        value = ops.relu(ops.convolution(value, ops.constant(kernel), [1, 1], [1, 1], [1, 1], [1, 1]))
        channels = 32
    openvino.save_model(openvino.Model([value], [image], "detector"), path, compress_to_fp16=False)


def main(directory: Path) -> None:
    """Compile both instances, run them at the same time, and show what differs."""
    path = directory / "detector.xml"
    write_model(path)
    config = etconfig.resolve(models={"detector": "OpenvinoBackend"}, profile=PROFILE)
    image = np.random.default_rng(1).random(SHAPE, np.float32)
    cameras = ("left", "right")
    models = {camera: config.build("detector", path, instance=camera) for camera in cameras}
    with ThreadPoolExecutor(2) as pool:
        left, right = pool.map(lambda camera: models[camera](image)[0], cameras)
    for camera in cameras:
        effective = config.effective("detector", models[camera], instance=camera)
        used = {
            name: effective[name].effective.value
            for name in ("cpu_inference_precision", "inference_num_threads")
        }
        print(f"{camera}: {used['cpu_inference_precision']}, {used['inference_num_threads']} threads")
    print(f"largest difference: {np.abs(left - right).max() / np.abs(left).max():.2%}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))
