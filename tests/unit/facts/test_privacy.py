"""Facts that identify a device: declared, hidden in reports, and removed from redacted sheets."""

from __future__ import annotations

import json

import pytest
from every import every

from etconfig.base.provenance import Origin, OriginKind
from etconfig.errors import FactError
from etconfig.expression import parse_expression
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.facts.fact import Fact
from etconfig.facts.privacy import hide_identifying, redact
from etconfig.facts.registry import HIDDEN_FACTS, HIDDEN_VALUE, FactInfo, FactType, Volatility
from etconfig.facts.sheet import FactSheet
from etconfig.facts.sheet_difference import diff_sheets

ID = "serial-R58M1234567"
SHEET = FactSheet.empty().with_overrides({"device.id": ID, "os.name": "linux", "cpu.available_cores": 4})

OF_A_MODEL = {
    *("os.name", "os.version", "os.kernel", "os.distribution", "os.api_level"),
    *("cpu.arch", "cpu.model", "cpu.vendor", "cpu.features", "cpu.logical_cores", "cpu.physical_cores"),
    *("cpu.performance_cores", "cpu.efficiency_cores", "cpu.offline_cores", "cpu.isolated_cores"),
    *("cpu.numa_nodes", "cpu.available_cores", "cpu.quota_cores"),
    *("cpu.cache.l1d", "cpu.cache.l2", "cpu.cache.l3"),
    *("memory.total", "memory.available", "memory.cgroup_limit", "memory.swap_total"),
    *("device.vendor", "device.family", "device.model", "device.board", "soc.vendor", "soc.model"),
    *("device.is_emulator", "gpu.<n>.driver_version", "vulkan.version"),
    *("power.source", "power.battery_level", "thermal.state", "thermal.max_celsius"),
    *("gpu.count", "gpu.<n>.name", "gpu.<n>.vendor", "gpu.<n>.memory", "gpu.<n>.driver", "gpu.<n>.pci_id"),
    *("npu.count", "npu.<n>.name", "npu.<n>.vendor", "npu.<n>.driver", "npu.<n>.pci_id"),
    *("runtime.python", "runtime.etconfig", "runtime.executorch", "runtime.torch", "runtime.numpy"),
    "runtime.backends",
}
"""The facts that many devices of one model share."""


class TestDeclarations:
    """Each built-in fact is declared as identifying a device, or not: decide it for a new one, too."""

    @every("name", BUILTIN_FACTS.names)
    def test_each_fact_is_declared(self, name: str) -> None:
        (info,) = [each for each in BUILTIN_FACTS.infos if each.name == name]
        assert info.is_identifying is (name not in OF_A_MODEL)

    def test_the_hidden_ones_are_those(self) -> None:
        assert {info.name for info in BUILTIN_FACTS.infos if info.is_identifying} == HIDDEN_FACTS
        assert BUILTIN_FACTS.names != ()
        assert not OF_A_MODEL & HIDDEN_FACTS


class TestReports:
    """A report shows that an id is set, and not which."""

    def test_of_objects(self) -> None:
        condition = parse_expression('bucket(device.id, "a") < 0.5 && device.id != ""', BUILTIN_FACTS)
        shown = [
            str(SHEET),
            repr(SHEET),
            SHEET._repr_html_(),
            hide_identifying(SHEET).to_json(),
            str(SHEET.shown_values),
            *(clause.explanation for clause in condition.explain(SHEET.values)),
            json.dumps(diff_sheets(SHEET, FactSheet.empty()).to_jsonable()),
            json.dumps(diff_sheets(FactSheet.empty(), SHEET).to_jsonable()),
            json.dumps(diff_sheets(SHEET, SHEET.with_overrides({"device.id": ID + "8"})).to_jsonable()),
        ]
        assert [text for text in shown if ID in text] == []
        assert shown[5].endswith(f"device.id is {HIDDEN_VALUE}")

    def test_a_difference_is_seen_though_it_is_not_shown(self) -> None:
        difference = diff_sheets(SHEET, SHEET.with_overrides({"device.id": "other"}))
        assert difference.changed == {"device.id": (HIDDEN_VALUE, HIDDEN_VALUE)}

    def test_a_sheet_that_is_written_has_it(self) -> None:
        assert json.loads(SHEET.to_json())["facts"]["device.id"]["value"] == ID

    def test_a_wrong_value_is_not_repeated(self) -> None:
        with pytest.raises(FactError) as caught:
            SHEET.with_overrides({"device.id": f"{ID}\n"})
        (problem,) = caught.value.diagnostics
        assert problem.message == (
            "fact 'device.id': expected a string of printable characters, found a value that is not shown"
        )


