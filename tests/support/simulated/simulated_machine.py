"""The simulated machines, and the changes that make `etconfig` see one of them in place of the real one.

Two variables of the environment say what a process sees, and both are read at every use: `SIMULATED_HOST` is
a name in `MACHINES`, without which the real machine is read; `SEEN_PLUGINS` lists the distributions in
Python's own directories whose plugins are seen, without which all are.
"""

from __future__ import annotations

import dataclasses
import os
import sys
import sysconfig
from types import ModuleType
from typing import Any, NamedTuple

HOST, PLUGINS = "SIMULATED_HOST", "SEEN_PLUGINS"


class Machine(NamedTuple):
    """The contents of the files of a simulated Linux machine; containers may lack L2 and `/sys`."""

    cores: int
    l2_kib: int | None = 512
    quota: str | None = None
    has_sys: bool = True
    on_battery: bool = False
    machine: str = "x86_64"

    @property
    def files(self) -> dict[str, bytes]:
        numbers = range(self.cores)
        texts = {
            "/proc/cpuinfo": "\n".join(map(self._processor, numbers)),
            "/proc/meminfo": "MemTotal: 16307900 kB\nMemAvailable: 9000000 kB\n",
            "/etc/os-release": 'ID=debian\nVERSION_ID="13"\nPRETTY_NAME="Debian GNU/Linux 13 (trixie)"\n',
            "/proc/self/cgroup": "0::/pod\n",
            "/proc/self/mountinfo": "30 24 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n",
        }
        if self.has_sys:
            texts |= self._sys()
        return {path: text.encode() for path, text in texts.items()}

    def _processor(self, number: int) -> str:
        if self.machine == "aarch64":
            return (
                f"processor\t: {number}\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU part\t: 0xd0b\n"
            )
        return (
            f"processor\t: {number}\n"
            f"vendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC 7B13\n"
            f"physical id\t: 0\ncore id\t\t: {number}\n"
            f"flags\t\t: fpu sse sse2 ssse3 fma sse4_1 sse4_2 avx f16c avx2 bmi2\n"
        )

    def _sys(self) -> dict[str, str]:
        cpu = "/sys/devices/system/cpu"
        texts = {f"{cpu}/online": f"0-{self.cores - 1}\n"}
        for number in range(self.cores):
            texts[f"{cpu}/cpu{number}/topology/core_cpus_list"] = f"{number}\n"
            texts[f"{cpu}/cpu{number}/topology/physical_package_id"] = "0\n"
            caches = [(1, "Data", 32), (2, "Unified", self.l2_kib), (3, "Unified", 16384)]
            for index, (level, kind, size) in enumerate(caches):
                if size is not None:
                    place = f"{cpu}/cpu{number}/cache/index{index}"
                    shared = f"0-{self.cores - 1}" if level == 3 else f"{number}"
                    values = {"level": level, "type": kind, "size": f"{size}K", "shared_cpu_list": shared}
                    texts |= {f"{place}/{name}": f"{value}\n" for name, value in values.items()}
        if self.quota is not None:
            texts["/sys/fs/cgroup/pod/cpu.max"] = f"{self.quota}\n"
            texts["/sys/fs/cgroup/pod/memory.max"] = "1073741824\n"
            texts["/sys/fs/cgroup/pod/memory.current"] = "104857600\n"
        supply = "/sys/class/power_supply"
        texts[f"{supply}/AC/type"] = "Mains\n"
        texts[f"{supply}/AC/online"] = f"{int(not self.on_battery)}\n"
        if self.on_battery:
            battery = {"type": "Battery", "present": "1", "status": "Discharging", "capacity": "17"}
            texts |= {f"{supply}/BAT0/{name}": f"{value}\n" for name, value in battery.items()}
        return texts


MACHINES = {
    "usual": Machine(6),  # what every test sees by default; unlike the sheets that tests give
    "one-core": Machine(1, l2_kib=None),
    "two-cores": Machine(2, l2_kib=512),
    "many-cores": Machine(64, l2_kib=2048),
    "quota": Machine(8, l2_kib=1024, quota="150000 100000"),
    "no-sys": Machine(4, has_sys=False),
    "battery": Machine(4, l2_kib=2048, on_battery=True),
    "arm64": Machine(4, machine="aarch64"),
}


def _simulated() -> Machine | None:
    name = os.environ.get(HOST)
    return MACHINES[name] if name else None


def simulate_device(module: ModuleType) -> None:
    """Change `etconfig.facts.detecting.system`: a `System` at `/` has the files of the simulated machine."""
    real = module.ThisDevice
    from etconfig.facts.detecting.sources import RecordedFiles

    class Packages(RecordedFiles):
        """Installed packages are those of this Python: only the machine is simulated."""

        def read(self, path: str, max_bytes: int) -> Any:
            return real().read(path, max_bytes) if _is_package(path) else super().read(path, max_bytes)

        def names(self, path: str) -> Any:
            return real().names(path) if _is_package(path) else super().names(path)

    def this_device() -> Any:
        machine = _simulated()
        return real() if machine is None else Packages(machine.files, {})

    module.ThisDevice = this_device  # type: ignore[attr-defined]


def _is_package(path: str) -> bool:
    return any(entry and path.startswith(entry) for entry in sys.path)


def simulate_host(module: ModuleType) -> None:
    """Change the module of `Host`: `Host.current` is that of the simulated machine, with this Python."""
    real = module.Host.current

    def current(cls: type) -> Any:
        machine = _simulated()
        if machine is None:
            return real()
        told = {"system": "Linux", "release": "6.12.41", "machine": machine.machine}
        return dataclasses.replace(real(), affinity=frozenset(range(machine.cores)), **told)

    module.Host.current = classmethod(current)


def limit_plugins(module: ModuleType) -> None:
    """Change `etconfig.plugin.discovery`: of Python's own directories, only what the test names is seen."""
    real = module._metadata_names
    own = {os.path.realpath(sysconfig.get_path(name)) for name in ("purelib", "platlib")}

    def names(root: str) -> list[str]:
        seen = os.environ.get(PLUGINS)
        found: list[str] = real(root)
        if seen is None or os.path.realpath(root) not in own:
            return found
        wanted = set(seen.split())
        return [name for name in found if name.partition("-")[0] in wanted or not _declares(root, name)]

    module._metadata_names = names  # type: ignore[attr-defined]


def _declares(root: str, name: str) -> bool:
    try:
        with open(f"{root}/{name}/entry_points.txt", "rb") as file:  # noqa: PTH123
            return b"etconfig." in file.read()
    except OSError:
        return False
