"""`OptionType`: the meaning of an option's annotation, in the terms of TOML."""

from __future__ import annotations

import enum
import types
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin

from etconfig.base.records import record
from etconfig.schema.known_keys import KnownKey
from etconfig.schema.units import Unit

if TYPE_CHECKING:
    from etconfig.schema.constraints import Constraint

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
"""The bounds of every integer, in addition to its own: the bounds of TOML, of expressions and of devices."""

ChoiceValue: TypeAlias = "str | int"
"""One of the values of a choice."""


class OptionKind(enum.Enum):
    """The shape of a value; the member's value is its name in messages."""

    BOOLEAN = "boolean"
    INTEGER = "integer"
    FLOAT = "float"
    STRING = "string"
    CHOICE = "choice"
    ARRAY = "array"
    TABLE = "table"
    RECORD = "table of options"

    __hash__ = object.__hash__  # in C, unlike Enum's: each check of a value looks up its kind


_NUMBERS = (OptionKind.INTEGER, OptionKind.FLOAT)
_HAVE_LENGTH = (OptionKind.STRING, OptionKind.ARRAY, OptionKind.TABLE)
_COUNTED = {OptionKind.ARRAY: "item", OptionKind.TABLE: "key"}


@record(frozen=True, kw_only=True)
class OptionType:
    """The type of an option, or of an array's items or a table's values.

    Attributes:
        kind: The shape.
        constraints: Bounds on the value or its length.
        is_optional: True if None is allowed too; only a default or Python code can be None.
        choices: The allowed values, for `CHOICE`.
        enum_class: The enum whose members the choices name, if there is one.
        unit: The unit of a number, if text such as "512 MiB" is accepted for it.
        item: The type of the items or values, for `ARRAY` and `TABLE`.
        is_tuple: True if the array is a tuple in Python, False if it is a list.
        tables: The classes of the table, for `RECORD`: one, or all that the discriminator chooses from.
        discriminator: The field whose text chooses the class, if there are several.
        known_keys: The keys that a table of strings may have; None for any.
        keys_of_options: Other keys and the option that sets each.
        newer_keys: The option that takes keys that are not known yet, or None.
        also_called: The choice of each other spelling, for `CHOICE`.
    """

    kind: OptionKind
    constraints: tuple[Constraint, ...] = ()
    is_optional: bool = False
    choices: tuple[ChoiceValue, ...] = ()
    enum_class: type[enum.Enum] | None = None
    unit: Unit | None = None
    item: OptionType | None = None
    is_tuple: bool = False
    tables: tuple[Any, ...] = ()
    discriminator: str | None = None
    known_keys: Mapping[str, KnownKey] | None = None
    keys_of_options: Mapping[str, str] | None = None
    newer_keys: str | None = None
    also_called: Mapping[ChoiceValue, ChoiceValue] | None = None

    @cached_property
    def members_by_text(self) -> Mapping[str, enum.Enum]:
        """The members of the enum by their values, which are the texts that select them."""
        return {} if self.enum_class is None else {member.value: member for member in self.enum_class}

    @cached_property
    def tables_by_name(self) -> Mapping[str, Any]:
        """The classes of the table by the text of the discriminator; a single one by the empty text."""
        key = self.discriminator
        if key is None:
            return dict.fromkeys(("",), self.tables[0]) if self.tables else {}
        return {str(table.option_infos()[key].default): table for table in self.tables}

    @property
    def has_tables(self) -> bool:
        """True if its values are tables of options, or arrays or tables of them."""
        return self.kind is OptionKind.RECORD or (self.item is not None and self.item.has_tables)

    def part(self, key: str | int, raw: Any) -> OptionType:
        """Return the type of the value under a key or index of `raw`, a value of this type that has it."""
        if self.item is not None:
            return self.item
        table = self.tables_by_name["" if self.discriminator is None else raw[self.discriminator]]
        found: OptionType = table.option_infos()[key].type
        return found

    @property
    def constraint_texts(self) -> tuple[str, ...]:
        """Each bound in words, such as `>= 1`."""
        counted = _COUNTED.get(self.kind, "character")
        return tuple(constraint.words(counted) for constraint in self.constraints)

    @property
    def expected(self) -> str:
        """The expected value in words, such as `an integer >= 1 and <= 16`."""
        words = self._noun
        if self.constraints:
            bounds = " and ".join(self.constraint_texts)
            words += f" {bounds}" if bounds[0] in "<>" else f", {bounds}"
        if self.unit is not None:
            words += f', in {self.unit.value} or as text like "{self.unit.example}"'
        if self.item is not None:
            words += f", each {'item' if self.kind is OptionKind.ARRAY else 'value'} {self.item.expected}"
        return words

    @property
    def _noun(self) -> str:
        if self.kind is OptionKind.BOOLEAN:
            return "true or false"
        if self.kind is OptionKind.CHOICE:
            listed = ", ".join(map(repr, self.choices))
            return f"one of {listed}" if len(self.choices) > 1 else listed
        if self.kind is OptionKind.RECORD:
            return f"a table {self._content}"
        article = "an" if self.kind.value[0] in "aeiou" else "a"
        return f"{article} {self.kind.value}"

    @property
    def _content(self) -> str:
        """The fields of a table of options, in words."""
        if self.discriminator is not None:
            return f"with {self.discriminator} = {' or '.join(map(repr, self.tables_by_name))}"
        return f"of {', '.join(self.tables[0].option_infos())}"

    def __str__(self) -> str:
        """Return the name of the type without bounds, such as `array of strings`."""
        if self.kind is OptionKind.RECORD:
            return f"table {self._content}"
        return self.kind.value if self.item is None else f"{self.kind.value} of {self.item.plural}"

    @property
    def plural(self) -> str:
        """The name of several values of the type, such as `arrays of strings`."""
        if self.kind is OptionKind.RECORD:
            return f"tables {self._content}"
        return f"{self.kind.value}s" if self.item is None else f"{self.kind.value}s of {self.item.plural}"


