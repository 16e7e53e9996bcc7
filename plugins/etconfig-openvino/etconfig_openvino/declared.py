"""The capabilities and compile specs of `OpenvinoBackend`, which loading and exporting follow."""

from __future__ import annotations

from collections.abc import Mapping

from etconfig.plugin.v1 import Capabilities, CompileSpecEncoding, CompileSpecInfo
from etconfig_openvino.errors import PayloadError

CAPABILITIES = Capabilities(
    dtypes=frozenset({"float32", "float16", "int32"}),
    supports_dynamic_shapes=True,
    frees_processed=True,
)
"""The types that OpenVINO computes with as eager does, on all devices.

On the CPU, OpenVINO computes float64 in float32 and int64 in 32 bits, and sums of int8 and uint8 stop at the
largest number instead of wrapping around.
"""

COMPILE_SPECS: Mapping[str, CompileSpecInfo] = {
    "device": CompileSpecInfo(
        doc="OpenVINO's name of the device that the payload is for; by default the CPU.",
        encoding=CompileSpecEncoding.UTF8,
    ),
    "cache_dir": CompileSpecInfo(
        doc="A directory that ExecuTorch's partitioner used; nothing reads it at run time.",
        encoding=CompileSpecEncoding.UTF8,
    ),
}
"""The compile specs of ExecuTorch's partitioner and of ours."""


def check_compile_specs(compile_specs: Mapping[str, bytes]) -> None:
    """Raise PayloadError unless each compile spec is known and correctly encoded."""
    for key, value in compile_specs.items():
        if key not in COMPILE_SPECS:
            raise PayloadError(f"compile spec {key!r} is not known; there is {', '.join(COMPILE_SPECS)}")
        try:
            COMPILE_SPECS[key].decode(value)
        except ValueError as error:
            raise PayloadError(f"compile spec {key!r}: {error}") from None
