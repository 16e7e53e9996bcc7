"""No plugin ends a command while it is imported, however it tries; Ctrl-C does."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import ON_DEVICE
from plugin_data import write_distribution

from etconfig.plugin.loader import IMPORT_LIMIT_S

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the commands run in forks")

KINDS = {
    "status0": ("facts", "import os; os._exit(0)", "its import ends the process with status 0"),
    "abort": ("facts", "import os; os.abort()", f"its import ends the process by signal {signal.SIGABRT:d}"),
    "hangs": (
        "conformance",
        "import time; time.sleep(60)",
        f"its import did not finish within {IMPORT_LIMIT_S:g} s",
    ),
    "inC": (
        "conformance",
        "import ctypes; ctypes.CDLL(None)._exit(0)",
        "its import ends the process with status 0",
    ),
    "ctrlc": ("facts", "raise KeyboardInterrupt", "KeyboardInterrupt, though nobody pressed Ctrl-C"),
    **{
        f"{group}exit": (group, "import os; os._exit(0)", "its import ends the process with status 0")
        for group in ("backends", "kernels", "executors", "conformance")
    },
    **{
        group: (group, "raise KeyboardInterrupt", "its import raised KeyboardInterrupt: no message")
        for group in ("backends", "kernels", "executors", "conformance")
    },
}
"""By the name of a plugin: its group, its module, and the cause that is reported."""

UNCONCERNED = (
    ("facts",),
    ("facts", "schema"),
    ("backends",),
    ("devices", "list"),
    ("diff", "generic/any", "generic/any"),
    ("explain", "ReferenceCpuBackend.num_threads", "model.pte"),
    ("inspect", "model.pte"),
    ("lock", "model.pte"),
    ("matrix", "model.pte", *ON_DEVICE),
    ("models", "check", "--models", "models.toml"),
    ("pack", "model.pte", "--profile", "generic/any", "-o", "x.etbundle"),
    ("profiles", "match"),
    ("resolve", "model.pte"),
    ("run", "model.pte", "--input", "x.npy", "--output", "y.npz"),
    ("bench", "model.pte", "--pairs", "6"),
    ("schema", "ReferenceCpuBackend"),
    ("validate", "profile.toml"),
    ("watch", "model.pte", "--count", "1", "--interval", "0"),
)
"""Commands that use none of these plugins."""

CONCERNED = {
    ("backends", "Hostile"): "backends",
    ("schema", "Hostile"): "backends",
    ("run", "model.pte", "--input", "x.npy", "--executor", "Hostile"): "executors",
    ("backends", "Hostilebackendsexit"): "backendsexit",
    ("run", "model.pte", "--input", "x.npy", "--executor", "Hostileexecutorsexit"): "executorsexit",
}
"""Commands that use one, with its name."""

CAUSES = ("KeyboardInterrupt", "its import raised SystemExit: it calls os._exit(0)")

FORKS = """\
import json, os, sys
from etconfig.cli.startup import command_group, main
from etconfig.app.programs import api
from etconfig.app.configuring import configuration
from etconfig.app.installation import installation
running = {}
for number, arguments in enumerate(json.load(sys.stdin)):
    child = os.fork()
    if child == 0:
        for stream in (1, 2):
            os.dup2(os.open(f"{number}.{stream}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
        sys.argv = ["etconfig", *arguments]
        main.main()
        sys.exit(0)
    running[child] = number
statuses = {}
while running:
    child, status = os.wait()
    statuses[running.pop(child)] = os.waitstatus_to_exitcode(status)
json.dump([statuses[number] for number in sorted(statuses)], sys.stdout)
"""
"""Runs commands in forks of a process that has imported etconfig, which takes most of their time."""


def run_all(commands: list[tuple[str, ...]], **variables: str) -> list[tuple[int, str, str]]:
    """Return the status and the output of each command."""
    done = subprocess.run(
        [sys.executable, "-c", FORKS],
        input=json.dumps(commands),
        capture_output=True,
        text=True,
        env={**os.environ, **variables},
        check=True,
    )
    return [
        (status, Path(f"{number}.1").read_text(), Path(f"{number}.2").read_text())
        for number, status in enumerate(json.loads(done.stdout))
    ]


@pytest.fixture
def site(place: Path) -> Path:
    """A directory of installed plugins, in which every kind tries to end the process."""
    (place / "profile.toml").write_text("[profile]\nname = 'acme/board'\nmatch = 'os.name == \"linux\"'\n")
    (place / "models.toml").write_text("[[model.detector.variants]]\nfile = 'model.pte'\n")
    site = place / "site"
    for name, (group, source, _) in KINDS.items():
        entry = f"[etconfig.{group}]\nHostile{'' if group == name else name} = ends_{name}\n"
        write_distribution(site, f"{name}-1.0.dist-info", entry, f"Name: {name}\nVersion: 1.0\n")
        (site / f"ends_{name}.py").write_text(source)
    return site


def test_every_command_goes_on_and_names_the_plugin_where_it_is_needed(site: Path) -> None:
    """The reason for the time of this test: each command, and each trial of a plugin, is a process."""
    *found, doctor = run_all([*UNCONCERNED, *CONCERNED, ("doctor",)], PYTHONPATH=str(site))
    failing: list[object] = []
    for command, done in zip(UNCONCERNED, found, strict=False):
        if done[0] != 0:
            failing.append((command, done))
    for (command, name), done in zip(CONCERNED.items(), found[len(UNCONCERNED) :], strict=True):
        if done[0] != 2 or f"{name} 1.0" not in done[2] or not any(each in done[2] for each in CAUSES):
            failing.append((command, name, done))
    for name, (_, _, cause) in KINDS.items():
        if f"{name} 1.0" not in doctor[1] or cause not in doctor[1]:
            failing.append((name, doctor))
    assert failing == []
    assert doctor[0] == 1


@pytest.mark.parametrize("group", ["backends", "facts"])
def test_ctrl_c_ends_a_command_while_a_plugin_is_imported(place: Path, group: str) -> None:
    entry = f"[etconfig.{group}]\nSlow = slow_plugin\n"
    write_distribution(place / "site", "slow-1.0.dist-info", entry, "Name: slow\nVersion: 1.0\n")
    source = f"import pathlib, time\npathlib.Path({str(place / 'started')!r}).touch()\ntime.sleep(60)\n"
    (place / "site" / "slow_plugin.py").write_text(source)
    command = ("backends", "Slow") if group == "backends" else ("facts",)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # the process inherits no ignored one
    process = subprocess.Popen(
        [sys.executable, "-m", "etconfig", *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(place / "site")},
        text=True,
    )
    signal.signal(signal.SIGINT, before)
    while not (place / "started").exists():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    named = f"stopped during its import, plugin 'Slow' (etconfig.{group}) of slow 1.0"
    assert (process.returncode, errors) == (130, f"\n{named}\n")
