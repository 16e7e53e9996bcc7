"""Refusal of methods that ExecuTorch's runtime would not survive.

etconfig's reader verifies what every executor needs: offsets, indices, sizes and the memory plan. The runtime
trusts the rest. Its kernels take each argument to be of the type in their signature and to have memory; a
tensor without memory ends the process. This module follows the values of a method from instruction to
instruction, before the runtime sees it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from typing import Any

from etconfig.plugin.v1 import UnsafeProgramError

EXECUTOR = "executorch"
"""The name under which this executor is installed."""

UNPLACED = "u"
"""The kind of a tensor that has no memory yet."""

_KINDS: Mapping[str, str] = {
    "NoneType": "-",
    "Int": "i",
    "Bool": "b",
    "Double": "f",
    "String": "s",
    "SerializedTensor": "t",
    "IntList": "I",
    "BoolList": "B",
    "DoubleList": "F",
    "TensorList": "T",
    "OptionalTensorList": "O",
}
"""The letter of each type of value."""

_NAMES: Mapping[str, str] = {
    "-": "None",
    "i": "an integer",
    "b": "a boolean",
    "f": "a float",
    "s": "a string",
    "t": "a tensor",
    "I": "a list of integers",
    "B": "a list of booleans",
    "F": "a list of floats",
    "T": "a list of tensors",
    "O": "a list of optional tensors",
    "?": "one thing or another, by the way taken",
    UNPLACED: "a tensor without memory",
}
_ACCEPTED: Mapping[str, str] = {"n": "ifb", "N": "ifb-", "v": "tu"}
"""The kinds that a parameter accepts, other than its own letter."""

_ITEM_KINDS: Mapping[str, str] = {"I": "i", "T": "t", "O": "t-"}
_VIEW = "v"

Signature = tuple[tuple[frozenset[str], str], ...]
"""Of each parameter the kinds that it accepts, and its letter."""


def check_survivable(plan: Any) -> None:
    """Check that the runtime can run a method without ending the process.

    Args:
        plan: The verified method, an `ExecutionPlan`.

    Raises:
        UnsafeProgramError: an instruction would have the runtime use memory that is not there, or a value
            as something that it is not.
    """
    _Walk(plan).check()


@functools.cache
def signatures() -> Mapping[str, Signature]:
    """Return the signatures of the operators with kernels in ExecuTorch's wheel."""
    text = files("etconfig_executorch").joinpath("operators.txt").read_text("utf-8")
    found: dict[str, Signature] = {}
    for line in text.splitlines():
        name, letters = line.split(" ")
        found[name] = _signature(letters)
    return found


@functools.cache
def _signature(letters: str) -> Signature:
    parameters: list[tuple[frozenset[str], str]] = []
    for letter in letters:
        if letter == "?":
            accepted, of = parameters[-1]
            parameters[-1] = (accepted | {"-"}, of)
        else:
            parameters.append((frozenset(_ACCEPTED.get(letter, letter)), letter))
    return tuple(parameters)


