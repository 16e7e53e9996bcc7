from __future__ import annotations

import pickle
import re

import pytest

from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.facts.registry import FactInfo, FactType, Volatility


def info(name: str, fact_type: FactType = FactType.INT, **more: object) -> FactInfo:
    return FactInfo(name=name, type=fact_type, doc="A fact.", volatility=Volatility.STATIC, **more)  # type: ignore[arg-type]


class TestTypes:
    """A fact's value has the fact's type: bool, int, float, string or string list."""

    @pytest.mark.parametrize(
        ("fact_type", "value", "expected"),
        [
            (FactType.BOOL, False, False),
            (FactType.INT, 0, 0),
            (FactType.INT, -(2**63), -(2**63)),
            (FactType.FLOAT, 1.5, 1.5),
            (FactType.STRING, "", ""),
            (FactType.STRING, "Raspberry Pi 5 ©", "Raspberry Pi 5 ©"),
            (FactType.STRING_LIST, ("a", "b"), ("a", "b")),
            (FactType.STRING_LIST, (), ()),
        ],
    )
    def test_a_value_of_the_type_is_returned(self, fact_type, value, expected):
        assert fact_type.check(value) == expected

    def test_an_int_becomes_the_same_float(self):
        checked = FactType.FLOAT.check(2)
        assert checked == 2.0
        assert isinstance(checked, float)

    def test_a_list_becomes_a_tuple(self):
        assert FactType.STRING_LIST.check(["a", "b"]) == ("a", "b")

    @pytest.mark.parametrize(
        ("fact_type", "value", "message"),
        [
            (FactType.BOOL, 1, "expected true or false, found 1"),
            (FactType.INT, True, "expected an int of at most 64 bits, found true"),
            (FactType.INT, 4.0, "expected an int of at most 64 bits, found 4.0"),
            (FactType.INT, 2**63, "expected an int of at most 64 bits, found 9223372036854775808"),
            (FactType.FLOAT, False, "expected a finite number, found false"),
            (FactType.FLOAT, float("nan"), "expected a finite number, found nan"),
            (FactType.FLOAT, 10**400, f"expected a finite number, found 1{'0' * 59}..."),
            (FactType.STRING, 4, "expected a string of printable characters, found 4"),
            (FactType.STRING, "a\x1b[2J", r"expected a string of printable characters, found 'a\x1b[2J'"),
            (FactType.STRING_LIST, "a", "expected a list of strings of printable characters, found 'a'"),
            (FactType.STRING_LIST, [1], "expected a list of strings of printable characters, found [1]"),
            (FactType.STRING_LIST, None, "expected a list of strings of printable characters, found None"),
        ],
    )
    def test_another_value_is_refused_with_the_expected_one(self, fact_type, value, message):
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            fact_type.check(value)


class TestBounds:
    """A fact may state the values that make sense."""

    @pytest.mark.parametrize(
        ("name", "value", "message"),
        [
            ("power.source", "batery", "expected 'mains' or 'battery', found 'batery'"),
            ("power.battery_level", 80, "expected at most 1, found 80.0"),
            ("cpu.available_cores", 0, "expected at least 1, found 0"),
        ],
    )
    def test_a_value_out_of_bounds_is_refused(self, name, value, message):
        fact = BUILTIN_FACTS.get(name)
        assert fact is not None
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            fact.check(value)

    def test_the_bounds_themselves_are_allowed(self):
        fact = BUILTIN_FACTS.get("power.battery_level")
        assert fact is not None
        assert (fact.check(0), fact.check(1)) == (0.0, 1.0)


