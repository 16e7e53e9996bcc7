"""Loading of programs whose payloads were changed."""

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
    """Load the first method of a case after changing the payloads in its program, for any executor.

    Args:
        subject: The backend.
        case: The case.
        change: Maps each payload to the new one.
        location: Where to store the new payloads in the program; by default where the old ones are.

    Raises:
        EtconfigError: as `LoadedProgram.load_method`.
    """
    changed = replace_payloads(case.path.read_bytes(), subject.backend_id, change, location)
    with subject.open(changed) as program:
        return subject.load_from(program, case.method)


def refuses_part(subject: Subject, case: DelegatedCase, share: float) -> bool:
    """Check whether the backend refuses a payload that is cut off after this share of its bytes."""
    try:
        load_changed(subject, case, lambda payload: payload[: int(len(payload) * share)]).close()
    except EtconfigError:
        return True
    return False