def read_option_type(
    annotation: Any, metadata: Iterable[object] = (), unit: Unit | None = None
) -> OptionType:
    """Return the option type that an annotation means.

    Args:
        annotation: The annotation.
        metadata: The metadata of its `Annotated`, which pydantic has already taken off.
        unit: The unit of its numbers.

    Raises:
        TypeError: it is not bool, int, float, str, an enum of strings, a Literal of strings or integers,
            list[T], tuple[T, ...], dict[str, T], an `OptionTable`, a union of those, or `T | None` of these;
            or it has a unit and no number.
    """
    from etconfig.schema.constraints import constraints_in

    constraints = tuple(constraints_in(metadata))
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _with(read_option_type(arguments[0], arguments[1:], unit), constraints)
    tables = _tables_in(annotation)
    if tables:
        if unit is not None:
            raise TypeError(f"has the unit {unit.value}, but a table is not a number")
        is_optional = types.NoneType in arguments
        return replace(_record(tables), constraints=constraints, is_optional=is_optional)
    if origin in (Union, types.UnionType):
        inner = _with(read_option_type(_only_member(annotation), (), unit), constraints)
        return replace(inner, is_optional=True)
    if origin in (list, tuple, dict):
        item = read_option_type(_item_annotation(annotation), (), unit)
        kind = OptionKind.TABLE if origin is dict else OptionKind.ARRAY
        return OptionType(kind=kind, constraints=constraints, item=item, is_tuple=origin is tuple)
    if annotation in (int, float):
        accepts_text = unit is not None and unit.example is not None
        kind = OptionKind.INTEGER if annotation is int else OptionKind.FLOAT
        return OptionType(kind=kind, constraints=constraints, unit=unit if accepts_text else None)
    if unit is not None:
        raise TypeError(f"has the unit {unit.value}, but {_name(annotation)} is not a number")
    return _unitless(annotation, constraints)


def check_option_bounds(option_type: OptionType) -> None:
    """Check that each bound of a type, and of its items, bounds values of that kind.

    Raises:
        TypeError: it does not, or the bound itself is wrong.
    """
    for constraint in option_type.constraints:
        name = f"has the bound {constraint.kind.__name__}({constraint.bound!r})"
        problem = constraint.problem()
        if problem is not None:
            raise TypeError(f"{name}, which {problem}")
        if option_type.kind not in (_HAVE_LENGTH if constraint.is_length else _NUMBERS):
            bounded = "the length of strings, arrays and tables" if constraint.is_length else "numbers"
            raise TypeError(f"{name}, which bounds {bounded}, but its type is {option_type.kind.value}")
    if option_type.item is not None:
        check_option_bounds(option_type.item)


def with_known_keys(
    option_type: OptionType,
    known: Mapping[str, KnownKey] | None,
    of_options: Mapping[str, str] | None = None,
    newer: str | None = None,
) -> OptionType:
    """Return the type of a table of strings that has only the known keys.

    Raises:
        TypeError: it is another type.
    """
    if known is None:
        return option_type
    is_text = option_type.item is not None and option_type.item.kind is OptionKind.STRING
    if option_type.kind is not OptionKind.TABLE or not is_text or option_type.is_optional:
        raise TypeError(f"has known keys, but its type is {option_type}; expected dict[str, str]")
    return replace(option_type, known_keys=known, keys_of_options=of_options, newer_keys=newer)


