"""A condition that a device cannot decide is the same note in every command, once, with its devices."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from command_line import ON_DEVICE, Outcome

PROJECT = """\
[options.XnnpackBackend]
num_threads = 2
[[when]]
if = 'device.model == "x"'
[when.options.ReferenceCpuBackend]
num_threads = 3
"""
COMMANDS = (
    ("resolve",),
    ("lock",),
    ("matrix",),
    ("pack", "-o", "x.etbundle"),
    ("pack", "--emit", "cpp", "--output", "x.h"),
)
OF_ONE_PROGRAM = (
    ("explain", "ReferenceCpuBackend.num_threads"),
    ("diff", "generic/any", "generic/any", "--program"),
    ("run", "--input", "x.npy", "--output", "y.npz"),
    ("bench", "--pairs", "6"),
    ("watch", "--count", "1", "--interval", "0"),
)


def _notes(done: Outcome) -> list[str]:
    """Return the heads of all notes, on whichever stream."""
    lines = (done.stdout + done.stderr).split("\n")
    return [line for line in lines if line.startswith(("note[", "warning["))]


def test_each_note_is_printed_once_with_its_devices(cli: Callable[..., Outcome], place: Path) -> None:
    (place / "etconfig.toml").write_text(PROJECT)
    for name in ("b", "c"):
        shutil.copy("device.json", f"{name}.json")
    shutil.copy("model.pte", "other.pte")
    several = (*ON_DEVICE, "--facts", "b.json", "--facts", "c.json")
    wrong = []
    for devices, named in ((ON_DEVICE, None), (several, "on device, b, c")):
        expected = sorted(_notes(cli("resolve", "model.pte", *devices)))
        assert len([each for each in expected if "undecided-condition" in each]) == 1
        for command in COMMANDS:
            if "--emit" in command and devices is several:
                continue  # code contains one configuration
            for programs in (("model.pte",), ("model.pte", "other.pte")):
                done = cli(*command, *programs, *devices)
                found = _notes(done)
                has_names = (
                    named is None
                    or command == ("matrix",)
                    or (done.stdout + done.stderr).count(named) == len(found)
                )
                if done.status or sorted(found) != expected or not has_names:
                    wrong.append((command, programs, devices, done))
    assert not wrong


def test_commands_of_one_program_have_the_same_notes(cli: Callable[..., Outcome], place: Path) -> None:
    (place / "etconfig.toml").write_text(PROJECT)
    shutil.copy("device.json", "b.json")
    expected = sorted(_notes(cli("resolve", "model.pte", *ON_DEVICE)))
    for command in OF_ONE_PROGRAM:
        assert sorted(_notes(cli(*command, "model.pte", *ON_DEVICE))) == expected, command
    two_devices = ("diff", "facts:device.json", "facts:b.json", "--program", "model.pte")
    for several in (two_devices, (*OF_ONE_PROGRAM[1], "model.pte", *ON_DEVICE, "--facts", "b.json")):
        done = cli(*several)
        assert sorted(_notes(done)) == expected
        assert done.stderr.count("on device, b") == len(expected)


def test_validate_has_the_same_note(cli: Callable[..., Outcome], place: Path) -> None:
    (place / "etconfig.toml").write_text(PROJECT)
    notes = _notes(cli("resolve", "model.pte", *ON_DEVICE))
    undecided = [each for each in notes if "undecided" in each]
    found = _notes(cli("validate", "etconfig.toml", "--program", "model.pte", *ON_DEVICE))
    assert len(undecided) == 1
    assert undecided[0] in found


def test_tune_has_them_for_this_device(cli: Callable[..., Outcome], place: Path) -> None:
    (place / "etconfig.toml").write_text(PROJECT)
    expected = sorted(_notes(cli("resolve", "model.pte")))
    assert sorted(_notes(cli("tune", "model.pte", "--budget", "0s", "--only", "num_threads"))) == expected
    assert expected
