"""Write the payloads and compile specs of `tests/data/payloads`, as ExecuTorch's exporters make them.

It needs what the tests do not: an environment with torch, executorch 1.5.1, openvino, coremltools 9.0,
coreai-torch 0.4.3, ethos-u-vela 5.1.0 and tosa-tools 2026.5.0. Core ML writes dates and random names: its
bytes differ each time.

    python tools/build_payloads.py
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge_transform_and_lower

TARGET = Path(__file__).parents[1] / "tests" / "data" / "payloads"


class Model(torch.nn.Module):
    """A convolution and a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution = torch.nn.Conv2d(1, 2, 3, padding=1)
        self.linear = torch.nn.Linear(2 * 4 * 4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pooled = torch.nn.functional.max_pool2d(torch.relu(self.convolution(x)), 2, 2)
        return self.linear(pooled.flatten(1))


INPUTS = (torch.zeros(1, 1, 8, 8),)


def save(name: str, payload: bytes, specs: Mapping[str, bytes]) -> None:
    """Write a payload, and beside it its compile specs."""
    (TARGET / f"{name}.bin").write_bytes(payload)
    text = json.dumps({key: value.hex() for key, value in specs.items()}, indent=1)
    (TARGET / f"{name}.json").write_text(text + "\n")


def save_lowered(name: str, exported: Any, partitioner: Any) -> None:
    """Export for a partitioner, and write the payload of the first delegate."""
    lowered = to_edge_transform_and_lower(
        exported, partitioner=[partitioner], compile_config=EdgeCompileConfig(_check_ir_validity=False)
    ).to_executorch(config=ExecutorchBackendConfig(extract_delegate_segments=False))
    program = lowered.executorch_program
    delegate, *_ = program.execution_plan[0].delegates
    payload = program.backend_delegate_data[delegate.processed.index].data
    save(name, bytes(payload), {spec.key: bytes(spec.value) for spec in delegate.compile_specs})


def ethos_u(target: str) -> None:
    """Write a quantized model that Vela compiled."""
    from executorch.backends.arm.ethosu import EthosUCompileSpec, EthosUPartitioner
    from executorch.backends.arm.quantizer import EthosUQuantizer, get_symmetric_quantization_config
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    spec = EthosUCompileSpec(target)
    quantizer = EthosUQuantizer(spec)
    quantizer.set_global(get_symmetric_quantization_config())
    prepared = prepare_pt2e(torch.export.export(Model().eval(), INPUTS).module(), quantizer)
    prepared(*INPUTS)
    exported = torch.export.export(convert_pt2e(prepared), INPUTS)
    save_lowered(target, exported, EthosUPartitioner(spec))


def core_ml() -> None:
    """Write a model of Core ML for iOS 17."""
    import coremltools
    from executorch.backends.apple.coreml.compiler import CoreMLBackend
    from executorch.backends.apple.coreml.partition import CoreMLPartitioner

    specs = CoreMLBackend.generate_compile_specs(minimum_deployment_target=coremltools.target.iOS17)
    exported = torch.export.export(Model().eval(), INPUTS)
    save_lowered("coreml_ios17", exported, CoreMLPartitioner(compile_specs=specs))


def core_ai() -> None:
    """Write the manifest of a portable model of Core AI."""
    from executorch.backends.apple.coreai.compiler import preprocess
    from executorch.backends.apple.coreai.partition.partitioner import CoreAIPartitioner

    preprocess.assert_io_compatible = lambda *arguments: None  # it calls what coreai-core has renamed
    save_lowered("coreai", torch.export.export(Model().eval(), INPUTS), CoreAIPartitioner())


def openvino() -> None:
    """Write a blob, as ExecuTorch's backend for OpenVINO does."""
    from openvino import Core, convert_model

    compiled = Core().compile_model(convert_model(Model().eval(), example_input=INPUTS), "CPU")
    save("openvino_blob", compiled.export_model().getvalue(), {"device": b"CPU"})


def qnn() -> None:
    """Write the compile spec of each chip; the SDK that makes payloads is not public."""
    from executorch.backends.qualcomm.serialization import qc_schema as schema
    from executorch.backends.qualcomm.serialization.qc_schema_serialize import option_to_flatbuffer

    backend = schema.QnnExecuTorchBackendOptions(
        backend_type=schema.QnnExecuTorchBackendType.kHtpBackend,
        htp_options=schema.QnnExecuTorchHtpBackendOptions(),
    )
    chips = {}
    for chip, info in schema._soc_info_table.items():
        options = schema.QnnExecuTorchOptions(soc_info=info, backend_options=backend)
        text = option_to_flatbuffer(options).hex()
        chips[chip.name] = {"htp_arch": int(info.htp_info.htp_arch), "qnn_compile_spec": text}
    (TARGET / "qnn.json").write_text(json.dumps(chips, indent=1) + "\n")


if __name__ == "__main__":
    TARGET.mkdir(exist_ok=True)
    torch.manual_seed(0)
    for target in ("ethos-u55-128", "ethos-u85-256"):
        ethos_u(target)
    core_ml()
    core_ai()
    openvino()
    qnn()
