"""The architecture of the processor, under the same name on every system."""

from __future__ import annotations

from etconfig.facts.detecting.detector import Reading
from etconfig.facts.detecting.system import System
from etconfig.facts.misnomers import meant_value


def architecture(system: System) -> Reading:
    """Return `cpu.arch`, from the machine name of uname."""
    machine = system.host.machine
    name = None if machine is None else meant_value("cpu.arch", machine) or machine
    return Reading.of("cpu.arch", name, "uname", otherwise="uname does not report it")
