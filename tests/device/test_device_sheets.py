"""`etdevice` reads the fact sheets that Python reads, and refuses those that Python refuses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from bundle_tables import named_tables
from device_comparison import Batch
from device_programs import SANITIZED, device_program

from etconfig.device import device_include_dir
from etconfig.device.bundle.bundle_writer import write_tables
from etconfig.errors import FactError
from etconfig.facts.sheet import load_fact_sheet

ETDEVICE = device_include_dir().parent / "etdevice" / "main.cpp"
SOUND = (
    '{"etconfig_fact_sheet": 1, "facts": {"cpu.model": {"value": "A76\\u00e9 \\ud83e\\udd8a"}, '
    '"memory.total": {"value": 8454275072, "unit": "bytes", "origin": "x"}, '
    '"power.battery_level": {"value": 1e-1, "unit": "fraction"}, "cpu.features": {"value": ["a", "b"]}, '
    '"gpu.0.name": {"unknown": "why", "origin": ""}, "cpu.available_cores": {"value": 4}}}'
)
PIECES = (
    *(
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        '"',
        "\\",
        "0",
        "1",
        "-",
        "+",
        ".",
        "e9",
        " ",
        "\n",
        "\t",
        "\x7f",
        "\x00",
    ),
    *("01", "1.", "-0", "1e400", "NaN", "Infinity", "-Infinity", "null", "true", "false", "9" * 25, "1" * 70),
    *(
        "\\u0041",
        "\\ud800",
        "\\udc00",
        "\\ud83e\\udd8a",
        "\\u12",
        "\\x",
        "\\/",
        "é",
        "\u202e",
        "🦊",
        "\ufeff",
    ),
    *(
        '"value"',
        '"unit"',
        '"origin"',
        '"facts"',
        '"bytes"',
        '"unknown": "x", ',
        '"x"',
        ",,",
        "//",
        "\u00a0",
        "\ufeff",
        "\x7f",
    ),
)
VALUES = (
    *(
        "1",
        "-1",
        "1.0",
        "01",
        "1.",
        ".5",
        "+1",
        "-",
        "1e5",
        "1E+5",
        "1e",
        "0x1",
        "NaN",
        "Infinity",
        "null",
        "true",
    ),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775808", "1" * 21, "0." + "1" * 100, "-0"),
    *(
        '"a"',
        '"\\ud800"',
        '"\\udc00\\ud800"',
        '"\\ud83e\\udd8a"',
        '"a\tb"',
        '"\\t"',
        '"\\u0000"',
        '"\x7f"',
        '""',
    ),
    *(
        "[]",
        '["a"]',
        '["a",]',
        "[1]",
        '["a" "b"]',
        "[[]]",
        "{}",
        '{"a": 1}',
        "[",
        '"',
        '["\\ud800"]',
        "'a'",
        "tru",
    ),
    *(
        '"arm64"',
        '"aarch64"',
        '"mains"',
        "0",
        "4",
        "0.5",
        "2",
        f'"{"a" * 5000}"',
        json.dumps(["b" * 50] * 600),
    ),
)
NAMES = (
    "cpu.model",
    "memory.total",
    "power.battery_level",
    "cpu.features",
    "power.source",
    "cpu.arch",
    "gpu.0.name",
)


def sheets() -> Iterator[bytes]:
    """Yield sheets with every value for every fact, every unit and origin, and thousands of changed ones."""
    head = '{"etconfig_fact_sheet": 1, "facts": {'
    for value in VALUES:
        for name in NAMES:
            yield f'{head}"{name}": {{"value": {value}}}}}}}'.encode()
        yield f'{head}"cpu.model": {{"unknown": {value}}}}}}}'.encode()
        yield f'{head}"cpu.model": {{"value": "a", "unit": {value}}}}}}}'.encode()
        yield f'{head}"memory.total": {{"value": 1, "unit": {value}}}}}}}'.encode()
        yield f'{head}"cpu.model": {{"value": "a", "origin": {value}}}}}}}'.encode()
        yield f'{{"etconfig_fact_sheet": {value}, "facts": {{}}}}'.encode()
        yield f'{{"etconfig_fact_sheet": 1, "facts": {value}}}'.encode()
    entry = '"cpu.model": {"value": "a"}'
    yield from (
        each.encode()
        for each in (f"{head}{entry}, {entry}}}}}", f"{head}{entry},}}}}", f"{head}{entry}}}}}x")
    )
    yield from (
        prefix + SOUND.encode() for prefix in (b"\xef\xbb\xbf", b"\xef\xbb\xbf\xef\xbb\xbf", b"\xff", b" \n")
    )
    for size in (1000, 1001):
        many = ", ".join(f'"gpu.{at}.name": {{"value": "a"}}' for at in range(size))
        yield f"{head}{many}}}}}".encode()
    for size_bytes in (256 << 10, (256 << 10) + 1):
        yield SOUND.encode().ljust(size_bytes)
    rng = Random(11)
    for _ in range(3000):
        text = SOUND
        for _ in range(rng.choice((1, 1, 2))):
            at = rng.randrange(len(text))
            text = text[:at] + rng.choice(("", *PIECES)) + text[at + rng.choice((0, 0, 1, 3)) :]
        data = bytearray(text.encode())
        if rng.random() < 0.1:
            data[rng.randrange(len(data))] = rng.randrange(256)
        yield bytes(data)


def verdict_of_python(path: Path) -> bool | None:
    """Return True or False; None if all that is wrong are facts that a plugin may declare."""
    try:
        load_fact_sheet(path)
    except FactError as error:
        return None if {each.code for each in error.diagnostics} == {"unknown-fact"} else False
    return True


etdevice = device_program(str(ETDEVICE), *SANITIZED)
"""The program, with sanitizers."""


class TestSheets:
    """`etdevice` accepts the sheets that `FactSheet.from_json` accepts, and no others."""

    @pytest.mark.timeout(300)
    def test_the_verdicts_are_those_of_python(self, etdevice: Path, tmp_path: Path) -> None:
        batch = Batch([str(etdevice)])
        bundle, path = tmp_path / "app.etbundle", tmp_path / "sheet.json"
        bundle.write_bytes(write_tables(named_tables()))
        accepted = 0
        for data in sheets():
            path.write_bytes(data)
            wanted = verdict_of_python(path)
            answer = batch.ask("open", bundle, path, "-")
            if wanted is None:
                continue
            accepted += wanted
            assert ("error" not in answer) is wanted, (data[:500], answer)
        batch.close()
        assert accepted > 100

    def test_texts_and_numbers_are_those_of_python(self, etdevice: Path, tmp_path: Path) -> None:
        bundle, path = tmp_path / "app.etbundle", tmp_path / "sheet.json"
        bundle.write_bytes(write_tables(named_tables()))
        path.write_text('{"etconfig_fact_sheet": 1, "facts": {"cpu.cores": {"value": 9223372036854775807}}}')
        batch = Batch([str(etdevice)])
        found = batch.ask("select", bundle, path, "-")
        batch.close()
        assert found["profiles"][0]["reasons"] == ["cores > 4 holds: cpu.cores is 9223372036854775807"]
