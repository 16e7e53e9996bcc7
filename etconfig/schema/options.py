"""`BackendOptions`: the base of every backend's options class."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Literal, get_args, get_origin

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic.fields import FieldInfo

from etconfig.base.plain_data import jsonable
from etconfig.schema.assembly import Assembly, KeyCheck, plan_assembly
from etconfig.schema.coerce import Mismatch, coerce
from etconfig.schema.declaration import MISSING, Applies, Declaration, OptionInfo, Wire, option
from etconfig.schema.option_type import (
    OptionKind,
    OptionType,
    check_option_bounds,
    read_option_type,
    with_known_keys,
    with_spellings,
)
from etconfig.schema.tuned_values import TuneRange, TuneValues, values_of_type

__all__ = ["BackendOptions", "OptionTable", "model_validator"]


class BackendOptions(BaseModel):
    """The options of one backend: a frozen, strict record whose fields are declared with `option()`.

    Raises:
        TypeError: a subclass breaks a rule; the message names the class and the option.
        pydantic.ValidationError: a wrong value or name is given to the class. It is a `ValueError`; values
            by path are refused with etconfig's own messages.
    """

    # Defer building the validator: the defaults are coerced first, and most classes never need one.
    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
        protected_namespaces=(),
        defer_build=True,
    )

    is_option_table: ClassVar[bool] = False

    _option_infos: ClassVar[Mapping[str, OptionInfo]] = MappingProxyType({})
    _former_names: ClassVar[Mapping[str, str]] = MappingProxyType({})
    _assembly: ClassVar[Assembly | None] = None
    _no_options_help: ClassVar[str] = "it has no options"

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        if cls.model_config != BackendOptions.model_config:
            raise TypeError(f"{cls.__name__} must not change model_config: options are strict and frozen")
        infos = {name: _option_info(cls, name, field) for name, field in cls.model_fields.items()}
        for name, info in infos.items():
            if info.default is not MISSING:
                cls.model_fields[name].default = info.default
        _check_wire_keys(cls, infos)
        _check_consumers(cls, infos)
        _check_variables(cls, infos)
        cls._option_infos = MappingProxyType(infos)
        cls._former_names = _former_names(cls, infos)
        cls._assembly = plan_assembly(cls, infos)
        _check_known_keys(cls, infos)
        if cls._assembly is None:
            cls.model_rebuild(force=True)

    @classmethod
    def option_infos(cls) -> Mapping[str, OptionInfo]:
        """Return the description of each option by name, in the order of declaration."""
        return cls._option_infos

    @classmethod
    def former_names(cls) -> Mapping[str, str]:
        """Return the current name of each renamed option by its former name."""
        return cls._former_names

    @classmethod
    def no_options_help(cls) -> str:
        """Return the advice to who sets an option of a class that declares none."""
        return cls._no_options_help

    def to_jsonable(self) -> dict[str, Any]:
        """Return the options as plain data for JSON: enum members by value, tuples as lists."""
        return {name: jsonable(getattr(self, name)) for name in self._option_infos}


def _tag_declaration(field: FieldInfo) -> Declaration:
    """Return the declaration of a field with one text, which needs none of its own."""
    texts = get_args(field.annotation)
    if field.is_required() and len(texts) == 1:
        field.default = texts[0]
    found = option(doc="Chooses the table.", applies=Applies.LOAD).json_schema_extra
    assert isinstance(found, Declaration)
    return found


def _check_in_table(declaration: Declaration) -> None:
    """Refuse what only an option of a backend can have.

    Raises:
        TypeError: a field of a table has it.
    """
    given = {
        "from_fact": declaration.from_fact,
        "deprecated": declaration.deprecated,
        "renamed_from": declaration.renamed_from,
        "wire": declaration.wire,
        "invalidates_cache": declaration.invalidates_cache,
        "tune": declaration.tune,
        "consumes": declaration.consumes,
        "env": declaration.env,
    }
    for argument, value in given.items():
        if value:
            raise TypeError(f"is inside a table and has {argument}; only an option of a backend can have it")


def _check_tables(option_type: OptionType, declaration: Declaration) -> None:
    """Check that the fields of tables apply when their option does.

    Raises:
        TypeError: a field applies at another time, or in another scope.
    """
    inner = option_type
    while inner.item is not None:
        inner = inner.item
    for table in inner.tables:
        for name, info in table.option_infos().items():
            if len(info.choices) != 1 and (info.applies, info.scope) != (
                declaration.applies,
                declaration.scope,
            ):
                raise TypeError(
                    f"applies at {declaration.applies.value} in scope {declaration.scope.value}, but "
                    f"{table.__name__}.{name} in it at {info.applies.value} in scope {info.scope.value}; "
                    "declare them alike: a table changes as a whole"
                )


def _check_known_keys(cls: type[BackendOptions], infos: Mapping[str, OptionInfo]) -> None:
    for name, info in infos.items():
        metadata = cls.model_fields[name].metadata
        if (info.type.known_keys is not None or info.type.has_tables) and not any(
            isinstance(each, KeyCheck) for each in metadata
        ):
            metadata.append(KeyCheck(info.type))


def _option_info(cls: type[BackendOptions], name: str, field: FieldInfo) -> OptionInfo:
    try:
        return _read_field(cls, name, field)
    except TypeError as error:
        raise TypeError(f"{cls.__name__}.{name} {error}") from None


def _read_field(cls: type[BackendOptions], name: str, field: FieldInfo) -> OptionInfo:
    declaration = field.json_schema_extra
    if cls.is_option_table and declaration is None and get_origin(field.annotation) is Literal:
        declaration = _tag_declaration(field)
    if not isinstance(declaration, Declaration):
        raise TypeError("must be declared with option(...)")
    if name in BackendOptions.__dict__ or hasattr(BaseModel, name):
        raise TypeError("hides an attribute of BackendOptions; choose another name")
    if name == "keys":
        raise TypeError("is what dict(options) would call; choose another name")
    if not declaration.doc.strip():
        raise TypeError("needs a doc: say what the option does")
    option_type = read_option_type(field.annotation, field.metadata, declaration.unit)
    check_option_bounds(option_type)
    option_type = with_known_keys(
        option_type, declaration.known_keys, declaration.keys_of_options, declaration.newer_keys
    )
    if cls.is_option_table:
        _check_in_table(declaration)
    _check_tables(option_type, declaration)
    default = MISSING if field.is_required() else coerce(option_type, field.default)
    if isinstance(default, Mismatch):
        help_text = f"; {default.help}" if default.help else ""
        raise TypeError(f"has a wrong default{default.place}: {default.message}{help_text}")
    wire = Wire(key=None if option_type.has_tables else name)
    if declaration.wire is not None:
        wire = _checked_wire(declaration.wire, option_type)
    of_type = ("known_keys", "keys_of_options", "newer_keys", "also_called")
    fields = {name: given for name, given in vars(declaration).items() if name not in of_type}
    fields["wire"] = wire
    option_type = with_spellings(option_type, declaration.also_called, wire.values)
    fields["tune"] = _coerced_tune(declaration, option_type)
    _check_env(declaration, option_type)
    return OptionInfo(name=name, type=option_type, default=default, **fields)


def _coerced_tune(declaration: Declaration, option_type: OptionType) -> TuneValues:
    """Return what an option declares to be tried, with values as the option has them."""
    given = declaration.tune
    if given is True and not values_of_type(option_type, declaration.unit, 1):
        raise TypeError(f"has tune=True, but nothing to try follows from its type, {option_type}")
    values = given.values() if isinstance(given, TuneRange) else given
    if not isinstance(values, tuple):
        return given
    checked = tuple(coerce(option_type, value) for value in values)
    for value, found in zip(values, checked, strict=True):
        if isinstance(found, Mismatch):
            raise TypeError(f"has the value {value!r} in tune: {found.message}")
    return given if isinstance(given, TuneRange) else checked


def _checked_wire(wire: Wire, option_type: OptionType) -> Wire:
    if wire.values is not None and set(wire.values) != set(option_type.choices):
        raise TypeError("needs a wire value for each of its choices, and for nothing else")
    if option_type.has_tables and wire.key is not None:
        raise TypeError("has a wire key, but ExecuTorch's option map has no tables")
    if wire.separator is not None and option_type.kind is not OptionKind.ARRAY:
        raise TypeError("has a wire separator, but is not an array")
    if wire.as_text and option_type.kind is not OptionKind.INTEGER:
        raise TypeError("is sent as text by its wire, but is not an integer")
    return wire


def _check_consumers(cls: type[BackendOptions], infos: Mapping[str, OptionInfo]) -> None:
    for name, info in infos.items():
        found = info.consumes
        for other in () if found is None else (*found.only_if, *(found.shared_if or ())):
            if other not in infos:
                raise TypeError(
                    f"{cls.__name__}.{name} consumes depending on {other!r}, which is not an option"
                )


def _check_env(declaration: Declaration, option_type: OptionType) -> None:
    """Check that each value has a text. Raises TypeError."""
    if declaration.env and option_type.kind in (OptionKind.ARRAY, OptionKind.TABLE, OptionKind.RECORD):
        raise TypeError("has env, but a variable has one text: only numbers, bools and texts can be in it")
    for variable, texts in declaration.env.items():
        for value in texts or ():
            found = coerce(option_type, value)
            if isinstance(found, Mismatch):
                raise TypeError(f"has the value {value!r} for {variable} in env: {found.message}")


def _check_variables(cls: type[BackendOptions], infos: Mapping[str, OptionInfo]) -> None:
    owners: dict[str, str] = {}
    for name, info in infos.items():
        for variable in info.env:
            if owners.setdefault(variable, name) != name:
                raise TypeError(
                    f"{cls.__name__}.{name} has the variable {variable}, as has {owners[variable]}"
                )


def _check_wire_keys(cls: type[BackendOptions], infos: Mapping[str, OptionInfo]) -> None:
    owners: dict[str, str] = {}
    for name, info in infos.items():
        key = info.wire.key
        if key is not None and owners.setdefault(key, name) != name:
            raise TypeError(
                f"{cls.__name__}.{name} has the wire key {key!r}, as has {owners[key]}: one would replace "
                "the other; give each a key of its own"
            )


def _former_names(cls: type[BackendOptions], infos: Mapping[str, OptionInfo]) -> Mapping[str, str]:
    current: dict[str, str] = {}
    for info in infos.values():
        for former in info.renamed_from:
            if former in infos or former in current:
                raise TypeError(f"{cls.__name__}.{info.name}: its former name {former!r} is already taken")
            current[former] = info.name
    return MappingProxyType(current)


class OptionTable(BackendOptions):
    """A table of options inside an option: its fields are declared with `option()`, as a backend's fields.

    An option has the type of a subclass, of a union of several, or of an array of these. The subclasses of a
    union share one field that has one text in each, the discriminator: it chooses the class of a table. It
    needs no `option()`.

    Example:
        >>> from typing import Literal
        >>> from etconfig.plugin.v1 import BackendOptions, OptionTable, option
        >>> class Cpu(OptionTable):
        ...     provider: Literal["cpu"] = "cpu"
        >>> class Cuda(OptionTable):
        ...     provider: Literal["cuda"] = "cuda"
        ...     device_id: int = option(0, applies="load", doc="The device.")
        >>> class Options(BackendOptions):
        ...     providers: tuple[Cpu | Cuda, ...] = option((), applies="load", doc="In order of preference.")
        >>> Options(providers=[{"provider": "cuda", "device_id": 1}]).providers[0].device_id
        1

    A table is one value: a profile that sets it replaces it as a whole. Reports shorten a long one, but
    always show its field `unchecked`, which is for what nobody checks.

    Attributes:
        also_called: Names by which users of the engine know a table of a union, such as
            `CUDAExecutionProvider`: an error about one of them says what to write in its place.

    Raises:
        TypeError: a subclass breaks a rule; the message names the class and the option.
    """

    is_option_table: ClassVar[bool] = True
    also_called: ClassVar[tuple[str, ...]] = ()
