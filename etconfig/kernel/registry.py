"""Kernels: how to write one, how its arguments are checked, and the registry of all kernels.

A kernel is a *binder*. When a method is loaded, it gets the arguments of one instruction,
checks them once, and returns the *step*: a callable without arguments that does the work, preferably
an `ArrayCall` (see `etconfig.kernel.steps`).

    @kernel("aten::relu.out")
    def relu_out(self: Tensor, out: Tensor) -> Step:
        out.resize(self.shape)
        return ArrayCall(np.maximum, self.array, np.zeros((), self.dtype), out=out.array)

The parameters follow the operator's schema, in its order, outputs last; the program's
repetition of the outputs is left out. Their annotations are checked before the binder runs:
Tensor, int, float, bool, str, Scalar, Ints, Floats, Bools, Tensors, each `| None` where the
schema has a `?`, and OptionalTensors, Register and TensorAlias. Keyword-only parameters ask
for more: `scratch: Scratch` for the Method's working memory, `unread: Unread` for the names
of the outputs that nothing reads, which need not be written.

A binder or step that refuses its arguments raises ValueError with a sentence about them;
the core turns it into a KernelArgumentError that names the operator.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Annotated, Any, TypeAlias, get_type_hints

from etconfig.base.interrupts import is_of_signal_handler
from etconfig.base.records import record
from etconfig.diagnostics.error_text import error_text
from etconfig.errors import DuplicatePluginError, EtconfigError, KernelArgumentError
from etconfig.kernel.memory import Scratch
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

__all__ = [
    "ENTRY_POINT_GROUP",
    "Binder",
    "Bools",
    "Floats",
    "Ints",
    "Kernel",
    "KernelTable",
    "OptionalTensors",
    "Parameter",
    "Scalar",
    "Step",
    "TensorAlias",
    "Tensors",
    "Unread",
    "kernel",
    "kernels_by_operator",
    "refusal",
    "table_problem",
]

ENTRY_POINT_GROUP = "etconfig.kernels"
"""The entry-point group in which a distribution declares its own `KernelTable`."""

Step: TypeAlias = Callable[[], object]
"""A bound instruction. Its return value is ignored."""

Unread: TypeAlias = frozenset[str]
"""Names of a kernel's parameters."""

Binder: TypeAlias = Callable[..., Step]
"""A kernel's function: takes the arguments of one instruction and returns its step."""


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


@record(frozen=True)
class Parameter:
    """One parameter of a kernel."""

    name: str
    kind: ArgumentKind


@record(frozen=True)
class Kernel:
    """An implementation of one or more operators.

    Attributes:
        operators: The full names of the operators that it implements, such as `aten::relu.out`.
        binder: The function that checks arguments and returns the step.
        is_uniform: The step depends on the dtypes, shapes and dim orders of tensors and on the
            values of other arguments, and on nothing else: not on the data, nor on which
            tensors overlap. For instructions that agree in all of these the binder is called only
            once, if its step is an `ArrayCall` on the tensors' own arrays.
        is_elementwise: The output, which is the last argument, has the shape that all tensors
            broadcast to; and for tensors of any shapes the step makes the same calls on their
            arrays. If it consists of `ArrayCall`s on the tensors' own arrays and on numbers, the
            binder is not called again for other shapes.
        is_opaque: The step runs in each run, as the program says: it is neither computed ahead of time nor
            joined with others. This is so for all kernels that are not etconfig's own.
        takes_any_strides: Inputs may be any views, even if no dim order describes them. Other
            kernels only get tensors that lie in memory as the program says.
        allows_overlap: An output may overlap the inputs in memory: nothing of an input is read
            after that part of an output was written.
    """

    operators: tuple[str, ...]
    binder: Binder
    is_uniform: bool = False
    takes_any_strides: bool = False
    allows_overlap: bool = False
    is_elementwise: bool = False
    is_opaque: bool = False

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters that take the instruction's arguments, in order.

        Raises:
            TypeError: one has no annotation, or one that no argument of a program can have.
        """
        hints = get_type_hints(self.binder, include_extras=True)
        parameters = inspect.signature(self.binder).parameters.values()
        names = [each.name for each in parameters if each.kind is not each.KEYWORD_ONLY]
        for name in names:
            if hints.get(name) not in ARGUMENT_KINDS:
                binder = self.binder.__qualname__
                raise TypeError(f"kernel {binder}: no argument of a program is a {name}: {hints.get(name)}")
        return tuple(Parameter(name, ARGUMENT_KINDS[hints[name]]) for name in names)

    @cached_property
    def register_positions(self) -> frozenset[int]:
        """The positions of the parameters that take the register itself, not the value in it."""
        return frozenset(i for i, each in enumerate(self.parameters) if Register in each.kind.types)

    @cached_property
    def varying_positions(self) -> frozenset[int]:
        """The positions of the arguments that the step may change, beyond a tensor's contents."""
        return frozenset(i for i, each in enumerate(self.parameters) if each.kind.varies)

    @cached_property
    def _keywords(self) -> frozenset[str]:
        parameters = inspect.signature(self.binder).parameters.values()
        return frozenset(each.name for each in parameters if each.kind is each.KEYWORD_ONLY)

    @property
    def wants_unread(self) -> bool:
        """True if the kernel can leave outputs unwritten."""
        return "unread" in self._keywords

    def bind(
        self,
        operator: str,
        scratch: Scratch,
        arguments: Sequence[object],
        unread: frozenset[int] = frozenset(),
    ) -> Step:
        """Check `arguments` and return the step that does the work on them.

        Args:
            operator: The name that the program calls.
            scratch: The Method's working memory.
            arguments: One for each of `parameters`.
            unread: The positions of outputs that need not be written.

        Raises:
            KernelArgumentError: the kernel refuses the arguments.
        """
        for parameter, argument in zip(self.parameters, arguments, strict=True):
            kind = parameter.kind
            if type(argument) not in kind.plain_types and not kind.accepts(argument):
                detail = f"{parameter.name} must be {parameter.kind.description}, not {_describe(argument)}"
                raise KernelArgumentError(operator=operator, detail=detail)
        try:
            if not self._keywords:
                return self.binder(*arguments)
            keywords: dict[str, object] = {}
            if "scratch" in self._keywords:
                keywords["scratch"] = scratch
            if "unread" in self._keywords:
                keywords["unread"] = frozenset(self.parameters[place].name for place in unread)
            return self.binder(*arguments, **keywords)
        except (EtconfigError, MemoryError):
            raise
        except Exception as error:
            if is_of_signal_handler(error):
                raise
            raise refusal(operator, error) from error


