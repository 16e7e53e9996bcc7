"""Checks of payloads: damaged, empty, of another version, elsewhere in the file, or in read-only memory."""

from __future__ import annotations

import mmap
import re
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from etconfig.backend import ExecuteContext, InitContext, Processed, Value
from etconfig.conformance.checks.check import check
from etconfig.conformance.interpose.interposer import Interposer
from etconfig.conformance.interpose.payload_damage import PayloadChange, damages, incremented
from etconfig.conformance.kit.outcomes import CheckFailedError
from etconfig.conformance.subject.changed_payload import load_changed
from etconfig.conformance.subject.golden import DelegatedCase
from etconfig.conformance.subject.output_comparison import check_outputs
from etconfig.conformance.subject.subject import Subject
from etconfig.errors import DelegateInvalidCompatibilityError, EtconfigError
from etconfig.method.delegate import Payload
from etconfig.program.model import DataLocation

_VERSION_BYTES = 32
_TELLS_VERSION = re.compile(r"version|compatib|\b0x30\b", re.IGNORECASE)
"""Matches errors about an unknown version; ExecuTorch's code is DelegateInvalidCompatibility, 0x30."""


@check(
    "corrupt",
    level=2,
    rests_on=("answers",),
    prevents="crashes, hangs and wrong answers from a damaged file",
    isolated=True,
)
def corrupt(subject: Subject) -> None:
    """A damaged payload is refused or harmless: it causes no crash, no hang and no wrong answer."""
    for case in _revealing_cases(subject):
        undamaged = _Undamaged(subject, case)
        for damage, change in damages(case.name):
            undamaged.error_of(damage, change)


@check("empty", level=2, rests_on=("answers",), prevents="payloads that were lost on the way", isolated=True)
def empty_payload(subject: Subject) -> None:
    """An empty payload is refused when it is loaded, unless the backend needs none."""
    case = subject.simplest
    _Undamaged(subject, case)  # raises if the payload does not even work as it is
    try:
        method = load_changed(subject, case, lambda payload: b"")
    except EtconfigError:
        return
    with method:
        try:
            subject.check_runs(method, case)
        except (CheckFailedError, EtconfigError) as error:
            raise CheckFailedError(
                f"{case.name}: an empty payload was loaded, but then: {error}; refuse it in init"
            ) from error


@check(
    "format-version",
    level=2,
    rests_on=("answers",),
    prevents="old runtimes that misread new payloads",
    isolated=True,
)
def format_version(subject: Subject) -> None:
    """Payloads begin with a format version, and unknown versions are refused with an error that says so.

    The kit cannot know the place of the version, so it increments each of the first 32 bytes in turn.
    """
    case, refused = subject.simplest, _refused_increments(subject)
    refusals = [str(error) for error in refused]
    if not any(map(_TELLS_VERSION.search, refusals)):
        example = f", such as: {refusals[0]}" if refusals else ""
        raise CheckFailedError(
            f"{case.name}: of the first {_VERSION_BYTES} bytes, each incremented in turn, {len(refusals)} "
            f"were refused, but none because of its version{example}; begin payloads with a version, and "
            "refuse unknown ones with an error that says `version`"
        )


@check(
    "version-error",
    level=2,
    rests_on=("format-version",),
    prevents="old programs that are mistaken for damaged ones",
    isolated=True,
)
def version_error(subject: Subject) -> None:
    """A payload of an unknown version is refused with DelegateInvalidCompatibilityError.

    ExecuTorch's runtime reports it as its error 0x30. The kit changes the same bytes as for `format-version`.
    """
    refused = _refused_increments(subject)
    if not any(isinstance(error, DelegateInvalidCompatibilityError) for error in refused):
        versions = [str(error) for error in refused if _TELLS_VERSION.search(str(error))]
        example = f", such as: {versions[0]}" if versions else ""
        raise CheckFailedError(
            f"{subject.simplest.name}: with each of the first {_VERSION_BYTES} bytes incremented in turn, "
            f"{len(refused)} payloads were refused, none with DelegateInvalidCompatibilityError{example}; "
            "raise that error of etconfig.plugin.v1 in init, with the versions in `cause`"
        )


