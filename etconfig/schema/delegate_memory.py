"""The memory that a backend takes for a delegate, as its vendor declares it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field

from etconfig.base.budgeted_resources import MAX_AMOUNT
from etconfig.base.records import record


@record(frozen=True, kw_only=True)
class DelegateFacts:
    """The facts about a delegate from which its memory is estimated, before it is loaded.

    Attributes:
        payload_bytes: The size of its payload.
        named_data_bytes: The size of the data that the payload leaves to the program or to data files.
        argument_bytes: The size of the inputs and outputs of one call; of dynamic shapes the largest.
        path: The file of a model, the payload then, which the engine reads itself; None for a delegate.
        read: Reads the payload. The view is read-only, and the memory is freed with it.
        named_data: The data of the program and its data files by key, read when they are looked up.
    """

    payload_bytes: int
    named_data_bytes: int = 0
    argument_bytes: int = 0
    path: str | None = None
    read: Callable[[], memoryview] = field(compare=False, repr=False)
    named_data: Mapping[str, memoryview] = field(default_factory=dict, compare=False, repr=False)

    @property
    def stored_bytes(self) -> int:
        """The size of the payload and its named data."""
        return self.payload_bytes + self.named_data_bytes


@record(frozen=True, kw_only=True)
class DelegateMemory:
    """The memory that a backend takes for one delegate, besides the payload that etconfig reads.

    Attributes:
        held_bytes: The bytes from `init` to `destroy`.
        running_bytes: The bytes from the first execute to `destroy`.
        workspace_bytes: The bytes that all delegates of the backend use in turn, from the first execute on:
            the largest number counts.
        loading_bytes: The further bytes that `init` takes and returns.
        keeps_payload: True if the payload and its named data stay in memory until `destroy`; False if `init`
            frees them.
        is_shared: True if further instances of the delegate use the same bytes.
        is_measured: True if the sizes come from measurements of the engine.

    Raises:
        TypeError: a size is not an int.
        ValueError: a size is negative, or above the largest one that a fact can have.
    """

    held_bytes: int
    running_bytes: int = 0
    workspace_bytes: int = 0
    loading_bytes: int = 0
    keeps_payload: bool = False
    is_shared: bool = False
    is_measured: bool = False

    def __post_init__(self) -> None:
        sizes = self.held_bytes, self.running_bytes, self.workspace_bytes, self.loading_bytes
        if {*map(type, sizes)} != {int}:  # not numbers of numpy either, which would reach JSON
            raise TypeError(f"{self} has a size that is not an int")
        if min(sizes) < 0:
            raise ValueError(f"{self} has a negative size")
        if max(sizes) > MAX_AMOUNT:
            raise ValueError("a size is more than any device has")
