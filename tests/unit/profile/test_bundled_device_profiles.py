"""The bundled profiles of real devices, each with the fact sheet that selects it."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from etconfig.app.installation import Installation
from etconfig.app.validation import Validator
from etconfig.facts import detect, load_fact_sheet
from etconfig.profile import (
    Profile,
    ProfileLibrary,
    bundled_profiles,
    load_chain,
    load_document,
    select_profile,
)

ROOT = Path(__file__).parents[3]
SHEETS = ROOT / "tests" / "data" / "sheets"
LIBRARY = ProfileLibrary((bundled_profiles(),))
DEVICES = [name for name in LIBRARY.names if not name.startswith("generic/")]

FIRMWARE = ("device.", "soc.")
"""Namespaces of facts from firmware; a virtual machine may have any of them on any processor."""

QUOTAS = {
    None: None,
    0.5: "container/one-core",
    1.5: "container/one-core",
    2.0: "container/two-core",
    2.5: "container/two-core",
    3.0: None,
    8.0: None,
}
"""CPU quotas, and the profile that each selects on Linux; None where the device decides."""


@functools.cache
def facts_of(name: str) -> Mapping[str, object]:
    return dict(load_fact_sheet(SHEETS / "devices" / f"{name}.json").values)


def source_of(name: str) -> str:
    return LIBRARY.find(name).path.read_text(encoding="utf-8")


class Chooser:
    """Selects as `select_profile` does, but reads the profiles once: thousands of choices are made here."""

    def __init__(self) -> None:
        self.chains = {name: load_chain(LIBRARY, name) for name in LIBRARY.names}

    def matching(self, facts: Mapping[str, object]) -> set[str]:
        return {name for name, chain in self.chains.items() if holds(chain[-1], facts)}

    def winners(self, facts: Mapping[str, object]) -> set[str]:
        matching = self.matching(facts)
        return matching - {base.name for name in matching for base in self.chains[name][:-1]}


def holds(profile: Profile, facts: Mapping[str, object]) -> bool:
    return profile.match is not None and profile.match.evaluate(facts) is True


@pytest.fixture(scope="module")
def chooser() -> Chooser:
    return Chooser()


class TestSheets:
    """Each bundled device profile has a fact sheet that selects exactly that profile."""

    def test_there_are_enough(self) -> None:
        assert len(DEVICES) >= 27

    def test_each_profile_has_a_sheet_and_each_sheet_a_profile(self) -> None:
        directory = SHEETS / "devices"
        sheets = [
            path.relative_to(directory).with_suffix("").as_posix() for path in directory.rglob("*.json")
        ]
        assert sorted(sheets) == DEVICES

    @pytest.mark.parametrize("name", DEVICES)
    def test_the_sheet_selects_its_profile(self, name: str) -> None:
        assert select_profile(LIBRARY, facts_of(name)).profile.name == name

    @pytest.mark.parametrize("name", DEVICES)
    def test_each_fact_says_where_it_was_captured_or_is_cited(self, name: str) -> None:
        sheet = load_fact_sheet(SHEETS / "devices" / f"{name}.json")
        for fact in sheet.values:
            assert re.fullmatch(r"(captured|cited) https://\S+", sheet[fact].origin.detail or ""), fact

    @pytest.mark.parametrize(
        ("tree", "name"),
        [
            ("container-cgroup-v1", "container/two-core-x86_64"),
            ("container-cgroup-v2", "container/one-core-x86_64"),
            ("core-ultra-laptop", "intel/core-ultra-lunar-lake"),
            ("gpu-server", "amd/epyc"),
            ("laptop-on-battery", "generic/linux-x86_64"),
            ("macbook-air-m2", "apple/m2"),
            ("pixel-8", "google/tensor-g3"),
            ("raspberry-pi-5", "raspberry-pi/pi-5"),
            ("windows-core-ultra-laptop", "generic/windows"),
            ("x86_64-hybrid-workstation", "generic/linux-x86_64"),
        ],
    )
    def test_the_sheets_of_captured_trees_select_one_profile(self, tree: str, name: str) -> None:
        facts = load_fact_sheet(SHEETS / f"{tree}.json").values
        assert select_profile(LIBRARY, facts).profile.name == name

    def test_every_sheet_of_a_tree_selects_exactly_one(self) -> None:
        for path in SHEETS.glob("*.json"):
            assert select_profile(LIBRARY, load_fact_sheet(path).values).profile.name in LIBRARY.names

    def test_the_device_that_runs_the_tests_selects_one_profile(self) -> None:
        assert select_profile(LIBRARY, detect().values).profile.name in LIBRARY.names


class TestSelectionIsUnambiguous:
    """Exactly one profile is the most derived one, whatever power source and quota a device has."""

    @staticmethod
    def combinations() -> Iterator[tuple[str, str | None, dict[str, object]]]:
        """Each device on mains and on battery, without a quota and with quotas of several sizes."""
        for name, (quota, container), power in itertools.product(
            DEVICES, QUOTAS.items(), ("mains", "battery")
        ):
            facts = {**facts_of(name), "power.source": power}
            facts.pop("cpu.quota_cores", None)
            if quota is not None:
                facts["cpu.quota_cores"] = quota
            yield name, container, facts

    def test_the_chooser_of_these_tests_chooses_as_selection_does(self, chooser: Chooser) -> None:
        for name in DEVICES:
            assert chooser.winners(facts_of(name)) == {select_profile(LIBRARY, facts_of(name)).profile.name}

    def test_a_small_quota_makes_a_container_of_any_linux_device(self, chooser: Chooser) -> None:
        for name, container, facts in self.combinations():
            (winner,) = chooser.winners(facts)
            if facts["os.name"] == "linux" and container:
                assert winner.startswith(container), (name, facts)
            elif not name.startswith("container/"):
                assert winner == name, facts

    def test_a_virtual_machine_may_hide_any_processor_behind_any_firmware(self, chooser: Chooser) -> None:
        for above, below in itertools.product(DEVICES, repeat=2):
            if above == "ci/gitlab-saas-small" and below.startswith(("intel/core", "amd/ryzen")):
                continue  # Google rents out no laptops' processors
            firmware, processor = facts_of(above), facts_of(below)
            hidden = {fact: value for fact, value in processor.items() if not fact.startswith(FIRMWARE)}
            hidden |= {fact: value for fact, value in firmware.items() if fact.startswith(FIRMWARE)}
            for cores in (processor.get("cpu.logical_cores", 64), firmware.get("cpu.logical_cores", 64)):
                winners = chooser.winners(hidden | {"cpu.logical_cores": cores})
                assert len(winners) == 1, (above, below, cores, winners)

    def test_a_device_of_which_only_the_system_is_known_selects_a_generic_one(self, chooser: Chooser) -> None:
        for system in ("linux", "android", "macos", "windows"):
            assert chooser.winners({"os.name": system}) == {f"generic/{system}"}
        assert chooser.winners({}) == {"generic/any"}

    def test_a_profile_matches_only_where_all_that_it_extends_match(self, chooser: Chooser) -> None:
        for _, _, facts in self.combinations():
            matching = chooser.matching(facts)
            for name in matching:
                assert {base.name for base in chooser.chains[name]} <= matching


class TestSources:
    """Each fact and each constant of a condition is cited by URL in a comment."""

    @pytest.mark.parametrize("name", DEVICES)
    def test_constants_of_the_condition_are_cited_above_it(self, name: str) -> None:
        text = source_of(name)
        comments = re.search(r"((?:^#.*\n)+)match = ", text, re.MULTILINE)
        cited = [line for line in comments[1].splitlines() if " https://" in line] if comments else []
        for constant in constants_of(name):
            pattern = rf"(?<![\w.]){re.escape(constant)}(?![\w.])"
            assert any(re.search(pattern, line.partition(" https://")[0]) for line in cited), constant

    @pytest.mark.parametrize("name", DEVICES)
    def test_hand_set_facts_are_cited_on_their_line(self, name: str) -> None:
        _, _, facts = source_of(name).partition("\n[facts]\n")
        for line in facts.splitlines():
            assert re.search(r'^"[\w.]+" = .+  # .+, https://\S+$', line), line


def constants_of(name: str) -> list[str]:
    """The strings and numbers of a condition, except etconfig's own words such as `linux`."""
    condition = load_document(LIBRARY.find(name).path).data["profile"]["match"]
    foreign = re.sub(r'(os\.name == "(linux|android|macos|windows)"|cpu\.arch == "\w+")', "", condition)
    strings: list[str] = re.findall(r'"[^"]*"', foreign)
    return [*strings, *re.findall(r"(?<![\w.])[0-9]+(?:\.[0-9]+)?", re.sub(r'"[^"]*"', "", foreign))]


class TestFiles:
    """Bundled profiles are good examples for users."""

    def test_every_file_has_no_finding(self) -> None:
        validator = Validator(installation=Installation(search_path=()))
        for name in LIBRARY.names:
            assert validator.problems(LIBRARY.find(name).path) == ()

    def test_the_index_lists_every_profile_as_it_describes_itself(self, chooser: Chooser) -> None:
        index = (ROOT / "docs" / "device-profiles.md").read_text(encoding="utf-8")
        rows = re.findall(r"^\| `([^`]+)` \| (.+?) \| (.+) \|$", index, re.MULTILINE)
        assert rows == [(name, chooser.chains[name][-1].description, origins(name)) for name in DEVICES]


def origins(name: str) -> str:
    """Say if the facts of a sheet were captured, are cited, or both."""
    sheet = load_fact_sheet(SHEETS / "devices" / f"{name}.json")
    return ", ".join(sorted({str(sheet[fact].origin.detail).partition(" ")[0] for fact in sheet.values}))
