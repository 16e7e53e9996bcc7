"""The declarations of both backends, except options: for etconfig, the exporter and the backends."""

from __future__ import annotations

from collections.abc import Mapping

from etconfig.plugin.v1 import Capabilities, CompileSpecEncoding, CompileSpecInfo

NPU_VARIABLE = "ETCONFIG_REFERENCE_NPU"
"""The environment variable that makes the simulated device unavailable if it is `off`."""

COMPILE_SPECS: Mapping[str, CompileSpecInfo] = {
    "named_data": CompileSpecInfo(
        doc="Constants are stored as named data of the program instead of in the payload.",
        encoding=CompileSpecEncoding.BOOL,
    )
}
"""The compile specs of both backends."""

CAPABILITIES: Mapping[str, Capabilities] = {
    "ReferenceCpuBackend": Capabilities(
        dtypes=frozenset(
            {"float32", "float64", "float16", "bfloat16", "int8", "uint8", "int32", "int64", "bool"}
        ),
        dim_orders=frozenset({"contiguous", "channels_last"}),
        precision={"float64": 1e-12, "float32": 1e-5, "float16": 1e-3, "bfloat16": 8e-3},
        supports_dynamic_shapes=True,
        supports_zero_size=True,
        supports_scalars=True,
        uses_named_data=True,
        is_deterministic=True,
    ),
    "ReferenceNpuBackend": Capabilities(
        dim_orders=frozenset({"contiguous", "channels_last"}),
        frees_processed=True,
        uses_named_data=True,
        is_deterministic=True,
    ),
}
"""The capabilities of each backend; the partitioner delegates within them, and `init` refuses the rest."""
