"""`DynamicStep`: instructions whose arguments change between runs, bound again for each new shape."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Hashable, Iterable, Sequence
from operator import length_hint
from typing import Any, NamedTuple, TypeAlias

from etconfig.backend import StopSignal
from etconfig.base.interrupts import is_of_signal_handler
from etconfig.errors import EtconfigError
from etconfig.kernel.memory import Array
from etconfig.kernel.registry import Step, refusal
from etconfig.kernel.steps import MakeAlias, StepSequence, may_resize, runnable
from etconfig.kernel.tensor import KEPT_SHAPES, Register, Tensor, become, memory_of
from etconfig.method.stop import StopCheck
from etconfig.numpy_executor.compiled_plan import StoppableStep, StoppedAt, checked_steps
from etconfig.numpy_executor.registers import current_value
from etconfig.program.model import TensorShapeDynamism

TensorState: TypeAlias = tuple[Tensor, Array, object, bool, int]
"""A tensor, its array, token and `is_alias`, and the number of steps before it got them."""

Bind: TypeAlias = Callable[[], Step]
"""Binds one instruction to the current values of its arguments."""

_UNBOUND = TensorShapeDynamism.DYNAMIC_UNBOUND


class BoundSteps(NamedTuple):
    """Bound steps of several instructions, and the states that tensors had when they were bound.

    Attributes:
        steps: The steps of all instructions, which run one after the other.
        states: The states of tensors.
        starts: The number of steps before each instruction, and the number of all steps.
        state_starts: The number of states before each instruction, and the number of all states.
        memories: Tensors that may get other memory, each with the memory that it had.
    """

    steps: list[Step]
    states: list[TensorState]
    starts: list[int]
    state_starts: list[int]
    memories: list[tuple[Tensor, object]]

    def are_gone(self) -> bool:
        """Return whether a tensor has got other memory, so that its old arrays are of no use."""
        return any(memory_of(tensor) is not memory for tensor, memory in self.memories)

    def restore(self) -> list[TensorState] | None:
        """Return the tensors to the states that they had when bound.

        Returns:
            Their states before that; None if one cannot return, and then none has.
        """
        before: list[TensorState] = []
        for tensor, array, token, is_alias, start in self.states:
            if tensor.token is not token:
                if tensor.is_alias and not is_alias:  # writes to it now go to another tensor's memory
                    undo(before, -1)
                    return None
                before.append((tensor, tensor.array, tensor.token, tensor.is_alias, start))
                become(tensor, array, token, is_alias=is_alias)
        return before


def undo(before: Sequence[TensorState], failed: int) -> None:
    """Undo the changes of state that belong to steps after the failed one."""
    for tensor, array, token, is_alias, start in before:
        if start > failed:
            become(tensor, array, token, is_alias=is_alias)


def run_again(last: BoundSteps, index: int, steps: list[Step], states: list[TensorState]) -> bool:
    """Run instruction `index` as it was bound last, and add it to steps and states.

    Returns:
        False if it did not run, and must be bound again.
    """
    own = last.steps[last.starts[index] : last.starts[index + 1]]
    own_states = last.states[last.state_starts[index] : last.state_starts[index + 1]]
    for tensor, array, token, is_alias, _ in own_states:
        if tensor.token is not token:
            if tensor.is_alias and not is_alias:
                return False
            become(tensor, array, token, is_alias=is_alias)
    for step in own:
        step()
    # the same states, at the places that they have among the new steps
    states += [(*state[:-1], len(steps)) for state in own_states]
    steps += own
    return True


def tensors_in(registers: Iterable[Register]) -> list[Tensor]:
    """Return the tensors in registers, also in lists there."""
    tensors: list[Tensor] = []
    for register in registers:
        value = register.value
        if type(value) is Tensor:
            tensors.append(value)
        elif type(value) is tuple:
            items = (item.value for item in value if type(item) is Register)
            tensors += [each for each in items if type(each) is Tensor]
    return tensors


class Part(NamedTuple):
    """One instruction of a `DynamicStep`.

    Attributes:
        name: The name of the instruction in an error: its operator.
        bind: Binds the instruction.
        read: The registers whose values the binding depends on.
        written: Tensors, and lists of them, that binding resizes and that are not read.
        aliases: Tensors that the step itself makes views of others, and that are not read.
        can_join: The instruction may be bound together with others: all of `read`, `written` and `aliases`
            are numbers and tensors, always the same tensors; only tensors of `written` and `aliases` change
            their shapes.
        is_fixed: All arguments are the same in each run, so no shape changes at all.
        position: The index of the instruction, where the step has several.
    """

    name: str
    bind: Bind
    read: Sequence[Register]
    written: Sequence[Register] = ()
    aliases: Sequence[Register] = ()
    can_join: bool = False
    is_fixed: bool = False
    position: int | None = None


class DynamicStep(StoppableStep):
    """Instructions whose arguments change between runs: bound for each shape and number that they meet.

    Bound steps are kept and serve again when the same arguments return, for up to `KEPT_SHAPES` of them.
    Neighboring instructions are bound together, so that one look at the values that the first ones read
    decides for all of them. This requires that the shapes of the others follow from those values. So an
    instruction whose step might resize a tensor while it runs is the last of its `DynamicStep`; those
    after it become a step of their own.
    """

    __slots__ = ("_bound", "_entries", "_next", "_objects", "parts")

    def __init__(self, *parts: Part) -> None:
        """Bind these instructions, in order; if there are several, all of them `can_join`."""
        self._take(parts, None)

    def _take(self, parts: Sequence[Part], following: DynamicStep | None) -> None:
        produced: set[Register] = set()
        entries: dict[Register, None] = {}
        for part in parts:
            entries.update((each, None) for each in part.read if each not in produced)
            produced.update(part.written, part.aliases)
        self.parts = parts
        self._entries = [*entries]
        # the register of a part that cannot join may have got another tensor, moved by an instruction;
        # its token would not do, since binding itself changes that
        self._objects = [] if parts[0].can_join else [*parts[0].written, *parts[0].aliases]
        self._next = following
        self._bound: dict[tuple[Hashable, ...], BoundSteps] = {}

    def __call__(self) -> None:
        self.run_until(None)

    def run_until(self, stop: StopCheck | None) -> None:
        """Run the instructions, or those before `stop` ends the run."""
        step: DynamicStep | None = self
        while step is not None:
            step.run(stop)
            step = step._next

    def run(self, stop: StopCheck | None = None) -> None:
        """Run the instructions of this step that have not become their own step."""
        # written out, not in functions: this runs before every step, also when nothing has changed
        key = (
            *[
                value.token if type(value := each.value) is Tensor else _key_of(value)
                for each in self._entries
            ],
            *[
                value if type(value := each.value) is Tensor else current_value(each)
                for each in self._objects
            ],
        )
        bound = self._bound.get(key)
        if bound is not None and not (bound.memories and bound.are_gone()):
            before = bound.restore()
            if before is not None:
                self._run_bound(bound, before, stop)
                return
        self._make_room(key)
        bound = self._bind_and_run(key, stop)
        if bound is not None:
            self._bound[key] = bound

    def _run_bound(self, bound: BoundSteps, before: Sequence[TensorState], stop: StopCheck | None) -> None:
        """Run the steps; if one fails, tensors of later ones return to their states `before`."""
        rest = iter(bound.steps)
        try:
            for step in rest if stop is None else checked_steps(rest, stop):
                step()
        except BaseException as error:
            failed = len(bound.steps) - length_hint(rest) - 1
            undo(before, failed)
            if not isinstance(error, Exception) or isinstance(error, (EtconfigError, MemoryError)):
                raise
            if is_of_signal_handler(error):
                raise
            part = self.parts[bisect(bound.starts, failed, hi=len(self.parts)) - 1]
            raise _failure(part, error) from error

    def _make_room(self, key: tuple[Hashable, ...]) -> None:
        self._bound.pop(key, None)
        # they would keep memory that was freed, or that has grown, and can never serve again
        for each in [each for each, bound in self._bound.items() if bound.memories and bound.are_gone()]:
            del self._bound[each]
        if len(self._bound) == KEPT_SHAPES:  # forget the oldest
            del self._bound[next(iter(self._bound))]

    def _bind_and_run(self, key: tuple[Hashable, ...], stop: StopCheck | None) -> BoundSteps | None:
        """Bind and run one part after the other; None if the bound steps cannot serve again.

        Parts whose arguments have not changed are not bound again.
        """
        steps: list[Step] = []
        states: list[TensorState] = []
        starts: list[int] = []
        state_starts: list[int] = []
        last, changed = self._changed(key)
        can_return = True
        # in one function: binding a new shape took 4 % longer with a method for each of these tasks
        for part in self.parts:
            start = len(steps)
            starts.append(start)
            state_starts.append(len(states))
            try:
                if stop is not None:
                    stop.check()
                # its steps work on the same arrays, so they can serve for the new shape as well
                is_as_before = last is not None and part.read and changed.isdisjoint(part.read)
                if is_as_before and run_again(last, len(starts) - 1, steps, states):  # type: ignore[arg-type]
                    continue
                step = part.bind()
                changed.update(part.written, part.aliases)
                written = tensors_in(part.written)
                # an operator that etconfig does not know may resize any tensor
                for tensor in written if part.can_join else (*written, *tensors_in(part.read)):
                    if tensor.has_memory:  # otherwise the step gives it a shape while it runs
                        states.append((tensor, tensor.array, tensor.token, tensor.is_alias, start))
                    # a view that the previous run left, which the next run may not find
                    if tensor.is_alias and tensor in written:
                        can_return = False
                step()
            except (EtconfigError, MemoryError):
                raise
            except Exception as error:
                if is_of_signal_handler(error):
                    raise
                raise _failure(part, error) from error
            if type(step) is MakeAlias:  # returning to the state does all that the step would do
                states.append((step.tensor, step.array, step.token, True, start))
                continue
            if type(step) is StepSequence:
                steps += map(runnable, step.steps)
            else:
                steps.append(runnable(step))
            if len(starts) < len(self.parts) and not part.is_fixed and may_resize(step):
                # the shapes of later parts do not follow from the key, so they need a key of their own
                self._part_after(len(starts))
                return None
        if not can_return:
            return None
        starts.append(len(steps))
        state_starts.append(len(states))
        # bounded tensors keep their memory; unbounded ones may get another block when they grow
        tensors = {*tensors_in(self._entries), *[state[0] for state in states]}
        memories = [(each, memory_of(each)) for each in tensors if each.form.dynamism is _UNBOUND]
        return BoundSteps(steps, states, starts, state_starts, memories)

    def _changed(self, key: tuple[Hashable, ...]) -> tuple[BoundSteps | None, set[Register]]:
        """Return what was bound last, and the entries that have changed since; None if it is of no use."""
        if not self._bound or not self.parts[0].can_join:
            return None, set()
        last_key, last = next(reversed(self._bound.items()))
        pairs = zip(self._entries, key, last_key, strict=True)
        return last, {entry for entry, now, before in pairs if now != before}

    def _part_after(self, count: int) -> None:
        others = type(self)(*self.parts[count:])
        others._next = self._next
        self._take(self.parts[:count], others)


def _failure(part: Part, error: Exception) -> Exception:
    """Return the error of a part that failed, or that ended because the run must stop."""
    if isinstance(error, StopSignal):
        return StoppedAt(part.position, part.name)
    return refusal(part.name, error)


def _key_of(value: Any) -> Hashable:
    """Return a key that differs if a step must be bound again: for another tensor, or another number.

    A tensor has another token whenever its memory or shape changes.
    """
    if type(value) is int:
        return value
    if type(value) is Tensor:
        return value.token
    if type(value) is Register:
        return _key_of(value.value)
    if type(value) is tuple:
        return tuple([_key_of(item) for item in value])
    if type(value) is float:
        return value.hex()  # 0.0 equals -0.0, and NaN not even itself
    return type(value), value  # True equals 1
