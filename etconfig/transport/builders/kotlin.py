"""Kotlin for ExecuTorch's Android binding. Source: extension/android, BackendOptionsMap.kt."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from etconfig.transport.builders.language import (
    CarriedMethod,
    Language,
    camel_case,
    comment,
    identifiers,
    integer_literal,
)
from etconfig.transport.carrier import ANDROID


def _write(head: Sequence[str], methods: Sequence[CarriedMethod]) -> str:
    names = identifiers(methods, camel_case)
    lines = [
        *map(comment, head),
        "",
        "import org.pytorch.executorch.BackendOptionsMap",
        "",
        "/** Options for `Module.load(path, options)`: a function for each method instance. */",
        "object EtconfigOptions {",
    ]
    for name, carried in zip(names, methods, strict=True):
        lines += [f"    {line}".rstrip() for line in _function(name, carried)]
    return "\n".join([*lines, "}"]) + "\n"


def _function(name: str, carried: CarriedMethod) -> Iterator[str]:
    yield ""
    yield comment(carried.method.label)
    for line in carried.left_out:
        yield comment(f"left out: {line}")
    yield f"fun {name}(): BackendOptionsMap = BackendOptionsMap()"
    for backend, entries in carried.of_method.items():
        for entry in entries:
            assert isinstance(entry.value, int)  # the carrier knows nothing else
            yield f"    .setInt({_literal(backend)}, {_literal(entry.key)}, {integer_literal(entry.value)})"


def _literal(text: str) -> str:
    return json.dumps(text).replace("$", r"\$")


KOTLIN = Language(ANDROID, _write)
"""Kotlin."""
