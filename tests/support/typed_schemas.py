"""Random schemas whose names and texts would leave their place in generated code."""

from __future__ import annotations

import enum
import random
from collections.abc import Callable
from typing import Annotated, Any

from etconfig.schema.constraints import Ge, Le, Len, MultipleOf
from etconfig.schema.declaration import Wire, option
from etconfig.schema.options import BackendOptions
from etconfig.schema.spec import ApiRange, BackendSpec

NAMES = (
    *(
        "int",
        "default",
        "extern",
        "xor",
        "linux",
        "errno",
        "NULL",
        "EOF",
        "INT_MAX",
        "std",
        "Text",
        "Options",
    ),
    *(
        "Error",
        "read",
        "internal",
        "executorch",
        "value",
        "sent",
        "load",
        "require",
        "addTo",
        "found",
        "list",
    ),
    *(
        "map",
        "init",
        "self",
        "Type",
        "fun",
        "object",
        "func",
        "guard",
        "größe",
        "数",
        "ü",
        "a__b",
        "a_b",
        "aB",
    ),
    *("x1", "x", "class", "threads", "num_threads", "String", "Int", "nil", "none", "BackendOption", "Scope"),
    *("kMethodKeys", "message", "given", "reader", "Module", "this", "super", "Refused", "A", "B"),
)
TEXTS = (
    *(
        '"',
        "'",
        "\\",
        "??/",
        "??=",
        "*/",
        "/*",
        "//",
        "\n",
        "\r",
        "\f",
        "\t",
        "\0",
        "\x7f",
        "\u2028",
        "\u202e",
        "%s",
    ),
    *(
        "${x}",
        "$x",
        "\\(x)",
        "{0}",
        "é",
        "数",
        "\N{GRINNING FACE}",
        "#if 0",
        'R"(',
        ")",
        "a",
        "B",
        "1",
        "-",
        " ",
    ),
)


def hostile_text(chosen: random.Random, most: int) -> str:
    return "".join(chosen.choice(TEXTS) for _ in range(chosen.randint(0, most)))


def hostile_spec(seed: int) -> BackendSpec:
    """Return a backend with up to twelve options of every type that the map carries."""
    chosen = random.Random(seed)
    namespace: dict[str, Any] = {"__annotations__": {}, "__module__": __name__}
    for number, name in enumerate(chosen.sample(sorted({*NAMES}), chosen.randint(0, 12))):
        kind, default = chosen.choice(_KINDS)(chosen)
        is_optional = chosen.random() < 0.5
        namespace["__annotations__"][name] = kind | None if is_optional else kind
        wire: dict[str, Any] = {}
        if kind is int or getattr(kind, "__origin__", None) is int:
            wire["as_text"] = chosen.random() < 0.3
        if kind == tuple[str, ...]:
            wire["separator"] = hostile_text(chosen, 3)
        if isinstance(kind, type) and issubclass(kind, enum.Enum) and chosen.random() < 0.7:
            sent = [chosen.choice([index, f"{index}{hostile_text(chosen, 4)}"]) for index in range(len(kind))]
            wire["values"] = {each.value: value for each, value in zip(kind, _without_nul(sent), strict=True)}
        declared: list[Any] = [] if chosen.random() < 0.2 else [None if is_optional else default]
        namespace[name] = option(
            *declared,
            applies="load",
            scope=chosen.choice(["method", "process"]),
            wire=Wire(key=f"{number}{hostile_text(chosen, 10)}".replace("\0", "")[:15], **wire),
            doc=f"Doc {hostile_text(chosen, 8)}",
        )
    options = type("HostileOptions", (BackendOptions,), namespace)
    name = f"{chosen.choice(['Acme', 'NPU', 'x-y_', '_', 'class'])}{seed}"
    return BackendSpec(
        id=name, doc=f".{hostile_text(chosen, 9)}", options=options, api=ApiRange(min=1, built=1)
    )


def _without_nul(values: list[Any]) -> list[Any]:
    return [each.replace("\0", "") if isinstance(each, str) else each for each in values]


def _choice(chosen: random.Random) -> tuple[Any, Any]:
    texts = {hostile_text(chosen, 4).replace("\0", "") for _ in range(chosen.randint(1, 5))}
    members = {f"M{index}": text for index, text in enumerate(sorted(texts))}
    kind = enum.Enum("Kind", members)  # type: ignore[misc]  # its members are random
    return kind, chosen.choice(list(kind))


def _integer(chosen: random.Random) -> tuple[Any, Any]:
    low, step = chosen.choice([(-(2**31), 1), (-5, 2), (0, 3), (3, 3), (-5, 2**40)])
    return Annotated[int, Ge(low), Le(low + 60), MultipleOf(step)], -(-low // step) * step


def _text(chosen: random.Random) -> tuple[Any, Any]:
    return Annotated[str, Len(0, 200)], hostile_text(chosen, 9).replace("\0", "")


_KINDS: tuple[Callable[[random.Random], tuple[Any, Any]], ...] = (
    _choice,
    _integer,
    _text,
    lambda chosen: (bool, chosen.random() < 0.5),
    lambda _: (int, -(2**31)),
    lambda _: (tuple[str, ...], ()),
)
