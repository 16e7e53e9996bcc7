"""Descriptions of provider libraries, and the options that they list; nothing here needs ONNX Runtime."""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

import pytest
from effort import seeds
from etconfig_onnxruntime.facts import _metadata
from etconfig_onnxruntime.options import OnnxRuntimeOptions
from etconfig_onnxruntime.plugin import SPEC
from etconfig_onnxruntime.provider_libraries import (
    VARIABLE,
    WHEELS,
    described_libraries,
    library_path,
    register_libraries,
    register_library,
)
from etconfig_onnxruntime.provider_tables import provider_options, reported_provider
from onnxruntime_registry import RegistryOnly

import etconfig
from etconfig.plugin.v1 import KnownKey
from etconfig.schema.validate import validate_options

INSTALLATION = etconfig.Installation().with_backends({SPEC.id: SPEC})

ACME = """\
name = "AcmeExecutionProvider"
library = "libacme.so"
[options.power]
doc = "The clock."
choices = ["low", "high"]
[options.threads]
doc = "The threads."
kind = "integer"
minimum = 1
maximum = 8
"""


def described(directory: Path, text: str = ACME) -> Path:
    """Write a description, and a text file in place of the library beside it."""
    directory.mkdir(exist_ok=True)
    (directory / "libacme.so").write_text("no library")
    (directory / "acme.toml").write_text(text)
    return directory / "acme.toml"


@pytest.fixture
def acme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = described(tmp_path / "acme")
    monkeypatch.setenv(VARIABLE, str(file))
    return file


def plugin(**values: object) -> dict[str, object]:
    return {"provider": "plugin", "name": "AcmeExecutionProvider", **values}


def problems(*tables: dict[str, object]) -> list[str]:
    found = validate_options(SPEC, {"providers": [*tables]}).problems
    return [problem.help or problem.message for problem in found]


