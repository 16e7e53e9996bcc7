"""`every`: one test that goes through a list of cases and reports each that fails."""

from __future__ import annotations

import functools
import inspect
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pytest

SHOWN = 20
"""The failures that are shown whole; more are listed by name."""


def every(
    names: str | Sequence[str],
    cases: Iterable[Any],
    ids: Callable[[Any], object] | Iterable[object] | None = None,
) -> Callable[[Any], Any]:
    """Run a test function once for each case, as one test, like `parametrize` with the same arguments.

    Tests by the thousand cost more to collect and report than to run. All cases run, also after a failure,
    and see the same fixtures: use `parametrize` if a case leaves something behind. On a class, for each test.
    """
    parameters = [names] if isinstance(names, str) else list(names)
    rows = [(case,) if isinstance(names, str) else tuple(case) for case in cases]
    labels = list(_labels(rows, ids))

    def decorate(test: Any) -> Any:
        if inspect.isclass(test):
            for name, member in list(vars(test).items()):
                if name.startswith("test_"):
                    setattr(test, name, decorate(member))
            return test

        @functools.wraps(test)
        def run_all(*args: Any, **fixtures: Any) -> None:
            assert rows, "there are no cases"
            failures = []
            for label, row in zip(labels, rows, strict=True):
                try:
                    test(*args, **fixtures, **dict(zip(parameters, row, strict=True)))
                except (Exception, pytest.fail.Exception) as error:
                    failures.append((label, error))
            if failures:
                pytest.fail(_report(failures, len(rows)), pytrace=False)

        signature = inspect.signature(test)
        kept = [each for each in signature.parameters.values() if each.name not in parameters]
        run_all.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]  # pytest reads it
        return run_all

    return decorate


def _labels(rows: Sequence[tuple[Any, ...]], ids: Any) -> Iterator[str]:
    if ids is None:
        return (", ".join(f"{value!r:.100}" for value in row) for row in rows)
    if callable(ids):
        return (", ".join(str(ids(value)) for value in row) for row in rows)
    return map(str, ids)


def _report(failures: Sequence[tuple[str, BaseException]], count: int) -> str:
    lines = [f"{len(failures)} of {count} cases failed"]
    for label, error in failures[:SHOWN]:
        lines += [f"--- {label}", *traceback.format_exception(error)[-4:]]
    lines += [f"--- {label}" for label, _ in failures[SHOWN:]]
    return "\n".join(lines)
