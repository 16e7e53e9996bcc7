"""The repository can be checked out on every system."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).parents[2]
FORBIDDEN = re.compile(r'[<>:"|?*\\\x00-\x1f]|[ .]$')
"""The characters that Windows does not allow in names of files and directories."""
RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
"""Names that mean devices there, with any suffix."""
LONGEST = 150
"""The longest path, in characters: below a directory of 100, Windows takes no more than 259."""


@pytest.fixture(scope="module")
def paths() -> list[str]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a checkout")
    return sorted(set(listed.stdout.rstrip("\0").split("\0")))  # a merge under way lists a path for each side


def is_refused(path: str) -> bool:
    return any(FORBIDDEN.search(part) or RESERVED.fullmatch(part) for part in PurePosixPath(path).parts)


def test_every_name_is_one_that_windows_takes(paths: list[str]) -> None:
    assert [path for path in paths if is_refused(path)] == []


def test_no_two_paths_differ_only_in_case(paths: list[str]) -> None:
    counts = Counter(path.casefold() for path in paths)
    assert [path for path in paths if counts[path.casefold()] > 1] == []


def test_no_path_is_too_long_for_windows(paths: list[str]) -> None:
    assert [path for path in paths if len(path) > LONGEST] == []


def test_no_program_names_the_directories_of_the_machine_that_exported_it(paths: list[str]) -> None:
    programs = [ROOT / path for path in paths if path.endswith((".pte", ".ptd"))]
    assert len(programs) > 100
    assert [path for path in programs if path.exists() and b"site-packages" in path.read_bytes()] == []


@pytest.mark.parametrize("path", ["a/b:c", "a?/b", "a/aux", "NUL.txt/b", "a./b", "a/b "])
def test_a_name_that_windows_refuses_is_found(path: str) -> None:
    assert is_refused(path)
