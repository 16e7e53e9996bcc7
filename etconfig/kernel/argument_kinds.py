"""The annotations that a kernel's parameters may have, and the values that may be passed for each."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, TypeAlias

from etconfig.base.records import record
from etconfig.kernel.tensor import Register, Tensor

Scalar: TypeAlias = bool | int | float
"""A number, as the schema's `Scalar`."""

Ints: TypeAlias = tuple[int, ...]
Floats: TypeAlias = tuple[float, ...]
Bools: TypeAlias = tuple[bool, ...]
Tensors: TypeAlias = tuple[Tensor, ...]
OptionalTensors: TypeAlias = tuple[Tensor | None, ...]

TensorAlias: TypeAlias = Annotated[Tensor, "alias"]
"""An output whose memory the step chooses: it becomes a view of another tensor."""


@record(frozen=True)
class ArgumentKind:
    """The values that may be passed for one annotation.

    Attributes:
        description: The noun for it in an error, such as "a tensor".
        types: The exact types that a value may have.
        item_types: The exact types that items may have, if the value is a list.
        varies: The step may change the value, beyond a tensor's contents.
    """

    description: str
    types: frozenset[type]
    item_types: frozenset[type] = frozenset()
    varies: bool = False

    @cached_property
    def plain_types(self) -> frozenset[type]:
        """The types whose values may all be passed; not lists, which depend on their items."""
        return self.types - {tuple}

    def accepts(self, value: object) -> bool:
        """Return whether `value` may be passed."""
        if type(value) is tuple:
            return tuple in self.types and self.item_types.issuperset(map(type, value))
        return type(value) in self.types

    def or_none(self) -> ArgumentKind:
        """Return this kind, which accepts None as well."""
        return ArgumentKind(f"{self.description} or None", self.types | {type(None)}, self.item_types)


def _one(description: str, *types: type) -> ArgumentKind:
    return ArgumentKind(description, frozenset(types))


def _many(description: str, *item_types: type) -> ArgumentKind:
    return ArgumentKind(description, frozenset({tuple}), frozenset(item_types))


_PLAIN: Mapping[Any, ArgumentKind] = {
    Tensor: _one("a tensor", Tensor),
    int: _one("an integer", int),
    float: _one("a number", float, int),
    bool: _one("a boolean", bool),
    str: _one("a string", str),
    Scalar: _one("a scalar", bool, int, float),
    Ints: _many("a list of integers", int),
    Floats: _many("a list of numbers", float, int),
    Bools: _many("a list of booleans", bool),
    Tensors: _many("a list of tensors", Tensor),
}

ARGUMENT_KINDS: Mapping[Any, ArgumentKind] = {
    **_PLAIN,
    **{annotation | None: kind.or_none() for annotation, kind in _PLAIN.items()},
    OptionalTensors: _many("a list of tensors or None", Tensor, type(None)),
    TensorAlias: ArgumentKind("a tensor", frozenset({Tensor}), varies=True),
    Register: ArgumentKind("a register", frozenset({Register}), varies=True),
}
"""The kind of each evaluated annotation."""
