"""`device_page`: what each device gets and why, as a page for somebody who has never seen etconfig."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from datetime import date
from functools import cached_property
from pathlib import Path

from etconfig.analysis.device_matrix import DeviceMatrix
from etconfig.analysis.memory_picture import memory_svg
from etconfig.analysis.program_report import ProgramReport
from etconfig.analysis.tested_devices import OUTCOME_MARKS, TestReport
from etconfig.base.fingerprint import file_sha256
from etconfig.base.number_text import format_bytes
from etconfig.base.provenance import Origin, OriginKind
from etconfig.base.records import record
from etconfig.diagnostics.repository import RepositoryNames
from etconfig.profile.evidence import TuningEvidence, gain_text
from etconfig.profile.selection import ProfileMatch, Selection
from etconfig.report.model import View, shown_names
from etconfig.report.page.page_writer import Page
from etconfig.resolver.explaining.explain import fact_texts, show_setting
from etconfig.resolver.explaining.waterfall import ValueSource, waterfall

_SOURCES = {
    OriginKind.DEFAULT: "default of",
    OriginKind.RECOMMENDATION: "advice of the plugin for",
    OriginKind.PROJECT: "project file",
}
"""How a page names some kinds of sources; others by their own names."""
_MAX_RECTANGLES = 300
"""The number of tensors that the picture of an arena has one by one: a page is not a megabyte."""


def device_page(
    matrix: DeviceMatrix,
    *,
    tests: TestReport | None = None,
    further: Iterable[tuple[View, str]] = (),
    programs: Sequence[ProgramReport] = (),
) -> Page:
    """Show what each device gets and why, on a page: `html` is its text, and notebooks show it.

    Example:
        >>> matrix = etconfig.resolve_devices(etconfig.load_program("model.pte"), devices=["pi-5.json"])
        >>> etconfig.analysis.device_page(matrix)
        <Page: What each device gets>

    Args:
        matrix: The devices.
        tests: The results of the project's tests on the devices.
        further: Parts from elsewhere, such as measurements, each with a picture or an empty text.
        programs: The programs that the options are for.
    """
    page = _Reasons(matrix, RepositoryNames(Path.cwd(), os.environ, is_public=True))
    problems = {**matrix.problems, **dict.fromkeys(tests.untried.values() if tests else (), ())}
    data = {
        "matrix": matrix,
        "page": page,
        "problems": [(page.names(each), page.devices(found)) for each, found in problems.items()],
        "tests": tests if tests and len({each.test for each in tests.results}) > 1 else None,
        "marks": OUTCOME_MARKS,
        "further": [*further],
        "programs": programs,
        "file_name": _file_name,
        "sha256": _sha256,
        "plan_svg": lambda method: memory_svg({method.name: method.memory_plan}, most=_MAX_RECTANGLES),
        "bytes": format_bytes,
        "gain": gain_text,
        "today": date.today(),
    }
    subject = " and ".join(map(_file_name, programs))
    return Page(f"What each device gets{f' from {subject}' if subject else ''}", "devices", data)


def _file_name(program: ProgramReport) -> str:
    return Path(program.path or "program in memory").name


def _sha256(program: ProgramReport) -> str:
    """Return the start of the hash of a program's file; empty if there is no file."""
    with suppress(OSError, ValueError):
        return file_sha256(Path(program.path))[:12] if program.path else ""
    return ""


def _sized(value: str, *, is_size: bool) -> str:
    """Return a value; a number of bytes in a larger unit too, if it has one: `16384 (16 KiB)`."""
    has_larger = is_size and value.isdecimal() and int(value) >= 1024
    return f"{value} ({format_bytes(int(value))})" if has_larger else value


