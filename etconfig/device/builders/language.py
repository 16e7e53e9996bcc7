"""`Language` and `CarriedMethod`: the parts that the writers of all languages share."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from etconfig.base.records import record
from etconfig.device.deciding.configurations import PackedMethod, PackedOption, PlainValue
from etconfig.diagnostics import Diagnostic
from etconfig.schema.declaration import Scope
from etconfig.wire.runtime_limits import RuntimeLimits, WireValue
from etconfig.wire.wired_values import cannot_carry, value_help


@record(frozen=True)
class Entry:
    """One option that is carried: the key and the value that the runtime reads."""

    key: str
    value: WireValue


@record(frozen=True)
class CarriedMethod:
    """The options of one method instance that a binding carries, and the options that it cannot carry.

    Attributes:
        method: The method instance.
        of_method: The carried options of the method instance, by backend.
        of_process: The carried options of the whole process, by backend.
        called: The options that calls of the runtime set, by backend and name.
        left_out: A line for each option that it cannot carry and that nobody set.
        problems: A problem for each option that it cannot carry and that somebody set.
    """

    method: PackedMethod
    of_method: dict[str, list[Entry]]
    of_process: dict[str, list[Entry]]
    called: dict[tuple[str, str], PlainValue]
    left_out: list[str]
    problems: list[Diagnostic]

    @classmethod
    def split(cls, method: PackedMethod, target: Language) -> CarriedMethod:
        """Sort the options of a method instance by whether code in a language can carry them."""
        carried, limits = cls(method, {}, {}, {}, [], []), target.limits
        for backend, option in method.options():
            if option.value is None:
                continue
            is_called = (backend, option.name) in target.calls
            obstacle = limits.problem(option.value) if is_called else option.obstacle(limits)
            if obstacle is None and is_called:
                carried.called[backend, option.name] = option.value
            elif obstacle is None:
                assert option.key is not None
                assert isinstance(option.sent, (bool, int, str))
                scope = carried.of_process if option.scope is Scope.PROCESS else carried.of_method
                scope.setdefault(backend, []).append(Entry(option.key, option.sent))
            elif option.is_set:
                carried.problems.append(cannot_carry(limits, backend, option.name, obstacle, _help(option)))
            else:
                carried.left_out.append(f"{backend}.{option.name}: {obstacle}")
        if len(carried.of_method) > limits.max_backends:
            carried.problems.append(_crowded(method, limits, len(carried.of_method)))
        return carried


def _help(option: PackedOption) -> str:
    if option.key is None:  # no value fits
        return f"leave {option.name} unset, or pack it with --output FILE.etbundle: that has every option"
    return value_help(option.name)


def _crowded(method: PackedMethod, limits: RuntimeLimits, count: int) -> Diagnostic:
    return Diagnostic(
        code="cannot-carry",
        message=f"{limits.name} has room for {limits.max_backends} backends of one method, and "
        f"{method.label!r} has options for {count}",
        help="export the method for fewer backends",
    )


@record(frozen=True)
class Language:
    """A target language.

    Attributes:
        limits: The limits of ExecuTorch's binding for it.
        write: Returns the code, from the lines of its head and the methods.
        calls: The backends and options that the code sets by calls of the runtime, without a key in the map.
    """

    limits: RuntimeLimits
    write: Callable[[Sequence[str], Sequence[CarriedMethod]], str]
    calls: Collection[tuple[str, str]] = ()


def introduction(carried: CarriedMethod) -> Iterator[str]:
    """Yield the comment above the code of a method instance: its label, and the options left out."""
    yield ""
    yield comment(carried.method.label)
    for line in carried.left_out:
        yield comment(f"left out: {line}")


def object_of_functions(
    head: Sequence[str],
    methods: Sequence[CarriedMethod],
    *,
    opening: Sequence[str],
    function: Callable[[str, CarriedMethod], Iterable[str]],
) -> str:
    """Return a file with one object that has a function for each method instance, as in Kotlin and Swift.

    Args:
        head: The lines of its head.
        methods: The method instances.
        opening: The lines after the head, to the object's opening brace.
        function: The lines of one function, from its name and its method instance.
    """
    lines = [*map(comment, head), "", *opening]
    for name, carried in zip(identifiers(methods, camel_case), methods, strict=True):
        inside = [*introduction(carried), *function(name, carried)]
        lines += [f"    {line}".rstrip() for line in inside]
    return "\n".join([*lines, "}"]) + "\n"


def identifiers(methods: Iterable[CarriedMethod], style: Callable[[Sequence[str]], str]) -> Iterator[str]:
    """Yield a unique name for the code of each method instance, such as `forwardOptions`."""
    # `*` stands for any method and has no letters
    words = (words_in(carried.method.label, "method") or ["any", "method"] for carried in methods)
    return distinct(style([*each, "options"]) for each in words)


def words_in(text: str, first: str) -> list[str]:
    """Return the words of a text that identifiers may have; `first` goes before a digit at the beginning."""
    words = re.findall(r"[A-Za-z0-9]+", text)
    return [first, *words] if words and words[0][0].isdigit() else words


def distinct(names: Iterable[str], reserved: Iterable[str] = ()) -> Iterator[str]:
    """Yield each name, with a number if it was there before, and with `_` if it is reserved."""
    reserved = {*reserved}
    taken = {*reserved}
    for plain in names:
        name, number = (f"{plain}_" if plain in reserved else plain), 2
        while name in taken:
            name, number = f"{plain}{number}", number + 1
        taken.add(name)
        yield name


def camel_case(words: Sequence[str]) -> str:
    """Join words like `forwardLeft`."""
    return words[0] + pascal_case(words[1:])


def pascal_case(words: Sequence[str]) -> str:
    """Join words like `ForwardLeft`."""
    return "".join(word[0].upper() + word[1:] for word in words)


def integer_literal(value: int) -> str:
    """Return an integer literal for C++ and Kotlin, which parse a minus apart from its number."""
    return "(-2147483647 - 1)" if value == -(2**31) else str(value)


def comment(text: str) -> str:
    """Return a text as a `//` comment of one line; nothing in the text can end the line or continue it."""
    shown = "".join(c if c.isprintable() and c != "\\" else "?" for c in text)
    return "// " + shown.replace("??", "? ?")  # two of them begin a trigraph
