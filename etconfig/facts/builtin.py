"""The built-in facts."""

from __future__ import annotations

from etconfig.facts.registry import FactInfo, FactRegistry, FactType, Volatility


def _string(name: str, volatility: Volatility, doc: str, choices: tuple[str, ...] = ()) -> FactInfo:
    return FactInfo(
        name=name,
        type=FactType.STRING,
        volatility=volatility,
        doc=doc,
        choices=choices,
        is_identifying=False,
    )


def _count(name: str, volatility: Volatility, doc: str, unit: str | None, minimum: int = 0) -> FactInfo:
    return FactInfo(
        name=name,
        type=FactType.INT,
        volatility=volatility,
        doc=doc,
        unit=unit,
        minimum=minimum,
        is_identifying=False,
    )


def _fraction(name: str, doc: str) -> FactInfo:
    return FactInfo(
        name=name,
        type=FactType.FLOAT,
        unit="fraction",
        volatility=Volatility.LIVE,
        doc=doc,
        minimum=0,
        maximum=1,
        is_identifying=False,
    )


_OS = (
    _string(
        "os.name",
        Volatility.STATIC,
        "The operating system, in lower case: `linux`, `android`, `macos`, `windows`.",
    ),
    _string("os.version", Volatility.BOOT, "The version of the operating system or distribution: `12`."),
    _string("os.kernel", Volatility.BOOT, "The release of the kernel: `6.6.31+rpt-rpi-2712`."),
    _string("os.distribution", Volatility.BOOT, "The distribution's id, from os-release: `debian`."),
    _count("os.api_level", Volatility.BOOT, "The API level of Android: `34`.", None, 1),
)

_CPU = (
    _string(
        "cpu.arch",
        Volatility.STATIC,
        "The architecture, in lower case: `x86_64`, `arm64`, `x86`, `arm`, `riscv64`.",
    ),
    _string("cpu.model", Volatility.STATIC, "The model; where cores differ, the performance core's."),
    _string("cpu.vendor", Volatility.STATIC, "The designer of the core: `Intel`, `AMD`, `Arm`, `Qualcomm`."),
    FactInfo(
        name="cpu.features",
        type=FactType.STRING_LIST,
        volatility=Volatility.STATIC,
        doc="Instruction set extensions that all cores have, as Linux names them: `avx2`, `asimddp`.",
        is_identifying=False,
    ),
    _count("cpu.logical_cores", Volatility.LIVE, "Hardware threads that are online.", "cores", 1),
    _count(
        "cpu.physical_cores",
        Volatility.LIVE,
        "Cores that are online; hardware threads of one core count once.",
        "cores",
        1,
    ),
    _count(
        "cpu.performance_cores",
        Volatility.LIVE,
        "Physical cores without the slow ones of a hybrid processor; all of them when they are alike.",
        "cores",
        1,
    ),
    _count(
        "cpu.efficiency_cores",
        Volatility.LIVE,
        "The slow physical cores of a hybrid processor; 0 when all are alike.",
        "cores",
    ),
    _count("cpu.offline_cores", Volatility.LIVE, "Hardware threads that could be switched on.", "cores"),
    _count(
        "cpu.isolated_cores",
        Volatility.BOOT,
        "Hardware threads that the scheduler leaves alone unless a process asks for them.",
        "cores",
    ),
    _count("cpu.numa_nodes", Volatility.LIVE, "Groups of cores with memory of their own.", "nodes", 1),
    _count(
        "cpu.available_cores",
        Volatility.LIVE,
        "Hardware threads that this process can keep busy: its affinity and cpuset, and no more than "
        "its cgroup quota, which is rounded down, but to at least 1.",
        "cores",
        1,
    ),
    FactInfo(
        name="cpu.quota_cores",
        type=FactType.FLOAT,
        unit="cores",
        volatility=Volatility.LIVE,
        doc="CPU time per time that the cgroup quota allows, unrounded; unknown when there is no quota.",
        minimum=0,
        is_identifying=False,
    ),
    _count("cpu.cache.l1d", Volatility.STATIC, "The level 1 data cache of a performance core.", "bytes"),
    _count("cpu.cache.l2", Volatility.STATIC, "The level 2 cache that a performance core uses.", "bytes"),
    _count("cpu.cache.l3", Volatility.STATIC, "The level 3 cache that a performance core uses.", "bytes"),
)

_MEMORY = (
    _count("memory.total", Volatility.BOOT, "Memory of the device that the kernel manages.", "bytes"),
    _count(
        "memory.available",
        Volatility.LIVE,
        "Memory that can be had without swapping, within the cgroup limit.",
        "bytes",
    ),
    _count(
        "memory.cgroup_limit",
        Volatility.LIVE,
        "The smallest memory limit of the process's cgroup and its ancestors; unknown when there is none.",
        "bytes",
    ),
    _count("memory.swap_total", Volatility.LIVE, "The size of all swap areas.", "bytes"),
)

