"""A Method compared with a model, in any order of loading, executing, closing and misuse."""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule
from plans import KERNELS, PlanBuilder, floats

from etconfig import Method
from etconfig.errors import InvalidInputError, MethodClosedError
from etconfig.numpy_executor import load_method

EXAMPLES, STEPS = (500, 50) if os.environ.get("ETCONFIG_SOAK") == "1" else (40, 20)


def counting() -> PlanBuilder:
    """Build a method whose state grows by the input: state += x; out = state + state."""
    builder = PlanBuilder()
    x, state, total, out = (
        builder.tensor(2),
        builder.tensor(2, initial=floats(1, 2)),
        builder.tensor(2),
        builder.tensor(2),
    )
    builder.inputs, builder.outputs = [x], [out]
    builder.add_(x, state, total)
    builder.call("aten::copy_", state, total, builder.scalar(False), state)
    builder.add_(state, state, out)
    return builder


class Loaded:
    """A Method and its expected state."""

    def __init__(self, method: Method) -> None:
        self.method = method
        self.state = floats(1, 2)
        self.is_closed = False


class Lifecycle(RuleBasedStateMachine):
    """Methods of one program, each with a state of its own until it is closed."""

    methods = Bundle("methods")

    def __init__(self) -> None:
        super().__init__()
        self.program = counting().program()
        self.kept: list[tuple[np.ndarray, np.ndarray]] = []

    @rule(target=methods, optimize=st.booleans())
    def load(self, optimize: bool) -> Loaded:
        return Loaded(load_method(self.program, "forward", KERNELS, {}, optimize=optimize))

    @rule(loaded=methods, x=st.tuples(st.integers(-9, 9), st.integers(-9, 9)))
    def execute(self, loaded: Loaded, x: tuple[int, int]) -> None:
        given = floats(*x)
        if loaded.is_closed:
            with pytest.raises(MethodClosedError):
                loaded.method.execute([given])
            return
        (out,) = loaded.method.execute([given])
        loaded.state = loaded.state + given
        np.testing.assert_array_equal(out, loaded.state + loaded.state)
        given.fill(np.nan)  # the caller owns its input again
        self.kept.append((out, out.copy()))

    @rule(loaded=methods)
    def overwrite_an_output(self, loaded: Loaded) -> None:
        if self.kept:
            out, _ = self.kept.pop()
            out.fill(np.nan)

    @rule(loaded=methods, wrong=st.sampled_from([[], [floats(1)], [floats(1, 2), floats(1, 2)], [None]]))
    def execute_wrongly(self, loaded: Loaded, wrong: list[object]) -> None:
        with pytest.raises(MethodClosedError if loaded.is_closed else InvalidInputError):
            loaded.method.execute(wrong)

    @rule(loaded=methods)
    def close(self, loaded: Loaded) -> None:
        loaded.method.close()
        loaded.is_closed = True

    @rule(loaded=consumes(methods))
    def drop(self, loaded: Loaded) -> None:
        """Drop the Method, closed or not."""

    @invariant()
    def outputs_stay_as_they_were(self) -> None:
        for out, copy in self.kept:
            np.testing.assert_array_equal(out, copy)


TestLifecycle = Lifecycle.TestCase
TestLifecycle.settings = settings(max_examples=EXAMPLES, stateful_step_count=STEPS, deadline=None)
