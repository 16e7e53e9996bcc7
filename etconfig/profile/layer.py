"""`Layer`: one source of settings, flattened to assignments in the order in which they merge."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from etconfig.base.option_path import OptionPath
from etconfig.base.provenance import Origin, OriginKind, Sourced
from etconfig.base.records import record
from etconfig.diagnostics import Span

if TYPE_CHECKING:
    from etconfig.expression import Expression
    from etconfig.profile.budget import Budget


class Unset:
    """The type of `UNSET`."""

    def __repr__(self) -> str:
        return "UNSET"

    def __reduce__(self) -> str:
        return "UNSET"  # pickles by name, so that there is only one


UNSET: Final = Unset()
"""`{ unset = true }`: ignore lower layers and use the recommendation or the default again."""

RawValue: TypeAlias = "bool | int | float | str | list[RawValue] | dict[str, RawValue]"
"""A value as TOML gives it, before it is checked against the option's schema."""


@record(frozen=True)
class TextValue:
    """A value given as text (`--set`, `ETCONFIG_SET`); the option's type decides how to read it."""

    text: str


@record(frozen=True, kw_only=True)
class AssignmentPlace:
    """The place where one option is set.

    Attributes:
        origin: For provenance.
        span: For diagnostics; underlines the value.
        key_span: The same, underlining the option's name.
        backend_span: The same, underlining the backend's id.
        scope_span: The same, underlining the method or instance; None if it is set for all of them.
    """

    origin: Origin
    span: Span
    key_span: Span
    backend_span: Span
    scope_span: Span | None = None

    def find(self) -> AssignmentPlace:
        """Return the place itself; see `PlaceFinder`."""
        return self

    def find_inside(self, path: tuple[str | int, ...], *, is_key: bool = False) -> Span:
        """Return the place of the whole value; see `PlaceFinder`."""
        return self.span


class PlaceFinder(Protocol):
    """A place, or an object that finds it on demand: the places of most assignments are never needed."""

    def find(self) -> AssignmentPlace:
        """Return the place; always the same object."""
        ...

    def find_inside(self, path: tuple[str | int, ...], *, is_key: bool = False) -> Span:
        """Return the place of an item inside the value, or of the whole value if it is all that is known.

        Args:
            path: The keys and indices that lead to the item.
            is_key: Return the place of the last key of the path, instead of its value.
        """
        ...


@record(frozen=True)
class Assignment:
    """One option set by one line of one source. Two are equal if they set the same; the place does not count.

    Attributes:
        path: The option; `path.method` may be a glob, `path.instance` is a literal name.
        value: The value: a raw value, text, an expression over facts, or `UNSET`.
        place: The place where it is written.
        condition: The `[[when]]` condition that it depends on, or None.
    """

    path: OptionPath
    value: RawValue | TextValue | Expression | Unset
    place: PlaceFinder = field(compare=False, repr=False)
    condition: Expression | None = None

    @property
    def origin(self) -> Origin:
        """The place, for provenance."""
        return self.place.find().origin

    @property
    def span(self) -> Span:
        """The place of the value."""
        return self.place.find().span

    @property
    def key_span(self) -> Span:
        """The place of the option's name."""
        return self.place.find().key_span

    @property
    def backend_span(self) -> Span:
        """The place of the backend's id."""
        return self.place.find().backend_span

    @property
    def scope_span(self) -> Span | None:
        """The place of the method or instance; None if the option is set for all of them."""
        return self.place.find().scope_span


@record(frozen=True)
class InstanceDeclaration:
    """A named instance of a method: `[instances.camera0]` with `method = "forward"`.

    Attributes:
        name: Its name.
        method: The method.
        find_span: Finds the place of the method's name.
    """

    name: str
    method: str
    find_span: Callable[[], Span] = field(compare=False, repr=False)

    @property
    def span(self) -> Span:
        """The place of the method's name."""
        return self.find_span()


@record(frozen=True, kw_only=True)
class Layer:
    """One source of settings.

    Attributes:
        kind: The kind of source.
        name: The source's name: a profile's name, a file, `ETCONFIG_SET`, `--set`.
        assignments: In merge order: a later one wins over an earlier one on the same option.
        instances: The named instances that this source declares.
        facts: Hand-set facts, by name.
        is_bundled: True for a profile that comes with etconfig. Nobody asked for its settings, so settings of
            backends that are missing or not used do not matter.
        budget: What all instances may take together, or None.
    """

    kind: OriginKind
    name: str
    assignments: tuple[Assignment, ...] = ()
    instances: tuple[InstanceDeclaration, ...] = ()
    facts: Mapping[str, Sourced[object]] = field(default_factory=dict)
    is_bundled: bool = False
    budget: Budget | None = None
