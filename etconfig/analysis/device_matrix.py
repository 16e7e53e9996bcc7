"""`DeviceMatrix`: what each of several devices gets, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

from etconfig.base.number_text import format_bytes
from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic
from etconfig.diagnostics.escape import shorten
from etconfig.diagnostics.render import to_jsonable
from etconfig.facts.memory_fit import MemoryFit
from etconfig.report.has_view import HasView
from etconfig.report.model import Table, View, count_text, shown_names
from etconfig.resolver.explaining.difference import ABSENT_TEXT, canonical
from etconfig.resolver.explaining.explain import show_setting
from etconfig.resolver.explaining.toml_text import toml_value

if TYPE_CHECKING:
    from etconfig.facts.sheet import FactSheet
    from etconfig.memory.need import MemoryNeed
    from etconfig.resolver.deciding.resolution import Resolution

MATRIX_KEY = "etconfig_matrix"
"""The key of the version, in JSON and in files of expected values."""
MATRIX_VERSION = 1

_MAX_VALUE = 200
_MAX_SHORT = 56
"""The most characters of a value that is shown, and of one that is shown as all commands do."""


@record(frozen=True, kw_only=True)
class MatrixDevice(HasView):
    """The arguments of one device.

    Attributes:
        device: The name of the device.
        profile: The name of its profile; None if none could be chosen.
        selected_by: `auto`, the place in the project file that names the profile, or None.
        is_fallback: True if `auto` found only a profile that matches every device.
        problems: The errors, and the warnings that do not stop the work.
        options: The value of every option as plain data, by option path, and the file of each model as
            `model.NAME`; empty if there are errors.
        memory: The memory that the programs need beside the device's memory, if that was asked for.
        need: The parts of that memory; None where only the result is kept.
        resolution: The resolution; None if there are errors, or where only the result is kept.
        facts: The facts of a device without a resolution; None if they cannot be read.
    """

    device: str
    profile: str | None = None
    selected_by: str | None = None
    is_fallback: bool = False
    problems: tuple[Diagnostic, ...] = ()
    options: Mapping[str, Any]
    memory: MemoryFit | None = None
    need: MemoryNeed | None = None
    resolution: Resolution | None = field(default=None, compare=False, repr=False)
    facts: FactSheet | None = field(default=None, compare=False, repr=False)

    @property
    def result(self) -> MatrixDevice:
        """The same without the reasons, which take most of the memory of very many devices."""
        return replace(self, need=None, resolution=None, facts=None)

    @property
    def has_errors(self) -> bool:
        """True if the device gets no arguments."""
        return any(problem.is_error for problem in self.problems)

    def _view(self) -> View:
        rows = [(path, value_text(value)) for path, value in self.options.items()]
        return View(
            title=f"{self.device}, profile {self.profile or 'none'}",
            lines=[*map(str, self.problems)],
            tables=(Table(headers=("OPTION", "VALUE"), rows=rows),),
        )

    def to_jsonable(self) -> dict[str, Any]:
        """Return the device as plain data."""
        return {
            "device": self.device,
            "profile": self.profile,
            "selected_by": self.selected_by,
            "is_fallback": self.is_fallback,
            "problems": [to_jsonable(problem) for problem in self.problems],
            "options": dict(self.options),
            **({} if self.memory is None else {"memory": self.memory.to_jsonable()}),
        }


@record(frozen=True, kw_only=True)
class MatrixResult:
    """The options that one or several devices get alike.

    Attributes:
        number: Its number, from 1.
        devices: The names of the devices, in their order.
        options: The value of every option, by option path.
    """

    number: int
    devices: Sequence[str]
    options: Mapping[str, Any]


class DeviceMatrix(HasView):
    """The arguments of several devices side by side, from `etconfig.resolve_devices`.

    Example:
        >>> matrix = etconfig.resolve_devices(etconfig.load_program("model.pte"), devices=["pi-5.json"])
        >>> matrix["pi-5"].profile
        'raspberry-pi/pi-5'

    Args:
        devices: The devices, in the order in which they were given.
    """

    def __init__(self, devices: Sequence[MatrixDevice]) -> None:
        self.devices = tuple(devices)

    def __getitem__(self, device: str) -> MatrixDevice:
        try:
            return self._by_name[device]
        except KeyError:
            raise KeyError(f"no device {device!r}; known: {shown_names(self._by_name)}") from None

    def __iter__(self) -> Iterator[MatrixDevice]:
        return iter(self.devices)

    def __len__(self) -> int:
        return len(self.devices)

    def __repr__(self) -> str:
        return f"<DeviceMatrix: {self.summary}>"

    @cached_property
    def _by_name(self) -> Mapping[str, MatrixDevice]:
        return {each.device: each for each in self.devices}

    @property
    def has_errors(self) -> bool:
        """True if some device gets no arguments."""
        return any(device.has_errors for device in self.devices)

    @cached_property
    def results(self) -> tuple[MatrixResult, ...]:
        """The distinct results of devices without errors, in the order of their first devices."""
        options: dict[str, Mapping[str, Any]] = {}
        devices: dict[str, list[str]] = {}
        texts: dict[int, str] = {}  # many devices share one object
        for each in self.devices:
            if each.has_errors:
                continue
            text = texts.setdefault(id(each.options), "") or canonical(dict(each.options))
            texts[id(each.options)] = text
            options.setdefault(text, each.options)
            devices.setdefault(text, []).append(each.device)
        return tuple(
            MatrixResult(number=number, devices=devices[text], options=found)
            for number, (text, found) in enumerate(options.items(), 1)
        )

    @cached_property
    def result_numbers(self) -> Mapping[str, int]:
        """The number of the result of each device without errors, by its name."""
        return {device: result.number for result in self.results for device in result.devices}

    @cached_property
    def options(self) -> tuple[str, ...]:
        """The paths of all options, in the order of the first device that has them."""
        return tuple(dict.fromkeys(path for result in self.results for path in result.options))

    @property
    def device_headers(self) -> tuple[str, ...]:
        """The headers of `device_rows`."""
        return ("DEVICE", "PROFILE", "RESULT", *(("MEMORY",) if self._has_memory else ()))

    @property
    def device_rows(self) -> Iterator[tuple[str, ...]]:
        """A row for each device: its profile, the number of its result, and its memory if that is known."""
        numbers = self.result_numbers
        for each in self.devices:
            row = (each.device, each.profile or "none", str(numbers.get(each.device, "error")))
            yield (*row, _memory_text(each.memory)) if self._has_memory else row

    @cached_property
    def _has_memory(self) -> bool:
        return any(each.memory is not None for each in self.devices)

    @cached_property
    def differing(self) -> tuple[str, ...]:
        """The paths of the options that are not the same on every device without errors."""
        return tuple(path for path in self.options if len({*self._texts(path)}) > 1)

    def values(self, path: str) -> tuple[str, ...]:
        """Return the value of an option in each result as text; different values have different texts."""
        shown = [
            value_text(result.options[path]) if path in result.options else ABSENT_TEXT
            for result in self.results
        ]
        whole = [*self._texts(path)]
        if len({*shown}) == len({*whole}):
            return tuple(shown)
        numbers = {text: number for number, text in enumerate(dict.fromkeys(whole), 1)}
        return tuple(f"{text} (value {numbers[each]})" for text, each in zip(shown, whole, strict=True))

    def _texts(self, path: str) -> Iterator[str]:
        """Yield the value of an option in each result, as texts that are equal for equal values."""
        for result in self.results:
            yield canonical(result.options[path]) if path in result.options else ""

    @cached_property
    def problems(self) -> Mapping[Diagnostic, Sequence[str]]:
        """The problems of all devices, each once, with the names of the devices that have it."""
        found: dict[Diagnostic, list[str]] = {}
        for each in self.devices:
            for problem in dict.fromkeys(each.problems):
                found.setdefault(problem, []).append(each.device)
        return found

    @property
    def summary(self) -> str:
        """One line that counts devices, results, and devices with errors."""
        parts = [count_text(len(self.devices), "device")]
        wrong = sum(device.has_errors for device in self.devices)
        if self.results:
            profiles = len({device.profile for device in self.devices if not device.has_errors})
            parts.append(count_text(profiles, "profile"))
            parts.append(count_text(len(self.results), "different result").replace("1 different", "1"))
        if wrong:
            parts.append(f"{wrong:,} with errors")
        return ", ".join(parts)

    def to_jsonable(self) -> dict[str, Any]:
        """Return the matrix as plain data: the output of `etconfig matrix --json`."""
        return {MATRIX_KEY: MATRIX_VERSION, "devices": [device.to_jsonable() for device in self.devices]}

    def _view(self) -> View:
        shown = [*islice(self.problems, 3)]
        more = len(self.problems) - len(shown)
        lines = [f"{each.severity.value}: {each} ({shown_names(self.problems[each])})" for each in shown]
        lines += [f"and {count_text(more, 'more problem')}"] if more else []
        headers = ("OPTION", *(f"{each.number}: {shown_names(each.devices)}" for each in self.results))
        tables = [
            Table(
                caption="",
                headers=self.device_headers,
                rows=self.device_rows,
            ),
            Table(
                caption="options that differ",
                headers=headers,
                rows=[(path, *self.values(path)) for path in self.differing],
            ),
        ]
        return View(title=f"DeviceMatrix: {self.summary}", lines=lines, tables=tables)


def _memory_text(fit: MemoryFit | None) -> str:
    if fit is None or fit.available_bytes is None:
        return "" if fit is None else format_bytes(fit.needed_bytes)
    return f"{format_bytes(fit.needed_bytes)} {'of' if fit.fits else '>'} {format_bytes(fit.available_bytes)}"


def value_text(value: object) -> str:
    """Return a value as tables show it: whole, unless it is very long."""
    text = show_setting(value)
    return text if len(text) <= _MAX_SHORT else shorten(toml_value(value), _MAX_VALUE)
