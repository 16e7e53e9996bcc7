"""Create options from values that were checked one by one, without having pydantic check them again.

This is possible where pydantic could find nothing that `coerce` has not found: all values are immutable or
copied, etconfig knows all bounds, and the class has no validators except validators of the whole object.
pydantic's validator of such a class is built only when the class is called: building the first one takes as
long as importing all schemas.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen, MultipleOf
from pydantic import BaseModel

from etconfig.base.records import record
from etconfig.schema.coerce import Mismatch, coerce
from etconfig.schema.constraints import Constraint, are_bounds
from etconfig.schema.declaration import MISSING, OptionInfo
from etconfig.schema.option_type import OptionKind, OptionType

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic.fields import FieldInfo
    from pydantic_core import CoreSchema

ModelT = TypeVar("ModelT", bound=BaseModel)
"""A class of options."""

_NUMBER_BOUNDS = (Ge, Gt, Le, Lt, MultipleOf)

_LENGTH_BOUNDS = (MinLen, MaxLen)

_BOUNDS: Mapping[OptionKind, tuple[tuple[type, ...], tuple[type, ...]]] = {
    OptionKind.INTEGER: (_NUMBER_BOUNDS, (int,)),
    OptionKind.FLOAT: (_NUMBER_BOUNDS, (int, float)),
    OptionKind.STRING: (_LENGTH_BOUNDS, (int,)),
    OptionKind.ARRAY: (_LENGTH_BOUNDS, (int,)),
    OptionKind.TABLE: (_LENGTH_BOUNDS, (int,)),
}
"""The bounds that pydantic and `Constraint` check in the same way, and the types of their limits."""

_set = object.__setattr__  # the classes are frozen


@record(frozen=True)
class KeyCheck:
    """Metadata of a field that has pydantic check tables as `coerce` does: their keys, or what they become.

    Attributes:
        option_type: The type of the option.
    """

    option_type: OptionType

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the schema of the field with this check after others; before them for tables of options."""
        from pydantic import AfterValidator, BeforeValidator

        if self.option_type.has_tables:
            return BeforeValidator(self.coerced).__get_pydantic_core_schema__(source, handler)
        return AfterValidator(self.checked).__get_pydantic_core_schema__(source, handler)

    def coerced(self, value: object) -> object:
        """Return the value with the tables of options that its tables stand for.

        Raises:
            ValueError: one of them does not fit.
        """
        found = coerce(self.option_type, value)
        if isinstance(found, Mismatch):
            place = f"{found.place.lstrip('.')}: " if found.path else ""
            raise ValueError(f"{place}{found.message}" + (f"; {found.help}" if found.help else ""))
        return found

    def checked(self, value: object) -> object:
        """Return the value.

        Raises:
            ValueError: a key is unknown, or its text is.
        """
        found = coerce(self.option_type, value)
        if isinstance(found, Mismatch):
            raise ValueError(f"{found.place.lstrip('.')}: {found.message}; {found.help}")
        return value


@record(frozen=True, kw_only=True)
class Assembly:
    """The way to create the options of one class.

    Attributes:
        template: Each option's default, in the order of declaration; `MISSING` where it has none.
        required: The options without a default.
        checks: The names of the validators of the whole object.
        changeable: The options whose values can change, arrays and tables: each object gets its own copies.
    """

    template: Mapping[str, object]
    required: frozenset[str]
    checks: tuple[str, ...]
    changeable: tuple[str, ...] = ()

    def make(self, cls: type[ModelT], values: Mapping[str, object]) -> ModelT | None:
        """Return `cls(**values)` for values that are valid one by one, or None if it would refuse them."""
        fields = {**self.template, **values}
        if len(fields) > len(self.template) or (self.required and not self.required <= values.keys()):
            return None
        for name in self.changeable:
            fields[name] = _copied(fields[name])
        options = cls.__new__(cls)
        _set(options, "__dict__", fields)
        _set(options, "__pydantic_fields_set__", set(values))
        _set(options, "__pydantic_extra__", None)
        _set(options, "__pydantic_private__", None)
        try:
            return options if all(getattr(options, check)() is options for check in self.checks) else None
        except Exception:  # pydantic will run the same check and report the problem
            return None


def _copied(value: Any) -> Any:
    """Return a copy of an array or table of values that cannot change; None stays."""
    return None if value is None else value.copy()


def plan_assembly(cls: type[BaseModel], infos: Mapping[str, OptionInfo]) -> Assembly | None:
    """Plan how to create options of `cls` without pydantic, or return None if that might skip a check."""
    fields = cls.model_fields
    checks = _whole_object_checks(cls)
    if checks is None or not all(_is_plain(fields[name], info.type) for name, info in infos.items()):
        return None
    return Assembly(
        template={name: info.default for name, info in infos.items()},
        required=frozenset(name for name, info in infos.items() if info.default is MISSING),
        checks=checks,
        changeable=tuple(name for name, info in infos.items() if _is_changeable(info.type)),
    )


def _whole_object_checks(cls: type[BaseModel]) -> tuple[str, ...] | None:
    """Return the names of the validators of the whole object, or None if the class has other hooks."""
    decorators = cls.__pydantic_decorators__
    is_changed = (
        cls.__pydantic_custom_init__
        or cls.__pydantic_post_init__ is not None
        or cls.__new__ is not BaseModel.__new__
        or any("__get_pydantic_core_schema__" in vars(base) for base in cls.__mro__ if base is not BaseModel)
        or decorators.validators
        or decorators.field_validators
        or decorators.root_validators
        or any(validator.info.mode != "after" for validator in decorators.model_validators.values())
    )
    return None if is_changed else tuple(decorators.model_validators)


def _is_plain(field: FieldInfo, option_type: OptionType) -> bool:
    has_own_rules = field.alias or field.validation_alias or field.default_factory or field.validate_default
    metadata = [each for each in field.metadata if not isinstance(each, KeyCheck)]  # `coerce` does the same
    extras = (metadata, *_nested_extras(field.annotation))
    if option_type.is_optional and not metadata:
        option_type = replace(option_type, is_optional=False)  # its bounds are inside of the union with None
    return not has_own_rules and all(map(are_bounds, extras)) and _is_plain_type(option_type)


def _nested_extras(annotation: Any) -> list[tuple[object, ...]]:
    """Return the metadata of every `Annotated` inside an annotation."""
    arguments = get_args(annotation)
    if get_origin(annotation) is Annotated:
        return [arguments[1:], *_nested_extras(arguments[0])]
    return [extras for argument in arguments for extras in _nested_extras(argument)]


def _is_changeable(option_type: OptionType) -> bool:
    """True for tables, and for arrays that are lists."""
    return option_type.kind is OptionKind.TABLE or (
        option_type.kind is OptionKind.ARRAY and not option_type.is_tuple
    )


def _is_plain_type(option_type: OptionType) -> bool:
    """True if the items of its values are immutable and pydantic checks its bounds in the same way."""
    if option_type.item is not None and _is_changeable(option_type.item):
        return False
    for table in option_type.tables:
        if table._assembly is None or table._assembly.changeable:
            return False
    if option_type.is_optional and option_type.constraints:
        return False  # pydantic may check the bounds of None too
    bounds = all(_is_plain_bound(option_type.kind, bound) for bound in option_type.constraints)
    return bounds and (option_type.item is None or _is_plain_type(option_type.item))


def _is_plain_bound(kind: OptionKind, constraint: Constraint) -> bool:
    kinds, limits = _BOUNDS.get(kind, ((), ()))
    return constraint.kind in kinds and type(constraint.bound) in limits
