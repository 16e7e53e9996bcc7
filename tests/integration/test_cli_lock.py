"""`etconfig lock` and `--locked`: any difference is an error that lists what changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Outcome

PROFILE = """\
[profile]
name = "board"

[options.ReferenceCpuBackend]
num_threads = { expr = "min(cpu.available_cores, 8)" }
"""
LOCK = ("lock", "model.pte", "--profile", "board.toml", "--facts", "device.json")
LOCKED = ("resolve", "model.pte", "--profile", "board.toml", "--facts", "device.json", "--locked")


@pytest.fixture
def locked(place: Path, cli: Callable[..., Outcome]) -> Path:
    """The lock file of a small profile."""
    (place / "board.toml").write_text(PROFILE)
    done = cli(*LOCK)
    assert (done.status, done.stdout) == (0, "11 options written to etconfig.lock\n")
    return place / "etconfig.lock"


def notes(done: Outcome) -> list[str]:
    marker = "  = note: "
    return [line.removeprefix(marker) for line in done.stderr.splitlines() if line.startswith(marker)]


class TestLock:
    """The lock file records the inputs and the outcome of a resolution."""

    def test_it_records_versions_hashes_facts_and_values(self, locked: Path) -> None:
        lock = json.loads(locked.read_text())
        assert lock["etconfig_lock"] == 1
        assert list(lock["plugins"]) == ["etconfig-reference"]
        assert lock["profiles"]["board"].startswith("sha256:")
        assert lock["project"] == {}
        assert lock["facts"] == {"cpu.available_cores": 4, "cpu.cache.l2": 1048576}
        assert lock["options"]["forward:ReferenceCpuBackend.num_threads"] == 4
        assert lock["result"]["fingerprint"].startswith("sha256:")

    def test_locking_again_changes_nothing(self, locked: Path, cli: Callable[..., Outcome]) -> None:
        before = locked.read_bytes()
        cli(*LOCK)
        assert locked.read_bytes() == before

    def test_it_is_next_to_the_project_file(
        self, place: Path, cli: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (place / "etconfig.toml").write_text('profile = "generic/any"\n')
        (place / "below").mkdir()
        monkeypatch.chdir(place / "below")
        assert cli("lock", "../model.pte", "--facts", "../device.json").status == 0
        assert json.loads((place / "etconfig.lock").read_text())["project"].keys() == {"etconfig.toml"}
        assert cli("resolve", "../model.pte", "--facts", "../device.json", "--locked").status == 0


class TestLocked:
    """With --locked, `resolve` and `run` fail if anything differs."""

    def test_an_unchanged_configuration_passes(self, locked: Path, cli: Callable[..., Outcome]) -> None:
        assert cli(*LOCKED).status == 0
        run = ("run", "model.pte", "--input", "x.npy", "--profile", "board.toml", "--facts", "device.json")
        assert cli(*run, "--locked").status == 0
        assert cli(*run, "--locked", "--set", "ReferenceNpuBackend.core=1").status == 2

    def test_another_value_is_listed(self, locked: Path, cli: Callable[..., Outcome]) -> None:
        done = cli(*LOCKED, "--set", "forward:ReferenceNpuBackend.core=1")
        assert done.status == 2
        assert done.stderr == (
            "error[lock-mismatch]: etconfig.lock is out of date: 1 difference\n"
            " --> etconfig.lock:1:1\n"
            "  = note: options: forward:ReferenceNpuBackend.core: 0 → 1\n"
            "  = help: if it is intended, write the lock again with `etconfig lock`\n"
        )

    def test_another_fact_is_listed_with_the_options_it_changes(
        self, locked: Path, cli: Callable[..., Outcome]
    ) -> None:
        assert notes(cli(*LOCKED, "--fact", "cpu.available_cores=2")) == [
            "facts: cpu.available_cores: 4 → 2",
            "options: forward:ReferenceCpuBackend.num_threads: 4 → 2",
        ]

    def test_an_edited_profile_is_listed_even_if_the_result_is_the_same(
        self, locked: Path, cli: Callable[..., Outcome]
    ) -> None:
        locked.with_name("board.toml").write_text(PROFILE + "# edited\n")
        (note,) = notes(cli(*LOCKED))
        assert note.startswith('profiles: board: "sha256:')

    def test_a_new_project_file_is_listed(self, locked: Path, cli: Callable[..., Outcome]) -> None:
        locked.with_name("etconfig.toml").write_text("")
        (note,) = notes(cli(*LOCKED))
        assert note.startswith('project: etconfig.toml: none → "sha256:')

    @pytest.mark.parametrize(
        ("part", "name", "note"),
        [
            ("plugins", "etconfig-reference", 'plugins: etconfig-reference: "0" → "'),
            ("result", "fingerprint", 'result: fingerprint: "0" → "sha256:'),
        ],
    )
    def test_a_changed_part_is_listed(
        self, locked: Path, cli: Callable[..., Outcome], part: str, name: str, note: str
    ) -> None:
        lock = json.loads(locked.read_text())
        lock[part][name] = "0"
        locked.write_text(json.dumps(lock))
        (found,) = notes(cli(*LOCKED))
        assert found.startswith(note)

    def test_many_differences_are_counted(self, locked: Path, cli: Callable[..., Outcome]) -> None:
        lock = json.loads(locked.read_text())
        lock["facts"] |= {f"board.f{i}": i for i in range(60)}
        locked.write_text(json.dumps(lock))
        found = notes(cli(*LOCKED))
        assert (len(found), found[-1]) == (51, "and 10 more")

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("3", "etconfig.lock is not a lock file"),
            ('{"etconfig_lock": 2}', "etconfig.lock has version 2, expected 1"),
            ('{"etconfig_lock": 1, "plugins": []}', "etconfig.lock has no table 'plugins'"),
            ("", "etconfig.lock is not JSON: Expecting value: line 1 column 1 (char 0)"),
        ],
    )
    def test_a_file_that_is_not_a_lock_is_refused(
        self, locked: Path, cli: Callable[..., Outcome], text: str, message: str
    ) -> None:
        locked.write_text(text)
        assert cli(*LOCKED).stderr == (
            f"error[invalid-lock-file]: {message}\n"
            " --> etconfig.lock:1:1\n"
            "  = help: write it with `etconfig lock`\n"
        )

    def test_a_missing_lock_file_is_an_error(self, locked: Path, cli: Callable[..., Outcome]) -> None:
        locked.unlink()
        done = cli(*LOCKED)
        assert done.status == 2
        assert "cannot read etconfig.lock: No such file or directory" in done.stderr
