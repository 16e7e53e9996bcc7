"""`Optimiser`: what its passes found out about one plan, asked instruction by instruction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial

from etconfig.kernel.registry import Kernel, Step
from etconfig.kernel.steps import Copy
from etconfig.numpy_executor.optimizer.batch_norm import BATCH_NORM, Fold, find_folds
from etconfig.numpy_executor.optimizer.constants import ConstantFolding, is_random
from etconfig.numpy_executor.optimizer.copies import CopyElision
from etconfig.numpy_executor.optimizer.effects import Effects, EffectsReader, Views, views_of
from etconfig.numpy_executor.optimizer.liveness import Liveness
from etconfig.numpy_executor.optimizer.weight_layout import can_be_packed, is_for_products
from etconfig.numpy_executor.rebinding.dynamic import DynamicStep
from etconfig.numpy_executor.registers import Registers
from etconfig.program import model


class Optimiser:
    """Tells the compiler of a plan what it may bind otherwise, and what it may leave out.

    The plan must be straight. It is analysed when the first instruction is met that might gain
    by it.
    """

    def __init__(
        self, plan: model.ExecutionPlan, registers: Registers, kernels: Sequence[Kernel | None]
    ) -> None:
        self._plan = plan
        self._registers = registers
        self._kernels = kernels
        self._needless: set[int] = set()
        self._known: set[int] = set()
        self._has_batch_norm = any(each.full_name == BATCH_NORM for each in plan.operators)

    def fold_of(self, index: int) -> Fold | None:
        """The fold that the kernel call `index` has a part in, if any."""
        return self._folds.get(index)

    def unread(self, index: int, kernel: Kernel) -> frozenset[int]:
        """The positions of arguments of a call of `kernel`, at `index`, that are written but never read."""
        args = self._plan.chains[0].instructions[index].args  # type: ignore[union-attr]  # a kernel call
        written = self._effects[index].writes
        return frozenset(
            place
            for place, arg in enumerate(args[: len(kernel.parameters)])
            if arg in written and self._is_unread(arg, index)
        )

    def leave_out(self, index: int, operator: str, args: Sequence[int], step: Step) -> Sequence[int]:
        """Do without the call `index` of `operator`, if nobody would miss it.

        Its readers can see its source, or it follows from constants alone and is run now.

        Args:
            index: The instruction.
            operator: What it calls.
            args: Its arguments; the first tells most calls apart, before the plan is analysed.
            step: What it is bound to.

        Returns:
            The tensors that have other arrays now; none if the step must run.
        """
        is_constant = args and (args[0] in self._known or self._registers.is_constant(args[0]))
        is_foldable = is_constant and type(step) is not DynamicStep and not is_random(operator)
        changed: Sequence[int] = ()
        if type(step) is Copy:
            if is_foldable and self._is_better_packed(index, step):
                changed = self._folding.fold(index, step)
            changed = changed or self._elision.elide(index, step)
        if is_foldable and not changed:
            changed = self._folding.fold(index, step)
        if changed:
            self._needless.add(index)
        return changed

    @property
    def leaves_out_any(self) -> bool:
        """Whether there is an instruction that need not run."""
        return bool(self._needless)

    def needed(self, start: int, end: int) -> Sequence[bool]:
        """For each instruction from `start` to `end`, whether it must run."""
        needed = [True] * (end - start)
        for index in self._needless:
            needed[index - start] = False
        return needed

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
        """By both of the instructions."""
        if not self._has_batch_norm:
            return {}
        folds: dict[int, Fold] = {}
        for fold in find_folds(self._plan, self._registers, self._effects, self._liveness):
            folds[fold.convolution] = folds[fold.batch_norm] = fold
        return folds


def _kernel_at(
    instructions: Sequence[model.Instruction], kernels: Sequence[Kernel | None], index: int
) -> Kernel | None:
    """The kernel that an instruction calls, of those by operator; none after the last one."""
    instruction = instructions[index] if index < len(instructions) else None
    return kernels[instruction.op_index] if isinstance(instruction, model.KernelCall) else None
