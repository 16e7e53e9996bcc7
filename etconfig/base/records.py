"""`record`: a dataclass that is quick to define and to create; `Immutable`: objects that nobody assigns to.

`dataclass(frozen=True)` writes and compiles six functions for each class, which takes half a millisecond, and
a command needs a hundred classes. For a record only `__init__` is compiled, on first use; all records share
the other functions. The functions of `dataclasses` work on records too: `field`, `fields`, `replace`,
`asdict`, `__post_init__`, pickling, and `inspect.signature`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, fields
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

__all__ = ["Immutable", "record"]

if TYPE_CHECKING:
    from dataclasses import dataclass as record  # type checkers know what this means
else:

    def record(cls=None, /, *, frozen=False, kw_only=False, eq=True, repr=True):  # noqa: A002
        """Turn a class into a record: `@record(frozen=True)`, as for `dataclass`.

        A record that is not frozen, such as an exception, is equal only to itself.
        """
        assert frozen or not eq
        if cls is None:
            return lambda decorated: record(decorated, frozen=frozen, kw_only=kw_only, eq=eq, repr=repr)
        # dataclasses would write a signature there; computing it takes longer than everything else
        assert cls.__doc__, f"{cls.__name__} needs a docstring"
        own = vars(cls).copy()
        cls = dataclass(init=False, repr=False, eq=False, kw_only=kw_only)(cls)
        cls.__init__ = _InitWhenUsed(cls)
        if frozen:
            cls.__setattr__ = _refuse_assignment
            cls.__delattr__ = _refuse_deletion
        if repr and cls.__repr__ is object.__repr__:
            cls.__repr__ = _shown
        if eq and "__eq__" not in own:
            cls.__eq__, cls.__hash__ = _comparison(cls)
        return cls


class _InitWhenUsed:
    """A placeholder for a record's `__init__` until its first use: most classes are never instantiated."""

    def __init__(self, cls: type[Any]) -> None:
        self._cls = cls

    def __get__(self, instance: object, owner: type[Any]) -> Callable[..., None]:
        init = _written_init(self._cls)
        self._cls.__init__ = init
        return init.__get__(instance, owner)  # type: ignore[no-any-return]  # compiled code has no type


def _written_init(cls: type[Any]) -> Callable[..., None]:
    """Return an `__init__` that sets the object's dictionary in one step, past the frozen `__setattr__`."""
    known: dict[str, object] = {"_MISSING": MISSING, "_set": object.__setattr__}
    parameters: dict[bool, list[str]] = {False: [], True: []}
    items: list[str] = []
    for part in fields(cls):
        if part.init:
            parameters[part.kw_only is True].append(_parameter(part, known))
        if part.default_factory is not MISSING:
            known[f"_make_{part.name}"] = part.default_factory
        if part.init or part.default_factory is not MISSING:
            items.append(f"{part.name!r}: {_value(part)}")
    keywords = ["*", *parameters[True]] if parameters[True] else []
    lines = [
        f"def __init__({', '.join(['self', *parameters[False], *keywords])}):",
        f" _set(self, '__dict__', {{{', '.join(items)}}})",
    ]
    if hasattr(cls, "__post_init__"):
        lines.append(" self.__post_init__()")
    exec("\n".join(lines), known)  # noqa: S102  (made of the names of a class's fields, as in dataclasses)
    init: Any = known["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__module__ = cls.__module__
    return init  # type: ignore[no-any-return]  # compiled code has no type


def _parameter(part: Field[Any], known: dict[str, object]) -> str:
    """Return a field as a parameter of `__init__`, and add its default to `known`."""
    if part.default is not MISSING:
        known[f"_default_{part.name}"] = part.default
        return f"{part.name}=_default_{part.name}"
    if part.default_factory is not MISSING:
        return f"{part.name}=_MISSING"
    return part.name


def _value(part: Field[Any]) -> str:
    """Return the expression for a field's value, over the parameters and globals of `__init__`."""
    if part.default_factory is MISSING:
        return part.name
    made = f"_make_{part.name}()"
    return f"{made} if {part.name} is _MISSING else {part.name}" if part.init else made


def _comparison(cls: type[Any]) -> tuple[Callable[[Any, object], bool], Callable[[Any], int]]:
    """Return `__eq__` and `__hash__` over the fields that are compared."""
    names = [part.name for part in fields(cls) if part.compare]
    key: Callable[[Any], object] = attrgetter(*names) if names else type

    def __eq__(self: Any, other: object) -> bool:  # noqa: N807
        if other.__class__ is not self.__class__:
            return NotImplemented
        return key(self) == key(other)

    def __hash__(self: Any) -> int:  # noqa: N807
        return hash(key(self))

    return __eq__, __hash__


@recursive_repr()
def _shown(self: Any) -> str:
    shown = (f"{part.name}={getattr(self, part.name)!r}" for part in fields(self) if part.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse_assignment(self: Any, name: str, value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deletion(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


class Immutable:
    """An object whose public attributes cannot be assigned or deleted once its `__init__` has sealed it.

    Names that begin with an underscore stay assignable, for what the object itself keeps.

    Raises:
        AttributeError: something is assigned or deleted, as for a frozen dataclass.
    """

    _is_sealed = False
    """Set to True at the end of `__init__`."""

    def __setattr__(self, name: str, value: object) -> None:
        if self._is_sealed and not name.startswith("_"):
            raise FrozenInstanceError(f"a {type(self).__name__} is immutable: {name!r} cannot be assigned")
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        if self._is_sealed and not name.startswith("_"):
            raise FrozenInstanceError(f"a {type(self).__name__} is immutable: {name!r} cannot be deleted")
        object.__delattr__(self, name)
