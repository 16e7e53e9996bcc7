"""Known quirks: each entry of the list, the devices that fall under it, and the warnings of commands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from etconfig.diagnostics import Severity
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.profile.quirks import DIRECTORY, quirk_warnings, quirks_of

BACKENDS = sorted(path.stem for path in DIRECTORY.glob("*.toml"))
DEVICES: list[tuple[str, dict[str, object], list[str]]] = [
    ("VulkanBackend", {"gpu.0.name": "Mali-G76"}, ["pytorch/executorch#22322"]),
    ("VulkanBackend", {"gpu.0.name": "Mali-G715"}, []),
    (
        "VulkanBackend",
        {"gpu.0.name": "Adreno (TM) 840"},
        ["pytorch/executorch#22327", "pytorch/executorch#21938", "pytorch/executorch#21939"],
    ),
    ("VulkanBackend", {"gpu.0.name": "Adreno 740"}, ["pytorch/executorch#21938", "pytorch/executorch#21939"]),
    (
        "VulkanBackend",
        {"soc.model": "Tensor G5"},
        ["pytorch/executorch#17299", "software-mansion/react-native-executorch#1475"],
    ),
    (
        "VulkanBackend",
        {"soc.model": "Tensor G5", "runtime.executorch": "1.4.0"},
        ["software-mansion/react-native-executorch#1475"],
    ),
    ("VulkanBackend", {"os.api_level": 36, "device.is_emulator": True}, ["pytorch/executorch#11754"]),
    ("VulkanBackend", {"os.api_level": 36, "device.is_emulator": False}, []),
    ("VulkanBackend", {"os.api_level": 36}, []),
    (
        "XnnpackBackend",
        {"os.name": "android", "cpu.arch": "arm64", "device.is_emulator": True},
        ["pytorch/executorch#16589"],
    ),
    ("XnnpackBackend", {"cpu.model": "Apple M4 Pro"}, ["google/XNNPACK#9898"]),
    ("XnnpackBackend", {"cpu.model": "Apple M4", "runtime.executorch": "1.1.0"}, ["google/XNNPACK#9898"]),
    ("XnnpackBackend", {"cpu.model": "Apple M4", "runtime.executorch": "1.5.1"}, []),
    ("QnnBackend", {"soc.model": "SM8750P"}, ["pytorch/executorch#21586"]),
    ("QnnBackend", {"soc.model": "SM8750"}, []),
    ("CoreMLBackend", {"soc.model": "Tensor G5"}, []),
    ("../quirks/VulkanBackend", {}, []),
]


@pytest.mark.parametrize(("backend", "facts", "reports"), DEVICES)
def test_a_device_falls_under_the_quirks_like_it(
    backend: str, facts: dict[str, object], reports: list[str]
) -> None:
    warnings = [*quirk_warnings([backend], facts)]
    assert [re.findall(r"\((.+)\)\Z", each.message) for each in warnings] == [[each] for each in reports]
    assert {(each.code, each.severity) for each in warnings} <= {("known-quirk", Severity.WARNING)}


def test_each_quirk_is_cited_once_and_has_a_device_here() -> None:
    reports = [quirk.report for backend in BACKENDS for quirk in quirks_of(backend)]
    assert len(set(reports)) == len(reports)
    assert all(re.fullmatch(r"[\w-]+/[\w-]+#[0-9]+", report) for report in reports)
    assert {report for _, _, found in DEVICES for report in found} == set(reports)


def test_quirks_are_undecided_without_facts_and_name_facts_that_are_there() -> None:
    assert [*quirk_warnings(BACKENDS, {})] == []
    used = {name for backend in BACKENDS for quirk in quirks_of(backend) for name in quirk.condition.facts}
    assert all(name in BUILTIN_FACTS for name in used)


def test_texts_are_short_and_begin_like_the_others() -> None:
    for backend in BACKENDS:
        for quirk in quirks_of(backend):
            assert len(quirk.seen) < 100
            assert quirk.help[0].islower()
            assert not quirk.seen.endswith(".")


def test_the_files_are_in_the_package() -> None:
    assert DIRECTORY.parent == Path(__file__).parents[3] / "etconfig" / "profile"
