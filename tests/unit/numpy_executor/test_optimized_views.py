"""Plans with views and computed sizes are optimized like others, if the sources of their views are known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from plans import PlanBuilder

from etconfig.kernels import builtin_kernels
from etconfig.numpy_executor.optimizer.optimizer import is_straight
from etconfig.numpy_executor.rebinding.dynamic_step import DynamicStep
from etconfig.program import model
from etconfig.program.model import TensorShapeDynamism

BOUND = TensorShapeDynamism.DYNAMIC_BOUND
KERNELS = builtin_kernels()
WEIGHT = np.arange(12, dtype=np.float32).reshape(3, 4)


class Layer:
    """A linear layer, as exports of dynamic shapes have it: weights permuted, rows of a view multiplied."""

    def __init__(self) -> None:
        self.builder = PlanBuilder()
        self.builder.planned_bytes = 512
        self.x = self.builder.tensor(2, 4, 4, offset=0, dynamism=BOUND)
        self.rows = self.builder.tensor(8, 4, offset=0, dynamism=BOUND)
        self.permuted = self.builder.tensor(4, 3, offset=128)
        self.out = self.builder.tensor(8, 3, offset=256, dynamism=BOUND)
        self.builder.inputs, self.builder.outputs = [self.x], [self.out]

    def add_permutation(self) -> None:
        weight, order = self.builder.constant(WEIGHT), self.builder.ints(1, 0)
        self.builder.call("aten::permute_copy.out", weight, order, self.permuted, self.permuted)

    def add_view(self) -> None:
        sizes = self.builder.ints(-1, 4)
        self.builder.call("executorch_prim::et_view.default", self.x, sizes, self.rows)

    def add_product(self) -> None:
        self.builder.call("aten::mm.out", self.rows, self.permuted, self.out, self.out)

    def add_all(self) -> None:
        self.add_permutation()
        self.add_view()
        self.add_product()

    @property
    def is_straight(self) -> bool:
        plan = self.builder.plan()
        return is_straight(plan, [KERNELS.get(each.full_name) for each in plan.operators])


class TestPlansWithViews:
    """Results that depend on constants alone are computed once, even if there are views."""

    def test_weights_are_permuted_when_the_method_is_loaded(self) -> None:
        layer = Layer()
        layer.add_all()
        assert layer.is_straight
        method = layer.builder.load()
        (block,) = method._runnable._compiled.chains[0]  # type: ignore[attr-defined]
        (step,) = block.steps
        assert isinstance(step, DynamicStep)
        assert [part.name for part in step.parts] == ["executorch_prim::et_view.default", "aten::mm.out"]
        for count in (2, 1, 2):
            x = np.arange(count * 16, dtype=np.float32).reshape(count, 4, 4)
            np.testing.assert_array_equal(method.execute([x])[0], x.reshape(-1, 4) @ WEIGHT.T)

    def test_a_view_keeps_its_source(self) -> None:
        layer = Layer()
        layer.add_all()
        layer.builder.call("aten::neg.out", layer.rows, layer.out, layer.out)
        layer.builder.values[layer.out] = layer.builder.values[layer.out]._replace(sizes=(8, 4))
        layer.builder.instructions.pop(-2)
        x = np.arange(16, dtype=np.float32).reshape(1, 4, 4)
        np.testing.assert_array_equal(layer.builder.load().execute([x])[0], -x[0])


def write_to_the_view(layer: Layer) -> None:
    layer.add_all()
    layer.builder.call("aten::neg.out", layer.x, layer.rows, layer.rows)


def write_to_its_source(layer: Layer) -> None:
    layer.add_all()
    layer.builder.call("aten::neg.out", layer.out, layer.x, layer.x)


def use_it_before(layer: Layer) -> None:
    layer.add_permutation()
    layer.add_product()
    layer.add_view()


def view_an_input(layer: Layer) -> None:
    layer.builder.inputs.append(layer.rows)
    layer.add_all()


def make_it_twice(layer: Layer) -> None:
    layer.add_all()
    layer.add_view()


def put_a_number_in_its_place(layer: Layer) -> None:
    layer.add_all()
    dimension = layer.builder.scalar(0)
    layer.builder.call("aten::sym_size.int", layer.x, dimension, layer.rows, layer.rows)


def leave_out_an_argument(layer: Layer) -> None:
    layer.add_all()
    last = layer.builder.instructions[1]
    assert isinstance(last, model.KernelCall)
    layer.builder.instructions[1] = last._replace(args=last.args[:2])


@pytest.mark.parametrize(
    "build",
    [
        write_to_the_view,
        write_to_its_source,
        use_it_before,
        view_an_input,
        make_it_twice,
        put_a_number_in_its_place,
        leave_out_an_argument,
    ],
    ids=lambda build: build.__name__,
)
def test_nothing_is_left_out_if_views_may_differ_between_runs(build: Callable[[Layer], None]) -> None:
    layer = Layer()
    build(layer)
    assert not layer.is_straight
