"""Partitioners for ExecuTorch: of everything in a program, or of the operators that a backend supports.

The functions import torch and executorch when they are called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING

from etconfig.aot.operators import Preprocess, Supported

if TYPE_CHECKING:
    from executorch.exir.backend.partitioner import DelegationSpec, Partitioner
    from torch.export import ExportedProgram
    from torch.fx import Node


def whole_graph_partitioner(
    backend_id: str,
    preprocess: Preprocess,
    *,
    compile_specs: Mapping[str, bytes] | None = None,
    keep_whole: Supported = (),
) -> Partitioner:
    """Return a partitioner that makes one delegate of each method, for engines that take whole models.

    Only buffers that the model writes stay outside: the delegate gets their contents as inputs, and its
    outputs are written back by the runtime.

    Args:
        backend_id: The id that the program names. One function may write the payloads of an id in a process.
        preprocess: Writes the payload of the method.
        compile_specs: Values that are stored in the program, by key.
        keep_whole: Operators that ExecuTorch does not decompose, such as `aten::linear`; `lambda node: True`
            keeps all of them as the model was exported with.

    Raises:
        ImportError: torch or executorch is not installed.
        ValueError: an operator is unknown, or another function writes the payloads of this backend.
    """
    classes = _classes()
    return classes.GraphPartitioner(
        backend_id,
        preprocess,
        compile_specs or {},
        supported=None,
        keep_whole=classes.OperatorNames.predicate(keep_whole),
    )


def operator_partitioner(
    backend_id: str,
    preprocess: Preprocess,
    *,
    supported: Supported,
    compile_specs: Mapping[str, bytes] | None = None,
    keep_whole: Supported = (),
) -> Partitioner:
    """Return a partitioner that delegates the largest groups of supported operators.

    Args:
        backend_id: The id that the program names. One function may write the payloads of an id in a process.
        preprocess: Writes the payload of one delegate.
        supported: The operators that the backend runs. The parts of a tuple that a supported operator returns
            are supported too.
        compile_specs: Values that are stored in the program, by key.
        keep_whole: Operators that ExecuTorch does not decompose where they are supported.

    Raises:
        ImportError: torch or executorch is not installed.
        ValueError: an operator is unknown, or another function writes the payloads of this backend.
    """
    classes = _classes()
    is_supported = classes.OperatorNames.predicate(supported)
    is_kept = classes.OperatorNames.predicate(keep_whole)
    return classes.GraphPartitioner(
        backend_id, preprocess, compile_specs or {}, supported=is_supported, keep_whole=is_kept
    )


def tag_supported(
    exported_program: ExportedProgram,
    backend_id: str,
    is_supported: Callable[[Node], bool],
    compile_specs: Mapping[str, bytes] | None = None,
) -> dict[str, DelegationSpec]:
    """Tag the largest groups of nodes that one backend can run, for partitioners of your own.

    Call `tag_constant_data` of ExecuTorch after the last backend. The graph itself does not change.

    Args:
        exported_program: The program in the edge dialect.
        backend_id: The backend of these delegates.
        is_supported: Decides on a node that calls an operator; it is asked about no other node.
        compile_specs: Values that are stored in the program, by key.

    Returns:
        The delegates by tag, for `PartitionResult`.
    """
    tags: dict[str, DelegationSpec] = _classes().tag_groups(
        exported_program, backend_id, is_supported, compile_specs or {}
    )
    return tags


def _classes() -> ModuleType:
    """Import the module with the classes. Raises ImportError with the packages to install."""
    try:
        from etconfig.aot import executorch_partitioner
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in ("torch", "executorch"):
            raise
        raise ModuleNotFoundError(
            f"partitioners need torch and executorch, and {missing} is not installed: install the extra "
            "[aot] of the backend's package, or `pip install torch executorch`",
            name=error.name,
        ) from error
    return executorch_partitioner