class TestOptions:
    """The keys of a provider are those of its description; others need the table `unchecked`."""

    def test_options_are_passed_on_and_read_back(self, acme: Path) -> None:
        table = plugin(device_type="npu", options={"power": "low", "threads": "2"}, unchecked={"new": "x"})
        (made,) = OnnxRuntimeOptions(providers=[table]).providers  # type: ignore[arg-type]  # as in a profile
        texts = {"power": "low", "threads": "2", "new": "x"}
        assert provider_options(made) == texts
        assert reported_provider("AcmeExecutionProvider", {**texts, "more": "1"}, made) == made
        acme.unlink()
        changed = reported_provider("AcmeExecutionProvider", {**texts, "power": "off"}, made)
        assert changed != made
        assert provider_options(changed)["power"] == "off"  # type: ignore[arg-type]  # no name

    @pytest.mark.parametrize(
        ("values", "message"),
        [
            (
                {"options": {"powr": "low"}},
                "AcmeExecutionProvider has no option 'powr'; it has power, threads; unchecked takes others",
            ),
            ({"options": {"power": "max"}}, "options.power is 'max'; expected one of 'low', 'high'"),
            (
                {"options": {"threads": "9"}},
                "options.threads is '9'; expected an integer >= 1 and <= 8 as a string",
            ),
            ({"unchecked": {"power": "low"}}, "unchecked has the known option 'power'; set options.power"),
            ({"name": ""}, "name is ''; expected the name of a provider"),
            (
                {"unchecked": {"": "1"}},
                "'' is '1'; a key must not be empty, and nothing contains a null character",
            ),
            (
                {"options": {"power": "low\0"}},
                "'power' is 'low\\x00'; a key must not be empty, and nothing contains a null character",
            ),
            (
                {"name": "CUDAExecutionProvider"},
                "name is 'CUDAExecutionProvider'; set provider = 'cuda' instead, which has options of its "
                "own",
            ),
            (
                {"name": "Other", "options": {"a": "1"}},
                "no description of 'Other' is here (those here: 'AcmeExecutionProvider'), so nothing checks "
                "options; install the package of its maker, or move them to unchecked",
            ),
        ],
    )
    def test_a_mistake_is_named(self, acme: Path, values: dict[str, object], message: str) -> None:
        assert problems(plugin(**values)) == [message]

    def test_a_profile_cannot_name_a_library(self, acme: Path) -> None:
        for key in ("library", "path", "backend_path"):
            (found,) = problems(plugin(**{key: "/tmp/libevil.so"}))
            assert found.startswith("it has unchecked, provider, name, device_type, options")
        assert problems({"provider": "plugin", "name": "/tmp/libevil.so"}) == []
        assert library_path("/tmp/libevil.so") is None

    def test_without_options_no_description_is_needed(self) -> None:
        assert problems({"provider": "plugin", "name": "Other", "unchecked": {"a": "1"}}) == []
        (found,) = problems({"provider": "plugin"})
        assert found == "add name, a string"

    def test_other_providers_take_unchecked_options_too(self) -> None:
        table = {"provider": "webgpu", "device_id": 1, "unchecked": {"newest": "1"}}
        (made,) = OnnxRuntimeOptions(providers=[table]).providers  # type: ignore[arg-type]  # as in a profile
        texts = {"deviceId": "1", "newest": "1"}
        assert provider_options(made) == texts
        assert reported_provider("webgpu", {**texts, "other": "2"}, made) == made
        table["unchecked"] = {"deviceId": "1"}
        assert problems(table) == ["unchecked has the known option 'deviceId'; set device_id"]
        assert problems({"provider": "cpu", "unchecked": {}}) != []

    def test_two_providers_of_libraries_are_two(self, acme: Path) -> None:
        assert problems(plugin(), plugin(name="Other"), {"provider": "cpu"}) == []
        assert problems(plugin(), plugin()) == [
            "OnnxRuntimeBackend: providers names 'AcmeExecutionProvider' twice"
        ]

    def test_a_device_without_it_is_named(self, acme: Path) -> None:
        options = OnnxRuntimeOptions(providers=[plugin()])  # type: ignore[arg-type]  # as in a profile
        assert SPEC.verify_on_device is not None
        assert [*SPEC.verify_on_device(options, {"onnxruntime.providers": ("cpu",)})] == [
            "providers names 'AcmeExecutionProvider', and onnxruntime.providers of this device has 'cpu'"
        ]
        here = {"onnxruntime.providers": ("AcmeExecutionProvider", "cpu")}
        assert [*SPEC.verify_on_device(options, here)] == []

    def test_unchecked_options_are_marked_where_values_are_shown(self, acme: Path, tmp_path: Path) -> None:
        profile = tmp_path / "board.toml"
        profile.write_text(
            '[profile]\nname = "board"\n[[options.OnnxRuntimeBackend.providers]]\nprovider = "plugin"\n'
            'name = "AcmeExecutionProvider"\noptions = { power = "low", threads = "2" }\n'
            'unchecked = { new = "x" }\n'
        )
        config = etconfig.resolve(
            models={"m": SPEC.id},
            profile=profile,
            facts=etconfig.FactSheet.from_values({}),
            installation=INSTALLATION,
        )
        shown = "[{'provider': 'plugin', 'unchecked': {'new': 'x'}, ...}]"
        assert shown in str(config)
        assert shown in str(config.explain("m:OnnxRuntimeBackend.providers"))