class _Walk:
    """Follows the kinds of a method's values through its instructions."""

    def __init__(self, plan: Any) -> None:
        self._plan = plan
        self._kinds = [_KINDS[type(value).__name__] for value in plan.values]
        given = {*plan.inputs, *plan.outputs}
        for index in plan.inputs:
            if self._kinds[index] == "-":
                self._kinds[index] = "i"  # a symbolic integer is stored as None until it is passed
        for index, kind in enumerate(self._kinds):
            if kind == "t" and index not in given and not _has_memory(plan.values[index]):
                self._kinds[index] = UNPLACED
        self._signatures = [signatures().get(each.full_name) for each in plan.operators]
        self._checks: Mapping[str, Callable[[Any, str], None]] = {
            "KernelCall": self._check_kernel_call,
            "DelegateCall": self._check_delegate_call,
            "MoveCall": self._check_move,
            "JumpFalseCall": self._check_jump,
            "FreeCall": self._check_free,
        }
        self._doubtful = self._doubtful_lists()

    def check(self) -> None:
        self._check_lists()
        self._check_alignment()
        first = self._kinds.copy()
        for number, chain in enumerate(self._plan.chains):
            self._check_chain(f"chains[{number}].instructions", chain.instructions)
        for place, index in enumerate(self._plan.outputs):
            self._check_output(index, f"outputs[{place}]")
        self._check_again(first, "the next run")

    def _check_chain(self, region: str, instructions: Sequence[Any]) -> None:
        """Check a chain; where a jump arrives, a kind holds only if it holds on both ways."""
        arriving: dict[int, list[str]] = {}
        passed: dict[int, list[str]] = {}
        jumps = [(at, each) for at, each in enumerate(instructions) if type(each).__name__ == "JumpFalseCall"]
        loops = {each.destination_instruction for at, each in jumps if each.destination_instruction <= at}
        for at, instruction in enumerate(instructions):
            if at in arriving:
                self._join(arriving.pop(at))
            if at in loops:
                passed[at] = self._kinds.copy()
            name = type(instruction).__name__
            place = f"{region}[{at}]"
            self._checks[name](instruction, place)
            if name == "JumpFalseCall":
                self._arrive(instruction.destination_instruction, at, arriving, passed, place)
        for kinds in arriving.values():
            self._join(kinds)

    def _arrive(
        self, to: int, at: int, arriving: dict[int, list[str]], passed: dict[int, list[str]], place: str
    ) -> None:
        if to > at:
            if to in arriving:
                kinds, self._kinds = self._kinds, arriving[to]
                self._join(kinds)
                kinds, self._kinds = self._kinds, kinds
                arriving[to] = kinds
            else:
                arriving[to] = self._kinds.copy()
            return
        self._check_again(passed[to], f"{place}, which jumps back")

    def _check_again(self, before: Sequence[str], place: str) -> None:
        """Check that what was found from `before` on also holds from the current kinds on."""
        if before == self._kinds:
            return
        for index, (old, now) in enumerate(zip(before, self._kinds, strict=True)):
            if old not in (now, UNPLACED):
                detail = f"values[{index}] is {_NAMES[old]} at first, and then {_NAMES[now]}"
                raise self._refusal(place, detail)

    def _join(self, kinds: Sequence[str]) -> None:
        for index, (one, other) in enumerate(zip(self._kinds, kinds, strict=True)):
            if one != other:
                self._kinds[index] = UNPLACED if {one, other} == {"t", UNPLACED} else "?"

    # --- instructions --------------------------------------------------------------------

    def _check_kernel_call(self, instruction: Any, place: str) -> None:
        operator = self._plan.operators[instruction.op_index].full_name
        signature = self._signatures[instruction.op_index]
        args = instruction.args
        if signature is None:
            for position, index in enumerate(args):
                self._check_placed(index, f"{place}.args[{position}], of {operator}")
            return
        if len(args) < len(signature):
            detail = f"{operator} takes {len(signature)} arguments, but gets {len(args)}"
            raise self._refusal(place, detail)
        kinds, doubtful = self._kinds, self._doubtful
        for position, (index, (accepted, letter)) in enumerate(zip(args, signature, strict=False)):
            if kinds[index] not in accepted:
                raise self._wrong_kind(index, accepted, f"{place}.args[{position}], of {operator}")
            if letter == _VIEW:
                kinds[index] = "t"
            if index in doubtful:
                self._check_placed(index, f"{place}.args[{position}], of {operator}")

    def _check_delegate_call(self, instruction: Any, place: str) -> None:
        for position, index in enumerate(instruction.args):
            self._check_placed(index, f"{place}.args[{position}], of a delegate")

    def _check_move(self, instruction: Any, place: str) -> None:
        source, target = instruction.move_from, instruction.move_to
        self._check_placed(source, f"{place}.move_from")
        kind, old = self._kinds[source], self._kinds[target]
        if kind not in (old, "-") and old not in (UNPLACED, "-"):
            detail = f"moves {_NAMES[kind]} over values[{target}], {_NAMES[old]}"
            raise self._refusal(place, detail)
        self._kinds[target] = kind

    def _check_jump(self, instruction: Any, place: str) -> None:
        index = instruction.cond_value_index
        if self._kinds[index] not in "tb":
            raise self._wrong_kind(index, frozenset("tb"), f"{place}.cond_value_index")

    def _check_free(self, instruction: Any, place: str) -> None:
        """The runtime forgets the memory for good, also for the next run."""
        index = instruction.value_index
        if self._kinds[index] not in "tu":
            raise self._wrong_kind(index, frozenset("t"), f"{place}.value_index")
        if self._plan.values[index].shape_dynamism.name != "DYNAMIC_UNBOUND":
            detail = f"releases the memory of values[{index}], which the next run needs"
            raise self._refusal(place, detail)

    # --- values --------------------------------------------------------------------------

    def _check_lists(self) -> None:
        """The runtime makes lists in the order of values, from the tensors that it already has."""
        for index, value in enumerate(self._plan.values):
            if self._kinds[index] in "TO" and value.items and max(value.items) >= index:
                detail = f"the list names values[{max(value.items)}], which comes after it"
                raise self._refusal(f"values[{index}]", detail)

    def _check_alignment(self) -> None:
        """Kernels read several elements with one instruction, which faults at other addresses."""
        for index, value in enumerate(self._plan.values):
            if self._kinds[index] != "t" or value.allocation_info is None:
                continue
            size_bytes = value.scalar_type.itemsize_bytes
            if value.allocation_info.memory_offset % size_bytes:
                offset = value.allocation_info.memory_offset
                detail = f"a tensor of {value.scalar_type.dtype_name} is planned at byte {offset}, "
                raise self._refusal(f"values[{index}]", f"{detail}not a multiple of {size_bytes}")

    def _doubtful_lists(self) -> set[int]:
        """Return the lists whose items may be something else than the list says when they are used."""
        moved = {
            each.move_to
            for chain in self._plan.chains
            for each in chain.instructions
            if type(each).__name__ == "MoveCall"
        }
        return {
            index
            for index, kind in enumerate(self._kinds)
            if (wanted := _ITEM_KINDS.get(kind))
            and any(
                item >= 0 and (self._kinds[item] not in wanted or item in moved)
                for item in self._plan.values[index].items
            )
        }

    def _check_placed(self, index: int, place: str) -> None:
        """Check that a value can be read: a tensor, and each of a list, has memory."""
        kind = self._kinds[index]
        if kind in (UNPLACED, "?"):
            raise self._wrong_kind(index, frozenset("t"), place)
        if index in self._doubtful and kind in _ITEM_KINDS:
            for item in self._plan.values[index].items:
                if item >= 0 and self._kinds[item] not in _ITEM_KINDS[kind]:
                    raise self._wrong_kind(item, frozenset(_ITEM_KINDS[kind]), f"{place}, values[{index}]")

    def _check_output(self, index: int, place: str) -> None:
        if self._kinds[index] == "O":
            raise self._refusal(place, "a list of optional tensors cannot be passed to Python")
        self._check_placed(index, place)

    def _wrong_kind(self, index: int, accepted: frozenset[str], place: str) -> UnsafeProgramError:
        kind = self._kinds[index]
        if kind == UNPLACED and "t" in accepted:
            return self._without_memory(index, place)
        expected = " or ".join(sorted(_NAMES[each] for each in accepted if each != UNPLACED))
        return self._refusal(place, f"values[{index}] is {_NAMES[kind]}, expected {expected}")

    def _without_memory(self, index: int, place: str) -> UnsafeProgramError:
        tensor = self._plan.values[index]
        name = tensor.fully_qualified_name
        named = f"values[{index}]" + (f" ({name!r})" if name else "")
        detail = f"the tensor {named} has no memory: nothing plans, stores or passes it"
        return self._refusal(place, detail, _advice(tensor))

    def _refusal(self, place: str, detail: str, advice: str | None = None) -> UnsafeProgramError:
        return UnsafeProgramError(
            executor=EXECUTOR, method=self._plan.name, place=place, detail=detail, help=advice
        )


def _advice(tensor: Any) -> str:
    if tensor.shape_dynamism.name == "DYNAMIC_UNBOUND":
        return "give its dimensions bounds when you export, or run the program with executor='numpy'"
    return (
        "export with a MemoryPlanningPass that plans every tensor (alloc_mutable_buffers=True, for buffers), "
        "or run the program with executor='numpy'"
    )


def _has_memory(tensor: Any) -> bool:
    return bool(
        tensor.allocation_info is not None
        or tensor.data_buffer_idx > 0
        or tensor.external
        or math.prod(tensor.sizes) == 0
    )
