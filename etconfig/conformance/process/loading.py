"""Loading of a plugin in a new process, in which nothing else has happened."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from etconfig.conformance.kit.outcomes import CheckFailedError
from etconfig.conformance.process.child_process import ask_process
from etconfig.conformance.subject.subject import Subject

COSTLY = ("torch", "executorch")
"""The packages that only the ahead-of-time half may import: they take seconds and thousands of modules."""

_PROBE = (sys.executable, "-m", "etconfig.conformance.process.import_probe")
_PROBE_SECONDS = 60.0


def probe(subject: Subject, *first: str, makes_backend: bool = False) -> Mapping[str, Any]:
    """Return the answer of `import_probe`.

    Args:
        subject: The backend whose plugin is loaded.
        first: The modules to import before.
        makes_backend: Create a backend, too.

    Raises:
        CheckFailedError: the process ended without an answer.
    """
    request = {
        "first": first,
        "costly": COSTLY,
        "makes_backend": makes_backend,
        "settings": subject.settings.to_jsonable(),
    }
    ended = ask_process(_PROBE, request, subject.settings, timeout_seconds=_PROBE_SECONDS)
    if ended.problem is not None:
        raise CheckFailedError(
            f"{subject.entry.value}: loading it ends the process: {ended.problem}; its import must return"
        )
    answer: Mapping[str, Any] = ended.answer
    return answer


def require_ordinary_load(subject: Subject) -> None:
    """Require that the plugin loads and its backend can be created under ordinary conditions.

    Checks that take something away call this after a failure, to find out whether that was the reason.

    Raises:
        CheckFailedError: it fails there too; the message is the plugin's problem alone.
    """
    problem = probe(subject, makes_backend=not subject.is_native)["problem"]
    if problem is not None:
        raise CheckFailedError(problem)
