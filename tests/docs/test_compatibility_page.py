"""The table of versions in docs/compatibility.md is what core and plugin negotiate."""

from __future__ import annotations

import re

import pytest
from doc_pages import ROOT, Page

from etconfig.plugin.api_version import negotiate
from etconfig.schema.spec import ApiRange

ROWS = list(Page(ROOT / "docs" / "compatibility.md").tables("core", "plugin", "result"))


def outcome(core: str, plugin: str) -> str:
    oldest, current, minimum, built = map(int, re.findall(r"\d+", f"{core} {plugin}"))
    try:
        return f"they use {negotiate(ApiRange(minimum, built), oldest=oldest, current=current)}"
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize(("core", "plugin", "shown"), ROWS)
def test_a_row_of_the_table_is_true(core: str, plugin: str, shown: str) -> None:
    assert outcome(core, plugin) == shown


def test_the_table_has_a_success_and_both_refusals() -> None:
    assert {shown.split(":")[-1].strip() for *_, shown in ROWS} >= {
        "they use 1",
        "upgrade etconfig",
        "upgrade the plugin",
    }
