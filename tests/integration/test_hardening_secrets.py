"""A secret in the environment is in nothing that etconfig prints, writes, raises or represents."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import ON_DEVICE, Outcome

import etconfig
from etconfig.app.installation.installation import Installation
from etconfig.errors import ConfigError

SECRET = "canary-3f1c9be5"
BROKEN = '[profile]\nname = "p"\nmatch = "os.nam == 1"\n[options.ReferenceNpuBackend]\ncoer = 1\n'


@pytest.fixture(autouse=True)
def _secret(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "AWS_SECRET_ACCESS_KEY",
        "PASSWORD",
        "HF_TOKEN",
        "ETCONFIG_TOKEN",
        "os.name",
        "device.model",
    ):
        monkeypatch.setenv(name, SECRET)
    (place / "broken.toml").write_text(BROKEN)


@pytest.mark.parametrize(
    "arguments",
    [
        ["facts", "--json"],
        ["facts", "--save", "sheet.json"],
        ["doctor"],
        ["doctor", "--json"],
        ["backends", "--json"],
        ["profiles", "list", "--json"],
        ["profiles", "match", "--all", "--json"],
        ["resolve", "model.pte", "--json"],
        ["resolve", "--profile", "broken.toml"],
        ["resolve", "--set", "ReferenceNpuBackend.power_mode=$PASSWORD"],
        ["resolve", "--set", "ReferenceNpuBackend.power_mode=${oc.env:PASSWORD}"],
        ["validate", "broken.toml", "--format", "json"],
        ["validate", "broken.toml", "--format", "sarif"],
        ["explain", "ReferenceNpuBackend.core", "model.pte", *ON_DEVICE],
        ["lock", "model.pte", *ON_DEVICE],
        ["run", "model.pte", "--input", "x.npy", "--output", "y.npz", *ON_DEVICE],
        ["inspect", "model.pte", "--json"],
        ["no-such-command"],
    ],
    ids=" ".join,
)
def test_no_command_shows_or_writes_it(
    cli: Callable[..., Outcome], place: Path, arguments: list[str]
) -> None:
    done = cli(*arguments)
    assert done.stdout or done.stderr
    assert SECRET not in done.stdout + done.stderr
    assert not [path for path in place.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]


def test_no_object_represents_it(place: Path) -> None:
    installation = Installation(place)
    assert SECRET in installation.environ.values(), "the secret is where it could leak from"
    with etconfig.load_program(place / "model.pte", installation=installation) as program:
        resolution = etconfig.resolve(program)
        shown = (installation, installation.index, installation.profiles, installation.detect_facts())
        for each in (*shown, program, resolution):
            assert SECRET not in repr(each) + str(each)


def test_no_error_holds_it(place: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        etconfig.resolve(profile="broken.toml")
    error = caught.value
    assert SECRET not in f"{error} {error!r} {error.diagnostics!r} {vars(error)}"
