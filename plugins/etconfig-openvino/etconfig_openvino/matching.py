"""The comparison of requested values with the values that OpenVINO reports."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from etconfig_openvino.devices import parse_device
from etconfig_openvino.properties import PROPERTIES

_FLOAT32 = struct.Struct("<f")


def is_met(name: str, requested: object, used: object) -> bool:
    """Return True if OpenVINO uses what was requested.

    A value that leaves the choice to OpenVINO is met by any. Fractions are compared in float32, in which
    OpenVINO keeps them, and lists without their order.
    """
    if requested in PROPERTIES[name].adjustable:
        return True
    if isinstance(requested, float) and isinstance(used, (int, float)):
        return _FLOAT32.pack(requested) == _FLOAT32.pack(used)
    if isinstance(requested, (tuple, list)) and isinstance(used, (tuple, list)):
        return set(requested) == set(used)
    return requested == used


@dataclass(frozen=True)
class ValueMatch:
    """Decides whether a requested value of an option is met.

    Attributes:
        name: The option.
        used: The value that OpenVINO uses.
    """

    name: str
    used: object

    def __call__(self, requested: object) -> bool:
        """Return True if it is met."""
        return is_met(self.name, requested, self.used)


@dataclass(frozen=True)
class DeviceMatch:
    """Decides whether a requested `device` is met by the devices that run a model.

    Attributes:
        virtual: The virtual device that the model was compiled for, such as `AUTO`; None without one.
        devices: The devices that run it.
        collects: False if BATCH collects no requests of the model.
    """

    virtual: str | None
    devices: tuple[str, ...]
    collects: bool = True

    def __call__(self, requested: object) -> bool:
        """Return True if it is met."""
        choice = parse_device(str(requested))
        if not self.collects and choice.batch > 1:
            return False
        is_kind = choice.kind == self.virtual if choice.is_virtual else self.virtual is None
        return is_kind and all(map(choice.includes, self.devices))
