"""The names of common GPUs and NPUs by their ids. Other devices can still be identified by the id.

Source: the PCI ID database (pci-ids.ucw.cz, version 2026.08.22), shortened to the product names; device tree
bindings of Linux for devices that are not on a PCI bus.
"""

from __future__ import annotations

from etconfig.facts.detecting.detectors.sysfs_devices import SysfsDevice

INTEL, AMD, NVIDIA = "8086", "1002", "10de"

VENDORS = {
    INTEL: "Intel",
    AMD: "AMD",
    "1022": "AMD",
    NVIDIA: "NVIDIA",
    "17cb": "Qualcomm",
    "1ac1": "Google",
    "1d0f": "Amazon",
    "1da3": "Habana",
    "1e60": "Hailo",
    "1af4": "Red Hat",
    # the prefixes of device tree names
    "amlogic": "Amlogic",
    "apple": "Apple",
    "arm": "Arm",
    "brcm": "Broadcom",
    "img": "Imagination",
    "nvidia": "NVIDIA",
    "qcom": "Qualcomm",
    "rockchip": "Rockchip",
    "vivante": "Vivante",
}

GPUS = {
    "8086:3e92": "Intel UHD Graphics 630",
    "8086:4680": "Intel UHD Graphics 770",
    "8086:4692": "Intel UHD Graphics 730",
    "8086:46a6": "Intel Iris Xe Graphics",
    "8086:46a8": "Intel Iris Xe Graphics",
    "8086:46d1": "Intel UHD Graphics",
    "8086:56a0": "Intel Arc A770",
    "8086:56a1": "Intel Arc A750",
    "8086:56a5": "Intel Arc A380",
    "8086:56c0": "Intel Data Center GPU Flex 170",
    "8086:56c1": "Intel Data Center GPU Flex 140",
    "8086:0bd5": "Intel Data Center GPU Max 1550",
    "8086:0bda": "Intel Data Center GPU Max 1100",
    "8086:6420": "Intel Graphics (Lunar Lake)",
    "8086:64a0": "Intel Arc Graphics 130V/140V",
    "8086:7d45": "Intel Graphics (Meteor Lake)",
    "8086:7d51": "Intel Arc Pro 130T/140T",
    "8086:7d55": "Intel Arc Graphics (Meteor Lake)",
    "8086:7d67": "Intel Graphics (Arrow Lake)",
    "8086:9a49": "Intel Iris Xe Graphics",
    "8086:a780": "Intel UHD Graphics 770",
    "8086:a7a0": "Intel Iris Xe Graphics",
    "8086:b080": "Intel Arc B390",
    "8086:e20b": "Intel Arc B580",
    "8086:e20c": "Intel Arc B570",
    "1002:1114": "AMD Radeon 840M/860M",
    "1002:13c0": "AMD Radeon Graphics (Granite Ridge)",
    "1002:150e": "AMD Radeon 880M/890M",
    "1002:1586": "AMD Radeon 8050S/8060S",
    "1002:15bf": "AMD Radeon Graphics (Phoenix)",
    "1002:1638": "AMD Radeon Vega (Cezanne)",
    "1002:164e": "AMD Radeon Graphics (Raphael)",
    "1002:1681": "AMD Radeon 680M",
    "1002:1900": "AMD Radeon Graphics (Hawk Point)",
    "1002:73bf": "AMD Radeon RX 6800/6900",
    "1002:740f": "AMD Instinct MI210",
    "1002:744c": "AMD Radeon RX 7900",
    "1002:7480": "AMD Radeon RX 7600",
    "1002:74a0": "AMD Instinct MI300A",
    "1002:74a1": "AMD Instinct MI300X",
    "1002:7550": "AMD Radeon RX 9070",
    "10de:1eb8": "NVIDIA Tesla T4",
    "10de:20b0": "NVIDIA A100 SXM4 40GB",
    "10de:20b2": "NVIDIA A100 SXM4 80GB",
    "10de:2230": "NVIDIA RTX A6000",
    "10de:2236": "NVIDIA A10",
    "10de:2237": "NVIDIA A10G",
    "10de:2330": "NVIDIA H100 SXM5 80GB",
    "10de:2335": "NVIDIA H200 SXM 141GB",
    "10de:2684": "NVIDIA GeForce RTX 4090",
    "10de:26b9": "NVIDIA L40S",
    "10de:2704": "NVIDIA GeForce RTX 4080",
    "10de:27b8": "NVIDIA L4",
    "10de:2b85": "NVIDIA GeForce RTX 5090",
    "brcm,2711-v3d": "VideoCore VI",
    "brcm,2712-v3d": "VideoCore VII",
    "nvidia,ga10b": "Orin GPU (GA10B)",
    "nvidia,gv11b": "Xavier GPU (GV11B)",
}

NPUS = {
    "8086:643e": "Intel NPU (Lunar Lake)",
    "8086:7d1d": "Intel NPU (Meteor Lake)",
    "8086:ad1d": "Intel NPU (Arrow Lake)",
    "8086:b03e": "Intel NPU (Panther Lake)",
    "1022:1502": "AMD Ryzen AI (Phoenix)",
    "1022:17f0": "AMD Ryzen AI (Strix)",
    "1ac1:089a": "Coral Edge TPU",
    "1d0f:7064": "AWS Inferentia",
    "1d0f:7164": "AWS Trainium",
    "1d0f:7264": "AWS Inferentia2",
    "1d0f:7364": "AWS Trainium2",
    "1da3:0001": "Habana Goya",
    "1da3:1000": "Habana Gaudi",
    "1da3:1020": "Habana Gaudi2",
    "1da3:1060": "Habana Gaudi3",
    "1e60:2864": "Hailo-8",
    "1e60:45c4": "Hailo-10H",
    "rockchip,rk3588-rknn-core": "Rockchip NPU (RK3588)",
}


def device_vendor(device: SysfsDevice) -> str | None:
    """Return the vendor of a device, or None if it is unknown."""
    if device.pci_id is not None:
        return VENDORS.get(device.pci_id.partition(":")[0])
    return VENDORS.get((device.compatible or "").partition(",")[0])


def device_name(device: SysfsDevice, names: dict[str, str]) -> str | None:
    """Return the name of a device, or None if it is unknown."""
    return names.get(device.pci_id or device.compatible or "")
