"""The need of models in files that engines run, from what their vendors declare."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tiny_engine

import etconfig
from etconfig.app.configuring.engine_models import Models, model_in_file
from etconfig.app.configuring.several_programs import SeveralPrograms
from etconfig.app.programs.memory_needs import memory_problems, need_of_programs
from etconfig.base.budgeted_resources import MAX_AMOUNT
from etconfig.errors import InvalidPayloadError, ModelError, PluginCallError, UnreadableProgramError
from etconfig.memory.need import MemoryNeed
from etconfig.plugin.v1 import DelegateFacts, DelegateMemory

DIGITS = Path(__file__).parents[2] / "data" / "digits" / "digits_portable.pte"


def declared(options: tiny_engine.TinyOptions, model: DelegateFacts) -> DelegateMemory:
    """Declare ten times the file, and a part that all models share."""
    assert Path(str(model.path)).read_bytes() == bytes(model.read())
    return DelegateMemory(held_bytes=10 * model.payload_bytes, workspace_bytes=7, is_measured=True)


def installed(memory: Any = declared) -> etconfig.Installation:
    """Return an installation with the engine."""
    specs: Any = {"TinyEngine": replace(tiny_engine.SPEC, memory=memory)}
    return etconfig.Installation().with_backends(specs)


def model_in(path: Path, installation: etconfig.Installation) -> Models:
    found = model_in_file(path, installation)
    assert found is not None
    return found


def need_of(path: Path, memory: Any = declared) -> MemoryNeed:
    models = model_in(path, installed(memory))
    need = need_of_programs(models, etconfig.resolve(models))
    assert need is not None
    return need


class TestNeed:
    """The file is the payload, which the engine reads itself."""

    def test_it_is_what_the_vendor_declares(self, tmp_path: Path) -> None:
        path = tmp_path / "net.tiny"
        path.write_bytes(b"0123456789")
        need = need_of(path)
        assert (need.backend.size_bytes, need.peak.size_bytes, need.payloads.size_bytes) == (107, 107, 0)
        assert (need.program, need.peak.origin) == (str(path), "measured")
        assert list(need.holders) == ["model: TinyEngine", "TinyEngine: workspace"]

    def test_without_a_declaration_the_size_of_the_file_is_assumed(self, tmp_path: Path) -> None:
        path = tmp_path / "net.tiny"
        path.write_bytes(b"0123456789")
        need = need_of(path, None)
        assert (need.peak.size_bytes, need.peak.origin) == (10, "assumed")
        assert need.notes[0].startswith("nothing is known of the memory of TinyEngine: ")

    def test_instances_count_each(self, tmp_path: Path) -> None:
        path = tmp_path / "net.tiny"
        path.write_bytes(b"0123456789")
        models = model_in(path, installed())
        resolution = etconfig.resolve(models, instances={"model": ["left", "right"]})
        need = need_of_programs(models, resolution)
        assert need is not None
        assert need.peak.size_bytes == 207

    def test_it_stands_beside_programs(self, tmp_path: Path) -> None:
        path = tmp_path / "net.tiny"
        path.write_bytes(bytes(1 << 20))
        installation = installed()
        with etconfig.load_program(DIGITS, installation=installation) as program:
            alone = etconfig.memory_need(program).peak.size_bytes
            both = SeveralPrograms((program, model_in(path, installation)))
            facts = etconfig.FactSheet.from_values({"memory.available": 10 << 20})
            resolution = etconfig.resolve(both, facts=facts)
            need = need_of_programs(both, resolution)
            (problem,) = memory_problems(both, resolution)
        assert need is not None
        assert need.peak.size_bytes == alone + (10 << 20) + 7
        assert problem.message.startswith(f"{DIGITS}, {path} needs 10.")
        assert "model: TinyEngine 10 MiB" in problem.notes[0]


class TestFiles:
    """Files that cannot be estimated have clear errors."""

    def test_its_name_in_the_project_file_counts(self, tmp_path: Path) -> None:
        (tmp_path / "etconfig.toml").write_text("[model.net]\nbackends = ['TinyEngine']\n")
        (tmp_path / "net.tiny").write_bytes(b"x")
        specs: Any = {"TinyEngine": tiny_engine.SPEC}
        installation = etconfig.Installation(tmp_path).with_backends(specs)
        assert model_in(tmp_path / "net.tiny", installation).method_names == ("net",)
        assert model_in(tmp_path / "other.tiny", installation).method_names == ("model",)

    def test_several_engines_need_a_choice(self, tmp_path: Path) -> None:
        other = replace(tiny_engine.SPEC, id="OtherEngine")
        specs: Any = {"TinyEngine": tiny_engine.SPEC, "OtherEngine": other}
        installation = etconfig.Installation().with_backends(specs)
        with pytest.raises(ModelError) as caught:
            model_in_file(tmp_path / "net.tiny", installation)
        (problem,) = caught.value.diagnostics
        assert problem.message == "several installed backends run net.tiny: OtherEngine, TinyEngine"
        assert problem.help == (
            'write [model.net] with backends = ["OtherEngine"] in the project file; '
            "for inspect, --backend OtherEngine suffices"
        )
        chosen = model_in_file(tmp_path / "net.tiny", installation, "TinyEngine")
        assert chosen is not None
        assert chosen.backends("model") == ("TinyEngine",)

    def test_no_engine_takes_it(self, tmp_path: Path) -> None:
        assert model_in_file(tmp_path / "net.odd", installed()) is None

    @pytest.mark.parametrize("kind", ["gone", "directory", "gone on reading"])
    def test_it_cannot_be_read(self, tmp_path: Path, kind: str) -> None:
        path = tmp_path / "net.tiny"
        if kind == "directory":
            path.mkdir()

        if kind == "gone on reading":
            path.write_bytes(b"x")

        def reading(options: object, model: DelegateFacts) -> DelegateMemory:
            path.unlink()
            return DelegateMemory(held_bytes=len(model.read()))

        with pytest.raises(UnreadableProgramError) as caught:
            need_of(path, reading)
        assert caught.value.path == str(path)
        expected = "it is not a regular file" if kind == "directory" else "No such file or directory"
        assert expected in caught.value.message

    def test_a_damaged_file_is_not_the_fault_of_the_vendor(self, tmp_path: Path) -> None:
        path = tmp_path / "net.tiny"
        path.write_bytes(b"x")

        def refusing(options: object, model: DelegateFacts) -> DelegateMemory:
            raise InvalidPayloadError(cause="it is cut off")

        with pytest.raises(UnreadableProgramError) as caught:
            need_of(path, refusing)
        assert caught.value.message == f"{path}: it is cut off [unreadable-file]"

    def test_a_vendor_that_fails_is_named(self, tmp_path: Path) -> None:
        path = tmp_path / "net.tiny"
        path.write_bytes(b"x")
        answers: list[Any] = [
            lambda *_: DelegateMemory(held_bytes=-1),
            lambda *_: DelegateMemory(held_bytes=1.5),  # type: ignore[arg-type]
            lambda *_: DelegateMemory(held_bytes=MAX_AMOUNT + 1),
            lambda *_: 2**63,
            lambda *_: 1 / 0,
        ]
        for answer in answers:
            with pytest.raises(PluginCallError, match="memory of plugin 'TinyEngine'"):
                need_of(path, answer)
        largest = need_of(path, lambda *_: DelegateMemory(held_bytes=MAX_AMOUNT))
        assert largest.peak.size_bytes == MAX_AMOUNT


class TestBudget:
    """`validate` compares the files that the project file names with a budget of memory."""

    def test_an_excess_is_an_error_and_an_absent_file_is_not_counted(self, tmp_path: Path) -> None:
        (tmp_path / "net.tiny").write_bytes(bytes(1000))
        project = tmp_path / "etconfig.toml"
        project.write_text(
            "[budget]\nmemory = '9 KiB'\n"
            "[model.net]\nbackends = ['TinyEngine']\nfile = 'net.tiny'\n"
            "[model.absent]\nbackends = ['TinyEngine']\nfile = 'absent.tiny'\n"
        )
        specs: Any = {"TinyEngine": replace(tiny_engine.SPEC, memory=declared)}
        installation = etconfig.Installation(tmp_path).with_backends(specs)
        facts = etconfig.FactSheet.from_values({"memory.available": 1 << 30})
        (problem,) = etconfig.validate_file(project, installation, facts=facts)
        assert (problem.code, problem.severity.value) == ("budget-exceeded", "error")
        assert problem.message == f"{tmp_path / 'net.tiny'} needs 9.772 KiB, and the budget is 9 KiB"
