"""`Optimizer`: binds the kernel calls of one plan so that they cost less, and leaves some of them out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import cached_property, partial
from itertools import compress
from typing import Any, NamedTuple, Protocol

import numpy as np

from etconfig.kernel.registry import Kernel, Step
from etconfig.kernel.steps import Copy
from etconfig.kernel.tensor import Tensor
from etconfig.numpy_executor.effects import Effects, EffectsReader
from etconfig.numpy_executor.optimizer.batch_norm import BATCH_NORM, CONVOLUTION, Fold, find_folds
from etconfig.numpy_executor.optimizer.constants import ConstantFolding, is_random
from etconfig.numpy_executor.optimizer.copies import CopyElision
from etconfig.numpy_executor.optimizer.liveness import Liveness, LiveRange
from etconfig.numpy_executor.registers import Registers
from etconfig.program import model

PACKED_WEIGHT_BYTES = 2**20
"""The largest matrix that is copied. Larger ones gain little, or lose, and take memory."""

PACKED_DTYPES = (np.dtype(np.float32), np.dtype(np.float64))

_FACTORS: Mapping[str, int] = {"aten::mm.out": 1, "aten::addmm.out": 2}
"""For each product, the position of its second factor; the first factor is the argument before."""


def can_be_packed(copy: Copy) -> bool:
    """Return whether this copies a small matrix from another memory layout to row-major order."""
    source, target = copy.source, copy.target
    if source.shape != target.shape or source.ndim != 2 or source.nbytes > PACKED_WEIGHT_BYTES:
        return False
    return source.dtype in PACKED_DTYPES and target.flags.c_contiguous and not source.flags.c_contiguous


def is_for_products(plan: model.ExecutionPlan, registers: Registers, live: LiveRange) -> bool:
    """Return whether all readers of `live` multiply several rows by it.

    A single row gains nothing: BLAS then reads the matrix once, in any order.
    """
    instructions = plan.chains[0].instructions
    return all(
        reader < len(instructions) and _multiplies_by(plan, registers, live, instructions[reader])
        for reader in live.readers
    )


def _multiplies_by(
    plan: model.ExecutionPlan, registers: Registers, live: LiveRange, instruction: model.Instruction
) -> bool:
    if not isinstance(instruction, model.KernelCall):
        return False
    place = _FACTORS.get(plan.operators[instruction.op_index].full_name)
    factors = instruction.args[place - 1 : place + 1] if place is not None else ()
    if len(factors) != 2 or factors[1] not in live.values:
        return False
    rows = registers.initial(factors[0])
    return isinstance(rows, Tensor) and rows.shape[:1] > (1,)


class BindCall(Protocol):
    """Binds a kernel call: see `KernelCalls.bind`."""

    def __call__(
        self,
        call: model.KernelCall,
        replaced: Mapping[int, Tensor] = ...,
        unread: frozenset[int] = ...,
    ) -> Step: ...


class Optimizer:
    """Binds the kernel calls of one straight plan, in order, and finds calls that need not run.

    The plan is analyzed when the first call is met that might gain by it.
    """

    def __init__(
        self,
        plan: model.ExecutionPlan,
        registers: Registers,
        kernels: Sequence[Kernel | None],
        varying: frozenset[int],
        bind: BindCall,
        on_change: Callable[[Iterable[int]], object],
    ) -> None:
        """Optimize `plan`, for which `can_optimize` holds.

        Args:
            plan: The plan.
            registers: Its values.
            kernels: The kernels of its operators.
            varying: The values, by index, that may be others from run to run.
            bind: Binds a call as the plan says.
            on_change: Called with the tensors, by value index, that have just got other arrays.
        """
        self._plan = plan
        self._registers = registers
        self._kernels = kernels
        self._varying = varying
        self._bind = bind
        self._on_change = on_change
        self._needless: set[int] = set()
        self._known: set[int] = set()
        self._names = [each.full_name for each in plan.operators]

    def bind(self, call: model.KernelCall, index: int) -> Step:
        """Return the step of `call`, which is instruction `index`; those before it are bound.

        Raises:
            KernelArgumentError: as the `bind` that does the work.
        """
        step = self._bind_quickest(call, index)
        changed = self._without(index, call, step)
        if changed:
            self._needless.add(index)
            self._on_change(changed)
        return step

    def needed(self, start: int, *columns: Sequence[Any]) -> Sequence[Sequence[Any]]:
        """Return `columns` without the entries of instructions that need not run.

        Args:
            start: The instruction of the first entries.
            columns: Sequences of one length, with an entry for each instruction.
        """
        if not self._needless:
            return columns
        needed = [index not in self._needless for index in range(start, start + len(columns[0]))]
        return [tuple(compress(column, needed)) for column in columns]

    def _bind_quickest(self, call: model.KernelCall, index: int) -> Step:
        fold = self._folds.get(index)
        if fold is not None:
            return fold.copy if index == fold.batch_norm else self._bind(call, replaced=fold.replaced)
        kernel = self._kernels[call.op_index]
        if kernel is not None and kernel.wants_unread:
            return self._bind(call, unread=self._unread(call, index, kernel))
        return self._bind(call)

    def _unread(self, call: model.KernelCall, index: int, kernel: Kernel) -> frozenset[int]:
        """Return the positions of arguments that a call writes but that nothing reads."""
        written = self._effects[index].writes
        return frozenset(
            place
            for place, arg in enumerate(call.args[: len(kernel.parameters)])
            if arg in written and self._is_unread(arg, index)
        )

    def _without(self, index: int, call: model.KernelCall, step: Step) -> Sequence[int]:
        """Do without a call that is bound to `step`, if that changes no result.

        The readers of what it writes can read its source, or it follows from constants alone and is run now.

        Returns:
            The tensors, by value index, that have other arrays now; none if the step must run.
        """
        kernel = self._kernels[call.op_index]
        if kernel is None or kernel.is_opaque:
            return ()
        args = call.args
        # the first argument tells most calls apart, before the plan is analyzed
        is_constant = args and (args[0] in self._known or self._registers.is_constant(args[0]))
        is_foldable = (
            is_constant and self._varying.isdisjoint(args) and not is_random(self._names[call.op_index])
        )
        changed: Sequence[int] = ()
        if type(step) is Copy:
            # a view takes no memory, so it comes first, unless products are much faster on a copy
            if is_foldable and self._is_better_packed(index, step):
                changed = self._folding.fold(index, step)
            changed = changed or self._elision.elide(index, step)
        if is_foldable and not changed:
            changed = self._folding.fold(index, step)
        return changed

    def _is_unread(self, value: int, index: int) -> bool:
        live = self._liveness.of_value.get(value)
        if live is None or not live.written == live.end == index:
            return False
        return self._liveness.can_be_left_unwritten(live)

    def _is_better_packed(self, index: int, copy: Copy) -> bool:
        if not can_be_packed(copy):
            return False
        lives = [*map(self._liveness.of_value.get, self._effects[index].writes)]
        return all(live and is_for_products(self._plan, self._registers, live) for live in lives)

    @cached_property
    def _reader(self) -> EffectsReader:
        return EffectsReader(self._plan, self._kernels)

    @cached_property
    def _effects(self) -> list[Effects]:
        effects = [*map(self._reader.effects_of, self._plan.chains[0].instructions)]
        if self._views is None:
            return effects
        return [self._views.effects(index, each) for index, each in enumerate(effects)]

    @cached_property
    def _views(self) -> Views | None:
        has_views = any(each.varying_positions for each in self._kernels if each)
        return views_of(self._plan, self._kernels) if has_views else None

    @cached_property
    def _liveness(self) -> Liveness:
        inputs, outputs = map(self._reader.tensors_in, (self._plan.inputs, self._plan.outputs))
        if self._views is not None:
            outputs = tuple(map(self._views.source, outputs))
        return Liveness(self._registers, self._effects, inputs, outputs)

    @cached_property
    def _elision(self) -> CopyElision:
        kernel_at = partial(_kernel_at, self._plan.chains[0].instructions, self._kernels)
        return CopyElision(self._registers, self._effects, self._liveness, kernel_at)

    @cached_property
    def _folding(self) -> ConstantFolding:
        return ConstantFolding(self._registers, self._effects, self._liveness, self._known)

    @cached_property
    def _folds(self) -> Mapping[int, Fold]:
        """The folds, by the indices of both of their instructions."""
        # the rule for both operators only holds for etconfig's own kernels
        pairs = zip(self._names, self._kernels, strict=True)
        kernels = {name: each for name, each in pairs if name in (BATCH_NORM, CONVOLUTION)}
        if BATCH_NORM not in kernels or any(each is None or each.is_opaque for each in kernels.values()):
            return {}
        folds: dict[int, Fold] = {}
        for fold in find_folds(self._plan, self._registers, self._effects, self._liveness):
            folds[fold.convolution] = folds[fold.batch_norm] = fold
        return folds


def can_optimize(plan: model.ExecutionPlan, kernels: Sequence[Kernel | None], moved: frozenset[int]) -> bool:
    """Return whether an `Optimizer` can work on `plan`: no register is `moved`, and the plan is straight."""
    return not moved and is_straight(plan, kernels)


def _kernel_at(
    instructions: Sequence[model.Instruction], kernels: Sequence[Kernel | None], index: int
) -> Kernel | None:
    """The kernel that an instruction calls, of those by operator; none after the last one."""
    instruction = instructions[index] if index < len(instructions) else None
    return kernels[instruction.op_index] if isinstance(instruction, model.KernelCall) else None


_OF_EXECUTORCH = ("executorch_prim::", "aten::sym_")
"""Operators that make views, or compute numbers from sizes."""


def is_straight(plan: model.ExecutionPlan, kernels: Sequence[Kernel | None]) -> bool:
    """Return whether each instruction of `plan`, which moves nothing, runs once on tensors that stay put.

    Views count as such if it is known where they lie. So do computed numbers.
    """
    if len(plan.chains) != 1 or model.JumpFalseCall in map(type, plan.chains[0].instructions):
        return False
    changing = {index: each for index, each in enumerate(kernels) if each and each.varying_positions}
    if not all(plan.operators[index].full_name.startswith(_OF_EXECUTORCH) for index in changing):
        return False
    return not changing or views_of(plan, kernels) is not None


class Views(NamedTuple):
    """The views that a plan makes.

    Attributes:
        sources: For each view, the tensor that it is a view of, which is not a view itself.
        makers: The instructions that make a view, or a number: they only read.
    """

    sources: Mapping[int, int]
    makers: Set[int]

    def effects(self, index: int, effects: Effects) -> Effects:
        """Return the effects of an instruction on views as those on what they are views of."""
        reads = tuple(dict.fromkeys(map(self.source, effects.reads)))
        return Effects(reads, () if index in self.makers else effects.writes)

    def source(self, value: int) -> int:
        """Return the tensor that a view is a view of; any other value as it is."""
        return self.sources.get(value, value)


def views_of(plan: model.ExecutionPlan, kernels: Sequence[Kernel | None]) -> Views | None:
    """Return the views of a plan of one chain; None if they may differ between runs, or one is written to.

    What is written to a view may go to the memory that was planned for it, instead; and a source that is
    written again may have another size then.
    """
    reader = EffectsReader(plan, kernels)
    sources: dict[int, int] = {}
    makers: set[int] = set()
    viewed: set[int] = set()
    touched = {*reader.tensors_in(plan.inputs)}
    for index, instruction in enumerate(plan.chains[0].instructions):
        reads, writes = reader.effects_of(instruction)
        kernel = kernels[instruction.op_index] if isinstance(instruction, model.KernelCall) else None
        if kernel is None or not kernel.varying_positions:
            if not viewed.isdisjoint(writes):
                return None
        else:
            args = instruction.args  # type: ignore[union-attr]  # a kernel call
            if len(args) < len(kernel.parameters):
                return None
            views = [args[place] for place in kernel.varying_positions - kernel.register_positions]
            numbers = [args[place] for place in kernel.register_positions]
            others = {*reads}.difference(views)
            if reader.tensors_in(numbers) or not touched.isdisjoint(views) or len(others) > 1:
                return None
            if views and not (len(others) == 1 and {*reads}.issuperset(views)):
                return None
            sources.update((view, sources.get(other, other)) for view in views for other in others)
            viewed.update(views, map(sources.__getitem__, views))
            makers.add(index)
        touched.update(reads, writes)
    return Views(sources, makers)