def kernel(
    *operators: str,
    is_uniform: bool = False,
    takes_any_strides: bool = False,
    allows_overlap: bool = False,
    is_elementwise: bool = False,
) -> Callable[[Binder], Kernel]:
    """Make the decorated function the kernel of `operators`; see `Kernel` for the flags."""

    def decorate(binder: Binder) -> Kernel:
        return Kernel(operators, binder, is_uniform, takes_any_strides, allows_overlap, is_elementwise)

    return decorate


def refusal(operator: str, error: Exception) -> KernelArgumentError:
    """Return the typed error for an exception that a kernel raised: it names the operator."""
    detail = str(error) if isinstance(error, ValueError) else error_text(error)
    return KernelArgumentError(operator=operator, detail=detail)


@record(frozen=True)
class KernelTable:
    """Kernels from one source.

    Attributes:
        source: The module or distribution that provides them, for messages.
        kernels: The kernels.
    """

    source: str
    kernels: tuple[Kernel, ...]

    @classmethod
    def of_module(cls, namespace: Mapping[str, object]) -> KernelTable:
        """Return the table of all kernels, and of tuples of kernels, among a module's `globals()`."""
        kernels: list[Kernel] = []
        for value in namespace.values():
            members = value if isinstance(value, tuple) else (value,)
            kernels.extend(member for member in members if isinstance(member, Kernel))
        return cls(str(namespace["__name__"]), tuple(kernels))


def table_problem(table: object) -> str | None:
    """Return why a plugin's answer cannot be used as a `KernelTable`; None if it can."""
    if not isinstance(table, KernelTable):
        return f"its table is a {type(table).__name__}"
    kernels: tuple[object, ...] = table.kernels
    for each in kernels:
        if not isinstance(each, Kernel):
            return f"its table contains a value of type {type(each).__name__}"
        try:
            _ = each.parameters
        except (TypeError, NameError) as error:
            return str(error)
    return None


def kernels_by_operator(tables: Iterable[KernelTable]) -> Mapping[str, Kernel]:
    """Return the kernels of several tables by full operator name, in an immutable mapping.

    Raises:
        DuplicatePluginError: two tables provide one operator.
    """
    kernels: dict[str, Kernel] = {}
    sources: dict[str, str] = {}
    for table in tables:
        for each in table.kernels:
            for operator in each.operators:
                if operator in sources:
                    raise DuplicatePluginError(
                        group=ENTRY_POINT_GROUP,
                        name=operator,
                        distributions=(sources[operator], table.source),
                    )
                sources[operator] = table.source
                kernels[operator] = each
    return MappingProxyType(kernels)


def _describe(argument: object) -> str:
    if isinstance(argument, Tensor):
        return "a tensor"
    if isinstance(argument, tuple):
        return "a list"
    return repr(argument)
