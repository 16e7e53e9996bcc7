"""Load a plugin in a process of its own, where nothing else was done, and hear how that went."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from etconfig.conformance.kit.outcome import CheckFailedError
from etconfig.conformance.process.child_process import ask_process
from etconfig.conformance.subject.subject import Subject

COSTLY = ("torch", "executorch")
"""What only the ahead-of-time half may import: it takes seconds, and thousands of modules."""

_PROBE = (sys.executable, "-m", "etconfig.conformance.process.import_probe")
_PROBE_SECONDS = 60.0


def probe(subject: Subject, *first: str, makes_backend: bool = False) -> Mapping[str, Any]:
    """What `import_probe` answers.

    Args:
        subject: Whose plugin is loaded.
        first: The modules that are imported before.
        makes_backend: A backend is made too.

    Raises:
        CheckFailedError: the process ended otherwise.
    """
    request = {
        "first": first,
        "costly": COSTLY,
        "makes_backend": makes_backend,
        "settings": subject.settings.to_json(),
    }
    ended = ask_process(_PROBE, request, subject.settings, timeout_seconds=_PROBE_SECONDS)
    if ended.problem is not None:
        raise CheckFailedError(
            f"{subject.entry.value}: to load it ends the process: {ended.problem}; its import must return"
        )
    answer: Mapping[str, Any] = ended.answer
    return answer


def require_ordinary_load(subject: Subject) -> None:
    """The plugin loads and its backend is made where nothing is amiss.

    Checks that make something amiss ask this after a failure: only if it holds, that was the reason.

    Raises:
        CheckFailedError: it fails there too; the message is the plugin's problem alone.
    """
    problem = probe(subject, makes_backend=not subject.is_native)["problem"]
    if problem is not None:
        raise CheckFailedError(problem)
