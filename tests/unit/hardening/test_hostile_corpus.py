"""A file for each published class of defects stays here, and stays refused as it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from build_hostile_programs import FILES, outcome

HOSTILE = Path(__file__).parents[2] / "data" / "hostile"
INDEX: list[dict[str, Any]] = json.loads((HOSTILE / "hostile.json").read_text(encoding="utf-8"))

CLASSES = {
    "numel or nbytes overflow": 4,
    "allocator wrap": 2,
    "offset and size wrap in the memory plan": 3,
    "index op overflow": 2,
    "prim-op arity or type unchecked": 2,
    "rank above 16": 1,
    "segment or loader offset wrap": 4,
    "inverted inequality, heap write": 1,
    "state larger than its memory": 1,
    "optional field null": 5,
    "instruction index out of range": 3,
    "type confusion": 3,
    "self-jump, infinite loop": 1,
    "dim order no permutation": 2,
    "negative sizes": 2,
    "root offset": 2,
    "payload shorter than claimed": 3,
    "delegate blob trusted": 2,
    "kernel stride walk": 1,
    "shared children": 2,
}
"""How many files each class has. ExecuTorch lost a correction once (42e3222): none may go missing here."""

CVES = {"30402", "30404", "30405", "54949", "54950", "54951", "54952"}


class TestCorpus:
    """Nothing is ever deleted: no class, no file and no expectation."""

    def test_every_class_has_its_files(self) -> None:
        found = [each["defect"] for each in INDEX]
        assert {defect: found.count(defect) for defect in found} == CLASSES

    def test_every_file_is_in_the_index_and_in_the_directory(self) -> None:
        present = {path.name for path in HOSTILE.iterdir()} - {"hostile.json"}
        assert present == {each["file"] for each in INDEX} == {each.file for each in FILES}

    def test_every_published_cve_is_among_the_records(self) -> None:
        records = {record for each in INDEX for record in each["records"]}
        assert {f"CVE-2025-{number}" for number in CVES} | {"MACA-2026-001", "TOB-9", "TOB-31"} <= records

    def test_no_file_is_large(self) -> None:
        assert all((HOSTILE / each["file"]).stat().st_size < 8192 for each in INDEX)


@pytest.mark.parametrize("entry", INDEX, ids=lambda entry: entry["file"])
class TestFiles:
    """Each file is refused at its stage, with its error, code, byte and text."""

    def test_it_is_refused_as_the_index_says(self, entry: dict[str, Any]) -> None:
        found = outcome(entry["file"], (HOSTILE / entry["file"]).read_bytes())
        assert {key: entry[key] for key in found} == found
        assert found["stage"] != "none"
        assert found["stage"] != "open" or (found["code"] and found["offset"] is not None)

    def test_it_equals_what_its_builder_writes(self, entry: dict[str, Any]) -> None:
        (build,) = (each.build for each in FILES if each.file == entry["file"])
        assert (HOSTILE / entry["file"]).read_bytes() == build()
