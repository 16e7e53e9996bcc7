"""`programs` of the project file: every command configures them if no program is named."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
from command_line import ON_DEVICE, Outcome

import etconfig
from etconfig.errors import ProfileError

PROJECT = 'programs = ["model.pte"]\n[options.ReferenceCpuBackend]\nnum_threads = 2\n'
TWO = PROJECT.replace('"model.pte"', '"model.pte", "other.pte"')
COMMANDS: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("resolve", (), ON_DEVICE),
    ("resolve", (), (*ON_DEVICE, "--json")),
    ("resolve", (), (*ON_DEVICE, "--toml")),
    ("explain", ("ReferenceCpuBackend.num_threads",), ON_DEVICE),
    ("diff", ("generic/any", "generic/linux", "--program"), ON_DEVICE),
    ("lock", (), ON_DEVICE),
    ("matrix", (), (*ON_DEVICE, "--all")),
    ("pack", ("-o", "x.etbundle"), ()),
    ("pack", ("--emit", "cpp"), ON_DEVICE),
    ("watch", (), (*ON_DEVICE, "--count", "1", "--interval", "0")),
    ("run", (), (*ON_DEVICE, "--input", "x.npy", "--output", "y.npz")),
    ("bench", (), (*ON_DEVICE, "--pairs", "6", "--json")),
)
RUNNING = ("run", "bench")
FLEET = (("fleet", "coverage", "sheets"), ("fleet", "histogram", "ReferenceCpuBackend.num_threads", "sheets"))


def _products(place: Path) -> dict[str, bytes]:
    """Return the files that commands write, and remove them."""
    names = ("etconfig.lock", "x.etbundle", "y.npz")
    found = {path.name: path.read_bytes() for path in map(place.joinpath, names) if path.exists()}
    for name in found:
        (place / name).unlink()
    return found


def test_every_command_uses_the_only_program(cli: Callable[..., Outcome], place: Path) -> None:
    (place / "etconfig.toml").write_text(PROJECT)
    wrong = []
    for name, before, after in COMMANDS:
        default = [each for each in before if each != "--program"]
        found, written = cli(name, *default, *after), _products(place)
        named, expected = cli(name, *before, "model.pte", *after), _products(place)
        is_equal = found == named or name in RUNNING  # which print times
        if not is_equal or written != expected or found.status not in (0, 1):
            wrong.append((name, found, named))
    assert not wrong


def test_every_command_uses_several_or_says_why_not(cli: Callable[..., Outcome], place: Path) -> None:
    shutil.copy("model.pte", "other.pte")
    (place / "etconfig.toml").write_text(TWO)
    wrong = []
    for name, before, after in COMMANDS:
        default = [each for each in before if each != "--program"]
        found, written = cli(name, *default, *after), _products(place)
        if name in RUNNING:
            message = "error: give PROGRAM: the project file names several, model.pte, other.pte\n"
            if found.status != 2 or message not in found.stderr:
                wrong.append((name, found, None))
        elif name not in ("explain", "watch") and "--toml" not in after:
            both = (
                ("model.pte", "--program", "other.pte")
                if "--program" in before
                else ("model.pte", "other.pte")
            )
            named, expected = cli(name, *before, *both, *after), _products(place)
            if found != named or written != expected:
                wrong.append((name, found, named))
        elif found.status != (2 if "--toml" in after else 0):
            wrong.append((name, found, None))
    assert not wrong


@pytest.mark.skipif(find_spec("duckdb") is None, reason="needs the extra etconfig[fleet]")
def test_fleets_use_them(cli: Callable[..., Outcome], place: Path) -> None:
    (place / "etconfig.toml").write_text(PROJECT)
    (place / "sheets").mkdir()
    shutil.copy("device.json", "sheets/a.json")
    for command in FLEET:
        found, named = cli(*command), cli(*command, "--program", "model.pte")
        assert (found.status, found.stdout) == (0, named.stdout)
    assert "forward:" in found.stdout


def test_one_that_cannot_be_read_is_an_error_at_its_line(cli: Callable[..., Outcome], place: Path) -> None:
    (place / "etconfig.toml").write_text('programs = ["model.pte", "gone.pte"]\n')
    wrong = []
    for name, before, after in COMMANDS:
        found = cli(name, *[each for each in before if each != "--program"], *after)
        message = "cannot read the program 'gone.pte'"
        if name not in RUNNING and (
            found.status != 2 or message not in found.stderr or ":1:26" not in found.stderr
        ):
            wrong.append((name, found))
    assert not wrong


def test_python_uses_them_too(place: Path) -> None:
    (place / "etconfig.toml").write_text(PROJECT)
    facts = etconfig.load_fact_sheet("device.json")
    program = etconfig.load_program("model.pte")
    default = etconfig.resolve(facts=facts)
    assert default.fingerprint() == etconfig.resolve(program, facts=facts).fingerprint()
    assert etconfig.pack_bundle().to_bytes() == etconfig.pack_bundle(program).to_bytes()
    matrices = [etconfig.resolve_devices(each, devices=["device.json"]) for each in ((), program)]
    assert [[*matrix] for matrix in matrices[:1]] == [[*matrix] for matrix in matrices[1:]]
    installation = etconfig.Installation(place)
    first, second = (etconfig.configure(facts=facts, installation=installation) for _ in range(2))
    assert first.program is second.program  # opened once
    again = etconfig.configure(facts=facts, installation=installation.refreshed())
    assert again.program is not first.program
    (place / "etconfig.toml").write_text('programs = ["gone.pte"]\n')
    with pytest.raises(ProfileError, match=r"cannot read the program 'gone\.pte'"):
        etconfig.resolve(facts=facts)


def test_a_project_with_programs_and_models_has_both(cli: Callable[..., Outcome], place: Path) -> None:
    models = '[model.detector]\nbackends = ["ReferenceCpuBackend"]\n'
    for key in ("model", '"\\u006dodel"'):  # the parser decides, however a key is spelt
        (place / "etconfig.toml").write_text(PROJECT + models.replace("model", key, 1))
        found = cli("explain", "ReferenceCpuBackend.num_threads", *ON_DEVICE)
        assert "detector:ReferenceCpuBackend.num_threads = 2" in found.stdout
        assert "forward:ReferenceCpuBackend.num_threads = 2" in found.stdout
    assert cli("lock", *ON_DEVICE).status == 0
    assert '"detector"' in (place / "etconfig.lock").read_text()


def test_without_programs_a_program_must_be_named(cli: Callable[..., Outcome], place: Path) -> None:
    for command in RUNNING:
        assert cli(command, *ON_DEVICE).stderr.startswith("error: missing argument 'PROGRAM'")
