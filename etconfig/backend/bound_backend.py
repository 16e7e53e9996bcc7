"""`BoundBackend`: a backend and one instance's options, as an executor receives them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from etconfig.backend.contract import Backend
from etconfig.base.records import record


@record(frozen=True, kw_only=True)
class BoundBackend:
    """A backend, ready to serve the delegates of one method instance.

    Attributes:
        backend_id: The id by which the program delegates to it.
        create: Makes the implementation. Raises BackendUnavailableError if there is none, as for the
            schema of a backend that only another runtime has, or if it cannot run here.
        options: The typed, frozen options of this instance.
        changed: Validates a change of execute-time options: given the current options and new
            values by option name, returns the new options. Raises OptionError, with every
            problem, for a name, value or time that is not allowed. It does not change the backend.
        is_given: True if the caller gave the backend in code: an executor that has its own backend of this id
            must not run that one instead.
        joint_update: Returns a context manager in which all updates count as one; see `BackendSpec`. None if
            each stands for itself.
        is_asked_for: Returns True for the name of an option that somebody set; False for a default, the
            program's own value and a recommendation, which an executor that cannot pass the option on may
            leave to the backend. None if that is not known, so that each counts as set.
    """

    backend_id: str
    create: Callable[[], Backend[Any, Any]]
    options: Any
    changed: Callable[[Any, Mapping[str, object]], Any]
    is_given: bool = False
    joint_update: Callable[[], AbstractContextManager[object]] | None = None
    is_asked_for: Callable[[str], bool] | None = None