_DEVICE = (
    _string("device.vendor", Volatility.STATIC, "The maker of the device, as its firmware says."),
    _string("device.family", Volatility.STATIC, "The family of models, as the firmware says."),
    _string("device.model", Volatility.STATIC, "The model of the device: `Raspberry Pi 5 Model B Rev 1.0`."),
    _string("device.board", Volatility.STATIC, "The board: `20KHCTO1WW`, `raspberrypi,5-model-b`."),
    FactInfo(
        name="device.id",
        type=FactType.STRING,
        volatility=Volatility.STATIC,
        doc="A text that is this device's own, for staged rollouts. It is never detected: you set it.",
        is_identifying=True,
    ),
    FactInfo(
        name="device.is_emulator",
        type=FactType.BOOL,
        volatility=Volatility.BOOT,
        doc="True on an emulator of Android, whose speed and drivers are not a phone's.",
        is_identifying=False,
    ),
    _string("soc.vendor", Volatility.STATIC, "The maker of the system on a chip: `brcm`, `QTI`, `Apple`."),
    _string("soc.model", Volatility.STATIC, "The system on a chip: `bcm2712`, `SM8650`, `Apple M2`."),
    _string(
        "power.source",
        Volatility.LIVE,
        "What feeds the device now; `mains` also when the kernel knows of no battery.",
        ("mains", "battery"),
    ),
    _fraction("power.battery_level", "Charge of the battery, from 0 to 1; the mean when there are several."),
    _string(
        "thermal.state",
        Volatility.LIVE,
        "How far heat limits the device: not, soon, already, or to the point of switching off.",
        ("nominal", "fair", "serious", "critical"),
    ),
    FactInfo(
        name="thermal.max_celsius",
        type=FactType.FLOAT,
        unit="celsius",
        volatility=Volatility.LIVE,
        doc="The temperature of the hottest sensor.",
        is_identifying=False,
    ),
)

_ACCELERATORS = (
    _count("gpu.count", Volatility.BOOT, "Graphics processors that can compute.", None),
    _string("gpu.<n>.name", Volatility.BOOT, "The name of one graphics processor: `Intel Arc Graphics`."),
    _string("gpu.<n>.vendor", Volatility.BOOT, "Its maker: `Intel`, `AMD`, `NVIDIA`, `Qualcomm`, `Arm`."),
    _count("gpu.<n>.memory", Volatility.BOOT, "Memory of its own; unknown where it shares ours.", "bytes"),
    _string("gpu.<n>.driver", Volatility.BOOT, "The kernel driver that it is bound to: `xe`, `amdgpu`."),
    _string(
        "gpu.<n>.driver_version", Volatility.BOOT, "Its driver's version, if not the kernel's: `535.104.05`."
    ),
    _string("gpu.<n>.pci_id", Volatility.BOOT, "PCI vendor and device, in hexadecimal: `8086:7d55`."),
    _string("vulkan.version", Volatility.BOOT, "The greatest version of Vulkan of any driver: `1.3.255`."),
    _count("npu.count", Volatility.BOOT, "Neural processors.", None),
    _string("npu.<n>.name", Volatility.BOOT, "The name of one neural processor: `Intel NPU (Lunar Lake)`."),
    _string("npu.<n>.vendor", Volatility.BOOT, "Its maker."),
    _string("npu.<n>.driver", Volatility.BOOT, "The kernel driver that it is bound to: `intel_vpu`."),
    _string("npu.<n>.pci_id", Volatility.BOOT, "PCI vendor and device, in hexadecimal: `8086:643e`."),
)

_RUNTIME = (
    _string("runtime.python", Volatility.BOOT, "The version of the Python that runs etconfig."),
    _string("runtime.etconfig", Volatility.BOOT, "The installed version of etconfig."),
    _string("runtime.executorch", Volatility.BOOT, "The installed version of executorch."),
    _string("runtime.torch", Volatility.BOOT, "The installed version of torch."),
    _string("runtime.numpy", Volatility.BOOT, "The installed version of numpy."),
    FactInfo(
        name="runtime.backends",
        type=FactType.STRING_LIST,
        volatility=Volatility.BOOT,
        doc="The ids of the backends that can run: of the executor's runtime, or served by installed "
        "plugins.",
        is_identifying=False,
    ),
)

BUILTIN_FACTS = FactRegistry(_OS + _CPU + _MEMORY + _DEVICE + _ACCELERATORS + _RUNTIME)
"""Every fact that etconfig itself knows; plugins add theirs with `extended`."""
