"""The example of the front page: one program on a phone and on a Raspberry Pi 5.

The values are those of `etconfig resolve --json` in `examples/phone_and_pi`. The table of the front page and
the picture (tools/draw_overview.py) are made of them, so neither can say anything else.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import tomli

import etconfig
from etconfig.app.validating.validation import validate_file
from etconfig.diagnostics.render import render
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.facts.sheet import load_fact_sheet

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "phone_and_pi"
PLUGIN = ROOT / "plugins" / "etconfig-upstream"
SHEETS = ("pixel-8", "raspberry-pi-5")
BACKEND = "XnnpackBackend"
FIRST = "num_threads"
"""The option that the table begins with."""


@dataclass(frozen=True)
class Value:
    """A resolved option.

    Attributes:
        value: The value; None if nothing is set, so that the runtime's own default applies.
        kind: The kind of its origin, such as `project`.
        why: The origin in a few words of Markdown.
        expression: The expression that it was computed from, or an empty text.
    """

    value: bool | int | str | None
    kind: str
    why: str
    expression: str

    @property
    def text(self) -> str:
        """The value without quotes, or `not set`."""
        if self.value is None:
            return "not set"
        return str(self.value).lower() if isinstance(self.value, bool) else str(self.value)


@dataclass(frozen=True)
class Device:
    """A device, and the options that the program gets on it.

    Attributes:
        name: The model, as the fact sheet has it.
        profile: The bundled profile that was selected.
        facts: The facts of the sheet that have a value.
        options: By method, then by option.
    """

    name: str
    profile: str
    facts: Mapping[str, Any]
    options: Mapping[str, Mapping[str, Value]]


@cache
def devices() -> tuple[Device, ...]:
    """Resolve the example's program on each of its fact sheets."""
    with _installation() as installation:
        return tuple(_device(sheet, installation) for sheet in SHEETS)


def mistakes() -> str:
    """Return the command that checks the example's file of mistakes, with its output."""
    with _installation() as installation:
        found = validate_file(EXAMPLE / "mistakes.toml", installation)
    output = render(found, "concise").replace(f"{EXAMPLE}/", "")
    return f"```text\n$ etconfig validate mistakes.toml --format concise\n{output}```"


@contextmanager
def _installation() -> Iterator[etconfig.Installation]:
    """An installation that has the options of XNNPACK and nothing of this machine."""
    with tempfile.TemporaryDirectory() as directory:
        write_metadata(PLUGIN, Path(directory))
        sys.path.append(str(PLUGIN))
        try:
            yield etconfig.Installation(EXAMPLE, environ={}, search_path=[directory])
        finally:
            sys.path.remove(str(PLUGIN))


def write_metadata(plugin: Path, directory: Path) -> None:
    """Write what makes etconfig find a plugin of the checkout that is not installed: its entry points."""
    project = tomli.loads((plugin / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    metadata = directory / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    metadata.mkdir()
    lines = [
        line
        for group, entries in project["entry-points"].items()
        for line in (f"[{group}]", *(f"{name} = {value}" for name, value in entries.items()))
    ]
    (metadata / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
    (metadata / "METADATA").write_text(f"Name: {project['name']}\n", encoding="utf-8")


def _device(sheet: str, installation: etconfig.Installation) -> Device:
    facts = load_fact_sheet(EXAMPLE / f"{sheet}.json", BUILTIN_FACTS)
    program = etconfig.load_program(EXAMPLE / "digits.pte", installation=installation)
    resolved = etconfig.resolve(program, facts=facts).to_jsonable()
    return Device(
        name=facts.values["device.model"].partition(" Model")[0],
        profile=resolved["profile"],
        facts=facts.values,
        options={
            row["method"]: {name: _value(each, resolved["facts"]) for name, each in row["options"].items()}
            for row in resolved["arguments"]
        },
    )


def _value(option: Mapping[str, Any], facts: Mapping[str, object]) -> Value:
    origin = option["origin"]
    condition, _, expression = origin.get("detail", "").removeprefix("when ").partition("; expr ")
    if origin["kind"] == "default":
        why = "ExecuTorch's default" if option["value"] is None else "the schema's default"
    elif origin["kind"] == "recommendation":
        deciding = [name for name, value in facts.items() if value == option["value"]]
        why = f"recommended: {', '.join(f'`{name}`' for name in deciding)}"
    else:
        why = f"`{_place(origin)}`"
        if condition:
            why += f", `{expression}`" if expression else f", if `{condition}`"
        beaten = option["beat"][0]
        if beaten["origin"]["kind"] == "recommendation" and beaten["value"] != option["value"]:
            why += f"; beats the recommended {beaten['value']}"
    return Value(option["value"], origin["kind"], why, expression)


def _place(origin: Mapping[str, Any]) -> str:
    """Return the name of a bundled profile, or the line of a file."""
    path = Path(origin["source"])
    if origin["kind"] == "profile":
        return "/".join(path.with_suffix("").parts[-2:])
    return f"{path.name}:{origin['line']}"


def table() -> str:
    """The table of the front page: a row for each option, a column for each device."""
    names = [f"{device.name}<br>`{device.profile}`" for device in devices()]
    rows = [
        [label, *(f"**{value.text}**<br>{value.why}" for value in values)]
        for label, values in options_of_all()
    ]
    head = ["option of XNNPACK", *names]
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows])


def options_of_all() -> Iterator[tuple[str, tuple[Value, ...]]]:
    """Every option with its value on each device; of each method where the methods differ."""
    embed, forward = ([device.options[method] for device in devices()] for method in ("embed", "forward"))
    for name in sorted(embed[0], key=lambda name: name != FIRST):
        of_embed, of_forward = (tuple(options[name] for options in each) for each in (embed, forward))
        if of_embed == of_forward:
            yield f"`{name}`", of_embed
        else:
            yield f"`{name}` of `embed`", of_embed
            yield f"`{name}` of `forward`", of_forward
