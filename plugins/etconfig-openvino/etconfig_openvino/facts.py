"""The facts about OpenVINO's devices, as OpenVINO itself reports them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from etconfig.plugin.v1 import (
    ApiRange,
    FactInfo,
    FactsContribution,
    FactsRequest,
    FactType,
    FunctionDetector,
    Reading,
    System,
    Volatility,
    hookimpl,
)
from etconfig_openvino.installed import INSTALL

PROBE = Path(__file__).with_name("probe.py")
"""The file that a process of its own runs."""

SOURCE = "openvino.Core"
_DEVICE = "openvino.<n>"


def _fact(name: str, kind: FactType, doc: str, unit: str | None = None) -> FactInfo:
    # an upgrade of OpenVINO or of a driver changes all of these
    return FactInfo(name=name, type=kind, doc=doc, volatility=Volatility.BOOT, unit=unit)


FACTS = (
    _fact("openvino.version", FactType.STRING, "The version of OpenVINO, such as `2026.4.1`."),
    _fact(
        "openvino.devices",
        FactType.STRING_LIST,
        "The devices that OpenVINO finds, such as `CPU` and `GPU.0`.",
    ),
    _fact(f"{_DEVICE}.id", FactType.STRING, "The device's name for the option `device`, such as `GPU.0`."),
    _fact(f"{_DEVICE}.name", FactType.STRING, "The device's full name."),
    _fact(f"{_DEVICE}.type", FactType.STRING, "`integrated` or `discrete`."),
    _fact(f"{_DEVICE}.architecture", FactType.STRING, "The device's architecture, such as `intel64`."),
    _fact(
        f"{_DEVICE}.capabilities",
        FactType.STRING_LIST,
        "The types and features that the device computes with, such as `BF16` and `INT8`.",
    ),
    _fact(
        f"{_DEVICE}.default_precision",
        FactType.STRING,
        "The type in which the device computes if no option chooses one, such as `bf16`.",
    ),
    _fact(
        f"{_DEVICE}.max_streams",
        FactType.INT,
        "The most requests that the device runs side by side.",
        "count",
    ),
    _fact(f"{_DEVICE}.driver_version", FactType.STRING, "The version of the driver of a GPU or NPU."),
)


def detect(system: System) -> Iterator[Reading]:
    """Yield the facts, read by a process that starts OpenVINO."""
    answer, reason = _ask(system)
    if answer is None:
        for info in FACTS:
            if not info.is_family:
                yield Reading.unknown(info.name, SOURCE, reason)
        return
    devices = answer["devices"]
    yield Reading("openvino.version", answer["version"], SOURCE)
    yield Reading("openvino.devices", tuple(device["id"] for device in devices), SOURCE)
    for index, device in enumerate(devices):
        yield from _device(f"openvino.{index}", device)


def _device(prefix: str, device: Mapping[str, str]) -> Iterator[Reading]:
    yield Reading(f"{prefix}.id", device["id"], SOURCE)
    driver = device.get("gpu_driver") or device.get("npu_driver")
    streams = device.get("streams", "").split()
    values: dict[str, tuple[str, Any]] = {
        "name": ("FULL_DEVICE_NAME", device.get("name") or None),
        "type": ("DEVICE_TYPE", device.get("type") or None),
        "architecture": ("DEVICE_ARCHITECTURE", device.get("architecture") or None),
        "capabilities": ("OPTIMIZATION_CAPABILITIES", tuple(device.get("capabilities", "").split()) or None),
        "default_precision": ("INFERENCE_PRECISION_HINT", device.get("precision") or None),
        "max_streams": ("RANGE_FOR_STREAMS", int(streams[1]) if len(streams) == 2 else None),
        "driver_version": ("a property of GPUs and NPUs", driver),
    }
    for name, (key, value) in values.items():
        yield Reading.of(f"{prefix}.{name}", value, SOURCE, otherwise=f"the device does not report {key}")


def _ask(system: System) -> tuple[Any, str]:
    """Return the output of the probe, or None and why there is none."""
    output = system.run(sys.executable, str(PROBE))
    if output is None:
        return None, "OpenVINO was not asked: the process that starts it gave no answer within a second"
    try:
        answer = json.loads(output.splitlines()[-1])
    except (ValueError, IndexError):
        return None, "OpenVINO ended the process that started it"
    if "problem" in answer:
        return None, f"{answer['problem']}; {INSTALL}"
    return answer, ""


DETECTOR = FunctionDetector("openvino", tuple(info.name for info in FACTS), detect)


@hookimpl
def etconfig_facts(request: FactsRequest) -> FactsContribution:
    """Return the facts and their detector."""
    return FactsContribution(api=ApiRange(min=1, built=1), facts=FACTS, detectors=(DETECTOR,))
