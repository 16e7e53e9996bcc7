"""A device in C++ that another package adds, with operators and memory of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]

HERE = Path(__file__).parent

CODE = """
import torch
import etconfig
from etconfig_torch.aot import torch_partitioner
from etconfig_torch.options import TorchOptions
from etconfig_torch.plugin import SPEC, build, effective
from executorch.exir import to_edge_transform_and_lower

torch.manual_seed(0)
class Shifted(torch.nn.Module):  # with a constant that is not a parameter, and a tensor that it creates
    def __init__(self, module):
        super().__init__()
        self.module, self.constant = module, torch.ones(4)
    def forward(self, x):
        return self.module(x) + self.constant + torch.full((4,), 2.0)

layers = [torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(144, 4)]
model = torch.nn.Sequential(*layers, torch.nn.Softmax(-1)).eval()
x = torch.randn(2, 3, 8, 8)
program = torch.export.export(model, (x,))
expected = model(x).detach()
data = bytes(to_edge_transform_and_lower(program, partitioner=[torch_partitioner()]).to_executorch().buffer)

module = build(TorchOptions(device="npu:1", device_module="npu_cpp_device"), program)
from npu_cpp_device import EXTENSION as npu
npu.forget_calls()
with torch.inference_mode():
    y = module(x.to("npu:1"))
print(y.device, (y.cpu() - expected).abs().max().item() < 1e-6, effective(module)["device"].value)
print(*npu.calls())
shifted = Shifted(model)
on_npu = build(
    TorchOptions(device="npu:1", device_module="npu_cpp_device"), torch.export.export(shifted, (x,))
)
with torch.inference_mode():
    y = on_npu(x.to("npu:1"))
print(y.device, (y.cpu() - shifted(x)).abs().max().item() < 1e-6)
del y, on_npu
try:
    build(TorchOptions(device="npu:2", device_module="npu_cpp_device"), program)
except Exception as error:
    print(error)

installation = etconfig.Installation().with_backends({SPEC.id: SPEC})
loaded = etconfig.load_program(data, installation=installation)
overrides = {"TorchBackend.device": "npu:1", "TorchBackend.device_module": "npu_cpp_device"}
arguments = etconfig.resolve(loaded, overrides=overrides, installation=installation).arguments("forward")
before = npu.live_bytes()
with loaded.load_method("forward", arguments=arguments) as method:
    for _ in range(2):
        npu.forget_calls()
        (found,) = method.execute([x.numpy()])
        print(abs(found - expected.numpy()).max() < 1e-6, *npu.calls())
    print(npu.live_bytes() - before)
print(npu.live_bytes() - before)
"""

PATH = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
"""Where to look for ninja, also beside an interpreter whose environment is not active."""


@pytest.mark.skipif(
    shutil.which("g++") is None or shutil.which("ninja", path=PATH) is None, reason="no g++ or ninja"
)
def test_a_device_of_another_package_in_cpp(tmp_path: Path) -> None:
    pytest.importorskip("executorch.exir")
    path = os.pathsep.join([str(HERE.parent), str(HERE), str(HERE.parents[2])])
    environment = os.environ | {
        "PATH": PATH,
        "PYTHONPATH": path,
        "PYTHONWARNINGS": "ignore",
        "NPU_BUILD_DIRECTORY": str(tmp_path),
    }
    done = subprocess.run(
        [sys.executable, "-c", CODE], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    built, calls, moved, refusal, *runs, live, left = done.stdout.splitlines()
    operators = ["convolution", "relu", "addmm", "cpu:aten::_softmax"]
    assert built == "npu:1 True npu:1"
    assert [call for call in calls.split() if call != "copy"] == operators
    assert moved == "npu:1 True"
    assert "there are 2 of them, numbered from 0" in refusal
    assert len(runs) == 2
    assert all([call for call in run.split() if call != "copy"] == ["True", *operators] for run in runs)
    weights_bytes = 4 * (4 * 27 + 4 + 4 * 144 + 4)
    assert (int(live) >= weights_bytes, int(left)) == (True, 0)
