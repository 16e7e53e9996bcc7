"""The architecture of the processor under one name, whatever the system calls it."""

from __future__ import annotations

from etconfig.facts.detector import Reading
from etconfig.facts.misnomers import meant_value
from etconfig.facts.system import System


def architecture(system: System) -> Reading:
    """`cpu.arch`, from what uname calls the machine."""
    machine = system.host.machine
    name = None if machine is None else meant_value("cpu.arch", machine) or machine
    return Reading.of("cpu.arch", name, "uname", otherwise="uname does not tell")
