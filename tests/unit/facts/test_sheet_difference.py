from __future__ import annotations

from etconfig.facts.sheet import FactSheet
from etconfig.facts.sheet_difference import SheetDifference, diff_sheets


def sheet(*facts: str) -> FactSheet:
    return FactSheet.from_json(f'{{"etconfig_fact_sheet": 1, "facts": {{{", ".join(facts)}}}}}', "sheet.json")


class TestDifference:
    """Sheets differ in the values of known facts."""

    def test_facts_are_added_removed_and_changed(self):
        old = sheet(
            '"os.name": {"value": "linux"}', '"gpu.0.name": {"value": "A"}', '"npu.count": {"value": 1}'
        )
        new = sheet(
            '"os.name": {"value": "macos"}', '"gpu.1.name": {"value": "A"}', '"npu.count": {"value": 1}'
        )
        difference = diff_sheets(old, new)
        assert difference == SheetDifference(
            added={"gpu.1.name": "A"}, removed={"gpu.0.name": "A"}, changed={"os.name": ("linux", "macos")}
        )
        assert difference

    def test_an_unknown_fact_counts_as_absent(self):
        old, new = sheet('"gpu.count": {"unknown": "why"}'), sheet('"gpu.count": {"value": 0}')
        assert diff_sheets(old, new).added == {"gpu.count": 0}
        assert diff_sheets(new, old).removed == {"gpu.count": 0}

    def test_origins_reasons_and_order_do_not_count(self):
        old = sheet('"os.name": {"value": "linux", "origin": "here"}', '"gpu.count": {"unknown": "a"}')
        new = sheet('"gpu.count": {"unknown": "b"}', '"os.name": {"value": "linux", "origin": "there"}')
        assert not diff_sheets(old, new)

    def test_live_facts_can_be_left_out(self):
        old, new = sheet('"memory.available": {"value": 1}'), sheet('"memory.available": {"value": 2}')
        assert diff_sheets(old, new)
        assert not diff_sheets(old, new, ignore_live=True)

    def test_the_record_names_old_and_new(self):
        difference = diff_sheets(sheet('"gpu.count": {"value": 1}'), sheet('"gpu.count": {"value": 2}'))
        assert difference.to_jsonable() == {
            "added": {},
            "removed": {},
            "changed": {"gpu.count": {"old": 1, "new": 2}},
        }
