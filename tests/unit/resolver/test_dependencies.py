"""`Resolver.dependencies`: the facts that decide, by the way in which each decides."""

from __future__ import annotations

from dataclasses import replace

from resolving import BOTH, SPECS, make_layer

from etconfig.plugin.v1 import Advice
from etconfig.profile.layer import Layer
from etconfig.profile.selection import Dependencies
from etconfig.resolver.compiling.resolver import Resolver, Target

CPU = (Target(method="forward", backends=("CpuBackend",)),)


def dependencies(*layers: Layer, targets: tuple[Target, ...] = CPU) -> Dependencies:
    return Resolver.compile(SPECS, layers, targets).dependencies


def texts(needs: Dependencies) -> list[str]:
    return [condition.source for condition in needs.conditions]


class TestDependencies:
    """Conditions decide by their truth, expressions and defaults by the values of their facts."""

    def test_conditions_values_and_defaults_are_apart(self) -> None:
        needs = dependencies(
            make_layer(
                ("CpuBackend.scratch_bytes", {"expr": "memory.total / 64"}),
                ("CpuBackend.num_threads", 2, 'power.source == "battery"'),
                ("CpuBackend.log_level", 1, 'power.source == "battery"'),
            )
        )
        assert texts(needs) == ['power.source == "battery"']
        assert needs.computed_from == ("cpu.available_cores", "memory.total")
        assert needs.facts == {"cpu.available_cores", "memory.total", "power.source"}
        assert needs.is_complete

    def test_a_default_that_is_always_replaced_does_not_count(self) -> None:
        needs = dependencies(make_layer(("CpuBackend.num_threads", 3)))
        assert needs.facts == frozenset()

    def test_unset_shows_the_default_again(self) -> None:
        from etconfig.profile.layer import UNSET

        needs = dependencies(
            make_layer(("CpuBackend.num_threads", 3), ("CpuBackend.num_threads", UNSET, "has(memory.total)"))
        )
        assert needs.facts == {"cpu.available_cores", "memory.total"}

    def test_a_condition_that_a_later_value_always_hides_does_not_count(self) -> None:
        needs = dependencies(
            make_layer(
                ("CpuBackend.num_threads", 3, 'power.source == "battery"'), ("CpuBackend.num_threads", 2)
            )
        )
        assert texts(needs) == []

    def test_facts_set_by_hand_decide_in_place_of_those_of_the_device(self) -> None:
        needs = dependencies(
            make_layer(
                ("CpuBackend.log_level", 1, 'power.source == "battery"'),
                ("CpuBackend.log_level", 2, 'power.source == "battery" && memory.total > 4'),
                facts={"power.source": "battery", "cpu.available_cores": 2},
            )
        )
        assert texts(needs) == ['power.source == "battery" && memory.total > 4']
        assert needs.facts == {"memory.total"}
        assert {name: each.value for name, each in needs.by_hand.items()} == {
            "cpu.available_cores": 2,
            "power.source": "battery",
        }

    def test_functions_of_vendors_are_named(self) -> None:
        needs = dependencies(make_layer(("NpuBackend.core", 0)), targets=BOTH)
        assert needs.functions == ("NpuBackend",)
        assert not needs.is_complete

    def test_the_facts_of_declared_advice_are_known(self) -> None:
        spec = replace(
            SPECS["CpuBackend"],
            advice=(Advice("scratch_bytes", expr="cpu.cache.l2 * 2", when="memory.total > 100"),),
        )
        needs = Resolver.compile({"CpuBackend": spec}, [], CPU).dependencies
        assert needs.advice == ("cpu.cache.l2", "memory.total")
        assert texts(needs) == ["memory.total > 100"]
        assert needs.computed_from == ("cpu.available_cores", "cpu.cache.l2")
