"""`HostConstraints`: the devices that a payload of machine code fits."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from etconfig.base.records import record
from etconfig.errors import DelegateInvalidCompatibilityError
from etconfig.facts.registry import meant_value
from etconfig.schema.payload_description import PayloadNeed

_FACTS = ("cpu.arch", "os.name", "cpu.features")
_ABI = "abi"
_MAX_CASES = 30
"""The most constraints that are named where a device lacks one: expressions are not nested deeper than 40."""
_SYSTEMS = {"darwin": "macos", "macosx": "macos", "macos": "macos", "linux": "linux", "windows": "windows"}
_ABIS = ("gnu", "musl", "msvc", "android")
"""The beginnings of a triple's last part that name a C library."""


@record(frozen=True, kw_only=True)
class HostConstraints:
    """The devices that a payload fits, in the words of facts; None and nothing fit any device.

    Attributes:
        arch: The value of the fact `cpu.arch`: `x86_64`, `arm64`.
        os: The value of the fact `os.name`: `linux`, `android`, `macos`, `windows`.
        abi: The C library of the code: `gnu`, `musl`, `msvc`.
        features: Instruction set extensions that the code uses, as in the fact `cpu.features`: `avx2`.
        triple: The compiler's target that these come from, for messages; it is not compared.

    Raises:
        ValueError: a value has another name here, such as `aarch64` for `arm64`.
    """

    arch: str | None = None
    os: str | None = None
    abi: str | None = None
    features: tuple[str, ...] = ()
    triple: str | None = None

    def __post_init__(self) -> None:
        for fact, value in (("cpu.arch", self.arch), ("os.name", self.os)):
            meant = None if value is None else meant_value(fact, value)
            if meant not in (None, value):
                raise ValueError(f"{fact} is never {value!r}; write {meant!r}")

    @classmethod
    def of_triple(cls, triple: str, features: Iterable[str] = ()) -> HostConstraints:
        """Return the constraints of code for a compiler's target, such as `x86_64-unknown-linux-gnu`.

        Args:
            triple: Architecture, vendor (which may be missing), system and C library, joined by `-`.
            features: Instruction set extensions that the code uses.

        Raises:
            ValueError: the system is unknown.
        """
        arch, *rest = triple.lower().split("-")
        systems = [_SYSTEMS[word] for word in map(_letters, rest) if word in _SYSTEMS]
        if not systems:
            raise ValueError(
                f"{triple!r} has no known system: expected linux, darwin or windows after the arch"
            )
        abi = next((known for known in _ABIS if rest[-1].startswith(known)), None)
        is_android = abi == "android"
        return cls(
            arch=meant_value("cpu.arch", arch) or arch,
            os="android" if is_android else systems[0],
            abi=None if is_android else abi,
            features=tuple(sorted(set(features))),
            triple=triple,
        )

    def check(self, host: Mapping[str, object] | None = None) -> None:
        """Refuse a device that the payload does not fit.

        Args:
            host: The device's facts by name (`cpu.arch`, `os.name`, `cpu.features`), and `abi`. A missing one
                is unknown, and refused if the payload depends on it. By default this device is detected.

        Raises:
            DelegateInvalidCompatibilityError: the device differs, or a fact that decides is unknown.
        """
        wanted = {"cpu.arch": self.arch, "os.name": self.os, _ABI: self.abi}
        asked = {name: value for name, value in wanted.items() if value is not None}
        if not asked and not self.features:
            return
        facts = _this_device() if host is None else host
        for name, value in asked.items():
            found = facts.get(name)
            if found != value:
                raise self._refusal(f"{name} {value!r}", _shown(name, found))
        self._check_features(facts.get("cpu.features"))

    def needs(self) -> list[PayloadNeed]:
        """Return the same as a condition on facts, or none; the C library is not a fact."""
        wanted = {"cpu.arch": self.arch, "os.name": self.os}
        tests = {f"{name} == {json.dumps(value)}": name for name, value in wanted.items() if value}
        tests |= {f"{json.dumps(each)} in cpu.features": json.dumps(f"no {each}") for each in self.features}
        if not tests:
            return []
        cases = [f"!({test}) ? {device} : " for test, device in tests.items()][:_MAX_CASES]
        found = "".join(cases) + '"fewer instructions"'
        reason = f"it is compiled for {self.triple or 'another processor'}"
        return [PayloadNeed(" && ".join(tests), reason=reason, found=found)]

    def _check_features(self, found: object) -> None:
        if not self.features:
            return
        if not isinstance(found, (tuple, list, set, frozenset)):
            raise self._refusal(
                f"the instructions {', '.join(self.features)}", "the fact cpu.features is unknown"
            )
        missing = [feature for feature in self.features if feature not in found]
        if missing:
            raise self._refusal(f"the instructions {', '.join(missing)}", "the processor lacks them")

    def _refusal(self, needed: str, found: str) -> DelegateInvalidCompatibilityError:
        target = "" if self.triple is None else f" (target {self.triple})"
        return DelegateInvalidCompatibilityError(
            cause=f"the payload{target} needs a device with {needed}, and of this device {found}",
            help="export the program again for this device",
        )


def _shown(name: str, found: object) -> str:
    return f"{name} is unknown" if found is None else f"{name} is {found!r}"


def _letters(word: str) -> str:
    """Return the letters that a part of a triple begins with: `darwin` of `darwin23.1.0`."""
    return word[: next((i for i, letter in enumerate(word) if not letter.isalpha()), len(word))]


def _this_device() -> dict[str, object]:
    from etconfig.facts.detecting.detection import detect
    from etconfig.facts.detecting.detectors import BUILTIN_DETECTORS

    detectors = [detector for detector in BUILTIN_DETECTORS if {*detector.provides} & {*_FACTS}]
    sheet = detect(detectors=detectors)
    facts: dict[str, object] = {name: sheet[name].value for name in _FACTS}
    return facts | {_ABI: _abi()}


def _abi() -> str | None:
    """Return the C library of this process, as the last part of a triple names it; None if unknown."""
    import platform
    import sysconfig

    if platform.system() == "Windows":
        return "msvc"
    if platform.libc_ver()[0] == "glibc":
        return "gnu"
    return "musl" if "musl" in str(sysconfig.get_config_var("HOST_GNU_TYPE")) else None
