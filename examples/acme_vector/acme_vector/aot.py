"""Ahead of time: takes element-wise chains out of a model while it is exported. Needs executorch."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from executorch.exir.backend.partitioner import Partitioner
from torch.export import ExportedProgram

from acme_vector.payload import encode
from etconfig.aot import operator_name, operator_partitioner

NAMES = {"aten::abs": "abs", "aten::neg": "neg", "aten::relu": "relu"}


def acme_vector_partitioner() -> Partitioner:
    """Return a partitioner that delegates what the backend can run."""
    return operator_partitioner("AcmeVectorBackend", write_payload, supported=NAMES)


def write_payload(program: ExportedProgram, compile_specs: Mapping[str, bytes]) -> bytes:
    """Return one delegate's payload."""
    calls = [node for node in program.graph.nodes if node.op == "call_function"]
    for before, call in pairwise(calls):
        if call.args[0] is not before:
            raise ValueError(f"{call} does not follow {before}: only chains can be delegated")
    return encode([NAMES[operator_name(call)] for call in calls])
