"""`KernelCalls`: from a kernel call and the values of its plan to the kernel's step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

from etconfig.errors import KernelArgumentError
from etconfig.kernel.memory import Scratch
from etconfig.kernel.registry import Kernel, Step
from etconfig.kernel.tensor import Register, Tensor
from etconfig.numpy_executor.instructions import is_in_place, separate_result, tensors_of
from etconfig.numpy_executor.rebinding import Rebinding
from etconfig.numpy_executor.registers import Registers
from etconfig.program import model


class _Operator(NamedTuple):
    """The common properties of all calls of one operator.

    Attributes:
        name: The full name.
        kernel: The operator's kernel.
        arity: The number of arguments that the kernel takes.
        is_in_place: The operator changes its first argument and returns that, such as `aten::copy_`.
        bind: The kernel's `bind`, which only needs the arguments.
    """

    name: str
    kernel: Kernel
    arity: int
    is_in_place: bool
    bind: Callable[..., Step]


class KernelCalls:
    """Binds the kernel calls of one plan."""

    def __init__(
        self,
        plan: model.ExecutionPlan,
        registers: Registers,
        kernels: Sequence[Kernel | None],
        rebinding: Rebinding,
        scratch: Scratch,
    ) -> None:
        """Bind calls to `registers`; the operators of `plan` have these kernels, which share `scratch`."""
        self._plan = plan
        self._registers = registers
        self._kernels = kernels
        self._rebinding = rebinding
        self._varying = rebinding.varying
        self._scratch = scratch
        self._operators: dict[int, _Operator] = {}

    def bind(
        self,
        call: model.KernelCall,
        replaced: Mapping[int, Tensor] = MappingProxyType({}),
        unread: frozenset[int] = frozenset(),
    ) -> Step:
        """Return the step of a call.

        Args:
            call: The instruction.
            replaced: Tensors to pass instead of the call's own, by position.
            unread: The positions of outputs that need not be written.

        Raises:
            KernelArgumentError: the number of arguments is wrong, or the kernel refuses them.
        """
        operator = self._operators.get(call.op_index) or self._operator(call.op_index)
        args = call.args
        taken, extra = args[: operator.arity], args[operator.arity :]
        result = separate_result(taken, extra) if operator.is_in_place else None
        if len(taken) < operator.arity or (result is None and not self._repeats(extra, taken)):
            detail = f"takes {operator.arity} arguments, given {len(args)}"
            raise KernelArgumentError(operator=operator.name, detail=detail)
        bind = partial(operator.bind, unread=unread) if unread else operator.bind
        if replaced:
            values = self._registers.initial_values(taken)
            step = bind([replaced.get(place, value) for place, value in enumerate(values)])
        elif self._varying.isdisjoint(taken):
            step = bind(self._registers.initial_values(taken))
        else:
            step = self._rebinding.kernel_step(call, operator.name, operator.kernel, bind)
        if result is None:
            return step
        return partial(_run_and_move, step, self._registers[args[0]], self._registers[result])

    def _operator(self, op_index: int) -> _Operator:
        """Look an operator up when it is first called."""
        name, kernel = self._plan.operators[op_index].full_name, self._kernels[op_index]
        assert kernel is not None  # `check_operators` refuses other plans
        operator = self._operators[op_index] = _Operator(
            name=name,
            kernel=kernel,
            arity=len(kernel.parameters),
            is_in_place=is_in_place(name),
            bind=partial(kernel.bind, name, self._scratch),
        )
        return operator

    def _repeats(self, extra: Sequence[int], taken: Sequence[int]) -> bool:
        """Return whether `extra` is nothing but the outputs, which programs repeat after the arguments."""
        if len(extra) > 1:
            return False
        if not extra or extra[0] in taken:
            return True
        repeated = tensors_of(self._plan.values[extra[0]]) or extra
        items = (tensors_of(self._plan.values[arg]) for arg in taken)
        return {*taken}.issuperset(repeated) or {*taken}.union(*items).issuperset(repeated)


def _run_and_move(step: Step, source: Register, target: Register) -> None:
    step()
    target.value = source.value
