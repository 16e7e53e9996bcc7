"""The table of versions in docs/compatibility.md is what core and plugin come to."""

from __future__ import annotations

import re

import pytest
from doc_pages import ROOT, Page

from etconfig.plugin.api_version import negotiate
from etconfig.schema import ApiRange

ROWS = list(Page(ROOT / "docs" / "compatibility.md").tables("core", "plugin", "what happens"))


def outcome(core: str, plugin: str) -> str:
    oldest, current, minimum, built = map(int, re.findall(r"\d+", f"{core} {plugin}"))
    try:
        return f"they speak {negotiate(ApiRange(minimum, built), oldest=oldest, current=current)}"
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize(("core", "plugin", "told"), ROWS)
def test_a_row_of_the_table_is_true(core: str, plugin: str, told: str) -> None:
    assert outcome(core, plugin) == told


def test_the_table_tells_of_success_and_of_both_refusals() -> None:
    assert {told.split(":")[-1].strip() for *_, told in ROWS} >= {
        "they speak 1",
        "upgrade etconfig",
        "upgrade the plugin",
    }