@record(frozen=True)
class _Group:
    """The devices and method instances on which the same sources decide an option alike.

    Attributes:
        name: Its name on the page.
        value: The value.
        sources: The sources, lowest first.
        facts: The facts that the value may depend on.
        unit: The unit of the option, such as `bytes`, or None.
        labels: The method instances of each device, by its name.
    """

    name: str
    value: str
    sources: tuple[ValueSource, ...]
    facts: tuple[str, ...]
    unit: str | None
    labels: dict[str, list[str]] = field(default_factory=dict)

    @property
    def methods(self) -> Iterable[str]:
        """The method instances."""
        return dict.fromkeys(label for labels in self.labels.values() for label in labels)


class _Reasons:
    """The reasons for what devices get, as the page shows them; `names` names files for readers."""

    def __init__(self, matrix: DeviceMatrix, names: RepositoryNames) -> None:
        self.matrix, self.names = matrix, names
        self.resolutions = {each.device: each.resolution for each in matrix if each.resolution is not None}
        self.sheets = {each.device: each.facts for each in matrix}
        self.sheets |= {device: each.facts for device, each in self.resolutions.items()}

    def devices(self, names: Sequence[str]) -> str:
        return "every device" if len(names) == len(self.matrix) > 1 else ", ".join(names)

    def usual(self, path: str) -> str:
        """Return the value of an option that most devices get."""
        counts: Counter[str] = Counter()
        for value, result in zip(self.matrix.values(path), self.matrix.results, strict=True):
            counts[value] += len(result.devices)
        return counts.most_common(1)[0][0]

    def problem_of(self, device: str) -> int:
        """Return the number of the problem on the page that keeps a device from its options."""
        found = self.matrix.problems.items()
        return next(at for at, (each, devices) in enumerate(found, 1) if each.is_error and device in devices)

    def value(self, path: str, text: str) -> str:
        """Return a value of an option as the page shows it."""
        groups = self.groups.get(path.rpartition(":")[2])
        return _sized(text, is_size=groups is not None and groups[0].unit == "bytes")

    @cached_property
    def groups(self) -> Mapping[str, Sequence[_Group]]:
        """The groups of each option, by backend and option; what nothing sets comes last."""
        found: dict[str, dict[object, _Group]] = {}
        known: dict[object, _Group] = {}
        for device, resolution in self.resolutions.items():
            for arguments in resolution:
                for backend, resolved in arguments.backends.items():
                    for option, candidates in resolved.candidates.items():
                        recommended = resolved.recommendation.values.get(option)
                        basis = resolved.recommendation.basis if recommended else ()
                        facts = tuple(sorted(candidates.facts.union(basis)))
                        values = tuple(repr(resolved.facts.get(name)) for name in facts)
                        same = (id(candidates), values, recommended and show_setting(recommended.value))
                        if same not in known:
                            sources = waterfall(resolved, option)
                            value = show_setting(getattr(resolved.options, option))
                            key = (value, *((s.outcome, s.value, s.origin, s.texts) for s in sources))
                            groups = found.setdefault(f"{backend}.{option}", {})
                            name = f"option-{[*found].index(f'{backend}.{option}')}-{len(groups)}"
                            unit = getattr(candidates.info.unit, "value", None)
                            group = _Group(name, value, sources, facts, unit)
                            known[same] = groups.setdefault(key, group)
                        known[same].labels.setdefault(device, []).append(arguments.label)
        return {option: [*groups.values()] for option, groups in found.items()}

    @cached_property
    def told(self) -> Mapping[str, Sequence[_Group]]:
        """The groups of the options that something but the schema may set."""
        return {
            option: groups
            for option, groups in self.groups.items()
            if any(len(g.sources) > 1 or g.sources[0].origin.kind is not OriginKind.DEFAULT for g in groups)
        }

    def part_of(self, path: str, devices: Sequence[str]) -> str:
        """Return the name of the part that explains an option on some devices; empty for none."""
        label, _, option = path.rpartition(":")
        for group in self.told.get(option, ()):
            if label in group.labels.get(devices[0], ()):
                is_whole = all(label in group.labels.get(each, ()) for each in devices)
                return group.name if is_whole else group.name.rpartition("-")[0]
        return ""

    def fact(self, name: str, devices: Sequence[str]) -> tuple[str, str]:
        """Return the value of a fact on some devices; on one, with what found it."""
        values = [*dict.fromkeys(self.fact_value(name, device) for device in devices)]
        if len(devices) > 1:
            return (values[0] if len(values) == 1 else f"one of {shown_names(values)}"), ""
        facts = self.resolutions[devices[0]].facts
        fact = facts.get(name)
        if fact is None or not fact.is_known:
            return fact_texts(facts, name)
        return values[0], self.source(fact.origin, devices)

    def fact_value(self, name: str, device: str) -> str:
        """Return the value of a fact on a device."""
        sheet = self.sheets[device]
        is_size = sheet is not None and name in sheet and sheet[name].unit == "bytes"
        return _sized(fact_texts(sheet, name)[0], is_size=is_size) if sheet is not None else "unknown"

    def source(self, origin: Origin, devices: Sequence[str]) -> str:
        """Return a source in words: a profile by its name, a file as the repository names it."""
        source = self.names.name_of(origin.source)
        selection = self.resolutions[devices[0]].selection
        if origin.kind is OriginKind.PROFILE and selection is not None:
            source = next((p.name for p in selection.chain if str(p.path) == origin.source), source)
        line = "" if origin.line is None else f", line {origin.line}"
        has_detail = origin.detail and origin.kind in (OriginKind.SHEET, OriginKind.DEFAULT)
        detail = f" ({origin.detail})" if has_detail else ""
        return f"{_SOURCES.get(origin.kind, origin.kind.value)} {source}{line}{detail}"

    @cached_property
    def facts(self) -> list[str]:
        """The names of the facts that options may depend on."""
        return [*dict.fromkeys(name for each in self.groups.values() for g in each for name in g.facts)]

    def others(self, *, are_bundled: bool) -> Iterator[tuple[str, str, str]]:
        """Each profile that was not chosen, why, and on which devices: those of etconfig, or all others."""
        found: dict[tuple[str, str], dict[str, list[str]]] = {}
        for device, resolution in self.resolutions.items():
            if resolution.selection is not None:
                for match, why, full in _not_chosen(resolution.selection):
                    if (match.profile.is_bundled and not match.is_match) is are_bundled:
                        found.setdefault((match.profile.name, why), {}).setdefault(full, []).append(device)
        for (profile, why), by_text in sorted(found.items(), key=lambda each: each[0][0]):
            devices = [device for each in by_text.values() for device in each]
            yield profile, next(iter(by_text)) if len(by_text) == 1 else why, self.devices(devices)

    @property
    def evidence(self) -> Sequence[tuple[TuningEvidence, list[str]]]:
        found: list[tuple[TuningEvidence, list[str]]] = []
        for device, resolution in self.resolutions.items():
            for each in resolution.evidence:
                same = next((devices for other, devices in found if other == each), None)
                if same is None:
                    found.append((each, [device]))
                else:
                    same.append(device)
        return found


def _not_chosen(selection: Selection) -> Iterator[tuple[ProfileMatch, str, str]]:
    """Yield each other profile with why it was not chosen: the same on many devices, and in full."""
    for match in selection.matches:
        if match.profile is selection.profile:
            continue
        if not match.is_match:
            clause = min(match.clauses, key=lambda c: (c.result is True, c.result is not False), default=None)
            text, full = (clause.verdict, clause.explanation) if clause else match.reasons[:1] * 2
        elif match.profile in selection.passed_over:
            text = full = "it matches, but it was tuned for another model"
        else:
            is_base = any(match.profile.name == base.name for base in selection.chain)
            text = f"it matches, but {{}} {'extends it' if is_base else 'goes first'}"
            text, full = text.format("the chosen one"), text.format(selection.profile.name)
        yield match, text, full
