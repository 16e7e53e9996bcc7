"""`join`: neighboring steps that can be bound together become one `DynamicStep`."""

from __future__ import annotations

from collections.abc import Sequence

from etconfig.kernel.registry import Step
from etconfig.kernel.tensor import Register
from etconfig.numpy_executor.rebinding.dynamic_step import DynamicStep, Part


def join(
    names: Sequence[str], steps: Sequence[Step], are_fixed: Sequence[bool], indices: Sequence[int]
) -> tuple[tuple[str, ...], tuple[Step, ...], tuple[int, ...]]:
    """Join neighboring steps that can be bound together into one step each.

    Args:
        names: The name of each step in an error.
        steps: The steps, in order.
        are_fixed: For each step, whether none of its arguments ever changes.
        indices: The index of each step's instruction.
    """
    found: list[tuple[str, Step, int]] = []
    parts: list[Part] = []
    positions: list[int] = []
    touched: set[Register] = set()

    def end() -> None:
        if parts:
            found.append((parts[0].name, DynamicStep(*parts), positions[0]))
        parts.clear()
        positions.clear()
        touched.clear()

    for name, step, is_fixed, index in zip(names, steps, are_fixed, indices, strict=True):
        part = _part_of(name, step, is_fixed, index)
        if part is None or (is_fixed and not parts):
            end()
            found.append((name, step, index))
            continue
        changed = {*part.written, *part.aliases}
        # states return before the first pass runs, so within one step a tensor can only have one
        if not touched.isdisjoint(changed):
            end()
        parts.append(part)
        positions.append(index)
        touched.update(changed, part.read)
    end()
    columns = zip(*found, strict=True) if found else ((), (), ())
    joined_names, joined_steps, joined_indices = columns
    return tuple(joined_names), tuple(joined_steps), tuple(joined_indices)


def _part_of(name: str, step: Step, is_fixed: bool, index: int) -> Part | None:
    """Return a step as a part of a larger one; None if it must stay by itself."""
    if is_fixed:
        return Part(name, lambda: step, (), can_join=True, is_fixed=True, position=index)
    if isinstance(step, DynamicStep) and step.parts[0].can_join:
        return step.parts[0]._replace(position=index)
    return None
