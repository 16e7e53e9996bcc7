"""Damaged programs on the real runtime: none ends the process, and every refusal is etconfig's own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mutations import DATA

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("default"), pytest.mark.timeout(600)]

ROOT = DATA.parents[1]
RUNNER = ROOT / "tests" / "support" / "run_native_mutants.py"
RECIPES: list[dict[str, Any]] = json.loads((DATA / "crashes" / "recipes.json").read_text("utf-8"))
"""Changes of bytes that once ended the process: of a program or its data files, with the error of today."""

MUTANTS = 1_000


def changed(path: Path, edits: list[tuple[int, str]]) -> bytes:
    data = bytearray(path.read_bytes())
    for at, text in edits:
        replaced = bytes.fromhex(text)
        data[at : at + len(replaced)] = replaced
    return bytes(data)


class TestMutants:
    def test_no_mutant_ends_the_process(self) -> None:
        """`python tests/support/run_native_mutants.py --count 50000` tries as many as anyone likes."""
        done = subprocess.run(
            [sys.executable, str(RUNNER), "--count", str(MUTANTS), "--seed", "kept"],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        report = json.loads(done.stdout)
        assert report["found"] == []
        tally = report["tally"]
        assert sum(tally.values()) == MUTANTS
        assert tally["ran"] > MUTANTS // 10
        assert tally["UnsafeProgramError"] > MUTANTS // 100
        assert tally["DelegateError"] > MUTANTS // 50

    def test_the_runner_notices_a_process_that_ends(self) -> None:
        """Otherwise its empty list would show nothing."""
        code = (
            "import os, signal, sys, zlib, run_native_mutants as runner\n"
            "def run(data, files, rng):\n"
            "    chance = zlib.crc32(data) % 5\n"
            "    if chance == 0: os.kill(os.getpid(), signal.SIGSEGV)\n"
            "    return 'untyped' if chance == 1 else 'ran'\n"
            "runner.run = run\n"
            "sys.argv = ['', '--count', '200']\n"
            "runner.main()\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, cwd=RUNNER.parent, check=True
        )
        report = json.loads(done.stdout)
        assert sum(report["tally"].values()) == 200
        assert report["tally"]["signal SIGSEGV"] > 10
        assert {outcome for *_, outcome in report["found"]} == {"signal SIGSEGV", "untyped"}


class TestRecipes:
    @pytest.mark.parametrize("recipe", RECIPES, ids=lambda each: Path(each["program"]).stem)
    def test_what_ended_the_process_is_a_typed_error(self, recipe: dict[str, Any]) -> None:
        program = ROOT / recipe["program"]
        files = sorted(program.parent.glob(f"{program.stem}*.ptd")) if "external" in program.stem else []
        contents = [changed(path, recipe["edits"].get(path.name, [])) for path in (program, *files)]
        code = (
            "import random, sys; from run_native_mutants import run\n"
            "data, *files = [bytes.fromhex(each) for each in sys.stdin.read().split()]\n"
            "print(run(data, files, random.Random(0)))"
        )
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code],
            input=" ".join(each.hex() for each in contents),
            capture_output=True,
            text=True,
            cwd=RUNNER.parent,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        assert done.stdout.splitlines()[-1] == recipe["outcome"]

    def test_the_recipes_are_many(self) -> None:
        assert len(RECIPES) >= 20


def test_the_signatures_are_those_of_the_wheel() -> None:
    import write_native_operators

    assert write_native_operators.TABLE.read_text("utf-8") == write_native_operators.table()
