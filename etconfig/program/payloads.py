"""`Payloads`: the extents of segments, constants, initial states, delegate and named data in a program.

A payload lies inline in a vector of the tables, or in a segment after them. Opening a program locates
all of them and checks them against the file, but reads and copies none.
"""

from __future__ import annotations

from collections.abc import Mapping

from etconfig.base.records import record
from etconfig.program.cursor import Extent
from etconfig.program.model import BackendDelegateDataReference, DataLocation
from etconfig.program.program_errors import bad_index, truncated


@record(frozen=True, kw_only=True)
class Payloads:
    """The extents of all payloads of a program.

    The extent of a constant or an initial state reaches to the next one, because the file says only where
    each starts. The tensor itself may be smaller.

    Attributes:
        segments: Program.segments.
        constants: By `data_buffer_idx`; the first is a placeholder that no tensor uses.
        mutable_data: By `mutable_data_segments_idx`, then by `data_buffer_idx`.
        inline_delegates: Program.backend_delegate_data.
        named_data: Program.named_data, by key.
    """

    segments: tuple[Extent, ...]
    constants: tuple[Extent, ...]
    mutable_data: tuple[tuple[Extent, ...], ...]
    inline_delegates: tuple[Extent, ...]
    named_data: Mapping[str, Extent]

    def constant(self, data_buffer_idx: int, size_bytes: int) -> Extent:
        """Return the extent of a constant tensor of `size_bytes` bytes.

        Raises:
            MalformedProgramError: there is no such constant.
            TruncatedProgramError: it is smaller.
        """
        return _subextent(self.constants, data_buffer_idx, size_bytes, "constants")

    def mutable_initial_data(
        self, mutable_data_segments_idx: int, data_buffer_idx: int, size_bytes: int
    ) -> Extent:
        """Return the extent of a mutable tensor's initial state; raises the same errors as `constant`."""
        valid = range(len(self.mutable_data))
        if mutable_data_segments_idx not in valid:
            raise bad_index(
                "mutable_data_segments_idx", mutable_data_segments_idx, valid, "mutable_data_segments"
            )
        region = f"mutable_data_segments[{mutable_data_segments_idx}]"
        return _subextent(self.mutable_data[mutable_data_segments_idx], data_buffer_idx, size_bytes, region)

    def delegate(self, reference: BackendDelegateDataReference) -> Extent:
        """Return the extent of a delegate's payload.

        Raises:
            MalformedProgramError: there is no such payload.
        """
        if reference.location is DataLocation.INLINE:
            extents, target = self.inline_delegates, "backend_delegate_data"
        else:
            extents, target = self.segments, "segments"
        if reference.index not in range(len(extents)):
            raise bad_index("index", reference.index, range(len(extents)), target)
        return extents[reference.index]


def _subextent(extents: tuple[Extent, ...], index: int, size_bytes: int, region: str) -> Extent:
    if size_bytes < 0:
        raise ValueError(f"size_bytes is {size_bytes}; expected 0 or more")
    if index not in range(1, len(extents)):
        raise bad_index("data_buffer_idx", index, range(1, len(extents)), region)
    start, available_bytes = extents[index]
    if size_bytes > available_bytes:
        raise truncated(f"{region}[{index}]", start, size_bytes, available_bytes)
    return Extent(start, size_bytes)
