from __future__ import annotations

import copy
import hashlib
import pickle

import pytest

from etconfig.base.provenance import Origin, OriginKind, Sourced
from etconfig.errors import FactError
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.facts.fact import Fact
from etconfig.facts.registry import Volatility
from etconfig.facts.sheet import FactSheet

BY_HAND = Origin(OriginKind.OVERRIDE, "--fact")
IN_PROFILE = Origin(OriginKind.PROFILE, "pi-5.toml", line=7, column=25)


def sheet_with(origin: Origin = BY_HAND, **values: object) -> FactSheet:
    """A sheet of facts, their names written with `__` for dots."""
    overrides = {name.replace("__", "."): Sourced(value, origin) for name, value in values.items()}
    return FactSheet.empty().with_overrides(overrides)


class TestSheet:
    """A fact sheet contains every fact of its registry, by name."""

    def test_it_reads_like_a_mapping(self):
        sheet = sheet_with(os__name="linux")
        assert sheet["os.name"] == Fact("os.name", "linux", None, Volatility.STATIC, BY_HAND)
        assert sheet.get("os.name") is sheet["os.name"]
        assert sheet.get("os.nam") is None
        assert "gpu.count" in sheet
        assert "gpu.0.name" not in sheet
        assert len(sheet) == len(list(sheet)) == sum(not info.is_family for info in BUILTIN_FACTS.infos)
        with pytest.raises(KeyError):
            sheet["os.nam"]

    def test_an_unknown_fact_says_why(self):
        fact = FactSheet.empty()["memory.total"]
        assert not fact.is_known
        assert (fact.value, fact.unit, fact.reason) == (None, "bytes", "it was not looked for")

    def test_values_contains_the_known_facts_only(self):
        sheet = sheet_with(cpu__available_cores=4, gpu__0__name="Mali")
        assert sheet.values == {"cpu.available_cores": 4, "gpu.0.name": "Mali"}
        assert sheet.values is sheet.values

    def test_values_cannot_be_changed(self):
        with pytest.raises(TypeError):
            sheet_with(gpu__count=1).values["gpu.count"] = 2  # type: ignore[index]

    def test_false_and_zero_are_known(self):
        assert sheet_with(gpu__count=0).values == {"gpu.count": 0}

    def test_it_pickles(self):
        sheet = sheet_with(os__name="linux")
        again = pickle.loads(pickle.dumps(sheet))
        assert again == sheet
        assert again["os.name"].origin == BY_HAND


class TestValues:
    """A sheet of plain values is a sheet like any other; its facts are made when something asks for them."""

    def test_what_is_missing_or_none_is_unknown(self):
        sheet = FactSheet.from_values({"cpu.available_cores": 4, "os.name": None}, "fleet.parquet")
        assert dict(sheet.values) == {"cpu.available_cores": 4}
        assert len(sheet) == len(FactSheet.empty())
        origin = Origin(OriginKind.SHEET, "fleet.parquet")
        assert sheet["cpu.available_cores"] == Fact(
            "cpu.available_cores", 4, "cores", Volatility.LIVE, origin
        )
        for name in ("os.name", "cpu.arch"):
            assert (sheet[name].reason, sheet[name].origin) == ("no value was given", origin)

    def test_members_of_families_are_facts(self):
        sheet = FactSheet.from_values({"gpu.0.name": "Mali", "os.name": "linux"})
        assert [*sheet.values] == ["os.name", "gpu.0.name"]
        assert sheet["gpu.0.name"].value == "Mali"

    def test_lists_become_tuples_and_ints_floats(self):
        sheet = FactSheet.from_values({"cpu.features": ["neon"], "power.battery_level": 1})
        assert sheet.values["cpu.features"] == ("neon",)
        assert type(sheet.values["power.battery_level"]) is float

    def test_numbers_of_numpy_are_numbers(self):
        numpy = pytest.importorskip("numpy")
        sheet = FactSheet.from_values({"cpu.available_cores": numpy.int64(4), "os.name": None})
        assert type(sheet.values["cpu.available_cores"]) is int

    def test_every_problem_is_reported(self):
        with pytest.raises(FactError) as caught:
            FactSheet.from_values(
                {"cpu.available_cores": 0, "os.nam": None, "cpu.arch": "aarch64", "gpu.<n>.name": "A"}, "rows"
            )
        assert sorted(problem.code for problem in caught.value.diagnostics) == [
            "invalid-fact-value",
            "invalid-fact-value",
            "unknown-fact",
            "unknown-fact",
        ]
        assert {problem.spans[0].file for problem in caught.value.diagnostics} == {"rows"}

    def test_values_are_a_mapping(self):
        with pytest.raises(TypeError, match="values: expected values by name"):
            FactSheet.from_values(["os.name"])
        with pytest.raises(TypeError, match="rows: expected values by name"):
            FactSheet.from_values({1: "linux"}, "rows")

    def test_it_pickles_and_copies(self):
        sheet = FactSheet.from_values({"os.name": "linux"}).with_overrides({"cpu.available_cores": 4})
        for copied in (pickle.loads(pickle.dumps(sheet)), copy.deepcopy(sheet)):
            assert copied == sheet
            assert copied["os.name"] == sheet["os.name"]

    def test_many_overrides_in_turn_stay_flat(self):
        sheet = FactSheet.from_values({"os.name": "linux"})
        for level in range(5000):
            sheet = sheet.with_overrides({"power.battery_level": level / 5000})
        assert sheet["power.battery_level"].value == 4999 / 5000
        assert sheet["os.name"].value == "linux"


