"""Memory plans as pictures: SVG and text."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

from plans import PlanBuilder

from etconfig.analysis.memory_picture import memory_svg, memory_text
from etconfig.program.memory_plan import MemoryPlan, read_memory_plan

SVG = "{http://www.w3.org/2000/svg}"


def chain_plan(length: int, size: int = 4) -> MemoryPlan:
    builder = PlanBuilder()
    values = [builder.tensor(size) for _ in range(length + 1)]
    builder.inputs.append(values[0])
    builder.outputs.append(values[-1])
    for before, after in pairwise(values):
        builder.add_(before, before, after)
    return read_memory_plan(builder.plan())


def drawn(plan: MemoryPlan, most: int = 3000) -> ElementTree.Element:
    return ElementTree.fromstring(memory_svg({"forward": plan}, most))


class TestSvg:
    """Every tensor is a rectangle at its place and time, with a description."""

    def test_a_tensor_has_a_description(self) -> None:
        rectangles = drawn(chain_plan(3)).findall(f"{SVG}rect[@class='tensor']")
        assert [each.findtext(f"{SVG}title") for each in rectangles][-1] == (
            "value 1, intermediate: float32 [4], 16 bytes at 16, instructions 0 to 1"
        )

    def test_rectangles_have_the_place_and_time_of_their_tensors(self) -> None:
        by_title = {
            str(each.findtext(f"{SVG}title")).split(",")[0]: [
                float(each.attrib[name]) for name in ("x", "y", "width", "height")
            ]
            for each in drawn(chain_plan(3)).findall(f"{SVG}rect[@class='tensor']")
        }
        x, y, width, height = by_title["value 1"]  # the second quarter, the first two thirds of the time
        assert (x, width, height) == (90, 640, 80)
        assert y == by_title["value 0"][1] - 80

    def test_the_title_has_the_share_in_use(self) -> None:
        (title,) = [e.text for e in drawn(chain_plan(3)).findall(f"{SVG}text[@class='title']")]
        assert title == "forward, memory 1: 64 bytes, 50% in use at most, 50% on average"

    def test_a_name_cannot_break_the_document(self) -> None:
        root = ElementTree.fromstring(memory_svg({"<b>&": chain_plan(1)}))
        assert str(root.findtext(f"{SVG}text[@class='title']")).startswith("<b>&, memory 1")

    def test_a_program_without_planned_memory_is_an_empty_picture(self) -> None:
        plan = MemoryPlan(instructions=1, arena_bytes={}, allocations=())
        assert drawn(plan).findall(f"{SVG}rect[@class='tensor']") == []

    def test_a_large_program_is_rounded(self) -> None:
        root = drawn(chain_plan(2000), most=10)
        assert len(root.findall(f"{SVG}rect[@class='tensor']")) == 10
        titles = [path.findtext(f"{SVG}title") for path in root.findall(f"{SVG}path")]
        assert "1,991 small tensors, rounded" in titles
        assert len(ElementTree.tostring(root)) < 100_000


class TestText:
    """Fuller cells are darker."""

    def test_it_shows_place_and_time(self) -> None:
        lines = list(memory_text("forward", chain_plan(3)))
        assert lines[0] == "forward, memory 1: 64 bytes, 50% in use at most, 50% on average"
        cells = [re.sub(r".*\|(.*)\|", r"\1", line) for line in lines[1:13]]
        third = len(cells[0]) // 3
        filled = [[row[column * third] != " " for column in range(3)] for row in cells]
        # from the top: the last tensor, the third, the second, the input; three rows each
        assert filled[0] == [False, False, True]
        assert filled[3] == [False, True, True]
        assert filled[6] == [True, True, False]
        assert filled[9] == [True, False, False]
        assert lines[13].split() == ["instruction", "0", "2"]
        assert lines[14:] == ["       full  ░▒▓█, from a part of the cell to all of it"]

    def test_a_large_program_is_not_wider(self) -> None:
        lines = list(memory_text("forward", chain_plan(5000)))
        assert len(lines) == 15
        assert max(map(len, lines[1:])) < 80
