"""`join`: neighboring steps that can be bound together become one `DynamicStep`."""

from __future__ import annotations

from collections.abc import Sequence

from etconfig.kernel.registry import Step
from etconfig.kernel.tensor import Register
from etconfig.numpy_executor.rebinding.dynamic_step import DynamicStep, Part


def join(
    names: Sequence[str], steps: Sequence[Step], are_fixed: Sequence[bool]
) -> tuple[tuple[str, ...], tuple[Step, ...]]:
    """Join neighboring steps that can be bound together into one step each.

    Args:
        names: The name of each step in an error.
        steps: The steps, in order.
        are_fixed: For each step, whether none of its arguments ever changes.
    """
    found: list[tuple[str, Step]] = []
    parts: list[Part] = []
    touched: set[Register] = set()

    def end() -> None:
        if parts:
            found.append((parts[0].name, DynamicStep(*parts)))
        parts.clear()
        touched.clear()

    for name, step, is_fixed in zip(names, steps, are_fixed, strict=True):
        part = _part_of(name, step, is_fixed)
        if part is None or (is_fixed and not parts):
            end()
            found.append((name, step))
            continue
        changed = {*part.written, *part.aliases}
        # states return before the first pass runs, so within one step a tensor can only have one
        if not touched.isdisjoint(changed):
            end()
        parts.append(part)
        touched.update(changed, part.read)
    end()
    return tuple([name for name, _ in found]), tuple([step for _, step in found])


def _part_of(name: str, step: Step, is_fixed: bool) -> Part | None:
    """Return a step as a part of a larger one; None if it must stay by itself."""
    if is_fixed:
        return Part(name, lambda: step, (), can_join=True, is_fixed=True)
    if isinstance(step, DynamicStep) and step.parts[0].can_join:
        return step.parts[0]
    return None