class TestEquality:
    """Two sheets are equal when they know the same: origins do not count."""

    def test_origins_and_reasons_do_not_count(self):
        left, right = sheet_with(BY_HAND, gpu__count=1), sheet_with(IN_PROFILE, gpu__count=1)
        other_reason = FactSheet.empty(reason="another").with_overrides({"gpu.count": Sourced(1, BY_HAND)})
        assert left == right == other_reason
        assert len({left, right, other_reason}) == 1
        assert left.fingerprint() == right.fingerprint() == other_reason.fingerprint()

    def test_values_count(self):
        left, right = sheet_with(gpu__count=1), sheet_with(gpu__count=2)
        assert left != right
        assert left.fingerprint() != right.fingerprint()

    def test_a_sheet_is_not_a_dictionary(self):
        assert sheet_with(gpu__count=1) != {"gpu.count": 1}

    def test_the_order_of_facts_does_not_count(self):
        left = sheet_with(gpu__0__name="a", gpu__1__name="b")
        right = sheet_with(gpu__1__name="b", gpu__0__name="a")
        assert left.fingerprint() == right.fingerprint()

    def test_the_fingerprint_is_that_of_sorted_compact_json(self):
        sheet = sheet_with(os__name="linux", cpu__features=["fma", "avx2"])
        text = b'{"cpu.features":["fma","avx2"],"os.name":"linux"}'
        assert sheet.fingerprint() == hashlib.sha256(text).hexdigest()


class TestOverrides:
    """Hand-set facts override detection and say so."""

    def test_a_fact_is_replaced_with_its_origin(self):
        before = sheet_with(BY_HAND, cpu__available_cores=8)
        after = before.with_overrides({"cpu.available_cores": Sourced(2, IN_PROFILE)})
        assert after["cpu.available_cores"].value == 2
        assert after["cpu.available_cores"].origin is IN_PROFILE
        assert before["cpu.available_cores"].value == 8

    def test_an_unknown_fact_becomes_known(self):
        fact = sheet_with(npu__count=1)["npu.count"]
        assert (fact.is_known, fact.reason) == (True, None)

    def test_an_int_is_taken_for_a_float_and_a_list_for_a_tuple(self):
        sheet = sheet_with(cpu__quota_cores=2, cpu__features=["neon"])
        assert sheet.values == {"cpu.quota_cores": 2.0, "cpu.features": ("neon",)}

    def test_every_problem_is_reported_with_its_place(self):
        overrides = {
            "cpu.available_cores": Sourced("x", IN_PROFILE),
            "cpu.avail_cores": Sourced(4, Origin(OriginKind.PROFILE, "pi-5.toml", line=8)),
            "gpu.count": Sourced(True, BY_HAND),
        }
        with pytest.raises(FactError) as caught:
            FactSheet.empty().with_overrides(overrides)
        assert [(problem.code, str(problem)) for problem in caught.value.diagnostics] == [
            (
                "invalid-fact-value",
                "pi-5.toml:7:25: fact 'cpu.available_cores': expected an int of at most 64 bits, found 'x'",
            ),
            ("unknown-fact", "pi-5.toml:8:1: no fact is called 'cpu.avail_cores'"),
            ("invalid-fact-value", "fact 'gpu.count': expected an int of at most 64 bits, found true"),
        ]
        assert caught.value.diagnostics[1].help == "did you mean 'cpu.available_cores'?"

    def test_facts_of_a_plugin_are_known_to_a_sheet_of_its_registry(self):
        info = BUILTIN_FACTS.get("gpu.count")
        assert info is not None
        registry = BUILTIN_FACTS.extended([type(info)(**{**vars(info), "name": "acme.cores"})])
        sheet = FactSheet.empty(registry).with_overrides({"acme.cores": Sourced(3, BY_HAND)})
        assert sheet.values == {"acme.cores": 3}
