"""Methods of a program whose payloads were changed."""

from __future__ import annotations

from collections.abc import Callable

from etconfig.conformance.subject.golden import DelegatedCase
from etconfig.conformance.subject.subject import Subject
from etconfig.errors import EtconfigError
from etconfig.method.method import Method
from etconfig.program.editing.replacing import replace_payloads
from etconfig.program.model import DataLocation


def load_changed(
    subject: Subject,
    case: DelegatedCase,
    change: Callable[[bytes], bytes],
    location: DataLocation | None = None,
) -> Method:
    """Load the first method of a case whose program holds other payloads, whatever executor runs it.

    Args:
        subject: The backend.
        case: The case.
        change: Makes a new payload of the old one.
        location: Where the new payloads lie in the program; by default where the old ones did.

    Raises:
        EtconfigError: as `LoadedProgram.load_method`.
    """
    changed = replace_payloads(case.path.read_bytes(), subject.backend_id, change, location)
    with subject.open(changed) as program:
        return subject.load_from(program, case.method)


def refuses_part(subject: Subject, case: DelegatedCase, share: float) -> bool:
    """Whether a method is not loaded whose payload ends after this share of it."""
    try:
        load_changed(subject, case, lambda payload: payload[: int(len(payload) * share)]).close()
    except EtconfigError:
        return True
    return False
