"""The bundled profiles of real devices, each with the fact sheet that selects it."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from etconfig_upstream.coreml import SPEC as COREML
from etconfig_upstream.coreml import ComputeUnit
from etconfig_upstream.qnn import SPEC as QNN
from etconfig_upstream.qnn import HtpPerformanceMode
from etconfig_upstream.xnnpack import SPEC as XNNPACK

from etconfig.app.installation.installation import Installation
from etconfig.app.validating.validation import Validator
from etconfig.base.provenance import OriginKind
from etconfig.facts.detecting.detection import detect
from etconfig.facts.known_devices import device_names, load_device
from etconfig.facts.sheet import FactSheet, load_fact_sheet
from etconfig.profile.document import load_document
from etconfig.profile.inheritance import load_chain
from etconfig.profile.layers import layers_of
from etconfig.profile.library import ProfileLibrary, bundled_profiles
from etconfig.profile.profile import Profile
from etconfig.profile.selector import select_profile
from etconfig.resolver.compiling.resolver import Resolver, Target

ROOT = Path(__file__).parents[3]
SHEETS = ROOT / "tests" / "data" / "sheets"
LIBRARY = ProfileLibrary((bundled_profiles(),))
DEVICES = [name for name in LIBRARY.selectable_names if not name.startswith("generic/")]

PRODUCTS = {"google/pixel-8": "google/tensor-g3"}
"""Products that have a sheet besides that of their chip, and the profile that is selected on each."""

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
    return dict(load_device(name).values)


def source_of(name: str) -> str:
    return LIBRARY.find(name).path.read_text(encoding="utf-8")


class Chooser:
    """Selects as `select_profile` does, but reads the profiles once: thousands of choices are made here."""

    def __init__(self) -> None:
        self.chains = {name: load_chain(LIBRARY, name) for name in LIBRARY.selectable_names}

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

    def test_each_profile_has_a_sheet_and_each_other_sheet_is_of_a_product(self) -> None:
        assert sorted({*DEVICES, *PRODUCTS}) == list(device_names())

    @pytest.mark.parametrize("name", DEVICES)
    def test_the_sheet_selects_its_profile(self, name: str) -> None:
        assert select_profile(LIBRARY, facts_of(name)).profile.name == name

    @pytest.mark.parametrize(("product", "name"), PRODUCTS.items())
    def test_the_sheet_of_a_product_selects_the_profile_of_its_chip(self, product: str, name: str) -> None:
        assert select_profile(LIBRARY, facts_of(product)).profile.name == name

    @pytest.mark.parametrize("name", device_names())
    def test_each_fact_says_where_it_was_captured_or_is_cited(self, name: str) -> None:
        sheet = load_device(name)
        for fact in sheet.values:
            assert re.fullmatch(r"(captured|cited) https://\S+", sheet[fact].origin.detail or ""), fact

    @pytest.mark.parametrize("name", [name for name in device_names() if not name.startswith("container/")])
    def test_what_varies_on_one_device_is_unknown(self, name: str) -> None:
        varying = ("cpu.available_cores", "power.", "thermal.", "memory.available")
        assert [fact for fact in load_device(name).values if fact.startswith(varying)] == []

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
            assert (
                select_profile(LIBRARY, load_fact_sheet(path).values).profile.name in LIBRARY.selectable_names
            )

    def test_the_device_that_runs_the_tests_selects_one_profile(self) -> None:
        assert select_profile(LIBRARY, detect().values).profile.name in LIBRARY.selectable_names


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
        for line in facts.partition("\n\n")[0].splitlines():
            assert re.search(r'^"[\w.]+" = .+  # .+, https://\S+$', line), line

    @pytest.mark.parametrize("name", LIBRARY.selectable_names)
    def test_options_are_cited_above_their_table(self, name: str) -> None:
        text = source_of(name)
        tables = re.findall(r"((?:^#.*\n)*)^(?:\[\[when\]\]|\[options\.\w+\])$", text, re.MULTILINE)
        assert len(tables) == len(re.findall(r"^\[(?:when\.)?options\.", text, re.MULTILINE))
        for comments in tables:
            assert comments
            for line in comments.splitlines():
                assert re.fullmatch(r"# \S.+, https://\S+", line), line


def constants_of(name: str) -> list[str]:
    """The strings and numbers of a condition, except etconfig's own words such as `linux`."""
    condition = load_document(LIBRARY.find(name).path).data["profile"]["match"]
    foreign = re.sub(r'(os\.name == "(linux|android|macos|windows)"|cpu\.arch == "\w+")', "", condition)
    strings: list[str] = re.findall(r'"[^"]*"', foreign)
    return [*strings, *re.findall(r"(?<![\w.])[0-9]+(?:\.[0-9]+)?", re.sub(r'"[^"]*"', "", foreign))]


