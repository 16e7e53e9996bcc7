"""Profiles that were tuned for several models of one device: `auto` takes the one for this very model."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tiny_engine
from command_line import Outcome

import etconfig
from etconfig.app.packing.profile_bundle import make_bundle
from etconfig.fleet.deciding.plan import FleetPlan

Cli = Callable[..., Outcome]

EVIDENCE = """
[evidence]
made = 2026-11-14
model = "sha256:{model}"
engine = "etconfig-reference {version}"
device = {{ "cpu.arch" = "any" }}
noise = 1.0
{more}
"""


def tuned(
    place: Path, name: str, model: Path | str, *, threads: int, more: str = "", extends: str = "generic/any"
) -> None:
    """Write a profile that matches every device, as if it was tuned for a model."""
    content = model.read_bytes() if isinstance(model, Path) else model.encode()
    digest = hashlib.sha256(content).hexdigest()
    (place / "profiles").mkdir(exist_ok=True)
    (place / "profiles" / f"{name}.toml").write_text(
        f"[profile]\nname = '{name}'\nextends = ['{extends}']\nmatch = 'true'\n\n"
        f"[options.ReferenceCpuBackend]\nnum_threads = {threads}\n"
        + EVIDENCE.format(model=digest, version=etconfig.__version__, more=more)
    )


@pytest.fixture
def two(place: Path) -> Path:
    """Two programs, each with a tuned profile, and a project file that knows the directory."""
    content = (place / "model.pte").read_bytes()
    (place / "second.pte").write_bytes(content + b"\0")
    (place / "etconfig.toml").write_text("profile_path = ['profiles']\n")
    tuned(place, "first", place / "model.pte", threads=1)
    tuned(place, "second", place / "second.pte", threads=2)
    return place


def test_each_program_gets_the_profile_that_was_tuned_for_it(cli: Cli, two: Path) -> None:
    for model, profile in (("model.pte", "first"), ("second.pte", "second")):
        done = cli("resolve", model)
        assert (done.status, done.stderr) == (0, "")
        assert done.stdout.startswith(f"profile {profile}\n")


def test_those_for_other_models_do_not_count_and_are_named(cli: Cli, two: Path) -> None:
    (two / "third.pte").write_bytes((two / "model.pte").read_bytes() + b"\0\0")
    done = cli("resolve", "third.pte")
    assert done.status == 0
    assert not done.stdout.startswith(("profile first", "profile second"))
    assert (
        "note[stale-evidence]: auto passes over 'first' and 'second', tuned for another model" in done.stderr
    )
    assert cli("matrix", "third.pte", "--device", "raspberry-pi/pi-5").status == 0
    assert cli("validate", "etconfig.toml", "--program", "third.pte").status == 0


def test_a_profile_that_extends_a_tuned_one_counts_for_every_model(cli: Cli, two: Path) -> None:
    (two / "profiles" / "mine.toml").write_text(
        "[profile]\nname = 'mine'\nextends = ['first', 'second']\nmatch = 'true'\n"
    )
    assert cli("resolve", "model.pte").stdout.startswith("profile mine\n")


def test_programs_that_are_resolved_together_need_one_profile(cli: Cli, two: Path) -> None:
    (two / "etconfig.toml").write_text(
        "profile_path = ['profiles']\nprograms = ['model.pte', 'second.pte']\n"
    )
    with pytest.raises(etconfig.ConfigError) as caught:
        etconfig.resolve()
    assert "'first' and 'second' match this device, and none extends the others" in str(caught.value)
    assert "tune the second model with the first profile in force" in str(caught.value)
    tuned(two, "second", two / "second.pte", threads=2, extends="first")
    assert etconfig.resolve().profile == "second"
    shown = cli("resolve").stdout  # the command resolves each program by itself
    assert ("profile first\n" in shown, "profile second\n" in shown) == (True, True)


def test_bundles_and_fleets_select_as_resolve_does(two: Path) -> None:
    packed = make_bundle(etconfig.load_program("second.pte"))
    assert not packed.warnings
    names = packed.bundle.profile_names
    assert ("first" in names, "second" in names) == (False, True)
    program = etconfig.load_program("second.pte")
    plan = FleetPlan(program, program.installation)
    assert ("first" in plan.selector.conditions, plan.outcome({"cpu.arch": "arm64"}).profile) == (
        False,
        "second",
    )


def test_a_bundle_of_several_programs_says_that_all_get_the_tuned_options(two: Path) -> None:
    (two / "profiles" / "second.toml").unlink()
    both = [etconfig.load_program(each) for each in ("model.pte", "second.pte")]
    messages = [each.message for each in make_bundle(both).warnings]
    assert messages == [
        "profile 'first' was tuned for one model; devices select it for every model of the bundle"
    ]


def test_validate_warns_about_another_version_of_the_engine(cli: Cli, two: Path) -> None:
    path = two / "profiles" / "first.toml"
    assert cli("validate", str(path)).stderr == "1 file checked: 0 errors, 0 warnings\n"
    path.write_text(path.read_text().replace("etconfig-reference 0", "etconfig-reference 9"))
    done = cli("validate", str(path))
    assert done.status == 0
    assert (
        "warning[stale-evidence]: the options of profile 'first' were measured with "
        f"etconfig-reference 9.1.0; now it is {etconfig.__version__}"
    ) in done.stdout


class TestModelsOfEngines:
    """Their files are known if the models file says where they are."""

    @pytest.fixture
    def engine(self, two: Path) -> Path:
        (two / "det.bin").write_text("a detector")
        tuned(two, "first", two / "det.bin", threads=1, more="backend = 'ReferenceCpuBackend'")
        tuned(two, "second", "another model", threads=2, more="backend = 'ReferenceCpuBackend'")
        return two

    def test_with_a_file_they_are_as_programs(self, cli: Cli, engine: Path) -> None:
        (engine / "models.toml").write_text(
            "[model.detector]\nbackends = ['ReferenceCpuBackend']\nfile = 'det.bin'\n"
        )
        done = cli("resolve", "--models", "models.toml")
        assert (done.status, done.stdout.splitlines()[0]) == (0, "profile first")
        assert cli("lock", "--models", "models.toml").status == 0
        (engine / "det.bin").write_text("a new detector")
        done = cli("lock", "--models", "models.toml", "--profile", "profiles/first.toml")
        assert done.status == 2
        assert "the options of profile 'first' were measured with another model" in done.stderr

    def test_without_one_every_tuned_profile_counts(self, engine: Path) -> None:
        models = etconfig.Models({"detector": "ReferenceCpuBackend"})
        with pytest.raises(etconfig.ConfigError, match="none extends the others"):
            etconfig.resolve(models)
        (engine / "profiles" / "second.toml").unlink()
        models = etconfig.Models({"detector": "ReferenceCpuBackend"})
        assert etconfig.resolve(models).profile == "first"
        (warning,) = make_bundle(models).warnings
        assert "devices select it for any, as the models file has no file of it" in warning.message

    def test_bench_finds_the_file_by_the_name_of_the_model(self, place: Path) -> None:
        (place / "net.tiny").write_bytes(b"tiny")
        (place / "models.toml").write_text("[model.detector]\nbackends = ['TinyEngine']\nfile = 'net.tiny'\n")
        (place / "etconfig.toml").write_text("[methods.detector.options.TinyEngine]\nscale = 3\n")
        specs: Any = {"TinyEngine": tiny_engine.SPEC}
        here = etconfig.Installation(place).with_backends(specs)
        found = etconfig.compare("detector", models="models.toml", installation=here, pairs=6, seconds=0)
        assert (found.model, found.method) == ("net.tiny", "detector")
        assert found.incumbent.options["TinyEngine.scale"] == 3

    def test_models_check_misses_the_file(self, cli: Cli, engine: Path) -> None:
        (engine / "models.toml").write_text(
            "[model.detector]\nbackends = ['ReferenceCpuBackend']\nfile = 'absent.bin'\n"
        )
        done = cli("models", "check", "--models", "models.toml")
        assert done.status == 1
        assert "cannot read the file 'absent.bin': No such file or directory" in done.stdout + done.stderr

    @pytest.mark.parametrize(
        ("table", "message"),
        [
            ("file = 'det.bin'\nvariants = [{ file = 'model.pte' }]", "has 'file' without 'backends'"),
            ("file = ''\nbackends = ['ReferenceCpuBackend']", "'file' must be a path, but is empty"),
        ],
    )
    def test_a_file_is_for_models_that_engines_run(
        self, cli: Cli, engine: Path, table: str, message: str
    ) -> None:
        (engine / "models.toml").write_text(f"[model.detector]\n{table}\n")
        done = cli("resolve", "--models", "models.toml")
        assert (done.status, message in done.stderr) == (2, True), done.stderr
