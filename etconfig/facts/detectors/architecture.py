"""The architecture of the processor under one name, whatever the system calls it."""

from __future__ import annotations

from etconfig.facts.detector import Reading
from etconfig.facts.system import System

_NAMES = {
    "aarch64": "arm64",
    "amd64": "x86_64",
    "armv6l": "arm",
    "armv7l": "arm",
    "armv8l": "arm",
    "i386": "x86",
    "i686": "x86",
}


def architecture(system: System) -> Reading:
    """`cpu.arch`, from what uname calls the machine."""
    machine = system.host.machine
    name = None if machine is None else _NAMES.get(machine.lower(), machine.lower())
    return Reading.of("cpu.arch", name, "uname", otherwise="uname does not tell")