class TestDescriptions:
    """A description names its library and its options; a broken one says why."""

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("", "name is missing"),
            ('name = "A"', "library is missing"),
            ('name = ""\nlibrary = "libacme.so"', "name is missing"),
            ('name = 1\nlibrary = "libacme.so"', "name must be of the type str"),
            (f"{ACME}minimun = 1", "options.threads.minimun is not a key of it; expected doc, kind, choices"),
            (f"librari = 1\n{ACME}", "librari is not a key of it; expected name, library, options"),
            ('name = "A"\nlibrary = "libacme.so"\n[options]\na = 1', "options.a must be a table"),
            ('name = "A"\nlibrary = "libacme.so"\n[options.a]', "options.a.doc is missing"),
            (
                'name = "A"\nlibrary = "libacme.so"\n[options.a]\ndoc = "x"\nchoices = [1]',
                "options.a.choices must be strings, at least one",
            ),
            (
                'name = "A"\nlibrary = "libacme.so"\n[options.a]\ndoc = "x"\nchoices = []',
                "options.a.choices must be strings, at least one",
            ),
            (ACME.replace("maximum = 8", "maximum = 0"), "minimum is 1, above maximum, 0"),
            (
                'name = "A"\nlibrary = "libacme.so"\n[options.a]\ndoc = "x"\nkind = "float"',
                "options.a: kind of a KnownKey is 'float'",
            ),
            (
                'name = "A"\nlibrary = "libacme.so"\n[options.a]\ndoc = "x"\nminimum = true',
                "options.a.minimum must be of the type int",
            ),
            ('name = "A"\nlibrary = "../a.so"', "library is '../a.so', which is outside of the directory"),
            ('name = "A"\nlibrary = "/usr/lib/a.so"', "which is outside of the directory"),
            ('name = "A"\nlibrary = "link.so"', "library is 'link.so', which is outside of the directory"),
            ('name = "A"\nlibrary = "a.so"', "library is 'a.so', and there is no file "),
            ('name = "A"\nlibrary = "."', "library is '.', and there is no file "),
            ('name = "A"\nlibrary = "a\\u0000b"', ""),  # in the words of Python or the system
            ("name = ", "Invalid value"),
            ("a = " + "[" * 100_000, ""),
            ("\x00", ""),
        ],
    )
    def test_a_broken_one_is_named(self, acme: Path, text: str, reason: str) -> None:
        (acme.parent / "link.so").symlink_to(sys.executable)
        acme.write_text(text)
        libraries, (problem,) = described_libraries()
        assert libraries == {}
        assert problem.startswith(f"{acme}, named by {VARIABLE}, cannot be used: ")
        assert reason in problem
        (found,) = problems(plugin(options={"power": "low"}))
        assert found.endswith(problem)
        with pytest.raises(ValueError, match="cannot be used"):
            library_path("AcmeExecutionProvider")

    def test_bytes_that_are_no_text(self, acme: Path) -> None:
        acme.write_bytes(b"\xff\xfe")
        assert "codec can't decode" in described_libraries()[1][0]

    def test_a_large_file_and_a_directory(self, acme: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        acme.write_text(f"{ACME}#{' ' * 2**20}")
        monkeypatch.setenv(VARIABLE, os.pathsep.join((str(acme), str(acme.parent))))
        libraries, broken = described_libraries()
        assert libraries == {}
        assert [each.partition(": ")[2] for each in broken] == [
            "it is not a file of at most 1048576 bytes"
        ] * 2

    def test_a_file_that_is_not_there(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(VARIABLE, "absent.toml")
        (problem,) = described_libraries()[1]
        file = Path("absent.toml").absolute()
        assert problem == f"{file}, named by {VARIABLE}, cannot be used: No such file or directory"

    def test_a_broken_one_does_not_harm_others(self, acme: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(VARIABLE, os.pathsep.join(("absent.toml", str(acme))))
        assert problems(plugin(options={"power": "low"})) == []
        assert library_path("AcmeExecutionProvider") == str(acme.parent.resolve() / "libacme.so")

    def test_damaged_ones_are_reported_and_never_name_a_library_elsewhere(self, acme: Path) -> None:
        directory = acme.parent.resolve()
        for number in seeds(600):
            generator = random.Random(number)
            data = bytearray(ACME.encode())
            for _ in range(generator.randint(1, 4)):
                place = generator.randrange(len(data))
                data[place : place + generator.randint(0, 3)] = generator.choice(
                    [b"", b"[", b'"', b"=", b"\n", b"../", b"/", b"\0", b"\xff", b"true", b"9", b"'"]
                )
            acme.write_bytes(data)
            os.utime(acme, ns=(number, number))
            libraries, broken = described_libraries()
            assert len(libraries) + len(broken) == 1, data
            for library in libraries.values():
                assert Path(library.path).parent == directory
                assert all(isinstance(each, KnownKey) for each in library.options.values())

    def test_a_changed_file_is_read_again(self, acme: Path) -> None:
        assert problems(plugin(options={"power": "low"})) == []
        acme.write_text(ACME.replace("power", "clock"))
        assert problems(plugin(options={"power": "low"})) != []


class TestPackages:
    """A package names its description as an entry point, and is not imported."""

    @pytest.fixture
    def package(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        file = described(tmp_path / "acme_ep")
        (file.parent / "__init__.py").write_text("raise RuntimeError('imported')")
        metadata = tmp_path / "acme_ep-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-ep\nVersion: 1.0\n")
        (metadata / "entry_points.txt").write_text(
            "[etconfig_onnxruntime.providers]\nacme = acme_ep:acme.toml\n"
        )
        monkeypatch.syspath_prepend(str(tmp_path))
        return file

    def test_its_options_are_known(self, package: Path) -> None:
        assert problems(plugin(options={"power": "low"})) == []
        assert library_path("AcmeExecutionProvider") == str(package.parent.resolve() / "libacme.so")

    def test_the_variable_wins(self, package: Path, acme: Path) -> None:
        assert library_path("AcmeExecutionProvider") == str(acme.parent.resolve() / "libacme.so")

    def test_a_file_that_it_lacks(self, package: Path) -> None:
        package.unlink()
        (problem,) = described_libraries()[1]
        named = "named by the entry point acme = 'acme_ep:acme.toml'"
        assert problem == f"{package}, {named}, cannot be used: No such file or directory"

    def test_a_package_that_is_not_there_names_no_file_of_the_current_directory(
        self, package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        entries = tmp_path / "acme_ep-1.0.dist-info" / "entry_points.txt"
        for value in ("gone:acme.toml", "a.b:acme.toml", ":acme.toml", "acme.toml"):
            entries.write_text(f"[etconfig_onnxruntime.providers]\nacme = {value}\n")
            monkeypatch.syspath_prepend(str(tmp_path / value))  # another sys.path, so that it is read again
            monkeypatch.chdir(described(tmp_path / "stranger").parent)
            libraries, (problem,) = described_libraries()
            assert libraries == {}
            assert problem == f"the entry point acme = {value!r} names no file of an installed package"

    @pytest.mark.parametrize("package_name", WHEELS.values())
    def test_packages_without_a_description(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package_name: str
    ) -> None:
        (tmp_path / f"{package_name}.py").write_text("def get_library_path(): return '/somewhere/ep.so'")
        monkeypatch.syspath_prepend(str(tmp_path))
        (name,) = (name for name, each in WHEELS.items() if each == package_name)
        assert library_path(name) == "/somewhere/ep.so"
        sys.modules[package_name].get_library_path = lambda: 1 / 0  # type: ignore[attr-defined]
        with pytest.raises(ValueError, match=f"^the package {package_name} names no library: division by"):
            library_path(name)
        del sys.modules[package_name]


class TestRegistering:
    """A library is registered once, when its provider is wanted or its devices are detected."""

    def test_once(self, acme: Path) -> None:
        engine = RegistryOnly()
        assert register_library(engine, "AcmeExecutionProvider") == ""
        assert register_library(engine, "AcmeExecutionProvider") == ""
        assert engine.libraries == {"AcmeExecutionProvider": str(acme.parent.resolve() / "libacme.so")}

    def test_none_for_providers_that_are_there_or_have_no_library(self, acme: Path) -> None:
        engine = RegistryOnly()
        assert register_library(engine, "cpu") == register_library(engine, "cuda") == ""
        assert engine.libraries == {}

    def test_a_library_without_a_device(self, acme: Path) -> None:
        engine, path = RegistryOnly(has_devices=False), acme.parent.resolve() / "libacme.so"
        reason = f"its library {path} finds no device on this machine"
        assert register_library(engine, "AcmeExecutionProvider") == reason
        assert register_library(engine, "AcmeExecutionProvider") == reason  # registered already

    def test_a_library_that_fails(self, acme: Path, caplog: pytest.LogCaptureFixture) -> None:
        reason = "ONNX Runtime cannot use its library: file too short"
        assert register_library(RegistryOnly(error="file too short"), "AcmeExecutionProvider") == reason
        register_libraries(RegistryOnly(error="file too short"))
        assert caplog.messages == [f"AcmeExecutionProvider: {reason}"]

    def test_a_broken_description_is_logged(self, acme: Path, caplog: pytest.LogCaptureFixture) -> None:
        acme.write_text("")
        register_libraries(RegistryOnly())
        assert caplog.messages == [f"{acme}, named by {VARIABLE}, cannot be used: name is missing"]


def test_metadata_are_texts_without_paths() -> None:
    texts = {
        "b": "v73",
        "a": "1/2",
        "library_path": "/home/me/x.so",
        "dll": "C:\\x.dll",
        "odd": "a\nb",
        "": "",
    }
    assert _metadata(texts) == ("=", "a=1/2", "b=v73")
