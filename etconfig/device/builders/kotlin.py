"""Kotlin for ExecuTorch's Android binding. Source: extension/android, BackendOptionsMap.kt and Module.kt."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial

from etconfig.device.builders.language import (
    CarriedMethod,
    Language,
    integer_literal,
    object_of_functions,
)
from etconfig.wire.runtime_limits import ANDROID

_OPENING = (
    "import org.pytorch.executorch.BackendOptionsMap",
    "",
    "/** Arguments of `Module.load(path, options, loadMode, numThreads)`, for each method instance. */",
    "object EtconfigOptions {",
)


THREADS = ("XnnpackBackend", "num_threads")
"""The option that `Module.load` takes as `numThreads`, the size of the thread pool of the process."""


def _function(name: str, carried: CarriedMethod) -> Iterator[str]:
    threads = carried.called.get(THREADS)
    if isinstance(threads, int):
        head, _, number = name.rpartition("Options")
        yield f"const val {head}NumThreads{number} = {integer_literal(threads)}"
    yield f"fun {name}(): BackendOptionsMap = BackendOptionsMap()"
    for backend, entries in carried.of_method.items():
        for entry in entries:
            assert isinstance(entry.value, int)  # ANDROID carries nothing else
            names = f"{kotlin_literal(backend)}, {kotlin_literal(entry.key)}"
            yield f"    .setInt({names}, {integer_literal(entry.value)})"


def kotlin_literal(text: str) -> str:
    """Return a text as a literal."""
    # JSON's escapes are Kotlin's but for one; and Kotlin replaces `$name` in strings
    special = {"\f": r"\u000c", "$": r"\$"}
    return f'"{"".join(special.get(each) or json.dumps(each)[1:-1] for each in text)}"'


KOTLIN = Language(
    ANDROID, partial(object_of_functions, opening=_OPENING, function=_function), calls={THREADS}
)
"""Kotlin."""
