"""`jointly`: a block in which the updates of several Methods and objects of engines count as one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager

from etconfig.diagnostics.error_text import error_text
from etconfig.errors import DelegateError
from etconfig.resolver.deciding.arguments import Arguments
from etconfig.schema.declaration import Scope
from etconfig.schema.spec import BackendSpec


class DisagreementError(Exception):
    """The users of an option of the process need different values of it.

    Args:
        backend: The id of the backend.
        error: Its words.
    """

    def __init__(self, backend: str, error: Exception) -> None:
        super().__init__(backend, error)
        self.backend = backend
        self.cause = error_text(error)


def joint_specs(wanted: Iterable[Arguments]) -> Mapping[str, BackendSpec]:
    """Return the backends, by id, for which several updates can count as one."""
    specs = {id_: each.spec for arguments in wanted for id_, each in arguments.backends.items()}
    return {id_: spec for id_, spec in specs.items() if spec.joint_update is not None}


def is_joint(specs: Mapping[str, BackendSpec], backend: str, option: str) -> bool:
    """Return True if users of this option can move together: it is one of the whole process."""
    return backend in specs and specs[backend].options.option_infos()[option].scope is Scope.PROCESS


@contextmanager
def jointly(specs: Iterable[BackendSpec]) -> Iterator[None]:
    """Let all updates in the `with` block count as one.

    Raises:
        DisagreementError: there are different values of an option of the process at the end.
    """
    with ExitStack() as joint:
        for spec in specs:
            joint.enter_context(_jointly(spec))
        yield


@contextmanager
def _jointly(spec: BackendSpec) -> Iterator[None]:
    assert spec.joint_update is not None
    try:
        with spec.joint_update():
            yield
    except (DelegateError, DisagreementError):
        raise
    except Exception as error:
        raise DisagreementError(spec.id, error) from error
