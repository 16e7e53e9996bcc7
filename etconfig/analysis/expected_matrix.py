"""`ExpectedMatrix`: a reviewed file of what each device gets, and its differences from a matrix."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from etconfig.analysis.device_matrix import MATRIX_KEY, MATRIX_VERSION, DeviceMatrix, MatrixDevice, value_text
from etconfig.base.option_path import MODEL_PREFIX, parse_option_path
from etconfig.base.records import record
from etconfig.base.written_files import FileKind
from etconfig.diagnostics import Diagnostic, Span
from etconfig.errors import ConfigError, SavedResultError
from etconfig.profile.bounds import MAX_DOCUMENT_BYTES
from etconfig.profile.document import Document, load_document
from etconfig.report.model import count_text
from etconfig.resolver.explaining.difference import ABSENT_TEXT, canonical
from etconfig.resolver.explaining.toml_text import toml_key, toml_value

_HEAD = f"""\
# What each device gets: `etconfig matrix --write-expect` writes it, `etconfig matrix --expect` compares.
{MATRIX_KEY} = {MATRIX_VERSION}
"""
EXPECTED = FileKind("a file of expected options", lambda path: _is_expected(path))
_DEVICES, _PROFILE = "devices", "profile"
_ABSENT: Any = object()

ExpectedPart: TypeAlias = Literal["device", "profile", "option"]
"""The kind of a difference: a device is new or missing, or its profile or an option differs."""


@record(frozen=True, kw_only=True)
class MatrixDifference:
    """A difference between a file of expected options and a matrix.

    Attributes:
        device: The name of the device.
        part: The kind.
        option: The path of the option; None if the device or its profile differs.
        expected: The expected value as text; None if the file lacks the device or option.
        got: The value of the matrix as text; None if the device or option is gone.
        span: The place in the file.
    """

    device: str
    part: ExpectedPart
    option: str | None = None
    expected: str | None
    got: str | None
    span: Span

    @property
    def subject(self) -> str:
        """The thing that differs: the path of the option, or `profile` or `device`."""
        return self.option or self.part

    def diagnostic(self, *, names_device: bool = True) -> Diagnostic:
        """Return the difference as a problem at its place in the file."""
        if self.part == "device":
            is_new = self.expected is None
            message = f"the device is {'not in the file' if is_new else 'gone'}"
        else:
            expected, got = (ABSENT_TEXT if side is None else side for side in (self.expected, self.got))
            message = f"{self.subject}: expected {expected}, got {got}"
        return _mismatch(f"{self.device}: {message}" if names_device else message, self.span, "it is")

    def to_jsonable(self) -> dict[str, Any]:
        """Return the difference as plain data, with the values as texts."""
        return {
            "device": self.device,
            "part": self.part,
            "option": self.option,
            "expected": self.expected,
            "got": self.got,
        }


@record(frozen=True, kw_only=True)
class ExpectedMatrix:
    """The expected profile and options of each device, read by `load_expected`.

    Attributes:
        document: The file.
        devices: The table of each device by its name: `profile`, and values by option path.
    """

    document: Document
    devices: Mapping[str, Mapping[str, Any]]

    def differences(self, found: DeviceMatrix) -> tuple[MatrixDifference, ...]:
        """Return the differences, by device in the order of `found` and then of the file.

        A device with errors is not compared: its errors are the news.
        """
        return tuple(self._differences(found))

    def _differences(self, found: DeviceMatrix) -> Iterator[MatrixDifference]:
        for device in found:
            if device.device not in self.devices:
                start = Span(file=self.document.name)
                yield MatrixDifference(
                    device=device.device, part="device", expected=None, got=_counted(device), span=start
                )
            elif not device.has_errors:
                yield from self._of_device(device)
        present = {device.device for device in found}
        for name in self.devices:
            if name not in present:
                span = self.document.key_span((_DEVICES, name))
                expected = f"{len(self.devices[name]) - 1} options"
                yield MatrixDifference(device=name, part="device", expected=expected, got=None, span=span)

    def _of_device(self, device: MatrixDevice) -> Iterator[MatrixDifference]:
        expected = dict(self.devices[device.device])
        profile = expected.pop(_PROFILE)
        if profile != device.profile:
            yield MatrixDifference(
                device=device.device,
                part="profile",
                expected=profile,
                got=device.profile,
                span=self._span(device.device, _PROFILE),
            )
        for path in dict.fromkeys((*expected, *device.options)):
            old, new = expected.get(path, _ABSENT), device.options.get(path, _ABSENT)
            if old is not _ABSENT and new is not _ABSENT and canonical(old) == canonical(new):
                continue
            expected_value, got = (None if side is _ABSENT else value_text(side) for side in (old, new))
            yield MatrixDifference(
                device=device.device,
                part="option",
                option=path,
                expected=expected_value,
                got=f"{got} (another value)" if got == expected_value else got,
                span=self._span(device.device, path),
            )

    def _span(self, device: str, key: str) -> Span:
        """Return the place of a key, or of the device for a key that the file lacks."""
        path = (_DEVICES, device, key)
        return self.document.key_span(path if path in self.document.positions else path[:2])


def mismatch_summary(path: Path, differences: Sequence[MatrixDifference]) -> Diagnostic:
    """Return the problem that a matrix differs from a file in one or several places."""
    intended = "it is" if len(differences) == 1 else "they are"
    return _mismatch(f"{path}: {count_text(len(differences), 'difference')}", Span(file=str(path)), intended)


def _mismatch(message: str, span: Span, intended: str) -> Diagnostic:
    help = f"if {intended} intended, write the file again with `etconfig matrix --write-expect {span.file}`"
    return Diagnostic(code="matrix-mismatch", message=message, spans=(span,), help=help)


def expected_text(found: DeviceMatrix) -> str:
    """Return the file of expected options: a table for each device, and a line for each option.

    Devices and options are sorted, so that equal matrices give equal files.

    Raises:
        SavedResultError: the file would be too large to be read again.
        ValueError: a device has errors.
    """
    parts = [_HEAD]
    tables: dict[int, str] = {}  # many devices share one object
    for device in sorted(found, key=lambda each: each.device):
        if device.has_errors:
            raise ValueError(f"{device.device} has errors")
        options = tables.get(id(device.options)) or "".join(
            f"{toml_key(path)} = {toml_value(device.options[path])}\n" for path in sorted(device.options)
        )
        tables[id(device.options)] = options
        header = f"[{_DEVICES}.{toml_key(device.device)}]"
        parts.append(f"\n{header}\n{_PROFILE} = {toml_value(device.profile)}\n{options}")
    text = "".join(parts)
    if len(text.encode()) > MAX_DOCUMENT_BYTES:
        message = (
            f"the expected options of {len(found):,} devices need more than {MAX_DOCUMENT_BYTES >> 20} MiB"
        )
        help = "give fewer sheets: one for each kind of device that should be reviewed"
        raise SavedResultError(
            diagnostics=(Diagnostic(code="document-too-large", message=message, help=help),)
        )
    return text


def _is_expected(path: Path) -> bool:
    try:
        load_expected(path)
    except ConfigError:
        return False
    return True


def load_expected(path: Path) -> ExpectedMatrix:
    """Read a file that `expected_text` wrote, or that was edited by hand.

    Raises:
        DocumentError: the file cannot be read, or is not TOML.
        SavedResultError: it is something else, or has another version.
    """
    document = load_document(path)
    problems = [*_file_problems(document)]
    if problems:
        raise SavedResultError(diagnostics=tuple(problems))
    devices = document.data.get(_DEVICES, {})
    return ExpectedMatrix(document=document, devices={n: _plain_table(t) for n, t in devices.items()})


def _file_problems(document: Document) -> Iterator[Diagnostic]:
    version = document.data.get(MATRIX_KEY)
    if version is None:
        yield _problem(document, f"has no {MATRIX_KEY}: it is not a file of expected options")
        return
    if version != MATRIX_VERSION or isinstance(version, bool):
        problem = f"has version {value_text(version)}, expected {MATRIX_VERSION}"
        yield _problem(document, problem, MATRIX_KEY)
        return
    for key in document.data:
        if key not in (MATRIX_KEY, _DEVICES):
            yield _problem(document, f"has no table or key {key!r}", key)
    devices = document.data.get(_DEVICES, {})
    if not isinstance(devices, dict):
        yield _problem(document, f"{_DEVICES!r} is not a table", _DEVICES)
        return
    for name, table in devices.items():
        if not isinstance(table, dict):
            yield _problem(document, f"the device {name!r} is not a table", _DEVICES, name)
        elif not isinstance(table.get(_PROFILE), str):
            yield _problem(document, f"the device {name!r} has no profile", _DEVICES, name)
        else:
            yield from _key_problems(document, name, table)


def _key_problems(document: Document, device: str, table: Mapping[str, Any]) -> Iterator[Diagnostic]:
    for key in table:
        try:
            if key != _PROFILE and not key.startswith(MODEL_PREFIX):
                parse_option_path(key)
        except ValueError as error:
            yield _problem(document, str(error), _DEVICES, device, key)


def _problem(document: Document, problem: str, *path: str) -> Diagnostic:
    span = document.key_span(path) if path else Span(file=document.name)
    return Diagnostic(
        code="invalid-matrix-file",
        message=f"{document.name}: {problem}",
        spans=(span,),
        help="write it with `etconfig matrix --write-expect`",
    )


def _plain_table(table: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _plain_value(value) for key, value in table.items()}


def _plain_value(value: Any) -> Any:
    """Return a value as JSON has it: `{ unset = true }` is null, and a date, which no option can be, text."""
    if isinstance(value, dict):
        if [*value] == ["unset"] and value["unset"] is True:
            return None
        return {key: _plain_value(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain_value(each) for each in value]
    return value if isinstance(value, (bool, int, float, str)) else str(value)


def _counted(device: MatrixDevice) -> str:
    return "errors" if device.has_errors else f"{len(device.options)} options"
