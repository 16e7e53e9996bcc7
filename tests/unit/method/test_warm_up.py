"""`load_method(..., warm_up=N)` executes N times, and the method is then in the state after loading."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mutations import DATA

import etconfig
from etconfig.backend import Backend, BoundBackend
from etconfig.errors import DelegateError

PROGRAMS = DATA / "programs"


def test_the_times_of_all_runs_are_reported() -> None:
    with etconfig.load_program(PROGRAMS / "linear.pte") as program:
        assert program.load_method("forward").warm_up_s == ()
        times_s = program.load_method("forward", warm_up=3).warm_up_s
        assert len(times_s) == 3
        assert min(times_s) > 0


@pytest.mark.parametrize("optimize", [True, False])
@pytest.mark.parametrize("name", ["mutable_buffers", "dynamic_shapes", "lists", "branch", "add_unplanned"])
def test_the_outputs_are_those_without_a_warm_up(name: str, optimize: bool) -> None:
    from etconfig.analysis import generate_inputs

    with etconfig.load_program(PROGRAMS / f"{name}.pte") as program:
        method = program.method_names[0]
        plain = program.load_method(method, optimize=optimize)
        warm = program.load_method(method, optimize=optimize, warm_up=2)
        for seed in range(3):  # with state that the runs before left
            inputs = generate_inputs(plain.metadata, seed)
            for left, right in zip(plain.execute(inputs), warm.execute(inputs), strict=True):
                np.testing.assert_array_equal(left, right)


def test_methods_that_share_arenas_keep_the_state_of_each_other() -> None:
    with etconfig.load_program(PROGRAMS / "mutable_buffers.pte", share_memory_arenas=True) as program:
        name = program.method_names[0]
        first = program.load_method(name)
        x = np.ones(first.metadata.input_tensor_meta(0).sizes(), np.float32)
        plain = [each.copy() for each in first.execute([x])]
        assert plain
        with etconfig.load_program(PROGRAMS / "mutable_buffers.pte") as other:
            warm = other.load_method(name, warm_up=4)
            for left, right in zip(plain, warm.execute([x]), strict=True):
                np.testing.assert_array_equal(left, right)


def test_an_error_is_one_of_loading_and_closes_the_method() -> None:
    destroyed = []

    class Failing(Backend[Any, Any]):
        def init(self, context: Any, processed: object, compile_specs: object) -> None:
            return None

        def execute(self, context: Any, handle: Any, args: Any) -> None:
            raise RuntimeError("too cold")

        def destroy(self, handle: Any) -> None:
            destroyed.append(handle)

    with etconfig.load_program(DATA / "digits" / "digits.pte") as program:
        bound = {
            each: BoundBackend(backend_id=each, create=Failing, options=None, changed=lambda old, new: old)
            for each in program.backends("forward")
        }
        with pytest.raises(DelegateError, match=r"too cold.*run 1 of 2 of the warm-up, on zeros"):
            program.load_method("forward", backends=bound, warm_up=2)
    assert destroyed


@pytest.mark.parametrize(
    ("count", "error"),
    [(-1, ValueError), ("2", TypeError), (1.0, TypeError), (True, TypeError), (np.arange(2), TypeError)],
)
def test_a_wrong_number_is_refused(count: Any, error: type[Exception]) -> None:
    with (
        etconfig.load_program(PROGRAMS / "linear.pte") as program,
        pytest.raises(error, match="warm_up: expected a number of executes"),
    ):
        program.load_method("forward", warm_up=count)


def test_a_number_of_numpy_is_a_number() -> None:
    with (
        etconfig.load_program(PROGRAMS / "linear.pte") as program,
        program.load_method("forward", warm_up=np.int64(2)) as method,  # type: ignore[arg-type]
    ):
        assert len(method.warm_up_s) == 2
