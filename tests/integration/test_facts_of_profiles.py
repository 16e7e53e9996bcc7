"""`[facts]` of a profile: they count in every document in force, and for no `match`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import ON_DEVICE, Outcome

BASE = """\
[profile]
name = "acme/base"
[facts]
"cpu.performance_cores" = 2
"cpu.efficiency_cores" = 1
[options.ReferenceCpuBackend]
num_threads = { expr = "cpu.performance_cores * 10 + cpu.efficiency_cores" }
"""
BOARD = """\
[profile]
name = "acme/board"
extends = ["acme/base"]
match = 'cpu.performance_cores == 3'
[facts]
"cpu.performance_cores" = 3
[[when]]
if = "cpu.efficiency_cores == 1"
options.ReferenceCpuBackend.scratch_bytes = "64 KiB"
"""
THREADS, SCRATCH = "ReferenceCpuBackend.num_threads", "ReferenceCpuBackend.scratch_bytes"
WHERE = ("--profile-path", "profiles", *ON_DEVICE)


@pytest.fixture
def board(place: Path) -> Path:
    folder = place / "profiles" / "acme"
    folder.mkdir(parents=True)
    (folder / "base.toml").write_text(BASE)
    (folder / "board.toml").write_text(BOARD)
    return place


@pytest.fixture
def value_of(board: Path, cli: Callable[..., Outcome]) -> Callable[..., object]:
    def run(option: str, *arguments: str) -> object:
        return cli("explain", option, "--profile", "acme/board", *WHERE, *arguments, "--json").json[0][
            "value"
        ]

    return run


def test_a_base_reads_the_facts_of_what_extends_it(value_of: Callable[..., object]) -> None:
    assert value_of(THREADS) == 31


def test_a_derived_profile_reads_the_facts_of_its_base(value_of: Callable[..., object]) -> None:
    assert value_of(SCRATCH) == 65536


def test_the_project_file_beats_profiles_and_the_command_line_beats_it(
    board: Path, value_of: Callable[..., object]
) -> None:
    (board / "etconfig.toml").write_text('[facts]\n"cpu.performance_cores" = 4\n')
    assert value_of(THREADS) == 41
    assert value_of(THREADS, "--fact", "cpu.performance_cores=5") == 51


def test_the_project_file_reads_the_facts_of_the_profile(
    board: Path, value_of: Callable[..., object]
) -> None:
    (board / "etconfig.toml").write_text(
        '[[when]]\nif = "cpu.performance_cores == 3"\noptions.ReferenceCpuBackend.num_threads = 7\n'
    )
    assert value_of(THREADS) == 7


def test_no_match_reads_them_not_even_its_own(board: Path, cli: Callable[..., Outcome]) -> None:
    assert cli("profiles", "match", *WHERE, "--json").json["selected"] != "acme/board"
    (board / "etconfig.toml").write_text('[facts]\n"cpu.performance_cores" = 3\n')
    assert cli("profiles", "match", *WHERE, "--json").json["selected"] == "acme/board"


class TestDefaults:
    """`backends` shows the value that `resolve` gives to an option that nothing sets."""

    def both(self, cli: Callable[..., Outcome], *device: str) -> tuple[object, object]:
        shown = cli("backends", "ReferenceCpuBackend", *device, "--json").json["options"]
        resolved = cli("resolve", *device, "--json").json["arguments"]
        (options,) = (each["options"] for each in resolved if each["backend"] == "ReferenceCpuBackend")
        return shown["num_threads"]["here"]["value"], options["num_threads"]["value"]

    def test_facts_of_the_profile_the_project_file_and_the_command_line_count(
        self, place: Path, cli: Callable[..., Outcome]
    ) -> None:
        facts = '[facts]\n"cpu.available_cores" = {}\n'
        (place / "board.toml").write_text(f'[profile]\nname = "board"\n{facts.format(3)}')
        assert self.both(cli, *ON_DEVICE) == (4, 4)
        (place / "etconfig.toml").write_text('profile = "board.toml"\n')
        assert self.both(cli, *ON_DEVICE) == (3, 3)
        (place / "etconfig.toml").write_text(f'profile = "board.toml"\n{facts.format(2)}')
        assert self.both(cli, *ON_DEVICE) == (2, 2)
        assert self.both(cli, *ON_DEVICE, "--fact", "cpu.available_cores=1") == (1, 1)

    def test_a_broken_profile_is_reported_and_leaves_the_list(
        self, place: Path, cli: Callable[..., Outcome]
    ) -> None:
        (place / "etconfig.toml").write_text('profile = "missing.toml"\n')
        done = cli("backends", "ReferenceCpuBackend", *ON_DEVICE)
        assert (done.status, "num_threads" in done.stdout) == (0, True)
        assert "missing.toml" in done.stderr
        assert done.stderr.endswith("the facts that the profile sets are left out\n")