class TestNames:
    """A fact has a dotted name; an indexed family has a name with `<n>` for the index."""

    @pytest.mark.parametrize(
        "name", ["cpu", "Cpu.model", "cpu..model", "cpu.<m>.model", "gpu.0.name", ".cpu"]
    )
    def test_a_malformed_name_is_refused(self, name):
        message = (
            f"{name!r} is not a fact name; expected lower-case words joined by dots, "
            "for example cpu.cache.l2 or gpu.<n>.name"
        )
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            info(name)

    def test_a_member_of_a_family_gets_the_family(self):
        family = BUILTIN_FACTS.get("gpu.12.name")
        assert family is not None
        assert family.name == "gpu.<n>.name"
        assert family.is_family

    @pytest.mark.parametrize(
        "name", ["gpu.<n>.name", "gpu.name", "gpu.00.name", "gpu.12345.name", "gpu.x.name"]
    )
    def test_a_name_that_is_not_a_member_gets_nothing(self, name):
        assert BUILTIN_FACTS.get(name) is None
        assert name not in BUILTIN_FACTS

    def test_a_known_name_is_in_the_registry(self):
        assert "cpu.cache.l2" in BUILTIN_FACTS
        assert 3 not in BUILTIN_FACTS


class TestExtension:
    """Plugins add facts under a namespace of their own."""

    def test_the_new_registry_knows_both_and_the_old_is_unchanged(self):
        extended = BUILTIN_FACTS.extended([info("acme.firmware"), info("acme.<n>.load")])
        assert extended.names == (*BUILTIN_FACTS.names, "acme.firmware", "acme.<n>.load")
        assert "acme.2.load" in extended
        assert "acme.firmware" not in BUILTIN_FACTS

    def test_a_taken_namespace_is_refused(self):
        message = (
            "fact 'cpu.tdp' lies in the namespace 'cpu', which is taken; "
            "choose one of your own, such as your plugin's name"
        )
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            BUILTIN_FACTS.extended([info("cpu.tdp")])

    def test_two_plugins_cannot_share_a_namespace(self):
        first = BUILTIN_FACTS.extended([info("acme.firmware")])
        with pytest.raises(ValueError, match="the namespace 'acme', which is taken"):
            first.extended([info("acme.load")])

    def test_a_name_declared_twice_is_refused(self):
        message = "fact 'acme.load' is declared twice"
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            BUILTIN_FACTS.extended([info("acme.load"), info("acme.load")])


class TestBuiltinFacts:
    """The registry contains the facts that profiles refer to."""

    def test_the_names_are_these(self):
        assert set(BUILTIN_FACTS.names) == {
            *("os.name", "os.version", "os.kernel", "os.distribution", "os.api_level"),
            *("cpu.arch", "cpu.model", "cpu.vendor", "cpu.features", "cpu.logical_cores"),
            *("cpu.physical_cores", "cpu.performance_cores", "cpu.efficiency_cores", "cpu.offline_cores"),
            *("cpu.isolated_cores", "cpu.numa_nodes", "cpu.available_cores", "cpu.quota_cores"),
            *("cpu.cache.l1d", "cpu.cache.l2", "cpu.cache.l3"),
            *("memory.total", "memory.available", "memory.cgroup_limit", "memory.swap_total"),
            *("device.vendor", "device.family", "device.model", "device.board", "device.id"),
            *("device.is_emulator", "soc.vendor", "soc.model", "vulkan.version"),
            *("power.source", "power.battery_level", "thermal.state", "thermal.max_celsius"),
            *("gpu.count", "gpu.<n>.name", "gpu.<n>.vendor", "gpu.<n>.memory", "gpu.<n>.driver"),
            *(
                "gpu.<n>.driver_version",
                "gpu.<n>.pci_id",
                "npu.count",
                "npu.<n>.name",
                "npu.<n>.vendor",
                "npu.<n>.driver",
            ),
            "npu.<n>.pci_id",
            *("runtime.python", "runtime.etconfig", "runtime.executorch", "runtime.torch", "runtime.numpy"),
            "runtime.backends",
        }

    def test_each_doc_is_a_sentence(self):
        assert [fact.name for fact in BUILTIN_FACTS.infos if not fact.doc.endswith(".")] == []

    def test_it_pickles(self):
        assert pickle.loads(pickle.dumps(BUILTIN_FACTS)) == BUILTIN_FACTS
