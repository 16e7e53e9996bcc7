"""What a vendor's `init` is given instead of what the program holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from etconfig.backend import InitContext, Processed
from etconfig.conformance.interpose.interposer import Interposed
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


class Given(Interposed):
    """Each argument makes what is given of what the program holds; one that is left out changes nothing.

    Args:
        compile_specs: Makes other compile specs.
        named_data: Makes other named data.
    """

    def __init__(
        self,
        *,
        compile_specs: Callable[[Mapping[str, bytes]], Mapping[str, bytes]] = lambda specs: specs,
        named_data: Callable[[Mapping[str, memoryview]], Mapping[str, memoryview]] = lambda data: data,
    ) -> None:
        self._compile_specs = compile_specs
        self._named_data = named_data

    def init(
        self, context: InitContext[Any], processed: Processed, compile_specs: Mapping[str, bytes]
    ) -> Any:
        """Hand on what was made."""
        context = replace(context, named_data=self._named_data(context.named_data))
        return super().init(context, processed, self._compile_specs(compile_specs))
