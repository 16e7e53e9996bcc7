"""`VariantNeeds`: what a variant needs to run, and what the callers of a program see of it."""

from __future__ import annotations

from pathlib import Path

from etconfig.base.records import record


@record(frozen=True, kw_only=True)
class ValueSignature:
    """An input or output of a method.

    Attributes:
        kind: `Tensor`, `Int`, `Bool`, `Double`, `String` or `None`.
        dtype: The element type of a tensor, such as `float32`; None for other kinds.
        sizes: The sizes of a tensor; upper bounds if its shape may change.
        dim_order: The dimensions of a tensor from outermost to innermost in memory.
        dynamism: In which way the shape of a tensor may change: `static`, `dynamic_bound` or
            `dynamic_unbound`.
    """

    kind: str
    dtype: str | None = None
    sizes: tuple[int, ...] = ()
    dim_order: tuple[int, ...] = ()
    dynamism: str = "static"

    def __str__(self) -> str:
        if self.dtype is None:
            return self.kind
        order = "" if self.dim_order == tuple(range(len(self.sizes))) else f" in order {list(self.dim_order)}"
        change = "" if self.dynamism == "static" else f", {self.dynamism.replace('_', ' ')}"
        return f"{self.dtype} {list(self.sizes)}{order}{change}"


@record(frozen=True, kw_only=True)
class MethodSignature:
    """The name, the inputs and the outputs of a method."""

    name: str
    inputs: tuple[ValueSignature, ...]
    outputs: tuple[ValueSignature, ...]


@record(frozen=True, kw_only=True)
class VariantNeeds:
    """The needs of a variant, read from its program, or declared for a file that an engine runs.

    Attributes:
        backends: The ids of the backends that its methods delegate to, each once, sorted; or the backend
            whose engine runs the file.
        methods: Its methods, in the order of the program; none of a file that an engine runs.
        data: The data files with the tensors that lie outside the program.
        missing_data: The names of those tensors that no data file has, or several have.
        data_problem: Why the program cannot be loaded with its data, in a few words: tensors are missing, or
            a data file cannot be read, which may have been for a backend; None if all is there.
        memory_bytes: The memory that the device must have, with the margin of the variant; None if the
            variant does not ask for it.
    """

    backends: tuple[str, ...]
    methods: tuple[MethodSignature, ...]
    data: tuple[Path, ...] = ()
    missing_data: tuple[str, ...] = ()
    data_problem: str | None = None
    memory_bytes: int | None = None