@check(
    "inline-equals-segment",
    level=2,
    rests_on=("answers",),
    prevents="offsets that are right for only one place in the file",
)
def inline_equals_segment(subject: Subject) -> None:
    """Answers are right wherever the payload is: in the program's tables, or in a segment after them."""
    for case in _revealing_cases(subject):
        for location in DataLocation:
            where = f"{case.name}, with its payload {_PLACES[location]}"
            try:
                with load_changed(subject, case, bytes, location) as method:
                    subject.check_runs(method, case)
            except (CheckFailedError, EtconfigError) as error:
                raise CheckFailedError(
                    f"{where}: {error}; read nothing but `processed.data`, and do not expect an alignment"
                ) from error


_PLACES: Mapping[DataLocation, str] = {
    DataLocation.INLINE: "inline in the tables",
    DataLocation.SEGMENT: "in a segment",
}


@check(
    "read-only-buffer",
    level=2,
    rests_on=("aliasing",),
    prevents="writes into a mapped file or a caller's input",
    isolated=True,
)
def read_only_buffer(subject: Subject) -> None:
    """Payload and inputs may be in read-only memory."""
    case = subject.simplest
    try:
        with subject.load(case, through=_ReadOnly(len(case.runs()[0].outputs))) as method:
            subject.check_runs(method, case)
    except EtconfigError as error:
        raise CheckFailedError(
            f"{case.name}: with payload and inputs in read-only memory, {error}; write only into outputs and "
            "memory of your own"
        ) from error


class _ReadOnly(Interposer):
    """Puts payload and inputs into read-only pages of memory.

    Args:
        output_count: The number of outputs among the arguments.
    """

    def __init__(self, output_count: int) -> None:
        self._output_count = output_count

    def init(
        self, context: InitContext[Any], processed: Processed, compile_specs: Mapping[str, bytes]
    ) -> Any:
        return super().init(context, Payload(_read_only(bytes(processed.data))), compile_specs)

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        inputs = len(args) - self._output_count
        replaced = [_read_only_array(arg) if index < inputs else arg for index, arg in enumerate(args)]
        super().execute(context, handle, replaced)


def _read_only_array(arg: Value) -> Value:
    if not isinstance(arg, np.ndarray):
        return arg
    copy: np.ndarray[Any, Any] = np.frombuffer(_read_only(arg.tobytes()), arg.dtype).reshape(arg.shape)
    return copy


def _read_only(data: bytes) -> memoryview:
    """Copy the bytes into memory of their own, where a write makes the system kill the process."""
    if not data:
        return memoryview(data)
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.flush()
        return memoryview(mmap.mmap(file.fileno(), len(data), access=mmap.ACCESS_READ))


def _refused_increments(subject: Subject) -> list[EtconfigError]:
    """Return the errors that a payload causes whose first bytes are incremented, one at a time."""
    undamaged = _Undamaged(subject, subject.simplest)
    errors = (
        undamaged.error_of(f"byte {index} incremented", incremented(index)) for index in range(_VERSION_BYTES)
    )
    return [error for error in errors if error is not None]


def _revealing_cases(subject: Subject) -> tuple[DelegatedCase, ...]:
    """Return the simplest case, and the case with the largest program, which has the most to damage."""
    cases = tuple(subject.ordinary_cases())
    largest = max(cases, key=lambda case: case.path.stat().st_size)
    return (cases[0],) if largest.name == cases[0].name else (cases[0], largest)


class _Undamaged:
    """The answers of a case with its own payload, for comparison with the answers of changed payloads.

    Args:
        subject: The backend.
        case: The case.

    Raises:
        EtconfigError, CheckFailedError: the case fails even with its own payload.
    """

    def __init__(self, subject: Subject, case: DelegatedCase) -> None:
        self._subject = subject
        self._case = case
        self._answers = self._execute(bytes)
        for run, outputs in zip(case.runs(), self._answers, strict=True):
            subject.check_outputs(case, run, outputs)

    def error_of(self, damage: str, change: PayloadChange) -> EtconfigError | None:
        """Return the error that a changed payload causes, or None if the answers are the same.

        Raises:
            CheckFailedError: the answers differ by more than rounding.
        """
        try:
            answers = self._execute(change)
        except EtconfigError as error:
            return error
        try:
            for outputs, undamaged in zip(answers, self._answers, strict=True):
                check_outputs(f"{self._case.name}.{self._case.method}", outputs, undamaged)
        except CheckFailedError as error:
            raise CheckFailedError(
                f"{error}; its payload, with {damage}, was accepted; refuse it in init, as a checksum allows"
            ) from error
        return None

    def _execute(self, change: PayloadChange) -> list[list[Any]]:
        with load_changed(self._subject, self._case, change) as method:
            return [method.execute(list(run.inputs)) for run in self._case.runs()]
