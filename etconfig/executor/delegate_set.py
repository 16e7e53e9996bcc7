"""`DelegateSet`: all delegates of one Method, and the options they run with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from etconfig.backend import BoundBackend
from etconfig.errors import BackendUnavailableError, DelegateError
from etconfig.executor.delegate import Delegate, Surroundings, blame
from etconfig.program import model

if TYPE_CHECKING:
    from etconfig.program import Program

OptionChanges: TypeAlias = Mapping[str, tuple[Any, frozenset[str]]]
"""By backend id: the new options, and the names of those that were changed."""


class DelegateSet:
    """All delegates of one Method. Not thread-safe: the Method lets one thread in at a time.

    Every handle is destroyed exactly once, the last one first.

    Attributes:
        backends: The backends that the method delegates to, by id.
    """

    def __init__(
        self,
        program: Program,
        plan: model.ExecutionPlan,
        backends: Mapping[str, BoundBackend],
        surroundings: Surroundings,
    ) -> None:
        """Initialise every delegate of `plan`, in order; if one fails, destroy those before it.

        Raises:
            BackendUnavailableError: no backend was given for one of them, or it cannot run here.
            DelegateError: a backend failed.
        """
        backend_ids = dict.fromkeys(delegate.id for delegate in plan.delegates)
        self.backends = {each: _available(each, backends, plan.name) for each in backend_ids}
        self._options = {backend_id: bound.options for backend_id, bound in self.backends.items()}
        self._delegates: list[Delegate] = []
        try:
            for index, delegate in enumerate(plan.delegates):
                bound = self.backends[delegate.id]
                self._delegates.append(Delegate(bound, surroundings, index, delegate, program))
        except BaseException as error:
            problems = self.destroy()
            if isinstance(error, DelegateError):
                error.cause = "; ".join([error.cause, *map(str, problems)])
            raise

    def __getitem__(self, index: int) -> Delegate:
        return self._delegates[index]

    @property
    def options(self) -> Mapping[str, Any]:
        """The options in force, by backend id."""
        return dict(self._options)

    def set_resource(self, resource: object) -> None:
        """What the backends find in `ExecuteContext.resource` from now on."""
        for delegate in self._delegates:
            delegate.set_resource(resource)

    def update(self, changes: OptionChanges) -> None:
        """Give new options to the delegates of the backends in `changes`: to all, or to none.

        Raises:
            DelegateError: an `update` failed; the delegates before it were updated back.
        """
        affected = [delegate for delegate in self._delegates if delegate.backend_id in changes]
        for position, delegate in enumerate(affected):
            options, names = changes[delegate.backend_id]
            try:
                delegate.update(options, self._options[delegate.backend_id], names)
            except DelegateError as error:
                self._roll_back(affected[:position], changes, error)
                raise
        for delegate in affected:
            delegate.set_options(changes[delegate.backend_id][0])
        self._options.update({backend_id: options for backend_id, (options, _) in changes.items()})

    def effective_options(self) -> dict[str, dict[str, object]]:
        """What the backends say they use, by backend id and option name.

        Where delegates of one backend differ, the last one of the program counts.

        Raises:
            DelegateError: a backend failed to say it.
        """
        effective: dict[str, dict[str, object]] = {backend_id: {} for backend_id in self._options}
        for delegate in self._delegates:
            effective[delegate.backend_id].update(delegate.effective_options())
        return effective

    def destroy(self) -> list[DelegateError]:
        """Destroy the handles that are left; return what went wrong, after all had their turn."""
        problems: list[DelegateError] = []
        while self._delegates:
            try:
                self._delegates.pop().destroy()
            except DelegateError as error:
                problems.append(error)
        return problems

    def _roll_back(self, updated: Sequence[Delegate], changes: OptionChanges, failure: DelegateError) -> None:
        """Undo updates, the last one first; what goes wrong is added to `failure`."""
        for delegate in reversed(updated):
            options, names = changes[delegate.backend_id]
            try:
                delegate.update(self._options[delegate.backend_id], options, names)
            except DelegateError as error:
                failure.cause += f"; going back to the old options failed too: {error.cause}"


def _available(backend_id: str, backends: Mapping[str, BoundBackend], method: str) -> BoundBackend:
    bound = backends.get(backend_id)
    if bound is None:
        reason = f"method {method!r} delegates to it, but it was not given"
        raise BackendUnavailableError(backend=backend_id, reason=reason)
    with blame(backend_id, method, "availability"):
        availability = bound.backend.availability()
    if not availability.is_available:
        reason = availability.reason or "it gives no reason"
        raise BackendUnavailableError(backend=backend_id, reason=reason, help=availability.fix)
    return bound