class TestRedacting:
    """A redacted sheet can be given away."""

    def test_what_identifies_the_device_is_removed(self) -> None:
        sheet = redact(SHEET)
        assert sheet.values == {"os.name": "linux", "cpu.available_cores": 4}
        assert sheet["device.id"].reason == "removed: it may identify the device or its user"
        assert ID not in sheet.to_json()

    def test_it_reads_back_equal(self) -> None:
        sheet = redact(SHEET)
        assert FactSheet.from_json(sheet.to_json(), "public.json") == sheet

    @pytest.mark.parametrize(
        ("kind", "source", "detail", "shown"),
        [
            (OriginKind.DETECTED, "/proc/cpuinfo", None, "detected /proc/cpuinfo"),
            (OriginKind.DETECTED, "/home/alice/lib/numpy", None, "detected (a file)"),
            (OriginKind.DETECTED, r"C:\Users\Alice\numpy", None, "detected (a file)"),
            (OriginKind.OVERRIDE, "--fact", None, "override"),
            (OriginKind.PROJECT, "/home/alice/etconfig.toml", None, "project"),
            (OriginKind.SHEET, "alice.json", None, "sheet"),
            (OriginKind.SHEET, "alice.json", "detected uname", "detected uname"),
            (OriginKind.SHEET, "a.json", "sheet ~/alice.json:4:5", "sheet (a file)"),
            (OriginKind.SHEET, "a.json", "sheet alice.json:4:5", "sheet (a file)"),
            (
                OriginKind.SHEET,
                "a.json",
                "captured https://example.org/a/b",
                "captured https://example.org/a/b",
            ),
        ],
    )
    def test_origins_lose_the_paths_of_users(
        self, kind: OriginKind, source: str, detail: str | None, shown: str
    ) -> None:
        info = BUILTIN_FACTS.get("os.name")
        assert info is not None
        fact = Fact.known("os.name", info, "linux", Origin(kind, source, detail=detail))
        text = redact(FactSheet({"os.name": fact})).to_json()
        assert json.loads(text)["facts"]["os.name"]["origin"] == shown

    def test_reasons_lose_the_paths_of_users(self) -> None:
        info = BUILTIN_FACTS.get("os.name")
        assert info is not None
        reason = "failed: OSError: '/home/alice/x' and /proc/cpuinfo"
        fact = Fact.unknown("os.name", info, reason, Origin(OriginKind.DETECTED, "uname"))
        text = redact(FactSheet({"os.name": fact})).to_json()
        assert (
            json.loads(text)["facts"]["os.name"]["unknown"] == "failed: OSError: '(a file)' and /proc/cpuinfo"
        )

    @pytest.mark.parametrize(
        ("declared", "value", "is_kept"),
        [(None, "text", False), (True, "text", False), (False, "text", True), (None, 4, True)],
    )
    def test_a_text_of_a_plugin_is_kept_if_it_is_declared_harmless(
        self, declared: bool | None, value: str | int, is_kept: bool
    ) -> None:
        type_ = FactType.STRING if isinstance(value, str) else FactType.INT
        info = FactInfo(
            name="acme.owner", type=type_, doc="A fact.", volatility=Volatility.BOOT, is_identifying=declared
        )
        sheet = FactSheet.empty(BUILTIN_FACTS.extended([info])).with_overrides({"acme.owner": value})
        assert ("acme.owner" in redact(sheet).values) is is_kept
        assert sheet.is_hidden("acme.owner") is (declared is True)
