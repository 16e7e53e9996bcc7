"""`TypedOption`: one option as generated code declares, reads or sets it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from etconfig.base.plain_data import jsonable
from etconfig.base.records import record
from etconfig.device.builders.language import Language, distinct, pascal_case, words_in
from etconfig.device.bundle.row_fields import NONE
from etconfig.device.compiling.option_bounds import OptionBounds, option_bounds
from etconfig.errors import OptionError
from etconfig.schema.declaration import MISSING, OptionInfo, Scope
from etconfig.schema.option_type import INT64_MAX, INT64_MIN, OptionKind
from etconfig.schema.spec import BackendSpec
from etconfig.wire.runtime_limits import EXECUTORCH, RuntimeLimits, WireValue
from etconfig.wire.wired_values import cannot_carry, sent_value

Parts: TypeAlias = Mapping[str, Iterable[str]]
"""The lines for each place of a template."""

_EXAMPLES: dict[OptionKind, object] = {
    OptionKind.BOOLEAN: False,
    OptionKind.INTEGER: 0,
    OptionKind.FLOAT: 0.0,
    OptionKind.STRING: "",
    OptionKind.ARRAY: [],
    OptionKind.TABLE: {},
}
"""A value of each type that is sent, for `RuntimeLimits.problem`."""


@record(frozen=True)
class NamingStyle:
    """The names of a language.

    Attributes:
        name: The language.
        option: Makes the name of an option in the code from its words.
        choice: Makes the name of a choice from its words.
        app: The language of an app, whose binding may carry less than the map; None for the backend.
    """

    name: str
    option: Callable[[list[str]], str]
    choice: Callable[[list[str]], str]
    app: Language | None = None

    def reserved(self) -> list[str]:
        """Return the names that the code must not declare."""
        text = Path(__file__).with_name("reserved_words.txt").read_text(encoding="utf-8")
        rows = (line.split() for line in text.splitlines())
        return [word for language, *words in rows if language == self.name for word in words]


@record(frozen=True)
class TypedOption:
    """An option that code reads or sets.

    Attributes:
        info: The option.
        bounds: Its bounds.
        name: Its name in the code.
        type_name: The name of its enum, if it has one.
        choices: The value that is sent for each choice, by the name of the choice in the code.
        default: The value that is sent if nobody sets it, or None if nothing is.
    """

    info: OptionInfo
    bounds: OptionBounds
    name: str
    type_name: str
    choices: dict[str, WireValue]
    default: WireValue | None

    @property
    def key(self) -> str:
        """Its key in the map."""
        assert self.info.wire.key is not None
        return self.info.wire.key

    @property
    def doc(self) -> str:
        """Its description, in one line."""
        return " ".join(self.info.doc.split())

    @property
    def is_integer(self) -> bool:
        """True if it is a number, not a choice of numbers."""
        return self.info.type.kind is OptionKind.INTEGER

    @property
    def range(self) -> tuple[int, int]:
        """The smallest and the largest integer."""
        least, most = (INT64_MIN, INT64_MAX) if self.info.wire.as_text else (-(2**31), 2**31 - 1)
        low, high = self.bounds.minimum, self.bounds.maximum
        if math.isfinite(low):
            least = max(least, math.floor(low) + 1 if self.bounds.is_minimum_exclusive else math.ceil(low))
        if math.isfinite(high):
            most = min(most, math.ceil(high) - 1 if self.bounds.is_maximum_exclusive else math.floor(high))
        return least, most

    @property
    def step(self) -> int:
        """The integer that divides all values."""
        return max(int(self.bounds.multiple_of), 1)

    @property
    def lengths(self) -> tuple[int, int]:
        """The smallest and the largest number of characters; of an array, any: its items are not counted."""
        is_text = self.info.type.kind is OptionKind.STRING
        return (self.bounds.min_length, self.bounds.max_length) if is_text else (0, NONE)

    @property
    def expected(self) -> str:
        """The value that is sent, in words, such as `one of 0 (low), 1 (high)`."""
        if self.choices:
            pairs = zip(self.choices.values(), self.info.choices, strict=True)
            sent = (f"{_shown(value)}{'' if value == name else f' ({name})'}" for value, name in pairs)
            return f"one of {', '.join(sent)}"
        if self.is_integer:
            words = f"an integer from {self.range[0]} to {self.range[1]}"
            words += f", a multiple of {self.step}" if self.step > 1 else ""
            return words if self.info.type.unit is None else f"{words}, in {self.info.type.unit.value}"
        if self.info.type.kind is OptionKind.ARRAY:
            return f"a text with {self.info.wire.separator!r} between its items"
        if self.info.type.kind is OptionKind.BOOLEAN:
            return "true or false"
        return ", ".join(("a text", *self.info.constraints))

    def obstacle(self, limits: RuntimeLimits) -> str | None:
        """Return why code for a binding cannot pass it on, or None."""
        if self.info.scope is Scope.PROCESS and not limits.has_process_scope:
            return "it applies to the whole process, and there is no call for that"
        wire = self.info.wire
        example = "" if wire.as_text or wire.separator is not None else _EXAMPLES.get(self.info.type.kind)
        values: list[object] = list(self.choices.values()) or [example]
        return next(filter(None, map(limits.problem, values)), None)

    def problem(self) -> str | None:
        """Return why the map cannot carry it, or code cannot check it, or None."""
        if self.is_integer and self.range[0] > self.range[1]:
            return "no integer that it carries is within its bounds"
        of_default = None if self.default is None else EXECUTORCH.problem(self.default)
        return self.obstacle(EXECUTORCH) or of_default or next(iter(self.bounds.obstacles), None)

    @property
    def remedy(self) -> str:
        """Advice to its author about a problem."""
        if self.is_integer and (self.info.wire.as_text or self.bounds.obstacles):
            return "declare it with other bounds"
        if self.is_integer:
            return "declare it with wire=Wire(key=..., as_text=True) to send its digits"
        if self.info.type.kind is OptionKind.ARRAY and self.info.wire.separator is None:
            return 'declare it with wire=Wire(key=..., separator=",") to send one text'
        return "declare it with another type"


@record(frozen=True)
class TypedOptions:
    """The options of a backend: `carried`, and a line for each that is `left_out`."""

    backend: str
    class_name: str
    carried: tuple[TypedOption, ...]
    left_out: tuple[str, ...]


def typed_options(spec: BackendSpec, style: NamingStyle) -> TypedOptions:
    """Return the options for code.

    Raises:
        OptionError: the map cannot carry the types of some options, or the binding of an app none of them.
    """
    calls, limits = ((), EXECUTORCH) if style.app is None else (style.app.calls, style.app.limits)
    infos = spec.options.option_infos().values()
    kept = [info for info in infos if info.wire.key is not None or (spec.id, info.name) in calls]
    left_out = [f"{info.name}: the option map has no key for it" for info in infos if info not in kept]
    class_name = pascal_case([*(words_in(spec.id, "backend") or ["backend"]), "options"])
    words = [words_in(info.name, "option") or ["option"] for info in kept]
    taken = {*style.reserved(), class_name}
    names = list(distinct(map(style.option, words), taken))
    types = distinct((no_macro(pascal_case(each)) for each in words), {*taken, *names})
    carried, refused, problems = [], [], []
    for info, name, type_name in zip(kept, names, types, strict=True):
        plain = distinct((style.choice(_choice_words(str(each))) for each in info.choices), taken)
        choices = {each: _sent(info, choice) for each, choice in zip(plain, info.choices, strict=True)}
        bounds, default = option_bounds(info.type), _sent(info, info.default)
        option = TypedOption(info, bounds, name, type_name, choices, default)
        if (problem := option.problem()) is not None:
            advice = f"{option.remedy}, or with wire=Wire(key=None) to leave it out"
            problems.append(cannot_carry(EXECUTORCH, spec.id, info.name, problem, advice))
        elif (obstacle := option.obstacle(limits)) is not None:
            advice = f"pass it in C++: etconfig schema {spec.id} --emit cpp"
            refused.append(cannot_carry(limits, spec.id, info.name, obstacle, advice))
            left_out.append(f"{info.name}: {obstacle}")
        else:
            carried.append(option)
    if problems or (refused and not carried):
        raise OptionError(diagnostics=tuple(problems or refused))
    return TypedOptions(spec.id, class_name, tuple(carried), tuple(left_out))


def no_macro(name: str) -> str:
    """Return a name that is not the name of a macro."""
    return f"{name}_" if name.isupper() else name


def _choice_words(choice: str) -> list[str]:
    is_negative = choice[1:].isdecimal() and choice[0] == "-"
    words = words_in(choice.replace("-", "minus ") if is_negative else choice, "value")
    return words or ["other" if choice else "empty"]


def _shown(value: WireValue) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value).lower()


def _sent(info: OptionInfo, value: object) -> Any:
    return None if value is MISSING else sent_value(info, jsonable(value))
