"""Kotlin for the app. Source: extension/android, BackendOptionsMap.kt and Module.kt."""

from __future__ import annotations

from collections.abc import Iterator

from etconfig.device.builders.kotlin import KOTLIN, kotlin_literal
from etconfig.device.builders.language import camel_case, comment, integer_literal
from etconfig.device.typed.typed_option import NamingStyle, Parts, TypedOption, TypedOptions

KOTLIN_STYLE = NamingStyle("kotlin", camel_case, lambda words: "_".join(words).upper(), KOTLIN)
"""The names of Kotlin."""


def kotlin_parts(options: TypedOptions) -> Parts:
    """Return what fills `builder.kt.txt`."""
    setters = (line for option in options.carried for line in _setter(option, options.class_name))
    return {"id": [kotlin_literal(options.backend)], "setters": setters}


def _setter(option: TypedOption, class_name: str) -> Iterator[str]:
    yield ""
    kind, sent = "Int", "value"
    if option.choices:
        kind, sent = option.type_name, "value.sent"
        words = ", ".join(f"{name}({integer_literal(int(each))})" for name, each in option.choices.items())
        yield from (f"enum class {kind}(internal val sent: Int) {{ {words} }}", "")
    yield from (comment(option.doc), comment(option.expected))
    yield f"fun {option.name}(value: {kind}): {class_name} {{"
    if not option.choices:
        test = f"value in {'..'.join(map(integer_literal, option.range))}"
        test += f" && value.toLong() % {option.step}L == 0L" if option.step > 1 else ""
        refused = kotlin_literal(f"{option.info.name}: expected {option.expected}, given ")
        yield f"    require({test}) {{ {refused} + value }}"
    key = option.info.wire.key
    yield f"    {'threads' if key is None else f'sent[{kotlin_literal(key)}]'} = {sent}"
    yield from ("    return this", "}")
