from __future__ import annotations

import etconfig
import pytest
from etconfig.plugin.v1 import EXECUTORCH, Scope, wire_options

from example_schema.options import ExampleSchemaOptions, PowerMode
from example_schema.plugin import SPEC


def sent(**options: object) -> dict[str, object]:
    """Return what ExecuTorch's option map gets, by key."""
    wired, problems = wire_options(SPEC.id, ExampleSchemaOptions(**options), EXECUTORCH)
    assert problems == []
    return {each.key: each.value for each in wired}


class TestSchema:
    """The runtime gets what its C++ code reads: these keys, with values of these types."""

    def test_options_that_are_not_set_are_not_sent(self) -> None:
        assert sent() == {}

    def test_each_option_is_sent_under_its_key(self) -> None:
        everything = sent(
            power_mode=PowerMode.HIGH, num_threads=2, use_cache=True, cache_dir="/var/cache/kernels"
        )
        assert everything == {
            "power_mode": 2,
            "num_threads": 2,
            "use_cache": True,
            "cache_dir": "/var/cache/kernels",
        }

    def test_every_power_mode_has_a_number(self) -> None:
        assert [sent(power_mode=mode)["power_mode"] for mode in PowerMode] == [0, 1, 2]

    def test_the_cache_is_shared_by_the_whole_process(self) -> None:
        assert ExampleSchemaOptions.option_infos()["cache_dir"].scope is Scope.PROCESS


class TestRefusals:
    """Values that the C++ code does not support are refused before a program is loaded."""

    @pytest.mark.parametrize("count", [0, 65])
    def test_a_number_of_threads_out_of_its_bounds(self, count: int) -> None:
        with pytest.raises(ValueError, match="than or equal to"):
            ExampleSchemaOptions(num_threads=count)

    def test_a_cache_without_a_directory(self) -> None:
        with pytest.raises(ValueError, match="use_cache needs cache_dir"):
            ExampleSchemaOptions(use_cache=True)


class TestRecommendation:
    """The recommended number of threads follows from the cores, if they are known."""

    @pytest.mark.parametrize(
        ("facts", "expected"),
        [
            ({}, None),
            ({"cpu.available_cores": 8}, 8),
            ({"cpu.available_cores": 8, "cpu.performance_cores": 4}, 4),
            ({"cpu.available_cores": 128}, 64),
        ],
    )
    def test_it_follows_from_the_cores(self, facts: dict[str, int], expected: int | None) -> None:
        resolution = etconfig.resolve(
            profile="generic/any",
            facts=etconfig.FactSheet.empty(),
            fact_overrides=facts,
            installation=etconfig.Installation().with_backends({SPEC.id: SPEC}),
        )
        assert resolution.arguments("*")[ExampleSchemaOptions].num_threads == expected
