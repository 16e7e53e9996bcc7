"""Every public function with a path takes it as people have it; other types are refused by name."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from command_line import DATA, ROOT
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from every import every

import etconfig
from etconfig.conformance import Settings
from etconfig.errors import EtconfigError
from etconfig.fleet import Fleet, open_fleet
from etconfig.plugin.v1 import ApiRange, ConformanceContribution, System, write_own_file
from etconfig.profile.library import ProfileLibrary, ProfileSource

SHEET = DATA / "sheets" / "raspberry-pi-5.json"
EXPORTS = DATA / "exports"
_TAKES_PATHS = re.compile(r"(\w+): (?!Callable)[^=,)]*\b(?:AnyPath|Path|ProgramSource|DataSources)\b")
_TAKES_ANY_OBJECT = {"etconfig.plugin.v1.System where"}
"""An object that is not a path is a source of files there."""
_SAME_NAME = {
    "etconfig.analysis.resolve_devices": "etconfig.resolve_devices",
}
"""Names of one function in two modules."""


def parameters_with_paths() -> set[str]:
    """`FUNCTION PARAMETER` for each public function, constructor or record whose signature names a path."""
    found = set()
    for line in (DATA / "api" / "surface.txt").read_text(encoding="utf-8").splitlines():
        name, _, rest = line.partition(" ")
        if " field" in line[: line.find(":")] and re.search(r": (AnyPath|Path)\b", line):
            owner, _, field = name.rpartition(".")
            found.add(f"{owner} {field}")
        elif rest.startswith(("def ", "classmethod def ", "staticmethod def ")):
            function = _SAME_NAME.get(name, name).removesuffix(".__init__")
            found |= {
                f"{function} {parameter}" for parameter in _TAKES_PATHS.findall(rest.partition(" ->")[0])
            }
    return found


_REFUSED_OR_NOTHING = r"null (byte|character)|there is no|\\x00|^(None|\(\))$"
"""An error, the path itself with the character, or what is found in a place that does not exist."""


def _outcome(call: Callable[[], object]) -> str:
    """The result as text, or the error that users meet."""
    try:
        return repr(call())
    except (EtconfigError, ValueError) as error:
        return str(error)


@dataclass
class Fspath:
    """An object with `__fspath__` that is not a `Path`."""

    path: Path

    def __fspath__(self) -> str:
        return os.fspath(self.path)


@pytest.fixture
def files(place: Path, cli: Callable[..., Any]) -> Path:
    """A directory with a file of every kind that a public function reads."""
    (place / "camera.toml").write_text(
        "[profile]\nname = 'app/camera'\n[options.ReferenceCpuBackend]\nnum_threads = 2\n"
    )
    (place / "named.toml").write_text("profile = 'generic/any'\n")
    (place / "models.toml").write_text("[[model.m.variants]]\nfile = 'model.pte'\n")
    (place / "engines.toml").write_text("[model.m]\nbackends = ['ReferenceCpuBackend']\n")
    (place / "devices.jsonl").write_text('{"device_id": "d1", "os.name": "linux"}\n')
    (place / "folder").mkdir()
    etconfig.pack_bundle(profiles=["generic/any"]).save("app.etbundle")
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (place / "key.pem").write_bytes(private)
    (place / "key.pem").chmod(0o600)
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    (place / "public.pem").write_bytes(public)
    etconfig.load_bundle("app.etbundle").signed("key.pem").save("signed.etbundle")
    return place


def _facts(sheet: etconfig.FactSheet) -> object:
    return dict(sheet.values)


def _resolved(profile: Any) -> object:
    return etconfig.resolve(profile=profile, facts=etconfig.FactSheet.empty()).fingerprint()


def _with_models(models: Any) -> etconfig.Configuration:
    return etconfig.configure(models=models, facts=etconfig.FactSheet.empty(), profile="generic/any")


def _selected(models: Any) -> object:
    return str(etconfig.select_model("m", models=models))


def _loaded(**arguments: Any) -> object:
    with etconfig.load_model("m", **{"models": "models.toml", "methods": ["forward"], **arguments}) as model:
        return model.resolution.fingerprint()


def _tuned(model: Any = "model.pte", **arguments: Any) -> etconfig.TuneReport:
    return etconfig.tune(model, **{"only": ["ReferenceCpuBackend.num_threads"], "budget_s": 0.0, **arguments})


def _fleet(inventories: Any = "devices.jsonl", **arguments: Any) -> Fleet:
    pytest.importorskip("duckdb", reason="needs the extra etconfig[fleet]")
    return open_fleet(inventories, **arguments)


CALLS: dict[str, tuple[str, Callable[[Any], object]]] = {
    "etconfig.Installation directory": ("folder", lambda p: etconfig.Installation(p).project),
    "etconfig.Installation profile_directories": (
        "folder",
        lambda p: etconfig.Installation(profile_directories=[p]).profiles.names,
    ),
    "etconfig.Installation search_path": (
        "folder",
        lambda p: etconfig.Installation(search_path=[p]).backend_ids,
    ),
    "etconfig.Installation.profile_chain target": (
        "camera.toml",
        lambda p: [each.name for each in etconfig.Installation().profile_chain(p)],
    ),
    "etconfig.Installation.with_project path": (
        "named.toml",
        lambda p: etconfig.Installation().with_project(p).project_path,
    ),
    "etconfig.compare model": ("model.pte", lambda p: etconfig.compare(p, pairs=6).sha256),
    "etconfig.compare data": (
        str(EXPORTS / "external_constants.ptd"),
        lambda p: etconfig.compare(EXPORTS / "external_constants.pte", data=p, pairs=6).sha256,
    ),
    "etconfig.compare models": (
        "models.toml",
        lambda p: etconfig.compare("m", models=p, pairs=6).model,
    ),
    "etconfig.compare profile": (
        "camera.toml",
        lambda p: etconfig.compare("model.pte", profile=p, pairs=6).incumbent.profile,
    ),
    "etconfig.configure profile": (
        "camera.toml",
        lambda p: etconfig.configure(profile=p, facts=etconfig.FactSheet.empty()).chain[-1].name,
    ),
    "etconfig.resolve profile": ("camera.toml", _resolved),
    "etconfig.configure models": ("engines.toml", lambda p: [*_with_models(p).resolver.instances]),
    "etconfig.resolve models": (
        "engines.toml",
        lambda p: etconfig.resolve(models=p, facts=etconfig.FactSheet.empty(), profile="generic/any"),
    ),
    "etconfig.LiveArguments models": (
        "engines.toml",
        lambda p: etconfig.LiveArguments(models=p, facts=etconfig.FactSheet.empty(), profile="generic/any"),
    ),
    "etconfig.Models.read path": ("engines.toml", etconfig.Models.read),
    "etconfig.resolve_devices profile": (
        "camera.toml",
        lambda p: (
            etconfig.resolve_devices(devices={"new": etconfig.FactSheet.empty()}, profile=p)["new"].profile
        ),
    ),
    "etconfig.LiveArguments profile": (
        "camera.toml",
        lambda p: etconfig.LiveArguments(profile=p, facts=etconfig.FactSheet.empty()).resolution.profile,
    ),
    "etconfig.tune model": ("model.pte", lambda p: _tuned(p).sha256),
    "etconfig.tune control": ("model.pte", lambda p: _tuned(control=p).space),
    "etconfig.tune data": (
        str(EXPORTS / "external_constants.ptd"),
        lambda p: _tuned(data=p).space,
    ),
    "etconfig.tune models": ("models.toml", lambda p: _tuned("m", models=p).model),
    "etconfig.tune profile": ("camera.toml", lambda p: _tuned(profile=p).profile),
    "etconfig.tune output": ("tuned.toml", lambda p: _tuned(output=p).space),
    "etconfig.tune study": ("study.jsonl", lambda p: _tuned(study=p).study),
    "etconfig.DeviceBundle.save path": (
        "written.etbundle",
        lambda p: etconfig.load_bundle("app.etbundle").save(p),
    ),
    "etconfig.DeviceBundle.signed key": (
        "key.pem",
        lambda p: etconfig.load_bundle("app.etbundle").signed(p).is_signed,
    ),
    "etconfig.DeviceBundle.check_signature public_key": (
        "public.pem",
        lambda p: etconfig.load_bundle("signed.etbundle").check_signature(p),
    ),
    "etconfig.load_bundle path": ("app.etbundle", lambda p: etconfig.load_bundle(p).profile_names),
    "etconfig.pack_bundle profiles": (
        "camera.toml",
        lambda p: etconfig.pack_bundle(profiles=[p]).profile_names,
    ),
    "etconfig.fleet.open_fleet inventories": ("devices.jsonl", lambda p: _fleet([p]).resolve().devices),
    "etconfig.fleet.open_fleet cache": ("folder", lambda p: _fleet(cache=p).resolve().devices),
    "etconfig.fleet.Fleet.resolve output": ("folder", lambda p: _fleet().resolve(output=p).devices),
    "etconfig.fleet.Fleet.resolve profile": ("camera.toml", lambda p: _fleet().resolve(profile=p).devices),
    "etconfig.fleet.Fleet.compare devices": (
        "moved.parquet",
        lambda p: _fleet().compare(etconfig.Installation(), etconfig.Installation(), devices=p).devices,
    ),
    "etconfig.fleet.Fleet.compare profile": (
        "camera.toml",
        lambda p: _fleet().compare(etconfig.Installation(), etconfig.Installation(), profile=p).devices,
    ),
    "etconfig.load_fact_sheet path": (str(SHEET), lambda p: _facts(etconfig.load_fact_sheet(p))),
    "etconfig.load_model models": ("models.toml", lambda p: _loaded(models=p)),
    "etconfig.load_model profile": ("camera.toml", lambda p: _loaded(profile=p)),
    "etconfig.select_model models": ("models.toml", _selected),
    "etconfig.load_program source": ("model.pte", lambda p: etconfig.load_program(p).method_names),
    "etconfig.load_program data": (
        str(EXPORTS / "external_constants.ptd"),
        lambda p: etconfig.load_program(EXPORTS / "external_constants.pte", data=p).method_names,
    ),
    "etconfig.open_data_file source": (
        str(EXPORTS / "external_constants.ptd"),
        lambda p: sorted(etconfig.open_data_file(p).blobs),
    ),
    "etconfig.validate_file path": ("camera.toml", etconfig.validate_file),
    "etconfig.profile.ProfileLibrary.find target": (
        "camera.toml",
        lambda p: ProfileLibrary(()).find(p).path,
    ),
    "etconfig.profile.ProfileSource directory": ("folder", lambda p: ProfileSource("mine", p)),
    "etconfig.plugin.v1.ConformanceContribution programs": (
        "folder",
        lambda p: ConformanceContribution(api=ApiRange(1, 1), programs=p).programs,
    ),
    "etconfig.plugin.v1.write_own_file path": (
        "written.bin",
        lambda p: write_own_file(p, b"", "a cache", lambda _: True),
    ),
    "etconfig.plugin.v1.System where": (
        str(DATA / "trees" / "raspberry-pi-5"),
        lambda p: System(p, None).read_line("/proc/device-tree/model"),  # type: ignore[arg-type]
    ),
    "etconfig.conformance.Settings programs": (
        "folder",
        lambda p: Settings(backend="X", programs=p).golden_programs(),
    ),
}
"""For each of them, a path and a call."""


def test_every_public_path_is_tried_below() -> None:
    assert parameters_with_paths() == set(CALLS)


class TestPaths:
    """A path may be a text, a `Path`, or any object with `__fspath__`."""

    @pytest.mark.parametrize("name", CALLS)
    def test_each_form_means_the_same(self, files: Path, name: str) -> None:
        path, call = CALLS[name]
        assert repr(call(path)) == repr(call(Path(path))) == repr(call(Fspath(Path(path))))

    @every("name", [name for name in CALLS if name not in _TAKES_ANY_OBJECT])
    @every("value", [3.5, object(), ["x", 1]], ids=["number", "object", "list"])
    def test_another_type_is_refused_by_the_name_of_the_parameter(
        self, files: Path, name: str, value: object
    ) -> None:
        parameter = name.rpartition(" ")[2]
        with pytest.raises(TypeError) as caught:
            CALLS[name][1](value)
        given = "int" if parameter == "data" and isinstance(value, list) else type(value).__name__
        assert str(caught.value).startswith(f"{parameter}: expected ")
        assert re.search(rf", given (one )?{given}$", str(caught.value))

    @pytest.mark.parametrize("name", CALLS)
    def test_a_null_character_is_a_clear_error_or_leads_to_nothing(self, files: Path, name: str) -> None:
        """No function stops with anything else, and none takes the part before the character."""
        path, call = CALLS[name]
        assert re.search(_REFUSED_OR_NOTHING, _outcome(lambda: call(f"{path}\0")))


class TestHome:
    """`~` stays as it is, as for `open`; the error says how to expand it."""

    @pytest.mark.parametrize(
        "call",
        [
            etconfig.load_fact_sheet,
            etconfig.load_bundle,
            lambda path: etconfig.resolve(profile=path),
        ],
    )
    def test_a_path_below_the_home_directory_is_to_be_expanded(
        self, place: Path, call: Callable[[str], object]
    ) -> None:
        with pytest.raises(etconfig.ConfigError) as caught:
            call("~/board.toml")
        (problem,) = caught.value.diagnostics
        assert problem.help == "a shell expands `~`, Python does not: pass Path(...).expanduser()"

    def test_a_program_too(self, place: Path) -> None:
        with pytest.raises(etconfig.ProgramError) as caught:
            etconfig.load_program("~/model.pte")
        assert caught.value.help == "a shell expands `~`, Python does not: pass Path(...).expanduser()"


class TestLists:
    """A single path where several belong would be taken apart into its characters."""

    @pytest.mark.parametrize("argument", ["profile_directories", "search_path"])
    def test_a_single_text_is_refused(self, argument: str) -> None:
        with pytest.raises(TypeError) as caught:
            etconfig.Installation(**{argument: str(ROOT)})
        expected = "a list of paths, each as str or pathlib.Path"
        assert str(caught.value) == f"{argument}: expected {expected}, given one str"
