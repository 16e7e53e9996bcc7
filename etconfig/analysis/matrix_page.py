"""`device_page`: what each device gets and why, as a page for somebody who has never seen etconfig."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import cached_property
from pathlib import Path

from etconfig.analysis.device_matrix import DeviceMatrix, MatrixDevice
from etconfig.base.provenance import Origin, OriginKind
from etconfig.diagnostics.repository import RepositoryNames
from etconfig.profile.evidence import TuningEvidence, gain_text
from etconfig.profile.selection import ProfileMatch
from etconfig.report.findings import findings_part
from etconfig.report.model import Table, View, count_text, marked
from etconfig.report.page.writer import Page
from etconfig.resolver.deciding.resolution import Resolution
from etconfig.resolver.explaining.explain import fact_texts, show_setting
from etconfig.resolver.explaining.waterfall import ValueSource, waterfall

_MAX_NAMES = 6
"""The most devices that the header of a column names."""
_FEW = 3
"""The number of groups of an option up to which none is folded away."""
_SOURCES = {
    OriginKind.DEFAULT: "default of",
    OriginKind.PROGRAM: "program",
    OriginKind.RECOMMENDATION: "advice of the plugin for",
    OriginKind.PROFILE: "profile",
    OriginKind.PROJECT: "project file",
}
"""How a page names the kinds of sources; others by their own names."""
_MARKS = {"wins": "wins", "adds keys": "wins", "overridden": "", "does not apply": "off"}


def device_page(matrix: DeviceMatrix, *, further: Iterable[View] = (), subject: str = "") -> Page:
    """Show what each device gets and why, on a page: `html` is its text, and notebooks show it.

    Example:
        >>> matrix = etconfig.resolve_devices(etconfig.load_program("model.pte"), devices=["pi-5.json"])
        >>> page = etconfig.analysis.device_page(matrix)
        >>> page
        <Page: What each device gets; 6 parts>

    Args:
        matrix: The devices.
        further: Parts from elsewhere, such as differences, tests, measurements and programs.
        subject: What the options are for, such as the names of programs.
    """
    names = RepositoryNames(Path.cwd(), os.environ, is_public=True)
    return Page(_Parts(matrix, names).view([*further], subject))


class _Group:
    """The devices and method instances on which the same sources decide an option alike.

    Attributes:
        steps: What the sources did.
        value: The value as text.
        labels: The method instances of each device, by its name.
        facts: The facts that the value may depend on.
    """

    def __init__(self, steps: tuple[ValueSource, ...], value: str, facts: tuple[str, ...]) -> None:
        self.steps, self.value, self.facts = steps, value, facts
        self.labels: dict[str, list[str]] = {}
        self.name = ""

    @property
    def is_default(self) -> bool:
        """True if nothing but the schema has a say."""
        return len(self.steps) < 2 and all(each.origin.kind is OriginKind.DEFAULT for each in self.steps)


class _Parts:
    """Makes the parts of the page.

    Args:
        matrix: The devices.
        names: Names files as readers know them.
    """

    def __init__(self, matrix: DeviceMatrix, names: RepositoryNames) -> None:
        self.matrix, self.names = matrix, names
        self.resolutions = {each.device: each.resolution for each in matrix if each.resolution is not None}

    def view(self, further: Sequence[View], subject: str) -> View:
        problems = {
            self.names(each): self._devices(devices) for each, devices in self.matrix.problems.items()
        }
        parts = [self._devices_part(), self._options_part(), self._reasons_part(), self._profiles_part()]
        parts += [self._facts_part(), self._memory_part(), self._evidence_part()]
        lines = [
            self.matrix.summary,
            "etconfig chose these options from facts about each device, before anything ran. Follow a value "
            "to see what decided it.",
        ]
        return View(
            title=f"What each device gets{f' from {subject}' if subject else ''}",
            lines=lines,
            parts=[each for each in (findings_part(problems), *parts, *further) if each is not None],
        )

    def _devices(self, devices: Sequence[str]) -> str:
        return "every device" if len(devices) == len(self.matrix) > 1 else ", ".join(devices)

    @cached_property
    def groups(self) -> Mapping[str, list[_Group]]:
        """The groups of each option, by backend and option."""
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
                            steps = waterfall(resolved, option)
                            value = show_setting(getattr(resolved.options, option))
                            group = _Group(steps, value, facts)
                            key = (value, *((s.outcome, s.value, s.origin, s.texts) for s in steps))
                            known[same] = found.setdefault(f"{backend}.{option}", {}).setdefault(key, group)
                        known[same].labels.setdefault(device, []).append(arguments.label)
        groups = {option: [*each.values()] for option, each in found.items()}
        told = [each for each in groups.values() if not all(group.is_default for group in each)]
        for at, each in enumerate(told):
            for number, group in enumerate(each):
                group.name = f"option-{at}-{number}"
        return groups

    def _part_of(self, path: str, devices: Sequence[str]) -> str:
        """Return the name of the part that explains an option on some devices."""
        label, _, option = path.rpartition(":")
        for group in self.groups.get(option, ()):
            if label in group.labels.get(devices[0], ()) and group.name:
                is_whole = all(label in group.labels.get(each, ()) for each in devices)
                return group.name if is_whole else group.name.rpartition("-")[0]
        return ""

    def _devices_part(self) -> View:
        numbers = self.matrix.result_numbers
        rows = []
        for each, (device, profile, result, *memory) in zip(
            self.matrix, self.matrix.device_rows, strict=True
        ):
            fits = each.memory is None or each.memory.fits is not False
            mark = "" if each.device in numbers else "error"
            rows.append(
                (
                    marked(device),
                    marked(profile, part="profiles" if each.profile else ""),
                    marked(result, mark, part="" if mark else "options"),
                    *(marked(text, "" if fits else "error", part="memory") for text in memory),
                )
            )
        headers = [*map(str.lower, self.matrix.device_headers)]
        lines = ["Devices with the same result number get the same options."]
        return View(name="devices", title="Devices", lines=lines, tables=[Table(headers=headers, rows=rows)])

    def _options_part(self) -> View | None:
        results = self.matrix.results
        if not results:
            return None
        headers = ["option", *(self._header(each.number, each.devices) for each in results)]
        rows = []
        for path in self.matrix.differing:
            values = self.matrix.values(path)
            counts: Counter[str] = Counter()
            for value, result in zip(values, results, strict=True):
                counts[value] += len(result.devices)
            usual = counts.most_common(1)[0][0]
            cells = (
                marked(
                    value,
                    "differs" if value != usual else "",
                    part=self._part_of(path, result.devices),
                )
                for value, result in zip(values, results, strict=True)
            )
            rows.append((path, *cells))
        differing = {*self.matrix.differing}
        same = [
            (path, marked(self.matrix.values(path)[0], part=self._part_of(path, results[0].devices)))
            for path in self.matrix.options
            if path not in differing
        ]
        one = len(self.matrix) == 1
        tables = [
            Table(caption="Options that differ", headers=headers, rows=rows),
            Table(
                caption="Options of the device" if one else "Options that are the same on every device",
                headers=("option", "value"),
                rows=same,
                is_folded=bool(rows),
            ),
        ]
        lines = ["Colored values differ from the most frequent one."] if rows else []
        return View(name="options", title="Options", lines=lines, tables=tables)

    def _header(self, number: int, devices: Sequence[str]) -> str:
        more = len(devices) - _MAX_NAMES
        names = [*devices[:_MAX_NAMES], *([f"and {more:,} more"] if more > 0 else [])]
        return marked("\n".join([f"result {number}", *names]), hint=", ".join(devices) if more > 0 else "")

    def _reasons_part(self) -> View | None:
        parts = []
        for option, groups in self.groups.items():
            if groups[0].name:
                values = ", ".join(dict.fromkeys(group.value for group in groups))
                parts.append(
                    View(
                        name=groups[0].name.rpartition("-")[0],
                        title=f"{option} = {values}",
                        parts=[self._group_part(group, is_folded=len(groups) > _FEW) for group in groups],
                        is_folded=True,
                    )
                )
        defaults = [(option, groups[0].value) for option, groups in self.groups.items() if not groups[0].name]
        table = Table(
            caption=f"{count_text(len(defaults), 'option')} that nothing sets: the default of the backend",
            headers=("option", "value"),
            rows=defaults,
            is_folded=True,
        )
        lines = ["Sources are listed in order: a later one that applies overrides the earlier ones."]
        if not self.groups:
            return None
        return View(name="reasons", title="Why each value", lines=lines, tables=(table,), parts=parts)

    def _group_part(self, group: _Group, *, is_folded: bool) -> View:
        labels = dict.fromkeys(label for each in group.labels.values() for label in each)
        winner = next((each for each in group.steps if each.outcome == "wins"), None)
        rows = [
            (
                marked(step.outcome, _MARKS[step.outcome]),
                marked(step.value, _MARKS[step.outcome]),
                self._source(step.origin, [*group.labels]),
                "; ".join(step.texts),
            )
            for step in group.steps
        ]
        lines = [] if winner is None else [self._sentence(group, winner)]
        steps = Table(caption="Sources", headers=("outcome", "value", "set by", "because"), rows=rows)
        facts = Table(
            caption="Facts that were read",
            headers=("fact", "value", "found by"),
            rows=[(name, *self._fact(name, [*group.labels])) for name in group.facts],
        )
        return View(
            name=group.name,
            title=f"{group.value} on {self._devices([*group.labels])} ({', '.join(labels)})",
            lines=lines,
            tables=[steps, facts],
            is_folded=is_folded,
        )

    def _sentence(self, group: _Group, winner: ValueSource) -> str:
        """Return why a value is as it is."""
        devices, expression = [*group.labels], winner.expression
        text = f"{group.value} comes from the {self._source(winner.origin, devices)}"
        if winner.clauses:
            clauses = " and ".join(clause for clause, _ in winner.clauses)
            text += f", which applies because {clauses} {'hold' if len(winner.clauses) > 1 else 'holds'}"
        if expression is not None:
            values = [(name, self._fact(name, devices)[0]) for name in sorted(expression.facts)]
            known = " and ".join(f"{name} is {value}" for name, value in values)
            text += f". It is {expression}{f', where {known}' if known else ''}"
        return f"{text}.{f' {winner.reason}' if winner.reason else ''}"

    def _fact(self, name: str, devices: Sequence[str]) -> tuple[str, str]:
        """Return the value of a fact on some devices; on one, with what found it."""
        found = {fact_texts(self.resolutions[device].facts, name) for device in devices}
        if len({value for value, _ in found}) > 1:
            return marked("differs", part="facts"), ""
        value, origin = found.pop()
        fact = self.resolutions[devices[0]].facts.get(name)
        if found or len(devices) > 1 or fact is None or not fact.is_known:
            return value, "" if len(devices) > 1 else origin
        return value, self._source(fact.origin, devices)

    def _source(self, origin: Origin, devices: Sequence[str]) -> str:
        """Return a source in words: a profile by its name, a file as the repository names it."""
        source = self.names.name_of(origin.source)
        if origin.kind is OriginKind.PROFILE:
            selection = self.resolutions[devices[0]].selection
            chain = () if selection is None else selection.chain
            source = next((p.name for p in chain if str(p.path) == origin.source), source)
        line = "" if origin.line is None else f", line {origin.line}"
        detail = "" if origin.kind is not OriginKind.SHEET or not origin.detail else f" ({origin.detail})"
        return f"{_SOURCES.get(origin.kind, origin.kind.value)} {source}{line}{detail}"

    def _facts_part(self) -> View | None:
        used = dict.fromkeys(name for each in self.groups.values() for group in each for name in group.facts)
        rows = [
            (device, *(fact_texts(resolution.facts, name)[0] for name in used))
            for device, resolution in self.resolutions.items()
        ]
        if not used or not rows:
            return None
        lines = ["The facts of each device that its options may depend on."]
        return View(
            name="facts", title="Facts", lines=lines, tables=[Table(headers=("device", *used), rows=rows)]
        )

    def _profiles_part(self) -> View:
        chosen = [(each.device, *self._choice(each)) for each in self.matrix]
        others: dict[tuple[str, str], dict[str, list[str]]] = {}
        for device, resolution in self.resolutions.items():
            for match, why, full in _not_chosen(resolution):
                found = others.setdefault((match.profile.name, why), {})
                found.setdefault(full, []).append(device)
        rows = []
        for (profile, why), found in sorted(others.items(), key=lambda each: each[0][0]):
            devices = [device for each in found.values() for device in each]
            rows.append((profile, next(iter(found)) if len(found) == 1 else why, self._devices(devices)))
        return View(
            name="profiles",
            title="Profiles",
            lines=[
                "A profile is a file of options with a condition on facts; the most specific one is chosen."
            ],
            tables=[
                Table(headers=("device", "profile", "extends", "because"), rows=chosen),
                Table(
                    caption="Why not the other profiles",
                    headers=("profile", "why not", "devices"),
                    rows=rows,
                    is_folded=True,
                ),
            ],
        )

    def _choice(self, each: MatrixDevice) -> tuple[str, ...]:
        """Return the profile of a device, those that it extends, and why it was chosen."""
        resolution = self.resolutions.get(each.device)
        if resolution is None:
            return (each.profile or "none", "", "its options do not resolve: see the problems")
        selection = resolution.selection
        if selection is None:
            return (each.profile or "none", "", f"named by {each.selected_by or 'hand'}")
        bases = ", ".join(profile.name for profile in selection.chain[:-1])
        match = next(m for m in selection.matches if m.profile.name == selection.profile.name)
        reasons = "; ".join(match.reasons) or "it matches every device"
        return (selection.profile.name, bases, reasons)

    def _memory_part(self) -> View | None:
        rows = []
        for each in self.matrix:
            if each.memory is not None:
                fit = each.memory
                verdict = {True: "yes", False: "no", None: "unknown"}[fit.fits]
                needs, has = (part.strip() for part in str(fit).split(", has"))
                needs = needs.removeprefix("needs ")
                rows.append((each.device, needs, has, marked(verdict, "" if fit.fits else "error")))
        if not rows:
            return None
        largest = max(
            (each.need for each in self.matrix if each.need is not None),
            key=lambda need: need.peak.size_bytes,
        )
        captions = ("Parts of the largest need", "What it is for")
        tables = [
            Table(headers=("device", "needs at most", "has", "fits"), rows=rows),
            *(
                replace(table, caption=text, headers=[*map(str.lower, table.headers)], is_folded=True)
                for table, text in zip(largest.tables, captions, strict=True)
            ),
        ]
        return View(name="memory", title="Memory", lines=largest.notes, tables=tables)

    def _evidence_part(self) -> View | None:
        kept: list[tuple[TuningEvidence, list[str]]] = []
        for device, resolution in self.resolutions.items():
            for each in resolution.evidence:
                devices = next((names for other, names in kept if other == each), None)
                if devices is None:
                    kept.append((each, devices := []))
                devices.append(device)
        rows = [
            (
                option,
                gain_text(ratio.ratio, each.objective),
                ratio.interval if ratio.pairs else "",
                str(ratio.pairs or ""),
                f"{each.made}, {(date.today() - each.made).days} days ago",
                each.engine,
                ", ".join(f"{name} {value}" for name, value in each.device.items()),
                self._devices(devices),
            )
            for each, devices in kept
            for option, ratio in {"all together": each.whole, **each.options}.items()
        ]
        if not rows:
            return None
        headers = ("option", "gain", "interval", "pairs", "made", "engine", "measured on", "devices")
        return View(
            name="evidence",
            title="Evidence",
            lines=["What was measured when these options were written into a profile."],
            tables=[Table(headers=headers, rows=rows)],
        )


def _not_chosen(resolution: Resolution) -> Iterator[tuple[ProfileMatch, str, str]]:
    """Yield each other profile with why it was not chosen: without the values of facts, and with them."""
    selection = resolution.selection
    if selection is None:
        return
    bases = {profile.name for profile in selection.chain}
    for match in selection.matches:
        name = match.profile.name
        if name == selection.profile.name:
            continue
        if not match.is_match:
            clause = next((each for each in match.clauses if each.result is not True), None)
            full = match.reasons[0]
            yield match, full if clause is None else f"{clause.text} does not hold", full
        else:
            why = "a more specific one extends it" if name in bases else "one from a closer source goes first"
            yield match, f"it matches, but {why}", f"it matches, but {why}"
