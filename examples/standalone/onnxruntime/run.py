"""One model in two sessions of ONNX Runtime with different options, at the same time.

Usage: python examples/standalone/onnxruntime/run.py [DIRECTORY]

Needs onnx and etconfig-onnxruntime[engine]. The model is written to DIRECTORY, or else to a temporary one.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import etconfig

PROFILE = Path(__file__).with_name("two_cameras.toml")
SHAPE = (1, 3, 96, 96)


def write_model(path: Path) -> None:
    """Write a network of four convolutions."""
    random = np.random.default_rng(0)
    nodes, weights, value, channels = [], [], "image", SHAPE[1]
    for layer in range(4):
        kernel = random.standard_normal((32, channels, 3, 3)).astype(np.float32) / 10
        weights.append(numpy_helper.from_array(kernel, f"kernel{layer}"))
        nodes.append(helper.make_node("Conv", [value, f"kernel{layer}"], [f"sum{layer}"], pads=[1, 1, 1, 1]))
        nodes.append(helper.make_node("Relu", [f"sum{layer}"], [f"out{layer}"]))
        value, channels = f"out{layer}", 32
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, SHAPE)
    features = helper.make_tensor_value_info(value, TensorProto.FLOAT, (1, 32, *SHAPE[2:]))
    graph = helper.make_graph(nodes, "detector", [image], [features], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    path.write_bytes(model.SerializeToString())


def thread_ids() -> set[str]:
    """Return the threads of this process; none where there is no /proc."""
    tasks = Path("/proc/self/task")
    return {task.name for task in tasks.iterdir()} if tasks.is_dir() else set()


def main(directory: Path) -> None:
    """Build both sessions and show what differs."""
    path = directory / "detector.onnx"
    write_model(path)
    config = etconfig.resolve(
        models={"detector": "OnnxRuntimeBackend"},
        profile=PROFILE,
    )
    image = {"image": np.ones(SHAPE, np.float32)}
    for camera in ("left", "right"):
        before = thread_ids()
        session = config.build("detector", path, instance=camera)
        started = thread_ids() - before
        session.run(None, image)
        begin = time.perf_counter()
        session.run(None, image)
        took_ms = 1000 * (time.perf_counter() - begin)
        threads = session.get_session_options().intra_op_num_threads
        print(f"{camera}: {threads} threads, {len(started)} of them started by the session, {took_ms:.1f} ms")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))
