"""`ColumnarInstructions`: the instructions of a chain, and the columns that its kernel calls were read by."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from etconfig.program.model import Instruction

if TYPE_CHECKING:
    from etconfig.program.columns import Column


class CallColumns(NamedTuple):
    """Kernel calls with equally many arguments.

    Attributes:
        places: Which of the chain's instructions they are.
        op_index: The operator of each.
        args: The arguments of each, of shape (calls, arguments).
    """

    places: Column
    op_index: Column
    args: Column


class ColumnarInstructions(tuple[Instruction, ...]):
    """The instructions of a chain, for whoever looks at thousands of them at once.

    Attributes:
        calls: The kernel calls among them, by the number of their arguments.
    """

    calls: Sequence[CallColumns]

    @classmethod
    def of(cls, instructions: Sequence[Instruction], calls: Sequence[CallColumns]) -> ColumnarInstructions:
        """`instructions`, of which some are `calls`."""
        made = cls(instructions)
        made.calls = calls
        for column in chain.from_iterable(calls):
            column.flags.writeable = False
        return made
