"""Results for several devices and programs: which one each part is about, and failures beside results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from etconfig.base.records import record
from etconfig.cli.shared.input_files import sheet_names
from etconfig.cli.shared.output import fail, show, show_diagnostics, with_progress
from etconfig.cli.shared.requests import ConfigurationRequest
from etconfig.cli.shared.writing import note_reads
from etconfig.diagnostics import on_devices
from etconfig.diagnostics.render import to_jsonable
from etconfig.errors import ConfigError

if TYPE_CHECKING:
    from etconfig.analysis import MatrixDevice
    from etconfig.app.configuring.targets import Delegating
    from etconfig.diagnostics import Diagnostic
    from etconfig.facts.sheet import FactSheet
    from etconfig.resolver.deciding.resolution import Resolution

_ResultT = TypeVar("_ResultT")

_MAX_LABELS = 5
"""The most devices that an error names."""


@record(frozen=True, kw_only=True)
class OnDevice(Generic[_ResultT]):
    """The result on one device, for one program.

    Attributes:
        device: The name of the device.
        program: The program's file; None if there is none.
        result: What was found; None if that failed.
        error: Why it failed; None if it did not.
    """

    device: str
    program: Path | None
    result: _ResultT | None = None
    error: ConfigError | None = None

    def to_jsonable(self) -> dict[str, object]:
        """Return the device, the program and the problems as plain data."""
        program = None if self.program is None else str(self.program)
        problems = () if self.error is None else self.error.diagnostics
        return {
            "device": self.device,
            "program": program,
            "problems": [to_jsonable(problem) for problem in problems],
        }

    @property
    def label(self) -> str:
        """The device and the program, for people."""
        return f"device {self.device}" if self.program is None else f"device {self.device}, {self.program}"


def opened_apart(
    request: ConfigurationRequest, programs: Sequence[Path]
) -> Iterator[tuple[Path | None, Delegating | None]]:
    """Open each program that is to be resolved by itself, with its file; models alone have none.

    The models of `--models` are resolved with each program. Without either, the programs and models of the
    project file are resolved, or what the configuration mentions.

    Raises:
        EtconfigError: a program or the file of models cannot be read, or a plugin is missing or broken.
    """
    for program in programs:
        yield program, request.open_together((program,))
    if programs:
        return
    opened = request.open_all(())
    for each in opened:
        yield file_of(each), each
    if not opened:
        yield None, None


def file_of(program: Delegating) -> Path | None:
    """Return the file of a program, relative to the current directory if it is below; None for models."""
    path = getattr(getattr(program, "program", None), "path", None)
    if path is None:
        return None
    with suppress(OSError, ValueError):  # the current directory may be gone
        return Path(path).relative_to(Path.cwd())
    return Path(path)


def on_each_device(
    requests: Sequence[ConfigurationRequest],
    programs: Iterable[tuple[Path | None, Delegating | None]],
    find: Callable[[ConfigurationRequest, Delegating | None], _ResultT],
) -> Iterator[OnDevice[_ResultT]]:
    """Yield the result of each program on each device.

    A configuration that is wrong on one device keeps no other from being tried.

    Raises:
        EtconfigError: a program cannot be read, or a plugin is missing or broken, whatever the device.
    """
    for program, loaded in programs:
        for request in requests:
            try:
                result = find(request, loaded)
            except ConfigError as error:
                yield OnDevice(device=request.device_name, program=program, error=error)
            else:
                yield OnDevice(device=request.device_name, program=program, result=result)


def show_each(found: Iterable[OnDevice[_ResultT]], show_one: Callable[[_ResultT], None]) -> int:
    """Show each result below its device and program, then the failures; return 2 if there are any, else 0."""
    every = list(found)
    results = [each for each in every if each.error is None]
    for at, each in enumerate(results):
        if at:
            show()
        show(each.label)
        show()
        if each.result is not None:
            show_one(each.result)
    return 2 if show_failures(every) else 0


def show_notes(
    found: Sequence[OnDevice[_ResultT]], notes_of: Callable[[_ResultT], Iterable[Diagnostic]]
) -> None:
    """Show each note on stderr once, with its devices if there are several."""
    devices: dict[Diagnostic, dict[str, None]] = {}
    for each in found:
        for note in () if each.result is None else notes_of(each.result):
            devices.setdefault(note, {})[each.device] = None
    names = dict.fromkeys(each.device for each in found)
    show_diagnostics(on_devices(devices, len(names), f"on {', '.join(names)}"))


def notes_of_resolution(resolution: Resolution) -> tuple[Diagnostic, ...]:
    """Return the warnings of a resolution, and what its device does not decide or excludes."""
    from etconfig.resolver.deciding.device_problems import notes_on_device

    return (*resolution.warnings, *notes_on_device(resolution))


def show_failures(every: Sequence[OnDevice[_ResultT]]) -> bool:
    """Show each error once, below the devices and programs that have it; return True if there is one.

    An error that all of them have is not about a device: it stands alone.
    """
    having: dict[Sequence[Diagnostic], list[OnDevice[_ResultT]]] = {}
    for each in every:
        if each.error is not None:
            having.setdefault(each.error.diagnostics, []).append(each)
    for failed in having.values():
        if len(failed) < len(every):
            labels = [each.label for each in failed[:_MAX_LABELS]]
            more = [f"and {len(failed) - _MAX_LABELS:,} more"] if len(failed) > _MAX_LABELS else []
            show(f"{'; '.join([*labels, *more])}:", err=True)
        if failed[0].error is not None:
            fail(failed[0].error)
    return bool(having)


def resolved_devices(
    request: ConfigurationRequest,
    loaded: Sequence[Delegating],
    sheets: Sequence[Path],
    *,
    with_memory: bool = False,
    or_here: bool = False,
) -> Iterator[MatrixDevice]:
    """Resolve programs on each device: of the sheets, else of the project, else on this one or none."""
    from etconfig.analysis.matrix_building import matrix_devices
    from etconfig.app.configuring.device_configurations import DeviceConfigurations
    from etconfig.app.configuring.project_devices import project_devices

    installation = loaded[0].installation if loaded else request.installation
    configurations = DeviceConfigurations(loaded, installation, **request.settings())
    of_sheets = dict(zip(sheet_names(sheets), sheets, strict=True))
    named: list[tuple[str, FactSheet | Path]] = [*(of_sheets or project_devices(installation)).items()]
    note_reads(sheet for _, sheet in named if isinstance(sheet, Path))
    if or_here and not named:
        named = [("this device", request.device.facts)]
    devices = with_progress(named, "resolving")
    registry, models = installation.fact_registry, request.models
    return matrix_devices(configurations, devices, registry, with_memory=with_memory, models=models)
