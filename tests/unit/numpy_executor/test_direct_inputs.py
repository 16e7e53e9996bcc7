"""Large inputs without planned memory are read where the caller has them, if no result changes by that."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mutations import DATA
from plans import KERNELS, PlanBuilder

import etconfig
from etconfig import Method
from etconfig.analysis.generated_inputs import generate_inputs
from etconfig.backend import Backend, BoundBackend
from etconfig.errors import KernelArgumentError
from etconfig.kernel.registry import Scalar, Step, kernel
from etconfig.kernel.steps import ArrayCall
from etconfig.kernel.tensor import Tensor
from etconfig.numpy_executor import direct_inputs, load_method
from etconfig.numpy_executor.direct_inputs import LEAST_BYTES
from etconfig.program import Program, model, open_program

SIZE = LEAST_BYTES // 4
X = np.arange(SIZE, dtype=np.float32)


class Watch:
    """Kernels of `aten::add.out` and `aten::mul.out` that note where their first argument lies."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, bool]] = []

    def _double(self, array: Any, out: Any) -> None:
        self.seen.append((array.ctypes.data, array.flags.writeable))
        np.multiply(array, 2, out=out)

    def kernels(self) -> dict[str, Any]:
        @kernel("aten::add.out")
        def add_out(self: Tensor, other: Tensor, alpha: Scalar, out: Tensor) -> Step:
            return ArrayCall(note, self.array, out=out.array)

        @kernel("aten::mul.out")
        def mul_out(self: Tensor, other: Tensor, out: Tensor) -> Step:
            def step() -> None:
                note(self.array, out.array)

            return step

        note = self._double
        return {**KERNELS, "aten::add.out": add_out, "aten::mul.out": mul_out}

    def was_at(self, array: Any) -> bool:
        """True if the last run read `array` in place; it may not be written to then."""
        address, is_writable = self.seen[-1]
        assert is_writable == (address != array.ctypes.data)
        return address == array.ctypes.data


def doubling(operator: str = "aten::add.out", *, size: int = SIZE, **form: Any) -> PlanBuilder:
    """A method that doubles its input."""
    builder = PlanBuilder()
    x = builder.tensor(size, **{"is_planned": False, **form})
    out = builder.tensor(size)
    builder.inputs, builder.outputs = [x], [out]
    if operator == "aten::mul.out":
        builder.call(operator, x, x, out, out)
    else:
        builder.add_(x, x, out)
    return builder