def with_spellings(
    option_type: OptionType,
    also_called: Mapping[ChoiceValue, ChoiceValue] | None,
    wire_values: Mapping[str, bool | int | str] | None,
) -> OptionType:
    """Return the type of a choice with the other spellings of its values: those declared, and on the wire.

    Raises:
        TypeError: it is another type, or a spelling stands for what is not a choice, or is one itself.
    """
    if also_called is not None:
        wrong = [each for each in also_called.values() if each not in option_type.choices]
        wrong += [each for each in also_called if each in option_type.choices]
        if option_type.kind is not OptionKind.CHOICE or wrong:
            found = f"{wrong[0]!r} is not one" if wrong else f"its type is {option_type}"
            raise TypeError(f"has other spellings of its choices, but {found}")
    on_wire = {each: choice for choice, each in (wire_values or {}).items() if not isinstance(each, bool)}
    spellings: dict[ChoiceValue, ChoiceValue] = {**on_wire, **(also_called or {})}
    return replace(option_type, also_called=spellings) if spellings else option_type


def _tables_in(annotation: Any) -> tuple[Any, ...]:
    """Return the tables of options that an annotation is or consists of, apart from None; else nothing."""
    is_union = get_origin(annotation) in (Union, types.UnionType)
    members = get_args(annotation) if is_union else (annotation,)
    members = tuple(member for member in members if member is not types.NoneType)
    return members if all(getattr(member, "is_option_table", False) for member in members) else ()


def _record(tables: tuple[Any, ...]) -> OptionType:
    """Return the type of a table of one of these classes.

    Raises:
        TypeError: they do not share exactly one field with one text each, all different.
    """
    if len(tables) == 1:
        return OptionType(kind=OptionKind.RECORD, tables=tables)
    shared = set.intersection(*(set(_tags(table)) for table in tables))
    names = " | ".join(table.__name__ for table in tables)
    if len(shared) != 1:
        problem = f"share {', '.join(sorted(shared))}" if shared else "share none"
        raise TypeError(
            f"has the type {names}; tables of a union need exactly one common field with one text each, such "
            f'as kind: Literal["..."] = "...", and these {problem}'
        )
    (key,) = shared
    texts = [_tags(table)[key] for table in tables]
    if len({*texts}) < len(texts):
        raise TypeError(f"has the type {names}, of which two have the same {key}: {', '.join(texts)}")
    return OptionType(kind=OptionKind.RECORD, tables=tables, discriminator=key)


def _tags(table: Any) -> dict[str, str]:
    """Return the fields of a table that have one text only, each with its text."""
    kinds = {name: info.type for name, info in table.option_infos().items()}
    return {
        name: kind.choices[0]
        for name, kind in kinds.items()
        if len(kind.choices) == 1 and isinstance(kind.choices[0], str) and kind.enum_class is None
    }


def _with(inner: OptionType, constraints: tuple[Constraint, ...]) -> OptionType:
    return replace(inner, constraints=inner.constraints + constraints)


def _only_member(annotation: Any) -> Any:
    members = [member for member in get_args(annotation) if member is not types.NoneType]
    if len(members) != 1:
        raise TypeError(f"has the type {annotation}; of unions, only `T | None` is supported")
    return members[0]


def _item_annotation(annotation: Any) -> Any:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is tuple and (len(arguments) != 2 or arguments[1] is not Ellipsis):
        raise TypeError(f"has the type {annotation}; of tuples, only `tuple[T, ...]` is supported")
    if origin is dict and arguments[0] is not str:
        raise TypeError(f"has the type {annotation}; keys of a table must be str")
    return arguments[1] if origin is dict else arguments[0]


def _unitless(annotation: Any, constraints: tuple[Constraint, ...]) -> OptionType:
    if annotation is bool:
        return OptionType(kind=OptionKind.BOOLEAN, constraints=constraints)
    if annotation is str:
        return OptionType(kind=OptionKind.STRING, constraints=constraints)
    if get_origin(annotation) is Literal:
        # bool is a subclass of int, but TOML distinguishes the two.
        return _choice(get_args(annotation), annotation, allowed=(str, int))
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        choice = _choice([member.value for member in annotation], annotation, allowed=(str,))
        return replace(choice, enum_class=annotation)
    raise TypeError(
        f"has the type {_name(annotation)}; supported are bool, int, float, str, enums of strings, "
        "Literal, list[T], tuple[T, ...], dict[str, T] and T | None"
    )


def _choice(values: Iterable[Any], annotation: Any, allowed: tuple[type, ...]) -> OptionType:
    choices = tuple(values)
    if not choices or any(type(value) not in allowed for value in choices):
        names = " or ".join(kind.__name__ for kind in allowed)
        raise TypeError(f"has the type {_name(annotation)}; its values must be {names}")
    return OptionType(kind=OptionKind.CHOICE, choices=choices)


def _name(annotation: Any) -> str:
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)
