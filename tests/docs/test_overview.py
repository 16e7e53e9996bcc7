"""tools/draw_overview.py and tools/two_devices.py: the picture and the table of the front page."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from doc_pages import ROOT, Page, Walkthrough
from draw_overview import NARROW, WIDE, pictures
from two_devices import EXAMPLE, SHEETS, devices, table

SVG = "{http://www.w3.org/2000/svg}"
CODE_WIDTH = 7.3
"""The width of a character of 12-pixel code, in pixels, in the widest of the fonts that the picture names."""


class TestExample:
    """The example works on copies, so that its commands are short; they stay copies."""

    @pytest.mark.parametrize(
        ("name", "original"),
        [
            ("digits.pte", "digits/digits_xnnpack.pte"),
            *((f"{name}.json", f"sheets/{name}.json") for name in SHEETS),
        ],
    )
    def test_a_file_equals_its_original(self, name: str, original: str) -> None:
        assert (EXAMPLE / name).read_bytes() == (ROOT / "tests" / "data" / original).read_bytes()


class TestValues:
    """The table and the picture show what `etconfig resolve` prints for the example."""

    @pytest.mark.parametrize("number", [0, 1])
    def test_they_are_those_of_the_command(
        self, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        walkthrough = Walkthrough(Page(ROOT / "README.md"), tmp_path, monkeypatch)
        walkthrough.install("plugins/etconfig-upstream")
        walkthrough.run("cd examples/phone_and_pi")
        printed = json.loads(
            walkthrough.run(f"etconfig resolve digits.pte --facts {SHEETS[number]}.json --json")
        )
        shown = devices()[number]
        assert shown.profile == printed["profile"]
        for row in printed["arguments"]:
            values = {name: value.value for name, value in shown.options[row["method"]].items()}
            assert values == {name: option["value"] for name, option in row["options"].items()}

    def test_the_devices_differ_and_each_value_has_a_reason(self) -> None:
        phone, pi = (device.options["forward"]["num_threads"] for device in devices())
        expression = "min(cpu.available_cores, cpu.performance_cores)"
        assert (phone.value, phone.why) == (5, f"`generic/android`, `{expression}`")
        assert pi.value == 3
        assert pi.why.endswith("`cpu.available_cores - 1`; beats the recommended 4")

    def test_the_table_names_lines_that_set_the_option(self) -> None:
        lines = (EXAMPLE / "etconfig.toml").read_text(encoding="utf-8").splitlines()
        for row in table().splitlines()[2:]:
            option = re.findall(r"`(\w+)`", row)[0]
            for number in re.findall(r"etconfig\.toml:(\d+)", row):
                assert lines[int(number) - 1].startswith(f"{option} = ")


class TestPicture:
    """The picture can be read on wide and narrow screens."""

    @pytest.mark.parametrize("path", [WIDE, NARROW])
    def test_nothing_reaches_over_the_edge_of_its_card(self, path: Path) -> None:
        picture = ElementTree.fromstring(pictures()[path])
        cards = [
            tuple(float(box.attrib[name]) for name in ("x", "y", "width", "height"))
            for box in picture.iter(f"{SVG}rect")
            if box.attrib["class"] == "card"
        ]
        for line in picture.iter(f"{SVG}text"):
            x, y = float(line.attrib["x"]), float(line.attrib["y"])
            if "code" in line.attrib["class"]:
                (right,) = [a + w for a, b, w, h in cards if a < x < a + w and b < y < b + h]
                assert x + len(line.text or "") * CODE_WIDTH < right, line.text

    def test_it_needs_nothing_from_elsewhere(self) -> None:
        for text in pictures().values():
            assert re.findall(r"https?://\S+", text) == ['http://www.w3.org/2000/svg"']
            assert "prefers-color-scheme: dark" in text
