"""`configure`, `resolve` and `LiveArguments` share one documented set of parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import DATA, DIGITS

import etconfig

DOORS: list[Callable[..., Any]] = [etconfig.resolve, etconfig.LiveArguments]
PI5 = etconfig.load_fact_sheet(DATA / "sheets" / "raspberry-pi-5.json")
LAPTOP = etconfig.load_fact_sheet(DATA / "sheets" / "laptop-on-battery.json")


def args_section(documented: Callable[..., Any]) -> str:
    """The text about the parameters in a docstring."""
    text = inspect.getdoc(documented) or ""
    return text.partition("Args:\n")[2].partition("\n\n")[0]


@pytest.mark.parametrize("door", DOORS)
class TestOneSet:
    """Names, order, kinds, defaults and texts are those of `configure`; further parameters come after."""

    def test_the_signatures_agree(self, door: Callable[..., Any]) -> None:
        expected = inspect.signature(etconfig.configure).parameters
        found = inspect.signature(door).parameters
        assert list(found)[: len(expected)] == list(expected)
        for name, parameter in expected.items():
            assert (found[name].kind, found[name].default) == (parameter.kind, parameter.default)
            if (door, name) != (etconfig.LiveArguments, "program"):  # it takes a Configuration, too
                assert found[name].annotation == parameter.annotation
        assert all(found[name].kind is inspect.Parameter.KEYWORD_ONLY for name in list(found)[1:])

    def test_the_texts_agree_and_name_every_parameter(self, door: Callable[..., Any]) -> None:
        section = args_section(etconfig.configure)
        assert args_section(door).startswith(section)
        for name in inspect.signature(etconfig.configure).parameters:
            assert f"\n    {name}: " in f"\n{section}"


class TestSameMeaning:
    """Each parameter means the same in all three."""

    @pytest.mark.parametrize(
        "arguments",
        [
            {"profile": "generic/any"},
            {"profile": "auto", "require_match": True},
            {"fact_overrides": {"cpu.available_cores": 2}, "profile": "generic/any"},
            {"overrides": {"ReferenceNpuBackend": {"core": 1}}},
            {"instances": {"forward": ["left"]}},
            {"installation": etconfig.Installation()},
        ],
        ids=lambda arguments: next(iter(arguments)),
    )
    def test_the_result_is_the_same(self, place: Path, arguments: dict[str, Any]) -> None:
        with etconfig.load_program(DIGITS / "digits.pte") as program:
            configuration = etconfig.configure(program, facts=PI5, **arguments)
            live = etconfig.LiveArguments(program, facts=PI5, **arguments)
            assert etconfig.resolve(program, facts=PI5, **arguments) == configuration.resolve()
            assert live.resolution == configuration.resolve()
            assert live.resolution.profile == configuration.resolve().profile

    def test_a_configuration_takes_the_place_of_a_program(self, place: Path) -> None:
        with etconfig.load_program(DIGITS / "digits.pte") as program:
            configuration = etconfig.configure(program, profile="generic/any", facts=PI5)
            assert etconfig.LiveArguments(configuration).resolution == configuration.resolve()
            live = etconfig.LiveArguments(configuration, facts=LAPTOP)
            assert live.resolution == configuration.resolve(LAPTOP)
            with pytest.raises(TypeError) as caught:
                etconfig.LiveArguments(configuration, profile="auto", overrides={})
        assert str(caught.value) == (
            "profile, overrides: a Configuration has its own; pass profile, overrides to etconfig.configure"
        )


class TestAnotherDevice:
    """`Configuration.on_device` configures again with the same arguments."""

    def test_auto_selects_again(self, place: Path) -> None:
        with etconfig.load_program(DIGITS / "digits.pte") as program:
            overrides = {"ReferenceNpuBackend.core": 1}
            first = etconfig.configure(program, profile="auto", facts=PI5, overrides=overrides)
            second = first.on_device(LAPTOP)
            expected = etconfig.configure(program, profile="auto", facts=LAPTOP, overrides=overrides)
            assert first.chain[-1].name == "raspberry-pi/pi-5"
            assert second.chain[-1].name == expected.chain[-1].name != first.chain[-1].name
            assert second.resolve() == expected.resolve()

    def test_facts_set_by_hand_stay_unless_they_are_set_again(self, place: Path) -> None:
        by_hand = {"cpu.available_cores": 3, "power.source": "mains"}
        first = etconfig.configure(profile="generic/any", facts=PI5, fact_overrides=by_hand)
        second = first.on_device(LAPTOP, {"power.source": "battery"}).resolve().facts
        assert (second["cpu.available_cores"].value, second["power.source"].value) == (3, "battery")

    def test_a_named_profile_stays(self, place: Path) -> None:
        first = etconfig.configure(profile="generic/any", facts=PI5)
        assert first.on_device(LAPTOP).chain == first.chain
