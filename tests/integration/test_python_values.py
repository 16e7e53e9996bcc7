"""Facts and options as Python code has them: plain values, nested tables and options objects."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import DATA, DIGITS
from etconfig_reference.options import PowerMode, ReferenceCpuOptions, ReferenceNpuOptions

import etconfig
from etconfig.app.installation.installation import Installation
from etconfig.app.validating.validation import Validator
from etconfig.base.provenance import Origin, OriginKind, Sourced
from etconfig.plugin.v1 import BackendOptions, option

PI5 = etconfig.load_fact_sheet(DATA / "sheets" / "raspberry-pi-5.json")
BATTERY = """
[profile]
name = "app/camera"
[options.ReferenceCpuBackend]
num_threads = 4
[[when]]
if = 'power.source == "battery"'
[when.options.ReferenceCpuBackend]
num_threads = 1
"""


@pytest.fixture(scope="module")
def program() -> etconfig.LoadedProgram:
    return etconfig.load_program(DIGITS / "digits.pte", installation=etconfig.Installation())


def resolved(program: etconfig.LoadedProgram, **arguments: Any) -> etconfig.Resolution:
    return etconfig.resolve(program, profile="generic/any", facts=PI5, **arguments)


class TestFacts:
    """`fact_overrides` are plain values by name."""

    def test_a_plain_value_is_a_fact_set_by_hand(self, program: etconfig.LoadedProgram) -> None:
        config = resolved(program, fact_overrides={"cpu.available_cores": 2})
        assert config.arguments("forward")["ReferenceCpuBackend"].num_threads == 2
        fact = config.facts["cpu.available_cores"]
        assert (fact.value, str(fact.origin)) == (2, "override fact_overrides")

    def test_a_value_with_an_origin_keeps_it(self, program: etconfig.LoadedProgram) -> None:
        origin = Origin(OriginKind.OVERRIDE, "my tool")
        config = resolved(program, fact_overrides={"cpu.available_cores": Sourced(2, origin)})
        assert config.facts["cpu.available_cores"].origin is origin

    @pytest.mark.parametrize("value", [np.int64(2), np.array(2), 2], ids=["int64", "array", "int"])
    def test_numbers_of_numpy_are_numbers(self, program: etconfig.LoadedProgram, value: object) -> None:
        config = resolved(program, fact_overrides={"cpu.available_cores": value})
        assert type(config.facts["cpu.available_cores"].value) is int

    def test_each_door_takes_them(self, program: etconfig.LoadedProgram, tmp_path: Path) -> None:
        by_hand = {"power.source": "battery"}
        path = tmp_path / "camera.toml"
        path.write_text(BATTERY)
        config = etconfig.configure(program, profile=path, facts=PI5, fact_overrides=by_hand)
        assert config.resolve() == etconfig.resolve(program, profile=path, facts=PI5, fact_overrides=by_hand)
        assert config.resolve() == config.resolve(PI5.with_overrides(by_hand))
        assert config.resolve().arguments("forward")["ReferenceCpuBackend"].num_threads == 1
        live = etconfig.LiveArguments(config)
        assert live.arguments("forward")["ReferenceCpuBackend"].num_threads == 1
        assert etconfig.validate_file(path, facts=PI5, fact_overrides=by_hand) == ()

    @pytest.mark.parametrize("door", ["configure", "resolve", "validate_file", "Validator", "with_overrides"])
    def test_mistakes_are_those_of_the_command_line_all_at_once(
        self, door: str, program: etconfig.LoadedProgram, tmp_path: Path
    ) -> None:
        wrong = {
            "power.surce": "battery",
            "memory.total": "8GiB",
            "power.source": "batery",
            "npu.count": True,
        }
        path = tmp_path / "camera.toml"
        path.write_text(BATTERY)
        doors = {
            "configure": lambda: etconfig.configure(program, facts=PI5, fact_overrides=wrong),
            "resolve": lambda: etconfig.resolve(program, facts=PI5, fact_overrides=wrong),
            "validate_file": lambda: etconfig.validate_file(path, facts=PI5, fact_overrides=wrong),
            "Validator": lambda: Validator(
                installation=Installation(), device=PI5, fact_overrides=wrong
            ).problems(path),
            "with_overrides": lambda: PI5.with_overrides(wrong),
        }
        with pytest.raises(etconfig.ConfigError) as caught:
            doors[door]()
        assert [(problem.code, problem.help) for problem in caught.value.diagnostics] == [
            ("unknown-fact", "did you mean 'power.source'?"),
            ("invalid-fact-value", "write 8589934592"),
            ("invalid-fact-value", "did you mean 'battery'?"),
            ("invalid-fact-value", "give a value of the fact's type and range"),
        ]

    @pytest.mark.parametrize(
        ("value", "given"), [(["power.source=battery"], "list"), ("a=b", "str"), ({3: 4}, "int")]
    )
    def test_another_form_is_refused(self, value: object, given: str) -> None:
        with pytest.raises(TypeError, match=rf"^fact_overrides: expected values by name, .*given {given}$"):
            etconfig.resolve(facts=PI5, fact_overrides=value)  # type: ignore[arg-type]


class TestOverrides:
    """All forms of `overrides` mean the same as option paths."""

    @pytest.mark.parametrize(
        "overrides",
        [
            {"forward:ReferenceNpuBackend.core": 1},
            ["forward:ReferenceNpuBackend.core=1"],
            "forward:ReferenceNpuBackend.core=1",
            {"forward:ReferenceNpuBackend": {"core": 1}},
            {"forward": {"ReferenceNpuBackend": {"core": 1}}},
            {"forward": {"ReferenceNpuBackend": ReferenceNpuOptions(core=1)}},
            {"forward:ReferenceNpuBackend": ReferenceNpuOptions(core=1)},
            {"forward:ReferenceNpuBackend": {"core": np.int32(1)}},
        ],
    )
    def test_for_one_method(self, program: etconfig.LoadedProgram, overrides: Any) -> None:
        expected = resolved(program, overrides=["forward:ReferenceNpuBackend.core=1"])
        found = resolved(program, overrides=overrides)
        assert found == expected
        assert found.arguments("forward")["ReferenceNpuBackend"].core == 1

    @pytest.mark.parametrize(
        "overrides",
        [
            {"ReferenceNpuBackend": {"power_mode": "high"}},
            {"ReferenceNpuBackend": {"power_mode": PowerMode.HIGH}},
            {"ReferenceNpuBackend": ReferenceNpuOptions(power_mode=PowerMode.HIGH)},
            ReferenceNpuOptions(power_mode=PowerMode.HIGH),
            [ReferenceNpuOptions(power_mode=PowerMode.HIGH)],
        ],
    )
    def test_for_every_method(self, program: etconfig.LoadedProgram, overrides: Any) -> None:
        expected = resolved(program, overrides=["ReferenceNpuBackend.power_mode=high"])
        assert resolved(program, overrides=overrides) == expected
        origin = resolved(program, overrides=overrides).arguments("forward")
        assert str(origin.origin("ReferenceNpuBackend", "power_mode")) == (
            "override resolve(overrides) (ReferenceNpuBackend.power_mode)"
        )

    @pytest.mark.parametrize("key", ["forward@left", "forward@left:ReferenceNpuBackend"])
    def test_for_one_instance(self, program: etconfig.LoadedProgram, key: str) -> None:
        options = {"core": 3}
        table = options if ":" in key else {"ReferenceNpuBackend": options}
        config = resolved(program, overrides={key: table}, instances={"forward": ["left"]})
        assert config.arguments("forward", "left")["ReferenceNpuBackend"].core == 3
        assert config.arguments("forward")["ReferenceNpuBackend"].core == 0

    def test_of_an_options_object_only_the_fields_count_that_were_given(
        self, program: etconfig.LoadedProgram
    ) -> None:
        """A default that was given counts, too."""
        profile = ["ReferenceCpuBackend.scratch_bytes=65536", "ReferenceCpuBackend.num_threads=3"]
        config = resolved(program, overrides=[*profile, ReferenceCpuOptions(num_threads=1)])
        options = config.arguments("forward")[ReferenceCpuOptions]
        assert (options.num_threads, options.scratch_bytes) == (1, 65536)

    def test_of_two_for_one_path_the_later_one_wins(self, program: etconfig.LoadedProgram) -> None:
        overrides = [ReferenceCpuOptions(num_threads=7), "ReferenceCpuBackend.num_threads=2"]
        for parts, expected in ((overrides, 2), (overrides[::-1], 7)):
            found = resolved(program, overrides=parts).arguments("forward")[ReferenceCpuOptions]
            assert found.num_threads == expected

    def test_a_more_specific_path_wins_in_any_order(self, program: etconfig.LoadedProgram) -> None:
        table = {"forward": {"ReferenceNpuBackend": {"core": 2}}, "ReferenceNpuBackend": {"core": 1}}
        config = resolved(program, overrides=table)
        assert config.arguments("forward")["ReferenceNpuBackend"].core == 2

    @pytest.mark.parametrize("overrides", [None, {}, (), []])
    def test_nothing_is_nothing(self, program: etconfig.LoadedProgram, overrides: Any) -> None:
        assert resolved(program, overrides=overrides) == resolved(program)

    def test_the_options_of_another_resolution_are_an_options_object(
        self, program: etconfig.LoadedProgram
    ) -> None:
        first = resolved(program, overrides={"ReferenceNpuBackend.core": 1})
        second = resolved(program, overrides=first.arguments("forward")["ReferenceNpuBackend"])
        assert second.arguments("forward")["ReferenceNpuBackend"].core == 1


class TestUpdate:
    """`Method.update` takes the same values."""

    @pytest.mark.parametrize("value", [PowerMode.LOW, "low"])
    def test_a_member_of_an_enum(self, program: etconfig.LoadedProgram, value: object) -> None:
        with program.load_method("forward") as method:
            changes = {
                "ReferenceNpuBackend.power_mode": value,
                "ReferenceCpuBackend.num_threads": np.int64(2),
            }
            method.update(changes)
            assert method.options("ReferenceNpuBackend").power_mode is PowerMode.LOW
            assert type(method.options("ReferenceCpuBackend").num_threads) is int


class TestMistakesInOverrides:
    """Wrong names are found as in a profile; other forms are refused by the name of the parameter."""

    @pytest.mark.parametrize(
        ("overrides", "message", "help_text"),
        [
            (
                {"ReferenceNpuBackendd": {"core": 1}},
                "no installed plugin declares the backend 'ReferenceNpuBackendd'",
                "did you mean 'ReferenceNpuBackend'?",
            ),
            (
                {"ReferenceNpuBackend": {"cor": 1}},
                "ReferenceNpuBackend has no option 'cor'",
                "did you mean 'core'?",
            ),
            (
                {"forwrd": {"ReferenceNpuBackend": {"core": 1}}},
                "the program has no method 'forwrd'",
                "did you mean 'forward'?",
            ),
            (
                {"forward@left": {"core": 1}},
                "'forward@left:core' is not an option path; expected [METHOD[@INSTANCE]:]BACKEND.OPTION, "
                "for example forward@camera0:NpuBackend.core",
                "write forward@left:ReferenceNpuBackend.core",
            ),
            (
                {"ReferenceNpuBackend": 3},
                "'ReferenceNpuBackend' is not an option path; expected [METHOD[@INSTANCE]:]BACKEND.OPTION, "
                "for example forward@camera0:NpuBackend.core",
                "write ReferenceNpuBackend.OPTION; `etconfig schema ReferenceNpuBackend` lists its options",
            ),
        ],
    )
    def test_a_wrong_name(
        self, program: etconfig.LoadedProgram, overrides: Any, message: str, help_text: str
    ) -> None:
        with pytest.raises(etconfig.ConfigError) as caught:
            resolved(program, overrides=overrides)
        (problem,) = caught.value.diagnostics
        assert (problem.message, problem.help) == (message, help_text)

    def test_an_options_object_that_no_backend_has_is_to_be_named(self) -> None:
        class OtherOptions(BackendOptions):
            """Options of nothing."""

            level: int = option(0, applies="load", doc="A level.")

        with pytest.raises(etconfig.ConfigError) as caught:
            etconfig.resolve(facts=PI5, overrides=OtherOptions(level=1))
        (problem,) = caught.value.diagnostics
        assert problem.message == "overrides: OtherOptions is the options class that no installed backend has"
        assert problem.help == 'name the backend: overrides={"BACKEND": OtherOptions(...)}'
        assert pickle.loads(pickle.dumps(caught.value)).diagnostics == caught.value.diagnostics

    @pytest.mark.parametrize(
        ("overrides", "given"),
        [
            (5, "int"),
            ([5], "list with an item of type int"),
            ({5: 1}, "int"),
            ({"a.b"}, "set"),
            (b"a.b=1", "bytes"),
        ],
    )
    def test_another_form(self, overrides: Any, given: str) -> None:
        with pytest.raises(TypeError, match=rf"^overrides: expected values by option path, .*given {given}$"):
            etconfig.resolve(facts=PI5, overrides=overrides)
