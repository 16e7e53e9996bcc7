"""Arguments of a wrong Python type: the error names the expected one, for users without a type checker."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import DIGITS

import etconfig
from etconfig.resolver import ANY_METHOD

PORTABLE = DIGITS / "digits_portable.pte"


class TestWrongTypes:
    """A TypeError names the argument, the expected value and the given type."""

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
                "arguments: expected the result of etconfig.resolve(program).arguments('forward'), "
                "given Resolution",
            ),
            (
                lambda loaded: loaded.load_method("forward", {"ReferenceNpuBackend": {"core": 1}}),
                "arguments: expected the result of etconfig.resolve(program).arguments('forward'), "
                "given dict",
            ),
            (
                lambda loaded: etconfig.inspect_program(str(PORTABLE)),
                "program: expected what etconfig.load_program returns, given str",
            ),
            (
                lambda loaded: etconfig.verify_program(str(PORTABLE)),
                "program: expected what etconfig.load_program returns, given str",
            ),
            (
                lambda loaded: etconfig.benchmark(loaded),
                "source: expected the path of a program, or its bytes: opening it is measured, too, "
                "given LoadedProgram",
            ),
            (
                lambda loaded: etconfig.benchmark(PORTABLE, {"forward": {}}),
                "resolution: expected what etconfig.resolve returns, given dict",
            ),
        ],
        ids=[
            *("program", "facts", "instances", "resolution", "dict"),
            *("inspect", "verify", "benchmark", "benchmark-resolution"),
        ],
    )
    def test_the_error_names_the_expected_value(
        self, place: Path, call: Callable[[Any], object], message: str
    ) -> None:
        with etconfig.load_program(PORTABLE) as loaded, pytest.raises(TypeError) as caught:
            call(loaded)
        assert str(caught.value) == message


class TestInputsWithoutAList:
    """The error says what to write."""

    def test_one_array_is_to_be_put_into_a_list(self, place: Path) -> None:
        with (
            etconfig.load_program(PORTABLE) as loaded,
            loaded.load_method("forward") as method,
            pytest.raises(etconfig.ExecutionError) as caught,
        ):
            method.execute(np.zeros((1, 1, 8, 8), np.float32))
        assert caught.value.help == "put the inputs into a list: execute([image])"
        assert "given one ndarray instead of a list" in str(caught.value)


class TestArgumentsOfAnotherMethod:
    """`load_method` accepts the arguments of its method, or arguments resolved for any method."""

    def test_arguments_of_another_method_are_a_value_error(self, place: Path) -> None:
        """Otherwise they would be taken for the arguments of this method."""
        with etconfig.load_program(DIGITS / "digits.pte") as loaded:
            arguments = etconfig.resolve(loaded).arguments("forward")
            with pytest.raises(ValueError, match="given those of forward") as caught:
                loaded.load_method("embed", arguments)
            assert str(caught.value) == (
                "arguments: expected the result of etconfig.resolve(program).arguments('embed'), "
                "given those of forward"
            )
            with pytest.raises(etconfig.ExecutionError, match="did you mean 'embed'"):
                loaded.load_method("embd", arguments)

    def test_arguments_resolved_for_any_method_fit_each(self, place: Path) -> None:
        arguments = etconfig.resolve(overrides=["ReferenceNpuBackend.core=1"]).arguments(ANY_METHOD)
        with (
            etconfig.load_program(DIGITS / "digits.pte") as loaded,
            loaded.load_method("embed", arguments) as method,
        ):
            assert dict(method.options("ReferenceNpuBackend"))["core"] == 1
