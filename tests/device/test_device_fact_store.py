"""`fact_store.h`: facts in storage of a fixed size."""

from __future__ import annotations

from pathlib import Path

from device_programs import SANITIZED, compile_device_program, run_device_program


class TestFactStore:
    """A fact that was set is found, whatever was set, replaced and removed before."""

    def test_it_equals_a_store_of_strings_after_random_changes(self, tmp_path: Path) -> None:
        program = compile_device_program("fact_store.cpp", tmp_path / "store", *SANITIZED)
        assert run_device_program(program) == "ok\n"
