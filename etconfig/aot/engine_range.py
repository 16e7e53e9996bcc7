"""`EngineRange`: the versions of an engine that can run a payload."""

from __future__ import annotations

import re

from etconfig.base.records import record
from etconfig.errors import DelegateInvalidCompatibilityError

_RELEASE = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9}){0,7}")


@record(frozen=True, kw_only=True)
class EngineRange:
    """The engine that a payload is for, and the versions of it that can run the payload.

    Versions are compared by their release numbers: `2.13.0+cpu` and `2.13` are equal, and suffixes such as
    `rc1` or `.post1` do not count.

    Attributes:
        name: The engine's distribution, such as `onnxruntime`.
        built: The version that the payload was made with, or None if that does not matter.
        min: The oldest version that can run the payload, or None for any.
        below: The first version that cannot, or None.

    Raises:
        ValueError: a version does not begin with a number, or the range is empty.
    """

    name: str
    built: str | None = None
    min: str | None = None
    below: str | None = None

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("an engine needs a name: that of its distribution, such as 'onnxruntime'")
        for version in (self.built, self.min, self.below):
            if version is not None:
                _release(version)
        if self.min is not None and self.below is not None and _release(self.min) >= _release(self.below):
            raise ValueError(f"no version of {self.name} is {self.text}")

    @property
    def text(self) -> str:
        """The range, such as `>=1.20, <2`; `of any version` without bounds."""
        bounds = [f">={self.min}"] * (self.min is not None) + [f"<{self.below}"] * (self.below is not None)
        return ", ".join(bounds) or "of any version"

    def check(self, installed: str) -> None:
        """Refuse an installed version that the payload does not allow.

        Raises:
            DelegateInvalidCompatibilityError: the version is outside of the range.
        """
        version = _release(installed)
        is_new_enough = self.min is None or version >= _release(self.min)
        if is_new_enough and (self.below is None or version < _release(self.below)):
            return
        made = "" if self.built is None else f" (made with {self.built})"
        raise DelegateInvalidCompatibilityError(
            cause=f"the payload needs {self.name} {self.text}{made}; version {installed} is installed",
            help=f"install '{self.name}{self.text.replace(' ', '')}', or export the program again with "
            f"{self.name} {installed}",
        )


def _release(version: str) -> tuple[int, ...]:
    """Return a version's release numbers, without zeros at the end. Raises ValueError for other texts."""
    match = _RELEASE.match(version)
    if match is None:
        raise ValueError(f"{version!r} is not a version: expected numbers and dots first, as in 1.32.0")
    numbers = [int(number) for number in match[0].split(".")]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)
