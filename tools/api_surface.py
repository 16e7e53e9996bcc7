"""The public surface as text: one line for each name that users and plugins can use, with its form.

A line is a dotted path, a space, and the form: `etconfig.plugin.v1.Ge class of annotated_types`.
Annotations are written as in the source, so that every Python writes the same lines.
"""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cached_property
from types import GenericAlias
from typing import Any

from public_api import PUBLIC_MODULES, PublicModule

Surface = Mapping[str, str]
"""The form of each name, by dotted path."""

SPECIAL_METHODS = ("__init__", "__call__", "__enter__", "__exit__", "__getitem__", "__iter__", "__len__")
"""The special methods that are public, since they can be called without their names."""


def surface() -> Surface:
    """Return the lines of all public modules."""
    return {path: form for module in PUBLIC_MODULES for path, form in module_surface(module).items()}


def module_surface(module: PublicModule) -> Surface:
    """Return the lines of one module: its public names, and the members of the classes among them."""
    name = module.name
    lines: dict[str, str] = {}
    for public, value in module.values.items():
        lines[f"{name}.{public}"] = "text" if public == "__version__" else _form(value)
        if isinstance(value, type) and _is_ours(value):
            lines |= {f"{name}.{public}.{member}": form for member, form in _members(value).items()}
    return lines


def as_text(lines: Surface) -> str:
    """Return the lines as the text of a file."""
    return "".join(f"{path} {form}\n" for path, form in lines.items())


def parse(text: str) -> Surface:
    """Return the lines of a file, without those that begin with `#`."""
    kept = (line for line in text.splitlines() if line and not line.startswith("#"))
    return dict(line.split(" ", 1) for line in kept)


def _is_ours(value: Any) -> bool:
    return str(value.__module__).partition(".")[0] == "etconfig"


def _form(value: Any) -> str:
    if isinstance(value, type) and not isinstance(value, GenericAlias):
        return _class_form(value) if _is_ours(value) else f"class of {value.__module__.partition('.')[0]}"
    if inspect.isfunction(value):
        return _signature(value) if _is_ours(value) else f"def of {value.__module__.partition('.')[0]}"
    is_alias = isinstance(value, str) or type(value).__module__ in ("types", "typing", "collections.abc")
    return f"alias {value!r}" if is_alias else f"object: {type(value).__name__}"


def _class_form(cls: type) -> str:
    kind = "class"
    if getattr(cls, "_is_protocol", False):
        kind = "protocol"
    elif is_dataclass(cls):
        is_frozen = any("__setattr__" in vars(owner) for owner in cls.__mro__ if _is_ours(owner))
        kind = "frozen record" if is_frozen else "record"
    bases = ", ".join(base.__name__ for base in cls.__bases__ if base is not object)
    return f"{kind} ({bases})" if bases else kind


def _members(cls: type) -> Surface:
    """Return the public members of a class, with those that it inherits from classes of etconfig."""
    lines = {name: form for name, value in _attributes(cls).items() if (form := _member_form(value))}
    if is_dataclass(cls) or getattr(cls, "_is_protocol", False):
        lines.pop("__init__", None)  # the fields describe it, or there is none
    if is_dataclass(cls):
        lines |= {part.name: _field_form(part, at) for at, part in enumerate(fields(cls)) if part.init}
    if issubclass(cls, enum.Enum):
        lines |= {member.name: f"member = {member.value!r}" for member in cls}
    return dict(sorted(lines.items()))


def _attributes(cls: type) -> Mapping[str, Any]:
    owners = [owner for owner in reversed(cls.__mro__) if _is_ours(owner)]
    return {
        name: value
        for owner in owners
        for name, value in vars(owner).items()
        if not name.startswith("_") or name in SPECIAL_METHODS
    }


def _member_form(value: Any) -> str | None:
    """Return the form of an attribute; None for a plain value, such as the default of a field."""
    if isinstance(value, (property, cached_property)):
        getter = value.fget if isinstance(value, property) else value.func
        return f"property: {_annotation(inspect.signature(getter).return_annotation)}"
    if isinstance(value, (classmethod, staticmethod)):
        return f"{type(value).__name__} {_signature(value.__func__)}"
    if not inspect.isfunction(value):
        return None
    return f"{'abstract ' * getattr(value, '__isabstractmethod__', False)}{_signature(value)}"


def _field_form(part: Field[Any], at: int) -> str:
    """Return the form of a field of a record, with its position if it can be passed by position."""
    default = "" if part.default is MISSING else f" = {_shown(part.default)}"
    if part.default_factory is not MISSING:
        default = f" = {part.default_factory.__name__}()"
    return f"field{'' if part.kw_only else f' {at}'}: {_annotation(part.type)}{default}"


def _signature(function: Callable[..., Any]) -> str:
    signature = inspect.signature(function)
    text = signature.replace(
        parameters=[_shown_parameter(each) for each in signature.parameters.values()],
        return_annotation=signature.empty,
    )
    return f"def {text} -> {_annotation(signature.return_annotation)}"


class _Text(str):
    """A text that is shown without quotes, since Pythons disagree about them."""

    __repr__ = str.__str__


def _shown_parameter(parameter: inspect.Parameter) -> inspect.Parameter:
    """Return a parameter with texts for its annotation and default."""
    empty, annotation, default = parameter.empty, parameter.annotation, parameter.default
    return parameter.replace(
        annotation=empty if annotation is empty else _Text(_annotation(annotation)),
        default=empty if default is empty else _Text(_shown(default)),
    )


def _annotation(annotation: Any) -> str:
    if annotation is inspect.Signature.empty:
        return "?"
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def _shown(value: object) -> str:
    """Return a default in a reproducible form: without addresses, and with sets in order."""
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, frozenset):
        return f"frozenset({{{', '.join(sorted(map(repr, value)))}}})" if value else "frozenset()"
    if isinstance(value, type) or inspect.isroutine(value):
        return value.__qualname__
    is_ours = type(value).__module__.startswith("etconfig.")
    return f"<{type(value).__name__}>" if is_ours or " at 0x" in repr(value) else repr(value)
