"""Tables of the bundled profiles: all with their sheets, and the options that they set with the sources."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from etconfig import load_device
from etconfig.profile.inheritance import ProfileReader
from etconfig.profile.library import ProfileLibrary, bundled_profiles
from etconfig.tuning.tune_report import shown_gain

_CITATION = re.compile(r"# (?P<claim>\S.*), (?P<url>https://\S+)")


def table() -> str:
    """Return a row for each option of each bundled profile."""
    head = ["profile", "option", "value", "where", "sources"]
    rows = [head, ["---"] * len(head), *_rows()]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def index() -> str:
    """Return a row for each profile of a device, with the origins of the facts in its sheet."""
    library = ProfileLibrary((bundled_profiles(),))
    profiles = ProfileReader(library)
    rows = ["| Profile | For | Sheet |", "|---|---|---|"]
    for name in library.selectable_names:
        if not name.startswith("generic/"):
            sheet = load_device(name)
            found = {str(sheet[fact].origin.detail).partition(" ")[0] for fact in sheet.values}
            description = profiles.profile(library.find(name)).description
            rows.append(f"| `{name}` | {description} | {', '.join(sorted(found))} |")
    return "\n".join(rows)


def measured() -> str:
    """Return a row for each option of each measured profile, with its gain and the conditions."""
    library = ProfileLibrary((bundled_profiles(),))
    profiles = ProfileReader(library)
    rows = ["| profile | device | engine | option | value | gain | noise |", "|---|---|---|---|---|---|---|"]
    for name in (each for each in library.names if each not in library.selectable_names):
        profile = profiles.profile(library.find(name))
        evidence = profile.evidence
        assert evidence is not None, f"{name} has no evidence: etconfig tune writes it"
        device = ", ".join(str(value) for value in evidence.device.values())
        values = {str(each.path).rpartition(":")[2]: each.value for each in profile.settings.assignments}
        for option, ratio in evidence.options.items():
            gain = shown_gain(ratio, evidence.objective)
            cells = (f"`{name}`", device, evidence.engine, f"`{option}`", f"`{values[option]}`", gain)
            rows.append(f"| {' | '.join(cells)} | {abs(1 - evidence.noise):.1%} |")
    return "\n".join(rows)


def _rows() -> Iterator[list[str]]:
    library = ProfileLibrary((bundled_profiles(),))
    profiles = ProfileReader(library)
    for name in library.selectable_names:
        profile = profiles.profile(library.find(name))
        for assignment in profile.settings.assignments:
            condition = assignment.condition
            yield [
                f"`{name}`",
                f"`{assignment.path}`",
                f"`{assignment.value}`",
                "everywhere" if condition is None else f"`{condition}`",
                "<br>".join(_sources(library.find(name).path, assignment.span.line)),
            ]


def _sources(path: Path, line: int) -> Iterator[str]:
    """Yield the citations in the comments above the settings that contain a line, as links."""
    lines = path.read_text(encoding="utf-8").splitlines()[: line - 1]
    starts = [number for number, text in enumerate(lines) if re.match(r"\[\[when\]\]|\[options\.", text)]
    above = starts[-1]
    while above and lines[above - 1].startswith("#"):
        above -= 1
    for text in lines[above : starts[-1]]:
        found = _CITATION.fullmatch(text)
        if found is not None:
            yield f"[{found['claim']}]({found['url']})"