class TestOptions:
    """Bundled profiles set the options for which there is a source, on the devices that it is about."""

    @staticmethod
    def set_on(name: str, backend: str, option: str, **facts: object) -> object:
        """The value that the bundled profiles set on a device; None if they leave the option alone."""
        specs = {spec.id: spec for spec in (XNNPACK, QNN, COREML)}
        layers = layers_of(load_chain(LIBRARY, name))
        target = Target(method="forward", backends=tuple(specs))
        sheet = load_device(name)
        found = Resolver.compile(specs, layers, [target]).resolve(
            sheet.with_overrides({fact.replace("__", "."): value for fact, value in facts.items()})  # type: ignore[misc]  # of each fact's type
        )
        resolved = found.arguments("forward").backends[backend]
        if resolved.origin(option).kind is not OriginKind.PROFILE:
            return None
        assert not resolved.is_asked_for(option)
        return getattr(resolved.options, option)

    @pytest.mark.parametrize(
        ("name", "available", "threads"),
        [
            ("google/tensor-g2", 8, 4),
            ("google/tensor-g3", 9, 5),
            ("google/tensor-g3", 2, 2),
            ("qualcomm/sm8650", 8, 6),
            ("samsung/exynos-2200", 8, 4),
            ("mediatek/dimensity-9300", 8, None),
            ("apple/iphone-15-pro", 6, 2),
            ("apple/m1", 8, 4),
            ("ci/github-macos", 3, None),
            ("raspberry-pi/pi-5", 4, None),
        ],
    )
    def test_xnnpack_has_no_thread_on_a_slow_core(
        self, name: str, available: int, threads: int | None
    ) -> None:
        found = self.set_on(name, "XnnpackBackend", "num_threads", cpu__available_cores=available)
        assert found == threads

    @pytest.mark.parametrize("name", ["qualcomm/sm8550", "qualcomm/sm8650", "qualcomm/sm8750"])
    @pytest.mark.parametrize(("source", "mode"), [("mains", HtpPerformanceMode.BURST), ("battery", None)])
    def test_qualcomms_processor_runs_at_full_speed_on_mains(
        self, name: str, source: str, mode: HtpPerformanceMode | None
    ) -> None:
        assert self.set_on(name, "QnnBackend", "htp_performance_mode", power__source=source) is mode

    def test_core_ml_stays_on_the_cpu_of_virtual_macs_only(self) -> None:
        units = {
            name: self.set_on(name, "CoreMLBackend", "compute_unit")
            for name in DEVICES
            if name.startswith(("apple/", "ci/github-macos"))
        }
        assert {name: unit for name, unit in units.items() if unit is not None} == {
            "ci/github-macos": ComputeUnit.CPU_ONLY
        }

    @pytest.mark.parametrize("name", DEVICES)
    def test_every_device_resolves_with_and_without_its_facts(self, name: str) -> None:
        specs = {spec.id: spec for spec in (XNNPACK, QNN, COREML)}
        layers = layers_of(load_chain(LIBRARY, name))
        resolver = Resolver.compile(specs, layers, [Target(method="forward", backends=tuple(specs))])
        for facts in (load_device(name), FactSheet.empty()):
            assert resolver.resolve(facts).warnings == ()


class TestFiles:
    """Bundled profiles are good examples for users."""

    def test_every_file_has_no_finding(self) -> None:
        validator = Validator(installation=Installation(search_path=()))
        for name in LIBRARY.selectable_names:
            assert validator.problems(LIBRARY.find(name).path) == ()

    def test_the_index_lists_every_profile_as_it_describes_itself(self, chooser: Chooser) -> None:
        page = (ROOT / "docs" / "device-profiles.md").read_text(encoding="utf-8")
        index = page.partition("\n## Index\n")[2]
        rows = re.findall(r"^\| `([^`]+)` \| (.+?) \| (.+) \|$", index, re.MULTILINE)
        assert rows == [(name, chooser.chains[name][-1].description, origins(name)) for name in DEVICES]


def origins(name: str) -> str:
    """Say if the facts of a sheet were captured, are cited, or both."""
    sheet = load_device(name)
    return ", ".join(sorted({str(sheet[fact].origin.detail).partition(" ")[0] for fact in sheet.values}))
