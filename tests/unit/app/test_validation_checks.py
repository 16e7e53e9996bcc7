"""The checks of `validate`: one list, with preconditions, in the order of the page."""

from __future__ import annotations

import re
from pathlib import Path

from etconfig.app.installation.installation import Installation
from etconfig.app.validating.file_checks import CHECKS, NEEDS, CheckedFile, Grounds

PAGE = Path(__file__).parents[3] / "docs" / "tools.md"


def test_the_page_has_the_checks_in_their_order() -> None:
    _, _, rows = PAGE.read_text("utf-8").partition("<!-- generated: validate-checks -->")
    shown = re.findall(r"^\| ([a-z ]+) \|", rows.partition("<!-- end -->")[0], re.MULTILINE)
    assert shown == ["check", *CHECKS]


def test_a_check_comes_after_the_check_that_it_rests_on() -> None:
    checks = list(CHECKS.values())
    for check in checks:
        assert check.rests_on is None or checks.index(check.rests_on) < checks.index(check)


def test_each_precondition_is_one_of_the_list_and_used() -> None:
    assert {need for check in CHECKS.values() for need in check.needs} == NEEDS.keys()


def test_a_file_of_which_nothing_can_be_read_meets_no_precondition_of_settings() -> None:
    grounds = Grounds(installation=Installation())
    file = CheckedFile(path=Path("board.toml"), is_project=False)
    applying = [name for name, check in CHECKS.items() if all(NEEDS[n](grounds, file) for n in check.needs)]
    assert applying == ["profile path", "programs", "form"]
