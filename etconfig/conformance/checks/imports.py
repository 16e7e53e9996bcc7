"""Checks of importing a plugin: its cost, its side effects, and its independence of the import order."""

from __future__ import annotations

import locale
import logging
import os
import random
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any

from etconfig.conformance.checks.check import check
from etconfig.conformance.kit.outcomes import CheckFailedError
from etconfig.conformance.process.guards import watch_actions
from etconfig.conformance.process.loading import probe
from etconfig.conformance.process.output_watch import watch_output
from etconfig.conformance.subject.subject import Subject
from etconfig.conformance.subject.vendor_plugins import facts_of_vendor

BUDGET_SECONDS = 0.6
"""The time that loading a plugin may take, not counting etconfig and pydantic, nor other processes."""

IMPORT_TRIES = 3
"""The best of this many tries counts: the first may read files that are in no cache yet."""

_CORE = ("etconfig.plugin.v1", "etconfig.plugin.registry", "etconfig.schema.options")

_STATE: Mapping[str, Callable[[], object]] = {
    "os.environ": lambda: dict(os.environ),
    "the working directory": os.getcwd,
    "the threads": lambda: sorted(thread.name for thread in threading.enumerate()),
    "the signal handlers": lambda: {
        each.name: signal.getsignal(each)
        for each in signal.valid_signals()
        if isinstance(each, signal.Signals)  # real-time signals have no names
    },
    "the root logger": lambda: (logging.root.level, *logging.root.handlers, logging.root.manager.disable),
    "the warnings filters": lambda: list(warnings.filters),
    "the locale": lambda: locale.setlocale(locale.LC_ALL),
    "the random state": lambda: hash(random.getstate()),
    "sys.path": lambda: list(sys.path),
    "sys.meta_path": lambda: list(sys.meta_path),
    "sys.excepthook": lambda: sys.excepthook,
    "sys.stderr": lambda: sys.stderr,
}
"""The state of the whole process, by name, with a function that reads it."""


@check(
    "import-budget",
    level=0,
    rests_on=("loads",),
    prevents="commands that take seconds because of one plugin",
)
def import_budget(subject: Subject) -> None:
    """In a new process the plugin loads within its time budget, and without torch and executorch."""
    times = []
    for _ in range(IMPORT_TRIES):
        answer = probe(subject, *_CORE)
        for package, place in answer["places"].items():
            raise CheckFailedError(
                f"{place} imports {package} while the plugin is loaded; import it only in the ahead-of-time "
                "half"
            )
        if answer["problem"] is not None:
            raise CheckFailedError(answer["problem"])
        if answer["seconds"] <= BUDGET_SECONDS:
            return
        times.append(answer["seconds"])
    raise CheckFailedError(
        f"{subject.entry.value}: loading it took {min(times):.2f} s, expected at most {BUDGET_SECONDS} s; "
        "postpone costly imports, and whatever waits, until a backend is created"
    )


@check("import-reentrant", level=0, rests_on=("loads",), prevents="imports that work in only one order")
def import_reentrant(subject: Subject) -> None:
    """The plugin loads before and after etconfig, and twice, and declares the same options each time."""
    orders = {
        "imported before etconfig": (subject.entry.module,),
        "imported after all of etconfig": ("etconfig.app.programs.api",),
    }
    declared = list(subject.spec.options.option_infos())
    with ThreadPoolExecutor() as together:
        answers = list(together.map(lambda first: probe(subject, *first), orders.values()))
    for where, answer in zip(orders, answers, strict=True):
        _require_no_problem(subject, where, answer)
        for options in answer["options"]:
            if options != declared:
                raise CheckFailedError(
                    f"{subject.entry.value}, {where}: it declares the options {', '.join(options)}, "
                    f"expected {', '.join(declared)}; declare the same options each time"
                )


@check(
    "import-pure",
    level=0,
    rests_on=("signature-bind",),
    prevents="plugins that change the process that lists them",
    fresh=True,
)
def import_pure(subject: Subject) -> None:
    """Loading the plugin does not change the process, print, write files or start processes."""
    for name in _CORE:
        import_module(name)
    sys.dont_write_bytecode = True
    before = {what: look() for what, look in _STATE.items()}
    with watch_output() as printed:
        actions = watch_actions()
        subject.spec  # noqa: B018  # imports it
        facts_of_vendor(subject)
        subject.programs  # noqa: B018  # imports the vendor's contribution to the kit
    where = f"{subject.entry.value}: loading it"
    for what, look in _STATE.items():
        after = look()
        if after != before[what]:
            raise CheckFailedError(
                f"{where} changes {what}{_difference(before[what], after)}; do not change the process, and "
                "do what a delegate needs in Backend.init"
            )
    if actions:
        raise CheckFailedError(f"{actions[0]} while the plugin is loaded; do it in Backend.init")
    if printed != [""]:
        raise CheckFailedError(f"{where} prints {printed[0]!r}; use a logger")


def _require_no_problem(subject: Subject, where: str, answer: Mapping[str, Any]) -> None:
    if answer["problem"] is not None:
        raise CheckFailedError(
            f"{subject.entry.value}, {where}: {answer['problem']}; import everything that the plugin needs"
        )


def _difference(before: object, after: object) -> str:
    """Name the keys or items that differ, if the state has any."""
    if isinstance(before, dict) and isinstance(after, dict):
        names = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
        return f": {', '.join(names)}"
    if isinstance(before, list) and isinstance(after, list):
        return f": {', '.join(str(each) for each in after if each not in before)}"
    return ""
