"""`DeviceChoice`: the meaning of OpenVINO's text for a device, such as `GPU.1` or `AUTO:GPU,CPU`."""

from __future__ import annotations

import re
from dataclasses import dataclass

HARDWARE = ("CPU", "GPU", "NPU")
"""The devices that compute."""

VIRTUAL = ("AUTO", "MULTI", "HETERO", "BATCH")
"""The devices of OpenVINO that pass models on to other devices."""

_TARGET = re.compile(r"(-?)([A-Z]+)(?:\.([0-9]+(?:\.[0-9]+)*))?(?:\(([1-9][0-9]*)\))?")
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
        excluded: The devices that OpenVINO leaves out when it chooses, such as `GPU` for AUTO:-GPU.
    """

    text: str
    kind: str
    targets: tuple[str, ...]
    excluded: tuple[str, ...] = ()

    @property
    def is_virtual(self) -> bool:
        """True if the device passes models on."""
        return self.kind in VIRTUAL

    @property
    def batch(self) -> int:
        """The number of requests that BATCH is to collect; 1 without one."""
        found = re.search(r"\(([0-9]+)\)", self.text)
        return 1 if found is None else int(found[1])

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of the devices that compute, each once; if OpenVINO chooses, those not excluded."""
        chosen = tuple(dict.fromkeys(kind_of(target) for target in self.targets))
        return chosen or tuple(kind for kind in HARDWARE if kind not in self.excluded)

    def includes(self, device: str) -> bool:
        """Return True if a device that OpenVINO finds, such as `GPU.0`, is among the chosen ones."""
        if self.targets:
            return any(is_same(target, device) for target in self.targets)
        return not any(is_same(target, device) for target in self.excluded)


def kind_of(target: str) -> str:
    """Return the kind of a device, such as `GPU` for `GPU.1`."""
    return target.partition(".")[0]


def is_same(target: str, device: str) -> bool:
    """Return True if a text such as `GPU` or `GPU.0` means a device that OpenVINO finds.

    The only GPU of a machine is `GPU` in OpenVINO's list, and `GPU.0` names it, too.
    """
    if kind_of(target) == "CPU":
        return target == device
    return target in (device, kind_of(device), f"{device}.0")


def parse_device(text: str) -> DeviceChoice:
    """Return the meaning of a text.

    Raises:
        ValueError: it names no device of OpenVINO; the message says what was expected.
    """
    kind, colon, rest = text.partition(":")
    if kind not in VIRTUAL:
        match = _TARGET.fullmatch(text)
        if match is None or match[2] not in HARDWARE or match[1] or match[4]:
            raise ValueError(f"device is {text!r}; {_meant(text)}")
        return DeviceChoice(text, match[2], (text,))
    parts = [_target(part, text) for part in rest.split(",")] if colon else []
    if kind in ("HETERO", "MULTI", "BATCH") and not parts:
        raise ValueError(f"device is {text!r}; name the devices behind it, such as {kind}:CPU")
    targets = tuple(name for name, is_excluded in parts if not is_excluded)
    excluded = tuple(name for name, is_excluded in parts if is_excluded)
    problem = _problem(kind, targets, excluded, rest)
    if problem:
        raise ValueError(f"device is {text!r}; {problem}")
    return DeviceChoice(text, kind, targets, excluded)


def _meant(text: str) -> str:
    """Return the end of a message about a text that is not a device: the nearest, or what was expected."""
    near = _corrected(text)
    if near != text:
        try:
            parse_device(near)
        except ValueError:
            pass
        else:
            return f"did you mean {near!r}?"
    return _EXPECTED


def _corrected(text: str) -> str:
    """Return a text with each name in it replaced by the device or virtual device that is nearest to it."""
    from difflib import get_close_matches

    def correct(match: re.Match[str]) -> str:
        return next(iter(get_close_matches(match[0].upper(), (*HARDWARE, *VIRTUAL), 1, 0.7)), match[0])

    return re.sub(r"(?<![\w.])[A-Za-z]+", correct, text.strip())


def _target(part: str, text: str) -> tuple[str, bool]:
    """Return the device in one part of a list, and True if it is excluded, as in `-GPU`."""
    match = _TARGET.fullmatch(part)
    if match is None or match[2] not in HARDWARE:
        raise ValueError(f"device is {text!r}, where {part!r} is not a device; {_meant(part)}")
    return part.removeprefix("-").partition("(")[0], bool(match[1])


def _problem(kind: str, targets: tuple[str, ...], excluded: tuple[str, ...], rest: str) -> str | None:
    """Return what is wrong with a list of devices, most of which OpenVINO ignores in silence."""
    named = (*targets, *excluded)
    twice = next((name for name in named if named.count(name) > 1), None)
    if twice is not None:
        return f"name {twice} once"
    if excluded and kind in ("HETERO", "BATCH"):
        return f"{kind} cannot leave out {excluded[0]}; name the devices that it may use"
    if kind == "BATCH" and len(targets) > 1:
        return "BATCH takes one device, such as BATCH:GPU(8)"
    if kind == "HETERO" and "(" in rest:
        return "HETERO takes no number of requests; leave the parentheses out"
    return None
