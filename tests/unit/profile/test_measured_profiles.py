"""The profiles in `profiles/measured/`: made by `etconfig tune`, valid, and in the table of the page."""

from __future__ import annotations

from pathlib import Path

import pytest

import etconfig
from etconfig.app.validating.validation import Validator
from etconfig.profile.evidence import gain_text
from etconfig.profile.inheritance import ProfileReader
from etconfig.profile.library import MEASURED, ProfileLibrary, ProfileSource, Provider, bundled_profiles
from etconfig.profile.selector import ProfileSelector
from etconfig.tuning.tuned_profile import TUNED

ROOT = Path(__file__).parents[3]
LIBRARY = ProfileLibrary((bundled_profiles(),))
NAMES = [name for name in LIBRARY.names if name.startswith(MEASURED)]


def test_auto_selects_none_of_them() -> None:
    assert not {*NAMES} & {profile.name for profile in ProfileSelector(LIBRARY).profiles}


def test_a_user_may_call_a_profile_so(tmp_path: Path) -> None:
    (tmp_path / "measured").mkdir()
    (tmp_path / "measured" / "mine.toml").write_text('[profile]\nname = "measured/mine"\n')
    library = ProfileLibrary((bundled_profiles(), ProfileSource("mine", tmp_path, Provider.USER)))
    assert "measured/mine" in library.selectable_names


@pytest.mark.parametrize("name", NAMES)
def test_it_is_valid_has_evidence_and_is_in_the_table(name: str) -> None:
    path = LIBRARY.find(name).path
    problems = Validator(installation=etconfig.Installation(search_path=())).problems(path)
    assert not [each for each in problems if each.is_error]
    profile = ProfileReader(LIBRARY).profile(LIBRARY.find(name))
    evidence = profile.evidence
    assert TUNED.has(path)
    assert evidence is not None
    assert evidence.whole.high < 1, "a gain has an interval below 1"
    set_here = {str(each.path).rpartition(":")[2] for each in profile.settings.assignments}
    assert set_here == {*evidence.options}
    table = (ROOT / "docs" / "device-profiles.md").read_text(encoding="utf-8")
    for option, ratio in evidence.options.items():
        (row,) = (line for line in table.splitlines() if f"`{name}`" in line and f"`{option}`" in line)
        assert gain_text(ratio.ratio, evidence.objective) in row