class TestReadInPlace:
    def test_a_large_array_is_not_copied(self) -> None:
        watch = Watch()
        with load_method(doubling().program(), "forward", watch.kernels(), {}) as method:
            for x in (X, X[::-1].copy(), X):
                np.testing.assert_array_equal(method.execute([x])[0], 2 * x)
                assert watch.was_at(x)

    def test_nothing_of_the_caller_is_kept(self) -> None:
        with doubling().load() as method:
            x = X.copy()
            method.execute([x])
            reference = weakref.ref(x)
            del x
            gc.collect()
            assert reference() is None

    @pytest.mark.parametrize("dim_order", [(0, 1), (1, 0)])
    def test_an_array_in_the_dim_order_of_the_program(self, dim_order: tuple[int, int]) -> None:
        watch, builder = Watch(), PlanBuilder()
        x = builder.tensor(512, SIZE // 512, dim_order=dim_order, is_planned=False)
        out = builder.tensor(512, SIZE // 512, dim_order=dim_order)
        builder.inputs, builder.outputs = [x], [out]
        builder.add_(x, x, out)
        values = X.reshape(512, -1)
        with load_method(builder.program(), "forward", watch.kernels(), {}) as method:
            for order in ("C", "F"):
                given = np.asarray(values, order=order)
                np.testing.assert_array_equal(method.execute([given])[0], 2 * values)
                assert watch.was_at(given) == ((order == "C") == (dim_order == (0, 1)))

    def test_in_a_loop_and_in_a_stopped_run(self) -> None:
        builder = doubling()
        builder.jump_unless(builder.scalar(True), 0)
        with builder.load() as method:
            np.testing.assert_array_equal(method.execute([X], timeout=100)[0], 2 * X)

    def test_a_delegate_gets_the_callers_memory(self) -> None:
        seen: list[Any] = []

        class Noting(Backend[None, None]):
            def init(self, context: Any, processed: object, compile_specs: object) -> None:
                return None

            def execute(self, context: Any, handle: None, args: Sequence[Any]) -> None:
                seen[:] = [args[0].ctypes.data, args[0].flags.writeable]
                args[1][...] = args[0] * 2

        builder = PlanBuilder()
        x, out = builder.tensor(SIZE, is_planned=False), builder.tensor(SIZE)
        builder.inputs, builder.outputs = [x], [out]
        builder.delegate_call(builder.delegate("Noting"), x, out)
        bound = BoundBackend(backend_id="Noting", create=Noting, options=None, changed=lambda old, new: old)
        with load_method(builder.program(), "forward", KERNELS, {"Noting": bound}) as method:
            for given, in_place in ((X, True), (np.repeat(X, 2)[::2], False), (X, True)):
                np.testing.assert_array_equal(method.execute([given])[0], 2 * X)
                assert (seen[0] == given.ctypes.data) == in_place
                assert seen[1] != in_place


class TestCopied:
    """Inputs that cannot be read in place are copied, with the same results."""

    def check(self, builder: PlanBuilder, given: Any = X, **options: Any) -> None:
        watch = Watch()
        with load_method(builder.program(), "forward", watch.kernels(), {}, **options) as method:
            np.testing.assert_array_equal(method.execute([given])[0], 2 * given)
        assert not watch.was_at(given)

    def test_with_planned_memory(self) -> None:
        self.check(doubling(is_planned=True))

    def test_a_small_one(self) -> None:
        self.check(doubling(size=SIZE - 1), X[1:])

    def test_an_array_with_gaps(self) -> None:
        self.check(doubling(), np.repeat(X, 2)[::2])

    def test_an_array_that_is_not_aligned(self) -> None:
        data = np.zeros(X.nbytes + 1, np.uint8)
        given = data[1:].view(np.float32)
        given[...] = X
        self.check(doubling(), given)

    def test_for_a_kernel_whose_step_is_code(self) -> None:
        self.check(doubling("aten::mul.out"))

    def test_without_optimization(self) -> None:
        self.check(doubling(), optimize=False)

    def test_a_dynamic_one(self) -> None:
        self.check(doubling(dynamism=model.TensorShapeDynamism.DYNAMIC_BOUND))

    def test_one_that_is_an_output(self) -> None:
        builder = doubling()
        builder.outputs.append(builder.inputs[0])
        self.check(builder)

    def test_one_that_an_output_is_a_view_of(self) -> None:
        builder = PlanBuilder()
        x, view = builder.tensor(SIZE, is_planned=False), builder.tensor(SIZE, is_planned=False)
        out = builder.tensor(SIZE)
        builder.inputs, builder.outputs = [x], [out, view]
        builder.add_(x, x, out)
        builder.call("executorch_prim::et_view.default", x, builder.ints(SIZE), view)
        watch = Watch()
        with load_method(builder.program(), "forward", watch.kernels(), {}) as method:
            np.testing.assert_array_equal(method.execute([X])[1], X)
        assert not watch.was_at(X)

    def test_one_that_is_passed_twice(self) -> None:
        builder = doubling()
        builder.inputs *= 2
        with builder.load() as method:
            np.testing.assert_array_equal(method.execute([X + 1, X])[0], 2 * X)

    def test_a_step_that_fails_is_named(self) -> None:
        @kernel("aten::add.out")
        def add_out(self: Tensor, other: Tensor, alpha: Scalar, out: Tensor) -> Step:
            return ArrayCall(partial(np.matmul, out.array), self.array, self.array[1:])

        method = load_method(doubling().program(), "forward", {"aten::add.out": add_out}, {})
        with pytest.raises(KernelArgumentError, match=r"^aten::add.out: "):
            method.execute([X])


class Unplanned:
    """A program whose inputs have no planned memory."""

    def __init__(self, program: Program) -> None:
        self._program = program

    def plan(self, name: str) -> model.ExecutionPlan:
        plan = self._program.plan(name)
        values = list(plan.values)
        for index in plan.inputs:
            if isinstance(values[index], model.SerializedTensor):
                values[index] = values[index]._replace(allocation_info=None)
        return plan._replace(values=tuple(values))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._program, name)


PATHS = [
    path
    for folder in ("programs", "exports", "older", "shared_state", "digits")
    for path in sorted((DATA / folder).glob("**/*.pte"))
]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_program_of_the_corpus(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The outputs are those of copied inputs, and the memory that inputs would be copied to is not read."""
    monkeypatch.setattr(direct_inputs, "LEAST_BYTES", 1)
    try:
        program: Any = Unplanned(open_program(path))
        for name in program.method_names:
            method = load_method(program, name, KERNELS, {})
            inputs = generate_inputs(method.metadata, 0)
            with monkeypatch.context() as patch:
                patch.setattr(direct_inputs, "LEAST_BYTES", 1 << 60)
                expected = load_method(program, name, KERNELS, {}).execute(inputs)
            for each in _direct(method):
                each.tensor.array.view(np.uint8)[...] = 0xFF if each.tensor.array.ndim else 0
            for found, wanted in zip(method.execute(inputs), expected, strict=True):
                np.testing.assert_array_equal(found, wanted)
    except etconfig.EtconfigError as error:
        pytest.skip(f"it cannot run here: {error}")


def _direct(method: Method) -> Sequence[direct_inputs.DirectInput]:
    return method._runnable._inputs._direct  # type: ignore[union-attr,attr-defined]
