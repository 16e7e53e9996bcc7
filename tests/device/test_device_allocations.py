"""`device.h` allocates nothing, on any way through it."""

from __future__ import annotations

import json
import platform
from pathlib import Path

import pytest
from bundle_tables import named_tables
from device_programs import compile_device_program, run_device_program

from etconfig.device.bundle.bundle_writer import write_tables


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the program replaces the malloc of glibc")
class TestAllocations:
    """Opening, selecting, resolving, updating and explaining call neither malloc nor new."""

    def test_no_call_allocates(self, tmp_path: Path) -> None:
        tables = named_tables()
        bundle, sheet = tmp_path / "app.etbundle", tmp_path / "sheet.json"
        bundle.write_bytes(write_tables(tables))
        facts = {"cpu.cores": {"value": 6}, "cpu.model": {"unknown": "nobody looked"}}
        sheet.write_text(json.dumps({"etconfig_fact_sheet": 1, "facts": facts}))
        source = "../../../benchmarks/measure_bundle.cpp"
        program = compile_device_program(source, tmp_path / "measure", "-O1")
        lines = run_device_program(program, str(bundle), str(sheet), "forward", "3").splitlines()
        counted = {name: int(count) for name, count, _ in map(str.split, lines[1:])}
        assert counted == dict.fromkeys(
            ("open", "open-floor", "select", "facts-floor", "resolve", "update", "explain", "usage"), 0
        )
