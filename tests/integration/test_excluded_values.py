"""Values that the facts of a device exclude: a note where options are resolved, an error in validate."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Outcome

from etconfig.app.installation.installation import Installation

VENDOR = """\
from etconfig.plugin.v1 import ApiRange, BackendOptions, BackendRequest, BackendSpec, hookimpl, option
class VendorOptions(BackendOptions):
    threads: int = option(1, applies="load", doc="Threads.")
def verify(options, facts):
    if options.threads == 9:
        raise RuntimeError("no driver")
    if options.threads > 4:
        yield f"threads is {options.threads}, which {facts['cpu.arch']} lacks"
@hookimpl
def etconfig_backend(request: BackendRequest) -> BackendSpec:
    return BackendSpec(id="Vendor", doc="Doc.", options=VendorOptions, api=ApiRange(min=1, built=1),
                       verify_on_device=verify)
"""
PROFILE = """\
[profile]
name = "acme/board"
[options.Vendor]
threads = {}
"""
MESSAGE = "[invalid-value]: Vendor: threads is 6, which arm64 lacks"
ON_PI = ("--device", "pi-5")
WHAT = ("--models", "models.toml", "--profile", "board.toml")
COMMANDS = (
    ("resolve", *WHAT, *ON_PI),
    ("resolve", *WHAT, *ON_PI, "--json"),
    ("resolve", *WHAT, *ON_PI, "--device", "pi-4"),
    ("matrix", *WHAT, *ON_PI),
    ("lock", *WHAT, *ON_PI),
    ("pack", *WHAT, *ON_PI, "-o", "app.etbundle"),
)


@pytest.fixture
def on_device(
    place: Path, cli: Callable[..., Outcome], install_vendor: Callable[[str], Installation]
) -> Callable[..., Outcome]:
    """Run a command with a value of the option."""
    install_vendor(VENDOR)
    Path("models.toml").write_text('[model.detector]\nbackends = ["Vendor"]\n')

    def run(threads: int, *arguments: str) -> Outcome:
        Path("board.toml").write_text(PROFILE.format(threads))
        return cli(*arguments)

    return run


def test_every_command_that_resolves_says_so_and_goes_on(on_device: Callable[..., Outcome]) -> None:
    failing = []
    for command in COMMANDS:
        done = on_device(6, *command)
        if done.status != 0 or (done.stdout + done.stderr).count(f"note{MESSAGE}") != 1:
            failing.append((command, done))
        done = on_device(4, *command)
        if done.status != 0 or "invalid-value" in done.stdout + done.stderr:
            failing.append((command, done))
    assert failing == []


def test_validate_refuses_them(on_device: Callable[..., Outcome]) -> None:
    done = on_device(6, "validate", "board.toml", "--models", "models.toml", *ON_PI)
    assert (done.status, f"error{MESSAGE}" in done.stdout) == (1, True)


def test_a_check_that_fails_is_a_warning_about_the_plugin(on_device: Callable[..., Outcome]) -> None:
    failing = []
    for command in COMMANDS:
        done = on_device(9, *command)
        if done.status != 0 or "RuntimeError: no driver" not in done.stdout + done.stderr:
            failing.append((command, done))
    assert failing == []
