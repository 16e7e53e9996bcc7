"""C++17 for the backend: a struct of its options, and a parser of what ExecuTorch passes on.

Source: runtime/backend, options.h, backend_init_context.h and backend_options_map.h.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from etconfig.device.builders.cpp import cpp_literal, text_literal
from etconfig.device.builders.language import comment, pascal_case
from etconfig.device.typed.typed_option import NamingStyle, Parts, TypedOption, TypedOptions, no_macro
from etconfig.schema.declaration import Scope
from etconfig.schema.option_type import OptionKind
from etconfig.wire.runtime_limits import WireValue

_KINDS = {OptionKind.BOOLEAN: "bool", OptionKind.STRING: "Text", OptionKind.ARRAY: "Text"}


CPP_STYLE = NamingStyle(
    "cpp", lambda words: no_macro("_".join(words)), lambda words: f"k{pascal_case(words)}"
)
"""The names of C++."""


def cpp_parts(options: TypedOptions) -> Parts:
    """Return what fills `reader.h.txt`."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", options.backend).lower()
    reads = {
        scope.value: [_read(each) for each in options.carried if each.info.scope is scope] for scope in Scope
    }
    return {
        **reads,
        "space": ["etconfig_" + re.sub("[^a-z0-9]+", "_", words).strip("_")],
        "id": [text_literal(options.backend)],
        "declarations": _declarations(options),
    }


def _declarations(options: TypedOptions) -> Iterator[str]:
    for option in filter(lambda option: option.choices, options.carried):
        name = option.type_name
        yield from ("", f"enum class {name} {{ {', '.join(option.choices)} }};")
        yield f"inline constexpr internal::Word<{name}> k{name}Words[] = {{"
        yield from (f"    {{{name}::{choice}, {_sent(sent)}}}," for choice, sent in option.choices.items())
        yield "};"
    for scope in Scope:
        keys = [text_literal(option.key) for option in options.carried if option.info.scope is scope]
        name = f"k{scope.value.title()}Keys"
        yield from ("", f"inline constexpr std::array<std::string_view, {len(keys)}> {name} = {{")
        yield from (f"    {key}," for key in keys)
        yield "};"
    yield from ("", "struct Options final {")
    yield from (f"  {comment(f'left out: {line}')}" for line in options.left_out)
    for option in options.carried:
        yield f"  {comment(option.doc)}"
        yield f"  {comment(f'{option.key}: {_expected(option)}; of the {option.info.scope.value}')}"
        has_value = option.default is not None or option.info.is_required
        plain = _type(option)
        yield f"  {plain if has_value else f'std::optional<{plain}>'} {option.name}{_default(option)};"
    yield "};"


def _expected(option: TypedOption) -> str:
    return f"{option.expected}{', or its digits as a text' if option.info.wire.as_text else ''}"


def _type(option: TypedOption) -> str:
    if option.choices:
        return option.type_name
    return _KINDS.get(option.info.type.kind) or f"std::int{64 if option.info.wire.as_text else 32}_t"


def _default(option: TypedOption) -> str:
    default = option.default
    if default is None:
        return "{}" if option.info.is_required else ""
    if option.choices:
        named = next(name for name, sent in option.choices.items() if repr(sent) == repr(default))
        return f" = {option.type_name}::{named}"
    if option.is_integer:
        return f" = {_int64(int(default))}"
    return f" = Text({cpp_literal(default)})" if _type(option) == "Text" else f" = {cpp_literal(default)}"


def _read(option: TypedOption) -> str:
    is_required = cpp_literal(option.info.is_required and option.info.scope is Scope.METHOD)
    common = f"{text_literal(option.key)}, {is_required}, {text_literal(_expected(option))}"
    if option.choices:
        return f"reader.choice({common}, k{option.type_name}Words, &found.{option.name});"
    if option.is_integer:
        numbers = ", ".join(map(_int64, (*option.range, option.step)))
        rest = f"{numbers}, {cpp_literal(option.info.wire.as_text)}"
        return f"reader.integer({common}, {rest}, &found.{option.name});"
    if option.info.type.kind is OptionKind.BOOLEAN:
        return f"reader.boolean({common}, &found.{option.name});"
    least, most = option.lengths
    return f"reader.text({common}, {least}u, {most}u, &found.{option.name});"


def _int64(value: int) -> str:
    return "INT64_MIN" if value == -(2**63) else f"INT64_C({value})"


def _sent(value: WireValue) -> str:
    kind = {bool: "kBoolean", int: "kInteger", str: "kText"}[type(value)]
    both = f"0, {text_literal(value)}" if isinstance(value, str) else f'{cpp_literal(int(value))}, ""'
    return f"{{internal::Sent::Kind::{kind}, {both}}}"
