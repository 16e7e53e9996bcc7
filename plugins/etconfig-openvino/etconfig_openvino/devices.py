"""`DeviceChoice`: the meaning of OpenVINO's text for a device, such as `GPU.1` or `AUTO:GPU,CPU`."""

from __future__ import annotations

import re
from dataclasses import dataclass

HARDWARE = ("CPU", "GPU", "NPU")
"""The devices that compute."""

VIRTUAL = ("AUTO", "MULTI", "HETERO", "BATCH")
"""The devices of OpenVINO that pass models on to those that compute."""

_TARGET = re.compile(r"(-?)([A-Z]+)(?:\.([0-9A-Za-z_.]+))?(?:\(([1-9][0-9]*)\))?")
_EXPECTED = (
    "expected CPU, GPU, GPU.1, NPU, or a list behind AUTO, MULTI, HETERO or BATCH, such as AUTO:GPU,CPU"
)


@dataclass(frozen=True)
class DeviceChoice:
    """A device, or several behind a virtual one.

    Attributes:
        text: The text, as OpenVINO takes it.
        kind: `CPU`, `GPU`, `NPU` or a virtual device.
        targets: The devices that compute, such as `GPU.1`; empty if OpenVINO chooses among all.
    """

    text: str
    kind: str
    targets: tuple[str, ...]

    @property
    def is_virtual(self) -> bool:
        """True if the device passes models on."""
        return self.kind in VIRTUAL

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of the devices that compute, each once; all of them if OpenVINO chooses."""
        return tuple(dict.fromkeys(kind_of(target) for target in self.targets)) or HARDWARE


def kind_of(target: str) -> str:
    """Return the kind of a device, such as `GPU` for `GPU.1`."""
    return target.partition(".")[0]


def parse_device(text: str) -> DeviceChoice:
    """Return the meaning of a text.

    Raises:
        ValueError: it names no device of OpenVINO; the message says what was expected.
    """
    kind, colon, rest = text.partition(":")
    if kind not in VIRTUAL:
        match = _TARGET.fullmatch(text)
        if match is None or match[2] not in HARDWARE or match[1] or match[4]:
            raise ValueError(f"device is {text!r}; {_EXPECTED}")
        return DeviceChoice(text, match[2], (text,))
    targets = [_target(part, text) for part in rest.split(",")] if colon else []
    if kind in ("HETERO", "MULTI", "BATCH") and not targets:
        raise ValueError(f"device is {text!r}; name the devices behind it, such as {kind}:CPU")
    return DeviceChoice(text, kind, tuple(target for target in targets if target))


def _target(part: str, text: str) -> str | None:
    """Return the device in one part of a list; None for one that is left out, such as `-GPU`."""
    match = _TARGET.fullmatch(part)
    if match is None or match[2] not in HARDWARE:
        raise ValueError(f"device is {text!r}, where {part!r} is not a device; {_EXPECTED}")
    return None if match[1] else part.partition("(")[0]
