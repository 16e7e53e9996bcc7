from __future__ import annotations

from dataclasses import replace

from packages import EVERYTHING, configuration, packed

from etconfig.packing import notes_beside_the_map
from etconfig.transport import PackedBackend, PackedMethod


class TestNotes:
    """What somebody set and ExecuTorch's map cannot carry is noted: the file holds it, the map will not."""

    def test_each_option_is_noted_once(self) -> None:
        notes = notes_beside_the_map([*EVERYTHING.configurations, *EVERYTHING.configurations])
        assert [note.message for note in notes] == [
            "ExecuTorch's option map cannot carry XnnpackBackend.num_threads: the runtime has no key for it",
            "ExecuTorch's option map cannot carry AcmeBackend.budget: its integers have 32 bits, and "
            "1099511627776 needs more",
            "ExecuTorch's option map cannot carry AcmeBackend.share: the runtime has no key for it",
            "ExecuTorch's option map cannot carry AcmeBackend.weights: it carries bool, int, str, not dict",
        ]
        assert not any(note.is_error for note in notes)

    def test_what_nobody_set_is_not(self) -> None:
        unset = replace(packed("share", 0.5), is_set=False)
        method = PackedMethod("forward", None, (PackedBackend("Acme", (unset,)),))
        assert notes_beside_the_map([configuration("one", method)]) == []
