"""`EffectiveOption`: the value of an option in force, its source, and its comparison with the request."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import field

from etconfig.base.plain_data import jsonable
from etconfig.base.records import record


class EffectiveSource(enum.Enum):
    """The way in which the value of an option in force is known; the member's value is its name in output."""

    READ_BACK = "read back"
    """The backend or engine was asked, and reported it."""
    OBSERVED = "observed"
    """It was measured from outside, such as the number of threads that the system counts."""
    ASSUMED = "assumed"
    """It was passed on; nothing reports or shows it."""
    UNKNOWN = "unknown"
    """Nothing is known about it."""


@record(frozen=True, kw_only=True)
class EffectiveOption:
    """The value of an option that is in force, and how this is known.

    Create it with `read_back`, `observed`, `assumed` or `unknown`.

    Attributes:
        value: The value; None if it is unknown.
        is_asked: True if the backend was asked and gave this answer.
        reason: The source of the answer, or the reason for the assumption or the lack of an answer.
        source: The way in which the value is known; by default, `READ_BACK` if `is_asked`, else `ASSUMED`.
        meets: Returns True for a requested value that the value in force satisfies, such as 0 threads where 0
            leaves the number to the engine. None if only an equal value does.

    Raises:
        ValueError: `is_asked` and `source` contradict each other.
    """

    value: object
    is_asked: bool
    reason: str
    source: EffectiveSource = field(default=None)  # type: ignore[assignment]  # set by `__post_init__`
    meets: Callable[[object], bool] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if vars(self)["source"] is None:
            source = EffectiveSource.READ_BACK if self.is_asked else EffectiveSource.ASSUMED
            object.__setattr__(self, "source", source)
        elif self.is_asked is not (self.source is EffectiveSource.READ_BACK):
            raise ValueError(f"is_asked is {self.is_asked}, but the source is {self.source.value!r}")

    @classmethod
    def read_back(
        cls,
        value: object,
        reason: str = "the engine reports it",
        *,
        meets: Callable[[object], bool] | None = None,
    ) -> EffectiveOption:
        """Return an option whose value the backend or engine reported when asked."""
        return cls(value=value, is_asked=True, reason=reason, source=EffectiveSource.READ_BACK, meets=meets)

    @classmethod
    def observed(
        cls,
        value: object,
        reason: str = "measured from outside",
        *,
        meets: Callable[[object], bool] | None = None,
    ) -> EffectiveOption:
        """Return an option whose value was measured from outside of the engine."""
        return cls(value=value, is_asked=False, reason=reason, source=EffectiveSource.OBSERVED, meets=meets)

    @classmethod
    def assumed(cls, value: object, reason: str) -> EffectiveOption:
        """Return an option whose value was passed on, but which nothing reports."""
        return cls(value=value, is_asked=False, reason=reason, source=EffectiveSource.ASSUMED)

    @classmethod
    def unknown(cls, reason: str) -> EffectiveOption:
        """Return an option about whose value nothing is known, and why."""
        return cls(value=None, is_asked=False, reason=reason, source=EffectiveSource.UNKNOWN)

    @classmethod
    def of_backend(cls, value: object) -> EffectiveOption:
        """Return an option as a backend reports it: a value that it read back, or an `EffectiveOption`."""
        return value if isinstance(value, cls) else cls.read_back(value, "the backend reports it")

    @property
    def is_known(self) -> bool:
        """True unless nothing is known about the value."""
        return self.source is not EffectiveSource.UNKNOWN


_NOT_REPORTED = EffectiveOption.unknown("the backend does not report it")


@record(frozen=True, kw_only=True)
class ComparedOption:
    """One option: the value that was requested beside the value in force.

    Attributes:
        name: The option's name.
        requested: The value that the configuration resolved to; None leaves it to the backend.
        effective: The value in force, and how it is known.
    """

    name: str
    requested: object
    effective: EffectiveOption

    @property
    def differs(self) -> bool | None:
        """True if another value than the requested one is in force; None if that is unknown.

        A request of None never differs: it leaves the value to the backend. An enum member equals its
        value, and a tuple equals a list of the same items. If the value in force has a `meets`, it decides.
        """
        if not self.effective.is_known:
            return None
        if self.requested is None:
            return False
        if self.effective.meets is not None:
            return not self.effective.meets(self.requested)
        return jsonable(self.requested) != jsonable(self.effective.value)

    def to_jsonable(self) -> dict[str, object]:
        """Return the comparison as plain data for JSON."""
        return {
            "requested": _shown(self.requested),
            "value": _shown(self.effective.value),
            "source": self.effective.source.value,
            "differs": self.differs,
            "reason": self.effective.reason,
        }


def compare_options(
    requested: Mapping[str, object], effective: Mapping[str, EffectiveOption]
) -> dict[str, ComparedOption]:
    """Return each requested option beside its value in force, by name, in the order of `requested`.

    Options that `effective` leaves out are unknown; names in it that were not requested follow.
    """
    return {
        name: ComparedOption(
            name=name, requested=requested.get(name), effective=effective.get(name, _NOT_REPORTED)
        )
        for name in {**requested, **effective}
    }


def _shown(value: object) -> object:
    """Return a value for JSON; what is not plain data, such as an object of an engine, as text."""
    plain = jsonable(value)
    is_plain = plain is None or isinstance(plain, (bool, int, float, str, list, dict))
    return plain if is_plain else str(plain)
