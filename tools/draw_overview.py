"""Draws the picture of the front page: sources at the left, each device's arguments at the right.

    python tools/draw_overview.py

`make docs` writes it twice, for wide and for narrow screens. Values are those of tools/two_devices.py. The
picture has its own background and follows the reader's light or dark mode; fonts are those of the system.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from two_devices import BACKEND, Device, devices

ROOT = Path(__file__).parents[1]
WIDE = ROOT / "docs" / "overview.svg"
NARROW = ROOT / "docs" / "overview-narrow.svg"

STYLE = """\
:root { --page: #ffffff; --card: #f6f8fa; --line: #d1d9e0; --text: #1f2328; --muted: #59636e;
  --program: #59636e; --facts: #0969da; --schema: #9a6700; --file: #8250df; }
@media (prefers-color-scheme: dark) { :root { --page: #0d1117; --card: #161b22; --line: #3d444d;
  --text: #f0f6fc; --muted: #9198a1;
  --program: #9198a1; --facts: #4493f8; --schema: #d29922; --file: #ab7df8; } }
text { fill: var(--text);
  font: 13px ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, Helvetica, Arial, sans-serif; }
.title { font-size: 15px; font-weight: 600; }
.muted { fill: var(--muted); }
.code { font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
.right { text-anchor: end; }
.middle { text-anchor: middle; }
.page { fill: var(--page); stroke: var(--line); }
.card { fill: var(--card); stroke: var(--line); }
.rule { stroke: var(--line); }
.arrow { fill: none; stroke: var(--muted); stroke-width: 1.5; }
.head { fill: var(--muted); }
.resolver { fill: var(--text); }
.on-resolver { fill: var(--page); }
.program { fill: var(--program); } .facts { fill: var(--facts); }
.schema { fill: var(--schema); } .file { fill: var(--file); }"""

SOURCE_OF = {"project": "file", "profile": "facts", "recommendation": "facts", "default": "schema"}
"""The color of a value, by the kind of its origin. Recommendations and bundled profiles follow the facts."""

CARD_HEIGHT = 84
ROW = 22
METHODS = ("embed", "forward")


@dataclass(frozen=True)
class Card:
    """A source: a color, a title, a word for what it is, and lines of code."""

    color: str
    title: str
    kind: str
    lines: Sequence[str]


def main() -> None:
    """Write both pictures."""
    for path, text in pictures().items():
        path.write_text(text, encoding="utf-8")


def pictures() -> dict[Path, str]:
    """Both pictures, by the file that they belong in."""
    return {WIDE: wide(), NARROW: narrow()}


def wide() -> str:
    """Sources, resolver and devices from left to right."""
    gap, left, right = 12, 24, 612
    cards = sources()
    height = 2 * 24 + len(cards) * CARD_HEIGHT + (len(cards) - 1) * gap
    middle = height / 2
    parts: list[str] = []
    for index, card in enumerate(cards):
        top = 24 + index * (CARD_HEIGHT + gap)
        parts += source_card(card, left, top, 352)
        parts.append(curve(left + 352, top + CARD_HEIGHT / 2, 432, middle, has_head=False))
    parts += resolver(432, middle - 36, 124, 72)
    device_height = (height - 2 * 24 - gap) / 2
    for index, device in enumerate(devices()):
        top = 24 + index * (device_height + gap)
        parts.append(curve(556, middle, right - 3, top + device_height / 2))
        parts += device_card(device, right, top, 424, device_height)
    return svg(1060, height, parts)


def narrow() -> str:
    """The same from top to bottom."""
    gap, left, width = 10, 14, 392
    parts: list[str] = []
    top = 14.0
    for card in sources():
        parts += source_card(card, left, top, width)
        top += CARD_HEIGHT + gap
    middle = left + width / 2
    parts.append(straight(middle, top - gap, top + 18))
    parts += resolver(middle - 80, top + 22, 160, 56)
    parts.append(straight(middle, top + 78, top + 102))
    top += 106
    for device in devices():
        parts += device_card(device, left, top, width, 190)
        top += 190 + gap
    return svg(width + 2 * left, top - gap + 14, parts)


def sources() -> list[Card]:
    """The sources of all values, in the order of the page's example."""
    phone, pi = devices()
    cached = phone.options["forward"]["weight_cache_enabled"]
    threads = pi.options["forward"]["num_threads"]
    return [
        Card("program", "digits.pte", "needs arguments", [f"{method} → {BACKEND}" for method in METHODS]),
        Card(
            "schema",
            "Schema of XNNPACK",
            "types and defaults",
            ["num_threads: integer >= 1", "weight_cache_enabled: boolean"],
        ),
        Card("facts", "Facts of the device", "recommendations", [_facts(phone), _facts(pi)]),
        Card(
            "file",
            "etconfig.toml",
            "your decisions",
            [f"android: weight_cache_enabled = {cached.text}", f"Pi: num_threads = {threads.expression}"],
        ),
    ]


def _facts(device: Device) -> str:
    facts = device.facts
    return (
        f"{device.name}: {facts['os.name']}, {facts['cpu.performance_cores']} fast cores"
        f" of {facts['cpu.available_cores']}"
    )


def source_card(card: Card, left: float, top: float, width: float) -> Iterator[str]:
    """A box with a bar in the source's color."""
    yield box("card", left, top, width, CARD_HEIGHT)
    yield box(card.color, left, top + 10, 4, CARD_HEIGHT - 20, radius=2)
    yield text("title", left + 18, top + 27, card.title)
    yield text("muted right", left + width - 16, top + 27, card.kind)
    for index, line in enumerate(card.lines):
        yield text("code", left + 18, top + 49 + index * 19, line)


def resolver(left: float, top: float, width: float, height: float) -> Iterator[str]:
    """The box in the middle."""
    center, middle = left + width / 2, top + height / 2
    yield box("resolver", left, top, width, height)
    yield text("title middle on-resolver", center, middle - 3, "etconfig")
    yield text("middle on-resolver", center, middle + 17, "checks, resolves")


def device_card(device: Device, left: float, top: float, width: float, height: float) -> Iterator[str]:
    """The arguments of both methods on a device, each value with a dot in the color of its source."""
    columns = (left + width - 206, left + width - 102)
    yield box("card", left, top, width, height)
    yield text("title", left + 18, top + 29, device.name)
    for column, method in zip(columns, METHODS, strict=True):
        yield text("code muted", column + 14, top + 29, method)
    yield f'<path class="rule" d="M{left + 18:g} {top + 42:g}H{left + width - 16:g}"/>'
    first = top + 64 + (height - 62 - 5 * ROW) / 2
    for index, name in enumerate(device.options[METHODS[0]]):
        y = first + index * ROW
        yield text("code", left + 18, y, name)
        for column, method in zip(columns, METHODS, strict=True):
            value = device.options[method][name]
            yield f'<circle class="{SOURCE_OF[value.kind]}" cx="{column + 4:g}" cy="{y - 4:g}" r="4"/>'
            yield text("code muted" if value.value is None else "code", column + 14, y, Path(value.text).name)


def box(name: str, left: float, top: float, width: float, height: float, *, radius: float = 8) -> str:
    """A rounded rectangle."""
    size = f'width="{width:g}" height="{height:g}"'
    return f'<rect class="{name}" x="{left:g}" y="{top:g}" {size} rx="{radius:g}"/>'


def text(names: str, x: float, y: float, content: str) -> str:
    """A line of text."""
    return f'<text class="{names}" x="{x:g}" y="{y:g}">{escape(content, quote=False)}</text>'


def curve(x: float, y: float, to_x: float, to_y: float, *, has_head: bool = True) -> str:
    """A line that leaves and arrives level."""
    half = (x + to_x) / 2
    end = ' marker-end="url(#head)"' if has_head else ""
    return f'<path class="arrow" d="M{x:g} {y:g}C{half:g} {y:g} {half:g} {to_y:g} {to_x:g} {to_y:g}"{end}/>'


def straight(x: float, y: float, to_y: float) -> str:
    """An arrow downwards."""
    return f'<path class="arrow" d="M{x:g} {y:g}V{to_y:g}" marker-end="url(#head)"/>'


def svg(width: float, height: float, parts: Sequence[str]) -> str:
    """The whole file."""
    threads = [f"{device.name}: {device.options['forward']['num_threads'].text}" for device in devices()]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}"'
            f' height="{height:g}" role="img">',
            "<title>One program, two devices: where each argument comes from</title>",
            "<desc>A program, a schema, facts and a file become arguments, such as num_threads,"
            f" {', '.join(threads)}.</desc>",
            f"<style>\n{STYLE}\n</style>",
            '<defs><marker id="head" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="6" markerHeight="6"'
            ' orient="auto"><path class="head" d="M0 0L8 4L0 8z"/></marker></defs>',
            f'<rect class="page" x="0.5" y="0.5" width="{width - 1:g}" height="{height - 1:g}" rx="12"/>',
            *parts,
            "</svg>",
            "",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
