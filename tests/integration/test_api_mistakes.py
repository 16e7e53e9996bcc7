"""Arguments of a wrong Python type: a newcomer without a type checker is told what was expected."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import DIGITS

import etconfig

PORTABLE = DIGITS / "digits_portable.pte"


class TestWrongTypes:
    """A TypeError names the argument, what was expected, and what was given."""

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (
                lambda loaded: etconfig.resolve(str(PORTABLE)),
                "program: expected what etconfig.load_program returns, given str",
            ),
            (
                lambda loaded: etconfig.resolve(loaded, facts="pi5.json"),
                "facts: expected a FactSheet, as etconfig.facts.load_fact_sheet reads it, given str",
            ),
            (
                lambda loaded: etconfig.resolve(loaded, instances=["left", "right"]),
                'instances: expected names by method, as {"forward": ["left", "right"]}, given list',
            ),
            (
                lambda loaded: loaded.load_method("forward", etconfig.resolve(loaded)),
                "arguments: expected those of one method, as "
                "etconfig.resolve(program).arguments('forward') gives them, given Resolution",
            ),
            (
                lambda loaded: loaded.load_method("forward", {"ReferenceNpuBackend": {"core": 1}}),
                "arguments: expected those of one method, as "
                "etconfig.resolve(program).arguments('forward') gives them, given dict",
            ),
        ],
        ids=["program", "facts", "instances", "resolution", "dict"],
    )
    def test_it_is_told_what_was_expected(
        self, place: Path, call: Callable[[Any], object], message: str
    ) -> None:
        with etconfig.load_program(PORTABLE) as loaded, pytest.raises(TypeError) as caught:
            call(loaded)
        assert str(caught.value) == message
