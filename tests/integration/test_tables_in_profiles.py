"""Tables of options in profiles: places of mistakes, the merge rule, and every output that has values."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import Outcome
from engine_tables import Cpu, Gpu, Limits

import etconfig
from etconfig.app.installation.installation import Installation
from etconfig.errors import OptionError

PLUGIN = """
from __future__ import annotations

from engine_tables import Cpu, Gpu
from etconfig.plugin.v1 import ApiRange, BackendOptions, BackendSpec, hookimpl, option


class Options(BackendOptions):
    engine: Cpu | Gpu = option({"engine": "cpu", "threads": 1}, applies="load", doc="An engine.")
    engines: tuple[Cpu | Gpu, ...] = option((), applies="load", doc="Engines in order.")


@hookimpl
def etconfig_backend(request):
    return BackendSpec(id="Vendor", doc="A.", options=Options, api=ApiRange(1, 1), build=Options.model_copy)
"""
BASE = """\
[profile]
name = "base"

[options.Vendor]
engine = { engine = "cpu", threads = 4, is_fast = true }
engines = [{ engine = "gpu", device = 1, limits = { memory = "2 KiB" } }, { engine = "cpu" }]
"""


@pytest.fixture
def installed(
    install_vendor: Callable[[str], Installation], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Path:
    install_vendor(PLUGIN)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "base.toml").write_text(BASE)
    return tmp_path


def resolve(text: str, **options: Any) -> Any:
    Path("used.toml").write_text(f'[profile]\nname = "used"\nextends = ["./base.toml"]\n{text}')
    return etconfig.resolve(models={"detector": "Vendor"}, profile="used.toml", **options)


@pytest.mark.usefixtures("installed")
class TestProfiles:
    """A profile sets tables inline, or as blocks; a later one replaces them as a whole."""

    def test_values_are_objects(self) -> None:
        options = resolve("").options_for("detector")
        assert options.engine == Cpu(threads=4, is_fast=True)
        assert options.engines == (Gpu(device=1, limits=Limits(memory=2048)), Cpu())

    def test_a_later_table_replaces_an_earlier_one(self) -> None:
        text = '[options.Vendor]\nengine = { engine = "cpu", threads = 2 }\n'
        assert resolve(text).options_for("detector").engine == Cpu(threads=2)
        text = '[options.Vendor]\nengine = { engine = "gpu", device = 2 }\n'
        assert resolve(text).options_for("detector").engine == Gpu(device=2)

    def test_unset_shows_the_default(self) -> None:
        text = "[options.Vendor]\nengine = { unset = true }\n"
        assert resolve(text).options_for("detector").engine == Cpu(threads=1)

    def test_an_override_is_json(self) -> None:
        resolved = resolve("", overrides=['Vendor.engine={"engine": "gpu", "device": 3}'])
        assert resolved.options_for("detector").engine == Gpu(device=3)

    def test_a_resolution_as_a_profile_gives_the_same(self) -> None:
        resolved = resolve("")
        Path("again.toml").write_text(resolved.to_toml())
        again = etconfig.resolve(models={"detector": "Vendor"}, profile="again.toml")
        assert again.options_for("detector") == resolved.options_for("detector")
        assert again.fingerprint() == resolved.fingerprint()
        assert resolve("", overrides=["Vendor.engines=[]"]).fingerprint() != resolved.fingerprint()

    def test_a_resolution_is_data(self) -> None:
        (arguments,) = resolve("").to_jsonable()["arguments"]
        assert arguments["options"]["engine"]["value"] == {"engine": "cpu", "threads": 4, "is_fast": True}
        assert json.loads(json.dumps(arguments)) == arguments

    def test_an_explanation_has_what_was_beaten(self) -> None:
        shown = str(resolve("").explain("detector:Vendor.engine"))
        assert "Vendor.engine = {'engine': 'cpu', 'threads': 4, 'is_fast': True}" in shown
        assert "beat {'engine': 'cpu', 'threads': 1} from default Options" in shown

    def test_a_mistake_of_a_call_has_its_place(self) -> None:
        with pytest.raises(OptionError) as caught:
            resolve("", overrides={"Vendor.engine": {"engine": "cpu", "thread": 2}})
        (found,) = caught.value.diagnostics
        assert found.message == "Vendor.engine.thread: expected an option of Cpu, given 'thread'"
        assert found.help == "did you mean 'threads'?"


@pytest.mark.usefixtures("installed")
class TestCommands:
    """`validate` underlines what is wrong inside of a table; `pack` writes tables."""

    def test_a_field_in_an_inline_table_is_underlined(self, cli: Callable[..., Outcome]) -> None:
        Path("wrong.toml").write_text(BASE.replace("device = 1", "devise = 1"))
        outcome = cli("validate", "wrong.toml")
        assert outcome.status == 1
        assert "wrong.toml:6:30" in outcome.stdout + outcome.stderr
        assert "did you mean 'device'?" in outcome.stdout + outcome.stderr

    def test_a_field_in_a_block_is_underlined_and_corrected(self, cli: Callable[..., Outcome]) -> None:
        text = '[profile]\nname = "w"\n[[options.Vendor.engines]]\nengine = "cpu"\nis_fats = true\n'
        Path("wrong.toml").write_text(text)
        (finding,) = cli("validate", "wrong.toml", "--format", "json").json
        assert finding["message"].startswith("Vendor.engines[0].is_fats: expected an option of Cpu")
        cli("validate", "wrong.toml", "--fix", "--unsafe-fixes")
        assert "is_fast = true" in Path("wrong.toml").read_text()

    def test_a_wrong_value_deep_inside_is_underlined(self, cli: Callable[..., Outcome]) -> None:
        Path("wrong.toml").write_text(BASE.replace('"2 KiB"', '"2 Kib"'))
        (finding,) = cli("validate", "wrong.toml", "--format", "json").json
        assert finding["message"].startswith("Vendor.engines[0].limits.memory: expected an integer, in bytes")

    def test_a_bundle_has_the_tables(self, cli: Callable[..., Outcome]) -> None:
        assert cli("pack", "--output", "b.etbundle", "--profile", "base.toml").status == 0
        printed = cli("resolve", "--bundle", "b.etbundle", "--json").json["arguments"]
        (options,) = (each["options"] for each in printed if each["backend"] == "Vendor")
        assert options["engine"]["value"] == {"engine": "cpu", "threads": 4, "is_fast": True}
        limits = {"memory": 2048, "streams": []}
        gpu = {"engine": "gpu", "device": 1, "mode": "low", "limits": limits}
        assert options["engines"]["value"][0] == gpu

    def test_the_reference_and_the_schema_have_them(self, cli: Callable[..., Outcome]) -> None:
        assert "The tables of `engines[]`" in cli("schema", "Vendor", "--format", "markdown").stdout
        assert '"device"' in cli("schema", "Vendor").stdout
