"""An installation is a snapshot: what it has read stays, and `refreshed` reads again."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import etconfig
from etconfig.app.installation.installation import Installation
from etconfig.app.programs.loaded_program import LoadedProgram
from etconfig.resolver.explaining.difference import reported_values

DATA = Path(__file__).parents[1] / "data"
DIGITS = DATA / "digits" / "digits.pte"
PI5 = etconfig.load_fact_sheet(DATA / "sheets" / "raspberry-pi-5.json")
THREADS = "forward:ReferenceCpuBackend.num_threads"


def profile(threads: int, name: str = "acme/board", extends: str = "raspberry-pi/pi-5") -> str:
    return (
        f"[profile]\nname = '{name}'\nextends = ['{extends}']\n"
        "match = 'device.model.startsWith(\"Raspberry Pi 5\")'\n"
        f"[options.ReferenceCpuBackend]\nnum_threads = {threads}\n"
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "profiles" / "acme" / "board.toml"
    path.parent.mkdir(parents=True)
    path.write_text(profile(2))
    return path


@pytest.fixture
def program(path: Path) -> LoadedProgram:
    installation = Installation(path.parents[2], environ={}, profile_directories=[path.parents[1]])
    return etconfig.load_program(DIGITS, installation=installation)


def resolve(program: LoadedProgram, **arguments: Any) -> etconfig.Resolution:
    return etconfig.resolve(program, facts=PI5, **arguments)


def threads(program: LoadedProgram, **arguments: Any) -> object:
    return resolve(program, **arguments).explain(THREADS).value


def test_edited_files_count_for_a_refreshed_installation_and_not_before(
    program: LoadedProgram, path: Path
) -> None:
    """Each edit: a changed profile, a base, an added and a removed one, and the project file."""
    outside = path.parents[2] / "outside.toml"
    outside.write_text(profile(6, "outside"))
    special, project = path.with_name("special.toml"), path.parents[2] / "etconfig.toml"
    edits: tuple[tuple[str, Callable[[], object], object], ...] = (
        ("a changed profile", lambda: path.write_text(profile(3)), 3),
        ("an added profile", lambda: special.write_text(profile(1, "acme/special", "acme/board")), 1),
        ("a removed profile", special.unlink, 3),
        ("a project file", lambda: project.write_text('profile = "generic/any"\n'), 4),
        ("another project file", lambda: project.write_text('profile = "outside.toml"\n'), 6),
        ("a profile outside", lambda: outside.write_text(profile(7, "outside")), 7),
        ("the base of another", lambda: outside.write_text(profile(7, "outside", "acme/board")), 7),
        ("no project file", project.unlink, 3),
    )
    installation = program.installation
    wrong = []
    for name, edit, expected in edits:
        before = threads(program, installation=installation)
        edit()
        if threads(program, installation=installation) != before:
            wrong.append((name, "seen too early"))
        installation = installation.refreshed()
        found = threads(program, installation=installation)
        if found != expected:
            wrong.append((name, found))
    assert not wrong


def test_equal_calls_give_equal_results(program: LoadedProgram) -> None:
    first, second = resolve(program), resolve(program)
    assert second == first
    assert second.selection == first.selection
    assert second.warnings == first.warnings
    shown = [
        {str(k): (v.value, v.origin) for k, v in reported_values(each).items()} for each in (first, second)
    ]
    assert shown[0] == shown[1]


def test_a_profile_that_breaks_is_an_error_after_refreshed_only(program: LoadedProgram, path: Path) -> None:
    resolve(program)
    path.write_text(profile(3) + "num_thread = 2\n")
    assert threads(program) == 2
    again = program.installation.refreshed()
    for _ in range(2):
        with pytest.raises(etconfig.ConfigError, match="num_thread"):
            resolve(program, installation=again)
    path.write_text(profile(4))
    assert threads(program, installation=again.refreshed()) == 4


def test_a_users_directory_counts_from_refreshed_on(tmp_path: Path) -> None:
    board = tmp_path / "etconfig" / "profiles" / "acme" / "board.toml"
    installation = Installation(environ={"XDG_CONFIG_HOME": str(tmp_path)})
    program = etconfig.load_program(DIGITS, installation=installation)
    assert resolve(program).profile == "raspberry-pi/pi-5"
    board.parent.mkdir(parents=True)
    board.write_text(profile(2))
    assert resolve(program).profile == "raspberry-pi/pi-5"
    assert resolve(program, installation=installation.refreshed()).profile == "acme/board"
    board.chmod(0o666)
    with pytest.raises(etconfig.ConfigError, match="can be written by every user"):
        resolve(program, installation=installation.refreshed())


def test_other_facts_and_arguments_count_in_each_call(program: LoadedProgram) -> None:
    assert threads(program) == 2
    other = etconfig.FactSheet.from_values({"cpu.available_cores": 3})
    found = etconfig.resolve(program, facts=other)
    assert (found.profile, found.explain(THREADS).value) == ("generic/any", 3)
    assert [each.code for each in found.warnings] == ["no-matching-profile"]
    assert etconfig.resolve(program, facts=other, profile="generic/any").warnings == ()
    assert threads(program, overrides={"ReferenceCpuBackend.num_threads": 1}) == 1
    assert len(resolve(program, instances={"forward": ["left"]})) == len(resolve(program)) + 1
    by_hand = {"device.model": "another", "cpu.available_cores": 3}
    assert threads(program, fact_overrides=by_hand) == 3
    program.installation.environ["ETCONFIG_SET"] = "ReferenceCpuBackend.num_threads=4"
    assert threads(program) == 4
    del program.installation.environ["ETCONFIG_SET"]
    assert threads(program) == 2
    spec = program.installation.plugins.backend_spec("ReferenceCpuBackend")
    given = program.installation.with_backends({"ReferenceCpuBackend": spec})
    assert threads(program, installation=given) == 2
    assert bool(resolve(program).what_if({"device.model": "another"}))


def test_a_pickled_installation_has_what_was_read(path: Path) -> None:
    installation = Installation(environ={}, profile_directories=[path.parents[1]])
    assert "acme/board" in installation.profiles.names
    assert installation.selector.select(PI5.values).profile.name == "acme/board"
    again = pickle.loads(pickle.dumps(installation))
    path.unlink()
    assert again.profiles.names == installation.profiles.names
    assert again.selector.select(PI5.values).profile.name == "acme/board"


def test_threads_share_a_snapshot(program: LoadedProgram, path: Path) -> None:
    problems: list[object] = []

    def many() -> None:
        for number in range(10):
            sheet = PI5.with_overrides({"power.battery_level": number / 30})
            found = etconfig.resolve(program, facts=sheet)
            if found.profile != "acme/board" or found.facts is not sheet or found.explain(THREADS).value != 2:
                problems.append(found)

    started = [threading.Thread(target=many) for _ in range(4)]
    resolve(program)
    for each in started:
        each.start()
    for number in range(3, 8):
        new = path.with_suffix(".new")
        new.write_text(profile(number))
        new.replace(path)
    for each in started:
        each.join()
    assert problems == []
