"""Plans with dynamic shapes give the answers of a method that has met no other shape."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from effort import scaled
from hypothesis import given, note, settings
from hypothesis import strategies as st
from plans import PlanBuilder

from etconfig import Method
from etconfig.backend import Backend, BoundBackend, ExecuteContext, InitContext, Processed, Value
from etconfig.base.scalar_types import ScalarType
from etconfig.errors import EtconfigError
from etconfig.kernel import tensor
from etconfig.kernel.tensor import KEPT_SHAPES
from etconfig.method.stop import StopCheck
from etconfig.numpy_executor.rebinding import dynamic_step, rebinding
from etconfig.numpy_executor.rebinding.dynamic_step import DynamicStep
from etconfig.program.model import TensorShapeDynamism

STATIC = TensorShapeDynamism.STATIC
BOUND = TensorShapeDynamism.DYNAMIC_BOUND
UNBOUND = TensorShapeDynamism.DYNAMIC_UNBOUND

MAX_ROWS = 5
ARENA_BYTES = 640

Draw = Callable[..., Any]


class Watched:
    """A delegate, and where its arrays were at its first execute."""

    def __init__(self, has_stable_arrays: bool) -> None:
        self.has_stable_arrays = has_stable_arrays
        self.places: list[tuple[int, tuple[int, ...]]] = []

    def watch(self, arrays: Sequence[np.ndarray]) -> None:
        """Refuse arrays that have another place or shape than promised."""
        places = [(each.ctypes.data, each.shape) for each in arrays]
        assert not self.has_stable_arrays or self.places in ([], places)
        self.places = places


class Doubling(Backend[None, Watched]):
    """`out` is twice `x`; it is resized only if it has another shape."""

    def init(
        self, context: InitContext[None], processed: Processed, compile_specs: Mapping[str, bytes]
    ) -> Watched:
        return Watched(context.has_stable_arrays)

    def execute(self, context: ExecuteContext[None], handle: Watched, args: Sequence[Value]) -> None:
        x, out = args
        assert isinstance(x, np.ndarray)
        assert isinstance(out, np.ndarray)
        handle.watch([x, out])
        if out.shape != x.shape:
            out = context.resize_output(1, x.shape)
        np.multiply(x, 2, out=out)


BACKENDS = {
    "Doubling": BoundBackend(
        backend_id="Doubling", create=Doubling, options=None, changed=lambda options, _: options
    )
}


class Form(NamedTuple):
    """The common properties of tensors that fit each other in every run."""

    rows: str
    columns: int


class _Plan:
    """A plan that grows by drawing; every tensor has some rows, and one column or two.

    Args:
        draw: Decides.
        is_hostile: Instructions may write, and moves replace, what was used before.
    """

    def __init__(self, draw: Draw, is_hostile: bool) -> None:
        self._draw = draw
        self._is_hostile = is_hostile
        self._is_straight = draw(st.booleans())
        self.lists: list[int] = []
        self.builder = PlanBuilder()
        self.builder.planned_bytes = ARENA_BYTES
        self.forms: dict[int, Form] = {}
        for rows in ("x", "y"):
            self.builder.inputs.append(self._tensor(Form(rows, 2), MAX_ROWS, BOUND))
        self._condition = self.builder.scalar(None)
        self.builder.inputs.append(self._condition)
        self._backend = self.builder.delegate("Doubling")
        self.constant()

    def _tensor(self, form: Form, max_rows: int, dynamism: TensorShapeDynamism) -> int:
        room = (ARENA_BYTES - 4 * max_rows * form.columns) // 4
        offset = 4 * self._draw(st.integers(0, room))
        is_planned = self._draw(st.booleans())
        index = self.builder.tensor(
            *(max_rows, form.columns), offset=offset, dynamism=dynamism, is_planned=is_planned
        )
        self.forms[index] = form
        return index

    def _any(self, fits: Callable[[Form], bool] = lambda _: True) -> int:
        return int(self._draw(st.sampled_from([index for index, form in self.forms.items() if fits(form)])))

    def _like(self, index: int) -> int:
        return self._any(lambda form: form == self.forms[index])

    def _target(self, form: Form) -> int:
        """Return the tensor that an instruction writes."""
        if self._is_hostile and self._draw(st.integers(0, 3)) == 0:
            return self._any()
        if form.rows == "constant":
            return self._tensor(form, 1, STATIC)
        max_rows = self._draw(st.sampled_from((MAX_ROWS, 4 * MAX_ROWS)))
        return self._tensor(form, max_rows, self._draw(st.sampled_from((BOUND, UNBOUND))))

    def constant(self) -> None:
        columns = self._draw(st.integers(1, 2))
        values = np.array([self._draw(st.integers(-3, 3)) for _ in range(columns)], np.float32)
        self.forms[self.builder.constant(values[np.newaxis])] = Form("constant", columns)

    def negate_constant(self) -> None:
        source = self._any(lambda form: form.rows == "constant")
        out = self._target(self.forms[source])
        self.builder.call("aten::neg.out", source, out, out)

    def negate(self) -> None:
        source = self._any()
        out = self._target(self.forms[source])
        self.builder.call("aten::neg.out", source, out, out)

    def add(self) -> None:
        source = self._any()
        form = self.forms[source]
        other = self._any(lambda each: each in (form, Form("constant", form.columns)))
        self.builder.add_(source, other, self._target(form))

    def join(self) -> None:
        source = self._any()
        rows, columns = self.forms[source]
        pair = self.builder.tensors(source, self._any(lambda form: form.columns == columns))
        out = self._target(Form(f"{rows}+", columns))
        self.builder.call("aten::cat.out", pair, self.builder.scalar(0), out, out)

    def split(self) -> None:
        source = self._any()
        rows, columns = self.forms[source]
        outs = self.builder.tensors(*(self._target(Form(rows, 1)) for _ in range(columns)))
        self.lists.append(outs)
        one = self.builder.scalar(1)
        self.builder.call("aten::split_copy.Tensor_out", source, one, one, outs, outs)

    def view(self) -> None:
        source = self._any()
        form = Form(f"{self.forms[source].rows}/", self._draw(st.integers(1, 2)))
        sizes = self.builder.ints(-1, form.columns)
        self.builder.call("executorch_prim::et_view.default", source, sizes, self._target(form))

    def copy_to_size(self) -> None:
        source = self._any()
        form = self.forms[source]
        rows, dimension = self.builder.scalar(0), self.builder.scalar(0)
        self.builder.call("aten::sym_size.int", source, dimension, rows, rows)
        sizes = self.builder.int_list(rows, self.builder.scalar(form.columns))
        out = self._target(form)
        self.builder.call("aten::view_copy.out", source, sizes, out, out)

    def find(self) -> None:
        source = self._any()
        dynamism = self._draw(st.sampled_from((BOUND, UNBOUND)))
        places = self.builder.tensor(40, 2, dtype=ScalarType.LONG, dynamism=dynamism, is_planned=False)
        self.builder.call("aten::nonzero.out", source, places, places)
        self.builder.outputs.append(places)

    def move(self) -> None:
        """Move one tensor or another, as the condition says, to a value of its own."""
        chosen = self._any()
        target = self._target(self.forms[chosen])
        start = len(self.builder.instructions)
        self.builder.move(chosen, target)
        self.builder.jump_unless(self._condition, start + 3)
        self.builder.move(self._like(chosen), target)

    def free(self) -> None:
        self.builder.free(self._any())

    def delegate(self) -> None:
        source = self._any()
        backend = self.builder.delegate("Doubling") if self._draw(st.booleans()) else self._backend
        self.builder.delegate_call(backend, source, self._target(self.forms[source]))

    def copy_in_place(self) -> None:
        target = self._any()
        source, is_async = self._like(target), self.builder.scalar(False)
        result = target if self._draw(st.booleans()) else self._target(self.forms[target])
        self.builder.call("aten::copy_", target, source, is_async, result)

    def grow(self) -> None:
        kinds = (
            *(self.constant, self.negate, self.negate_constant, self.add, self.join, self.split),
            *(self.find, self.free, self.delegate, self.copy_in_place),
        )
        jumping = () if self._is_straight else (self.view, self.copy_to_size, self.move)
        self._draw(st.sampled_from((*kinds, *jumping)))()


def _text_of(builder: PlanBuilder) -> str:
    """Return a plan as text, which is shown when it fails."""
    lines = [f"{index}: {value}" for index, value in enumerate(builder.values)]
    lines += [str(each) for each in builder.operators]
    lines += [str(each) for each in builder.instructions]
    return "\n".join([*lines, f"inputs {builder.inputs}, outputs {builder.outputs}"])


@st.composite
def plans(draw: Draw, is_hostile: bool) -> PlanBuilder:
    drawn = _Plan(draw, is_hostile)
    for _ in range(draw(st.integers(1, 8))):
        drawn.grow()
    values = [*drawn.forms, *drawn.lists]
    drawn.builder.outputs += draw(st.lists(st.sampled_from(values), min_size=1, max_size=3))
    return drawn.builder


CALLS = st.lists(
    st.tuples(st.integers(0, MAX_ROWS), st.sampled_from((0, 0, 0, 1)), st.booleans()), min_size=2, max_size=7
)
"""The rows of `x`, the additional rows of `y`, and the condition, for each call."""


class ForgetfulStep(DynamicStep):
    """A step that is bound at each run, and by itself."""

    def run(self, stop: StopCheck | None = None) -> None:
        self._bound.clear()
        super().run(stop)


def load(builder: PlanBuilder, *, optimize: bool = True) -> Method:
    return builder.load(BACKENDS, optimize=optimize)


def load_forgetful(builder: PlanBuilder) -> Method:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rebinding, "DynamicStep", ForgetfulStep)
        patch.setattr(rebinding, "join", lambda names, steps, are_fixed, indices: (names, steps, indices))
        return load(builder, optimize=False)


def outcome(method: Method, call: tuple[int, int, bool], seed: int) -> object:
    """Return the outputs of a call, in a form that compares all bits, or the error."""
    rows, more, condition = call
    x, y = (np.arange(2 * n, dtype=np.float32).reshape(n, 2) - seed for n in (rows, rows + more))
    try:
        outputs = method.execute([x, y[:MAX_ROWS] * 3, condition])
    except EtconfigError as error:
        return type(error), str(error)
    return [_content(each) for each in outputs]


def _content(output: Any) -> object:
    if isinstance(output, list):
        return [_content(each) for each in output]
    return output.dtype, output.shape, output.tobytes()


class TestRandomDynamicPlans:
    """Steps bound for a shape serve for that shape only, and folded constants do not change."""

    @pytest.mark.parametrize("kept", [1, 2, KEPT_SHAPES])
    def test_each_answer_equals_that_of_a_method_just_loaded(self, kept: int) -> None:
        @settings(max_examples=scaled(60), deadline=None)
        @given(plans(is_hostile=False), CALLS)
        def check(builder: PlanBuilder, calls: Sequence[tuple[int, int, bool]]) -> None:
            note(_text_of(builder))
            method, other = load(builder), load(builder)
            for seed, call in enumerate(calls):
                expected = outcome(load(builder, optimize=False), call, seed)
                assert outcome(method, call, seed) == expected
                assert outcome(other, calls[-1], seed) == outcome(load(builder), calls[-1], seed)

        with pytest.MonkeyPatch.context() as patch:
            for module in (dynamic_step, tensor):
                patch.setattr(module, "KEPT_SHAPES", kept)
            check()

    @settings(max_examples=scaled(150), deadline=None)
    @given(plans(is_hostile=True), CALLS)
    def test_plans_that_read_bytes_of_earlier_runs_give_the_results_of_binding_at_each_run(
        self, builder: PlanBuilder, calls: Sequence[tuple[int, int, bool]]
    ) -> None:
        note(_text_of(builder))
        try:
            method = load(builder)
        except EtconfigError as error:
            with pytest.raises(type(error), match=f"^{re.escape(str(error))}$"):
                load_forgetful(builder)
            return
        forgetful = load_forgetful(builder)
        for seed, call in enumerate(calls):
            assert outcome(method, call, seed) == outcome(forgetful, call, seed)
