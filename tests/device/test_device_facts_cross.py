"""`facts.h` with other compilers, on other processors, and in thousands of damaged files."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from captured_trees import TREES
from device_facts import detected_in_cpp, python_sheet, restored_tree
from device_programs import SANITIZED, TOOLCHAINS, Toolchain, compile_device_program, run_device_program
from effort import scaled
from fact_mutations import mutate

pytestmark = [pytest.mark.device, pytest.mark.timeout(540)]

NAMES = sorted(path.parent.name for path in TREES.glob("*/machine.json"))
DAMAGED = [name for name in NAMES if name != "windows-core-ultra-laptop"]
MUTANTS = scaled(1_000)
MUTANTS_EMULATED = scaled(80)


def check_mutants(program: Path, directory: Path, count: int, seed: int, emulator: str | None = None) -> None:
    chance = random.Random(seed)
    roots = [restored_tree(name, directory) for name in DAMAGED]
    for number in range(count):
        root = chance.choice(roots)
        with mutate(root, chance) as change:
            found = detected_in_cpp(program, str(root), under=emulator)
            assert found == python_sheet(root), f"mutant {number}: {change}"


@pytest.mark.parametrize("toolchain", TOOLCHAINS, ids=lambda toolchain: toolchain.compiler)
class TestOtherCompilers:
    """Every compiler and processor finds the same facts."""

    def test_on_captured_trees(self, toolchain: Toolchain, tmp_path: Path) -> None:
        program = toolchain.compile("facts.cpp", tmp_path / "facts", "-Os")
        for name in NAMES:
            root = restored_tree(name, tmp_path)
            assert detected_in_cpp(program, str(root), under=toolchain.emulator) == python_sheet(root), name

    def test_in_damaged_files(self, toolchain: Toolchain, tmp_path: Path) -> None:
        program = toolchain.compile("facts.cpp", tmp_path / "facts", "-O2")
        check_mutants(program, tmp_path, MUTANTS_EMULATED, 11, toolchain.emulator)

    def test_in_the_store(self, toolchain: Toolchain, tmp_path: Path) -> None:
        program = toolchain.compile("fact_store.cpp", tmp_path / "store", "-O2")
        assert run_device_program(program, emulator=toolchain.emulator) == "ok\n"


def test_thousands_of_damaged_files_with_sanitizers(tmp_path: Path) -> None:
    program = compile_device_program("facts.cpp", tmp_path / "facts", "-O1", *SANITIZED)
    check_mutants(program, tmp_path, MUTANTS, 12)
