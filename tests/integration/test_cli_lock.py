"""`etconfig lock` and `--locked`: any difference is an error that lists what changed."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tomli
from command_line import DATA, Outcome
from written_files import last_write

PROGRAMS = DATA / "programs"
PROFILE = """\
[profile]
name = "board"

[options.ReferenceCpuBackend]
num_threads = { expr = "min(cpu.available_cores, 8)" }
"""
_SHARED: dict[str, object] = {part: {} for part in ("programs", "plugins", "schemas", "project")}
WITHOUT_A_DEVICE = json.dumps({"etconfig_lock": 1, **_SHARED, "devices": [3]})
_EMPTY_DEVICE = {
    "name": "a",
    "program": None,
    **{part: {} for part in ("profiles", "facts", "options", "result")},
}
UNNAMED, TWICE, UNKNOWN, UNHASHABLE = (
    json.dumps({"etconfig_lock": 1, **_SHARED, "devices": devices})
    for devices in (
        [{**_EMPTY_DEVICE, "name": 3}],
        [_EMPTY_DEVICE, _EMPTY_DEVICE],
        [{**_EMPTY_DEVICE, "program": "b.pte"}],
        [{**_EMPTY_DEVICE, "program": [[]]}],
    )
)
NO_TABLE = json.dumps(
    {
        "etconfig_lock": 1,
        **_SHARED,
        "programs": {"b.pte": 3},
        "devices": [{**_EMPTY_DEVICE, "program": "b.pte"}],
    }
)
TOO_DEEP = json.dumps({"etconfig_lock": 1, **_SHARED, "devices": [_EMPTY_DEVICE]}).replace(
    '"project": {}', '"project": {"a": ' + "[" * 500 + "]" * 500 + "}"
)
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


def device_of(lock: dict[str, Any]) -> dict[str, Any]:
    (device,) = lock["devices"]
    return dict(device)


class TestLock:
    """The lock file records the inputs and the outcome of a resolution."""

    def test_it_records_the_program_versions_schemas_values_facts_and_options(self, locked: Path) -> None:
        lock = json.loads(locked.read_text())
        assert lock["etconfig_lock"] == 1
        content = hashlib.sha256(locked.with_name("model.pte").read_bytes()).hexdigest()
        assert lock["programs"] == {
            "model.pte": {
                "content": f"sha256:{content}",
                "methods": {
                    "embed": ["ReferenceNpuBackend"],
                    "forward": ["ReferenceNpuBackend", "ReferenceCpuBackend"],
                },
            }
        }
        assert list(lock["plugins"]) == ["etconfig-reference"]
        assert lock["schemas"]["ReferenceNpuBackend"]["options"]["core"] == {
            "type": "integer",
            "bounds": ["<= 3", ">= 0"],
            "applies": "load",
            "scope": "method",
            "wire": {"key": "core"},
            "default": 0,
        }
        assert lock["project"] == {}
        device = device_of(lock)
        assert (device["name"], device["program"]) == ("device", "model.pte")
        assert device["profiles"] == {"board": tomli.loads(PROFILE)}
        assert device["facts"] == {"cpu.available_cores": 4, "cpu.cache.l2": 1048576}
        assert device["options"]["forward:ReferenceCpuBackend.num_threads"] == 4
        assert device["result"]["fingerprint"].startswith("sha256:")

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
        assert json.loads((place / "etconfig.lock").read_text())["project"] == {"profile": "generic/any"}
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
            "error[lock-mismatch]: etconfig.lock is out of date: 1 difference in options\n"
            " --> etconfig.lock:1:1\n"
            "  = note: options: forward:ReferenceNpuBackend.core: 0 → 1\n"
            "  = help: if it is intended, write the lock again: "
            "`etconfig lock` with the same program and options\n"
        )

    def test_another_fact_is_listed_with_the_options_it_changes(
        self, locked: Path, cli: Callable[..., Outcome]
    ) -> None:
        assert notes(cli(*LOCKED, "--fact", "cpu.available_cores=2")) == [
            "facts: cpu.available_cores: 4 → 2",
            "options: forward:ReferenceCpuBackend.num_threads: 4 → 2",
        ]

    def test_another_value_of_a_profile_is_listed_even_if_the_result_is_the_same(
        self, locked: Path, cli: Callable[..., Outcome]
    ) -> None:
        locked.with_name("board.toml").write_text(PROFILE.replace("8)", "6)"))
        assert notes(cli(*LOCKED)) == [
            "profiles: board: options.ReferenceCpuBackend.num_threads.expr: "
            '"min(cpu.available_cores, 8)" → "min(cpu.available_cores, 6)"'
        ]

    def test_comments_layout_order_and_descriptions_do_not_count(
        self, locked: Path, cli: Callable[..., Outcome]
    ) -> None:
        locked.with_name("board.toml").write_text(
            '# a comment\noptions = { ReferenceCpuBackend = { "num_threads" = {\r\n'
            'expr = """min(cpu.available_cores, 8)""" } } }\n\n[profile]\n'
            "description = \"The board.\"\nname = 'board'\n"
        )
        done = cli(*LOCKED)
        assert (done.status, done.stderr) == (0, "")

    def test_a_new_overlay_is_one_difference(self, locked: Path, cli: Callable[..., Outcome]) -> None:
        overlay = "[[when]]\nif = '{}'\n[when.options.ReferenceCpuBackend]\nscratch_bytes = 65536\n"
        first, second = (overlay.format(f'os.name == "{name}"') for name in ("android", "ios"))
        locked.with_name("board.toml").write_text(PROFILE + first)
        cli(*LOCK)
        locked.with_name("board.toml").write_text(PROFILE + second + first)
        (note,) = notes(cli(*LOCKED))
        assert note.startswith('profiles: board: when[0]: (absent) → {"if": "os.name == \\"ios\\""')

    def test_an_empty_project_file_sets_nothing_and_another_value_is_listed(
        self, locked: Path, cli: Callable[..., Outcome]
    ) -> None:
        project = locked.with_name("etconfig.toml")
        project.write_text("# nothing\n")
        assert cli(*LOCKED).status == 0
        project.write_text("[options.ReferenceNpuBackend]\ncore = 0\n")
        assert notes(cli(*LOCKED)) == ['project: options: (absent) → {"ReferenceNpuBackend": {"core": 0}}']

    def test_only_the_table_of_etconfig_counts_in_pyproject(
        self, locked: Path, cli: Callable[..., Outcome]
    ) -> None:
        project = locked.with_name("pyproject.toml")
        text = '[project]\nversion = "{}"\n[tool.etconfig.options.ReferenceNpuBackend]\ncore = {}\n'
        project.write_text(text.format("1", 0))
        cli(*LOCK)
        project.write_text(text.format("2", 0))
        assert cli(*LOCKED).status == 0
        project.write_text(text.format("2", 1))
        assert "project: options.ReferenceNpuBackend.core: 0 → 1" in notes(cli(*LOCKED))

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
        (lock if part in lock else lock["devices"][0])[part][name] = "0"
        locked.write_text(json.dumps(lock))
        (found,) = notes(cli(*LOCKED))
        assert found.startswith(note)

    def test_many_differences_are_counted(self, locked: Path, cli: Callable[..., Outcome]) -> None:
        lock = json.loads(locked.read_text())
        lock["devices"][0]["facts"] |= {f"board.f{i}": i for i in range(60)}
        locked.write_text(json.dumps(lock))
        found = notes(cli(*LOCKED))
        assert (len(found), found[-1]) == (51, "and 10 more")

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("3", "etconfig.lock is not a lock file"),
            ('{"etconfig_lock": 2}', "etconfig.lock has version 2, expected 1"),
            ('{"etconfig_lock": 1, "plugins": []}', "etconfig.lock has no array 'devices'"),
            ('{"etconfig_lock": 1, "devices": []}', "etconfig.lock covers no device"),
            (UNNAMED, "etconfig.lock has devices without a 'name'"),
            (TWICE, "etconfig.lock has a device twice for one program"),
            (UNKNOWN, "etconfig.lock has devices with a 'program' that is not among 'programs'"),
            (UNHASHABLE, "etconfig.lock has devices with a 'program' that is not among 'programs'"),
            (NO_TABLE, "etconfig.lock has a program that is not a table"),
            ('{"etconfig_lock": 1, "devices": [3]}', "etconfig.lock has no table 'programs'"),
            (WITHOUT_A_DEVICE, "etconfig.lock has no table 'profiles'"),
            (TOO_DEEP, "etconfig.lock is nested too deeply"),
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

    @pytest.mark.parametrize("make", ["mkfifo", "mkdir"])
    def test_what_is_not_a_file_is_refused_at_once(
        self, locked: Path, cli: Callable[..., Outcome], make: str
    ) -> None:
        locked.unlink()
        getattr(os, make)(locked)
        for command in (LOCKED, LOCK):
            done = cli(*command)
            assert done.status in (1, 2)
            assert "it is not a regular file" in done.stderr

    def test_a_missing_lock_file_is_an_error(self, locked: Path, cli: Callable[..., Outcome]) -> None:
        locked.unlink()
        done = cli(*LOCKED)
        assert done.status == 2
        assert "cannot read etconfig.lock: No such file or directory" in done.stderr


class TestProgram:
    """A lock is that of one program, by its content."""

    def test_another_program_is_refused_even_if_its_options_are_the_same(
        self, locked: Path, cli: Callable[..., Outcome]
    ) -> None:
        program = locked.with_name("model.pte")
        content = bytearray(program.read_bytes())
        content[-1] ^= 1  # a weight
        program.write_bytes(content)
        (note,) = notes(cli(*LOCKED))
        old, new = note.removeprefix("program: ").split(" → ")
        assert old.startswith("model.pte (sha256:")
        assert new.startswith("model.pte (sha256:")
        assert old != new

    def test_a_renamed_copy_is_the_same_program(self, locked: Path, cli: Callable[..., Outcome]) -> None:
        shutil.copy(locked.with_name("model.pte"), locked.with_name("copy.pte"))
        assert cli(*LOCKED[:1], "copy.pte", *LOCKED[2:]).status == 0

    def test_other_methods_and_delegates_are_listed(self, locked: Path, cli: Callable[..., Outcome]) -> None:
        lock = json.loads(locked.read_text())
        methods = {"forward": ["ReferenceCpuBackend"], "decode": []}
        lock["programs"] = {"old.pte": {"content": "sha256:0", "methods": methods}}
        lock["devices"][0]["program"] = "old.pte"
        locked.write_text(json.dumps(lock))
        first, *rest = notes(cli(*LOCKED))
        assert first.startswith("program: old.pte (sha256:0) → model.pte (sha256:")
        assert rest == [
            'program: methods: forward[0]: (absent) → "ReferenceNpuBackend"',
            "program: methods: decode: [] → (absent)",
            'program: methods: embed: (absent) → ["ReferenceNpuBackend"]',
        ]

    def test_no_program_is_another_one(self, locked: Path, cli: Callable[..., Outcome]) -> None:
        found = notes(cli(*LOCKED[:1], *LOCKED[2:]))
        assert found[0].startswith("program: model.pte (sha256:")
        assert found[0].endswith(" → (absent)")


class TestSchemas:
    """A lock pins what counts of a schema."""

    @pytest.mark.parametrize(
        ("field", "value", "note"),
        [
            (("core", "bounds"), [">= 0"], 'core.bounds[0]: (absent) → "<= 3"'),
            (("core", "applies"), "execute", 'core.applies: "execute" → "load"'),
            (("core", "default"), 1, "core.default: 1 → 0"),
            (("core", "wire"), {"key": "npu_core"}, 'core.wire.key: "npu_core" → "core"'),
        ],
    )
    def test_a_changed_field_is_listed(
        self,
        locked: Path,
        cli: Callable[..., Outcome],
        field: tuple[str, str],
        value: object,
        note: str,
    ) -> None:
        lock = json.loads(locked.read_text())
        lock["schemas"]["ReferenceNpuBackend"]["options"][field[0]][field[1]] = value
        locked.write_text(json.dumps(lock))
        assert notes(cli(*LOCKED)) == [f"schemas: ReferenceNpuBackend: options.{note}"]


class TestSeveralPrograms:
    """A lock covers each program on each device."""

    BOTH = ("model.pte", "add.pte", "--facts", "device.json", "--facts", "small.json")

    @pytest.fixture
    def two(self, place: Path, cli: Callable[..., Outcome]) -> Path:
        shutil.copy(PROGRAMS / "add.pte", place)
        shutil.copy(place / "device.json", place / "small.json")
        done = cli("lock", *self.BOTH)
        assert (done.status, done.stderr) == (0, "")
        assert done.stdout == "22 options of 2 programs on 2 devices written to etconfig.lock\n"
        return place / "etconfig.lock"

    def test_each_program_has_its_content_and_the_options_on_each_device(self, two: Path) -> None:
        lock = json.loads(two.read_text())
        assert list(lock["programs"]) == ["add.pte", "model.pte"]
        assert lock["programs"]["add.pte"]["methods"] == {"forward": []}
        pairs = [(each["program"], each["name"]) for each in lock["devices"]]
        assert pairs == [(p, d) for p in ("add.pte", "model.pte") for d in ("device", "small")]
        assert [bool(each["options"]) for each in lock["devices"]] == [False, False, True, True]

    def test_each_is_checked_with_its_own(self, two: Path, cli: Callable[..., Outcome]) -> None:
        assert cli("resolve", *self.BOTH, "--locked").status == 0
        assert cli("resolve", "add.pte", "--facts", "small.json", "--locked").status == 0
        done = cli(*LOCKED[:2], "--facts", "small.json", "--set", "ReferenceNpuBackend.core=1", "--locked")
        assert notes(done) == [
            f"small: model.pte: options: {method}:ReferenceNpuBackend.core: 0 → 1"
            for method in ("embed", "forward")
        ]

    def test_another_program_is_not_among_them(self, two: Path, cli: Callable[..., Outcome]) -> None:
        shutil.copy(PROGRAMS / "linear.pte", two.parent)
        (note,) = notes(cli("resolve", "linear.pte", "--facts", "device.json", "--locked"))
        assert note.startswith("program: linear.pte (sha256:")
        assert note.endswith(" is not among 'add.pte', 'model.pte'")
        (note,) = notes(cli("resolve", "--facts", "device.json", "--locked"))
        assert note == "program: (absent) is not among 'add.pte', 'model.pte'"

    def test_a_program_given_twice_counts_once(self, two: Path, cli: Callable[..., Outcome]) -> None:
        before = two.read_bytes()
        assert cli("lock", "./add.pte", *self.BOTH).stdout.startswith("22 options of 2 programs")
        assert sorted(json.loads(two.read_text())["programs"]) == ["add.pte", "model.pte"]
        assert cli("lock", *self.BOTH).status == 0
        assert two.read_bytes() == before

    def test_files_of_one_name_are_told_apart_by_their_directories(
        self, two: Path, cli: Callable[..., Outcome]
    ) -> None:
        (two.parent / "old").mkdir()
        shutil.copy(two.parent / "add.pte", two.parent / "old" / "model.pte")
        both = ("model.pte", "old/model.pte", "--facts", "device.json")
        assert cli("lock", *both).status == 0
        assert list(json.loads(two.read_text())["programs"]) == [
            "old/model.pte",
            f"{two.parent.name}/model.pte",
        ]
        assert cli("resolve", *both, "--locked").status == 0

    def test_a_program_that_does_not_resolve_writes_nothing(
        self, two: Path, cli: Callable[..., Outcome]
    ) -> None:
        before = two.read_bytes()
        done = cli("lock", *self.BOTH, "--set", "model.pte.x=1")
        assert (done.status, done.stdout) == (2, "")
        assert two.read_bytes() == before


class TestCheck:
    """`--check` compares the whole file and writes nothing."""

    def test_an_unchanged_lock_passes(self, locked: Path, cli: Callable[..., Outcome]) -> None:
        before = last_write(locked)
        done = cli(*LOCK, "--check")
        assert done == Outcome(0, "11 options as locked in etconfig.lock\n", "")
        assert last_write(locked) == before

    def test_a_difference_is_a_finding(self, locked: Path, cli: Callable[..., Outcome]) -> None:
        before = locked.read_bytes()
        done = cli(*LOCK, "--check", "--set", "forward:ReferenceNpuBackend.core=1")
        assert (done.status, done.stdout) == (1, "")
        assert notes(done) == ["options: forward:ReferenceNpuBackend.core: 0 → 1"]
        assert "write the lock again" in done.stderr
        assert locked.read_bytes() == before

    def test_what_is_compared_is_said_if_the_lock_is_of_something_else(
        self, locked: Path, cli: Callable[..., Outcome], place: Path
    ) -> None:
        shutil.copy("device.json", "b.json")
        here, b = ("--facts", "device.json"), ("--facts", "b.json")
        compared = {
            here: "no program on device",
            (): "no program on this device",
            ("model.pte",): "model.pte on this device",
            ("model.pte", *b): "model.pte on b",
            ("model.pte", *here, *b): "model.pte on b, device",
        }
        for arguments, expected in compared.items():
            done = cli("lock", *arguments, "--profile", "board.toml", "--check")
            assert (done.status, done.stdout) == (1, "")
            assert "etconfig.lock has other programs or devices: " in done.stderr
            assert (
                f"the lock is of model.pte on device, and this command compares {expected}: " in done.stderr
            )

    def test_a_program_or_a_device_of_one_side_alone_is_a_difference(
        self, locked: Path, cli: Callable[..., Outcome]
    ) -> None:
        shutil.copy(PROGRAMS / "add.pte", locked.parent)
        shutil.copy(locked.with_name("device.json"), locked.with_name("twin.json"))
        assert notes(cli(*LOCK, "--facts", "twin.json", "--check")) == ["devices: (absent) → 'twin'"]
        *_, note = notes(cli("lock", "add.pte", *LOCK[1:], "--check"))  # after those of warnings
        assert note.startswith("program: (absent) → add.pte (sha256:")
        assert cli("lock", "add.pte", *LOCK[1:], "--facts", "twin.json").status == 0
        found = notes(cli(*LOCK, "--check"))
        assert found[0].startswith("program: add.pte (sha256:")
        assert found[0].endswith(" → (absent)")
        assert found[1:] == ["model.pte: devices: 'twin' → (absent)"]
        found = notes(cli("lock", "--facts", "device.json", "--check"))
        assert [note.partition(" (")[0] for note in found[:2]] == ["program: add.pte", "program: model.pte"]

    def test_without_a_file_it_could_not_work(self, locked: Path, cli: Callable[..., Outcome]) -> None:
        locked.unlink()
        done = cli(*LOCK, "--check")
        assert (done.status, locked.exists()) == (2, False)
        assert "cannot read etconfig.lock" in done.stderr
