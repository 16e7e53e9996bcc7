"""`tvm_partitioner`: makes delegates of a program for ExecuTorch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from etconfig.aot import operator_partitioner, whole_graph_partitioner
from etconfig_tvm.aot.compiler import CompileSettings, compile_model, describe
from etconfig_tvm.aot.importer import is_supported_operator
from etconfig_tvm.aot.target import TvmTarget
from etconfig_tvm.payload import BACKEND_ID, KIND, SETTINGS_SPEC, TARGET_SPEC

if TYPE_CHECKING:
    from executorch.exir.backend.partitioner import Partitioner


def tvm_partitioner(
    *,
    target: TvmTarget | None = None,
    settings: CompileSettings | None = None,
    by_operators: bool = False,
) -> Partitioner:
    """Return a partitioner for `to_edge_transform_and_lower`.

    Args:
        target: The processor of the device; by default the one at hand.
        settings: How to compile.
        by_operators: Delegate the largest groups of operators that TVM supports, and leave the others to the
            program; by default, the whole method becomes one delegate.

    Raises:
        TargetError, CompileError: as for `TvmTarget` and `CompileSettings`.
    """
    specs = {
        TARGET_SPEC: json.dumps(asdict(target or TvmTarget()), sort_keys=True).encode(),
        SETTINGS_SPEC: json.dumps(asdict(settings or CompileSettings()), sort_keys=True).encode(),
    }
    if by_operators:
        return operator_partitioner(BACKEND_ID, write_payload, supported=_is_supported, compile_specs=specs)
    return whole_graph_partitioner(BACKEND_ID, write_payload, compile_specs=specs)


def write_payload(program: Any, compile_specs: Mapping[str, bytes]) -> bytes:
    """Compile one delegate, and return its library in an envelope.

    Raises:
        CompileError: TVM cannot compile it.
    """
    target = json.loads(compile_specs[TARGET_SPEC])
    target["mattr"] = tuple(target["mattr"])
    settings = CompileSettings(**json.loads(compile_specs[SETTINGS_SPEC]))
    compiled = compile_model(program, target=TvmTarget(**target), settings=settings)
    return describe(compiled.target, KIND).seal(compiled.library)


def _is_supported(node: Any) -> bool:
    return is_supported_operator(node.target.__name__)
