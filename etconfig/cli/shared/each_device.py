"""Results for several devices and programs: which one each part is about, and failures beside results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from etconfig.cli.shared.options import ConfigurationRequest
from etconfig.cli.shared.output import fail, show
from etconfig.diagnostics.render import to_jsonable
from etconfig.errors import ConfigError
from etconfig.records import record

if TYPE_CHECKING:
    from etconfig.app.loaded_program import LoadedProgram

_ResultT = TypeVar("_ResultT")


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


def on_each_device(
    requests: Sequence[ConfigurationRequest],
    programs: Sequence[Path],
    find: Callable[[ConfigurationRequest, LoadedProgram | None], _ResultT],
) -> Iterator[OnDevice[_ResultT]]:
    """Yield the result of each program on each device.

    A configuration that is wrong on one device keeps no other from being tried.

    Raises:
        EtconfigError: a program cannot be read, or a plugin is missing or broken, whatever the device.
    """
    for program in programs or (None,):
        loaded = requests[0].open_program(program)
        for request in requests:
            try:
                result = find(request, loaded)
            except ConfigError as error:
                yield OnDevice(device=request.device_name, program=program, error=error)
            else:
                yield OnDevice(device=request.device_name, program=program, result=result)


def show_each(found: Iterable[OnDevice[_ResultT]], show_one: Callable[[_ResultT], None]) -> int:
    """Show each result below the name of its device and program; return 2 if one failed, else 0."""
    status = 0
    for at, each in enumerate(found):
        if show_failed(each):
            status = 2
            continue
        if at:
            show()
        show(each.label)
        show()
        if each.result is not None:
            show_one(each.result)
    return status


def show_failed(each: OnDevice[_ResultT], *, is_only: bool = False) -> bool:
    """Show an error, below its device and program unless it is the only one; return True if there is one."""
    if each.error is None:
        return False
    if not is_only:
        show(f"{each.label}:", err=True)
    fail(each.error)
    return True
