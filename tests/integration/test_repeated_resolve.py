"""Calls that repeat: what was read and compiled is kept by the installation, and nothing stale is used."""

from __future__ import annotations

import gc
import os
import pickle
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import etconfig
from etconfig.app import compiled
from etconfig.app.installation import Installation
from etconfig.app.loaded_program import LoadedProgram
from etconfig.resolver.difference import reported_values
from etconfig.resolver.resolver import Resolver

DATA = Path(__file__).parents[1] / "data"
PI5 = etconfig.load_fact_sheet(DATA / "sheets" / "raspberry-pi-5.json")
THREADS = "forward:ReferenceCpuBackend.num_threads"


PARTS = compiled.CompiledFrom(None, (), None, "", False)  # type: ignore[arg-type]


def profile(threads: int, extra: str = "") -> str:
    return (
        "[profile]\nname = 'acme/board'\nextends = ['raspberry-pi/pi-5']\n"
        "match = 'device.model.startsWith(\"Raspberry Pi 5\")'\n"
        f"[options.ReferenceCpuBackend]\nnum_threads = {threads}\n{extra}"
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "profiles" / "acme" / "board.toml"
    path.parent.mkdir(parents=True)
    path.write_text(profile(2))
    return path


@pytest.fixture
def program(path: Path) -> LoadedProgram:
    installation = Installation(environ={}, profile_directories=[path.parents[1]])
    return etconfig.load_program(DATA / "digits" / "digits.pte", installation=installation)


def resolve(program: LoadedProgram, **arguments: Any) -> etconfig.Resolution:
    return etconfig.resolve(program, facts=PI5, **arguments)


def values(resolution: etconfig.Resolution) -> Mapping[str, object]:
    return {str(each): (found.value, found.origin) for each, found in reported_values(resolution).items()}


def threads(program: LoadedProgram, **arguments: Any) -> object:
    return resolve(program, **arguments).explain(THREADS).value


@pytest.fixture
def compiling(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Counts how often a resolver is compiled."""
    count = [0]
    compile_now = Resolver.compile

    def counted(*arguments: Any, **options: Any) -> Resolver:
        count[0] += 1
        return compile_now(*arguments, **options)

    monkeypatch.setattr(Resolver, "compile", counted)
    return count


class TestWhatIsKept:
    """A second call compiles nothing, and gives what the first gave."""

    def test_the_second_call_is_equal_to_the_first(
        self, program: LoadedProgram, compiling: list[int]
    ) -> None:
        first, second = resolve(program), resolve(program)
        assert compiling == [1]
        assert second == first
        assert values(second) == values(first)
        assert second.selection == first.selection
        assert second.warnings == first.warnings
        assert second.to_jsonable() == first.to_jsonable()

    def test_a_named_profile_is_kept_too(self, program: LoadedProgram, compiling: list[int]) -> None:
        assert threads(program, profile="acme/board") == threads(program, profile="acme/board") == 2
        assert compiling == [1]

    def test_other_facts_select_and_resolve_anew(self, program: LoadedProgram) -> None:
        resolve(program)
        other = etconfig.FactSheet.from_values({"cpu.available_cores": 3})
        found = etconfig.resolve(program, facts=other)
        assert found.profile == "generic/any"
        assert [each.code for each in found.warnings] == ["no-matching-profile"]
        assert found.explain(THREADS).value == 3
        assert resolve(program).profile == "acme/board"

    def test_the_fallback_by_name_is_not_a_note(self, program: LoadedProgram) -> None:
        sheet = etconfig.FactSheet.from_values({"cpu.available_cores": 3})
        assert len(etconfig.resolve(program, facts=sheet).warnings) == 1
        assert etconfig.resolve(program, facts=sheet, profile="generic/any").warnings == ()
        assert len(etconfig.resolve(program, facts=sheet).warnings) == 1

    def test_one_resolution_can_be_asked_what_would_change(self, program: LoadedProgram) -> None:
        resolve(program)
        assert bool(resolve(program).what_if({"device.model": "another"}))


class TestWhatIsNew:
    """Everything that a result depends on counts from the next call on."""

    def test_a_changed_profile(self, program: LoadedProgram, path: Path) -> None:
        assert threads(program) == 2
        status = path.stat()
        path.write_text(profile(3))
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        assert threads(program) == 3
        assert threads(program, profile="acme/board") == 3

    def test_an_added_and_a_removed_profile(self, program: LoadedProgram, path: Path) -> None:
        assert threads(program) == 2
        more = path.with_name("special.toml")
        more.write_text(
            profile(1).replace("'acme/board'", "'acme/special'").replace("raspberry-pi/pi-5", "acme/board")
        )
        assert threads(program) == 1
        more.unlink()
        assert threads(program) == 2
        assert more.stem not in str(program.installation.profiles.names)

    def test_a_profile_that_breaks_is_an_error_each_time(self, program: LoadedProgram, path: Path) -> None:
        resolve(program)
        path.write_text(profile(3) + "num_thread = 2\n")
        for _ in range(2):
            with pytest.raises(etconfig.ConfigError, match="num_thread"):
                resolve(program)
        path.write_text(profile(4))
        assert threads(program) == 4

    def test_a_base_that_changes(self, program: LoadedProgram, path: Path) -> None:
        base = path.with_name("base.toml")
        base.write_text(
            "[profile]\nname = 'acme/base'\n[options.ReferenceCpuBackend]\nscratch_bytes = 8192\n"
        )
        path.write_text(profile(2).replace("['raspberry-pi/pi-5']", "['acme/base']"))
        size = "forward:ReferenceCpuBackend.scratch_bytes"
        assert resolve(program).explain(size).value == 8192
        base.write_text(base.read_text().replace("8192", "4096"))
        assert resolve(program).explain(size).value == 4096

    def test_the_environment(self, program: LoadedProgram) -> None:
        assert threads(program) == 2
        program.installation.environ["ETCONFIG_SET"] = "ReferenceCpuBackend.num_threads=4"
        assert threads(program) == 4
        del program.installation.environ["ETCONFIG_SET"]
        assert threads(program) == 2

    def test_overrides_instances_and_facts_by_hand(self, program: LoadedProgram) -> None:
        assert threads(program) == 2
        assert threads(program, overrides={"ReferenceCpuBackend.num_threads": 1}) == 1
        assert len(resolve(program, instances={"forward": ["left"]})) == len(resolve(program)) + 1
        by_hand = {"device.model": "another", "cpu.available_cores": 3}
        assert threads(program, fact_overrides=by_hand) == 3
        assert threads(program) == 2

    def test_another_program(self, program: LoadedProgram) -> None:
        resolve(program)
        path = DATA / "exports" / "external_constants.pte"
        with etconfig.load_program(path, installation=program.installation) as other:
            assert {method for method, _ in resolve(other).instances} == set(other.method_names)
        assert threads(program) == 2

    def test_other_backends(self, program: LoadedProgram) -> None:
        resolve(program)
        spec = program.installation.plugins.backend_spec("ReferenceCpuBackend")
        given = program.installation.with_backends({"ReferenceCpuBackend": spec})
        found = resolve(program, installation=given)
        assert found.explain(THREADS).value == 2

    def test_programs_that_a_project_file_names(self, tmp_path: Path, path: Path) -> None:
        project = tmp_path / "etconfig.toml"
        project.write_text(
            "programs = ['other.pte']\n[methods.decode.options.ReferenceCpuBackend]\nnum_threads = 1\n"
        )
        installation = Installation(tmp_path, environ={}, profile_directories=[path.parents[1]])
        program = etconfig.load_program(DATA / "digits" / "digits.pte", installation=installation)
        first = resolve(program)
        assert resolve(program).warnings == first.warnings
        (tmp_path / "other.pte").write_bytes((DATA / "digits" / "digits.pte").read_bytes())
        with pytest.raises(etconfig.ConfigError, match="decode"):
            resolve(program)

    def test_a_profile_that_others_may_write(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        own = tmp_path / "etconfig" / "profiles"
        installation = Installation(environ={"XDG_CONFIG_HOME": str(tmp_path)})
        program = etconfig.load_program(DATA / "digits" / "digits.pte", installation=installation)
        assert resolve(program).profile == "raspberry-pi/pi-5"
        (own / "acme").mkdir(parents=True)
        (own / "acme" / "board.toml").write_text(profile(2))
        assert resolve(program).profile == "acme/board"
        (own / "acme" / "board.toml").chmod(0o666)
        with pytest.raises(etconfig.ConfigError, match="can be written by every user"):
            resolve(program)


class TestBounds:
    """An installation keeps a bounded number of resolvers, and no program alive."""

    def test_only_some_resolvers_are_kept(
        self, program: LoadedProgram, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(compiled, "MAX_COMPILED", 3)
        for number in range(1, 8):
            path.write_text(profile(number))
            assert threads(program) == number
            assert len(program.installation.compiled._entries) <= 3

    def test_a_program_is_not_kept_alive(self, program: LoadedProgram, compiling: list[int]) -> None:
        installation = program.installation
        for _ in range(5):  # each likely at the address of the one before
            other = etconfig.load_program(DATA / "digits" / "digits.pte", installation=installation)
            assert threads(other) == 2
            other.close()
            del other
            gc.collect()
        assert compiling == [5]

    def test_an_installation_that_has_read_profiles_pickles(self, path: Path) -> None:
        installation = Installation(environ={}, profile_directories=[path.parents[1]])
        assert "acme/board" in installation.profiles.names
        assert installation.compiled.find(PARTS) is None
        again = pickle.loads(pickle.dumps(installation))
        assert again.profiles.names == installation.profiles.names

    def test_threads_share_it(self, program: LoadedProgram, path: Path) -> None:
        problems: list[object] = []

        def many() -> None:
            for number in range(30):
                sheet = PI5.with_overrides({"power.battery_level": number / 30})
                found = etconfig.resolve(program, facts=sheet)
                if found.profile != "acme/board" or found.facts is not sheet:
                    problems.append(found)

        started = [threading.Thread(target=many) for _ in range(4)]
        for each in started:
            each.start()
        for number in range(1, 8):
            new = path.with_suffix(".new")
            new.write_text(profile(number))
            new.replace(path)
        for each in started:
            each.join()
        assert problems == []
        assert threads(program) == 7
