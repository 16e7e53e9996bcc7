"""`apart`: a value that is computed in a forked child, so that nothing of the work stays in this process."""

from __future__ import annotations

import os
import pickle
import warnings
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from etconfig.conformance.kit.outcomes import CheckFailedError
from etconfig.diagnostics.error_text import error_text

ApartT = TypeVar("ApartT")


def apart(work: Callable[[], ApartT]) -> ApartT:
    """Return the result of `work`, which runs in a forked child of this process.

    Raises:
        CheckFailedError: it raised, or ended the child.
    """
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # numpy's library has idle threads
        child = os.fork()
    if child == 0:
        os.close(reading)
        _answer(work, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        data = pipe.read()
    os.waitpid(child, 0)
    if not data:
        raise CheckFailedError("the process that should observe it has crashed")
    # written by this module in the child
    result, problem = pickle.loads(data)  # noqa: S301
    if problem is not None:
        raise CheckFailedError(problem)
    answer: ApartT = result
    return answer


def _answer(work: Callable[[], Any], writing: int) -> NoReturn:
    result, problem = None, None
    try:
        result = work()
    except BaseException as error:
        problem = error_text(error)
    try:
        with os.fdopen(writing, "wb") as pipe:
            pickle.dump((result, problem), pipe)
    finally:
        os._exit(0)
