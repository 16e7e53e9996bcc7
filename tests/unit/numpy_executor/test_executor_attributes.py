"""Attributes: mutable buffers that a program names, as ExecuTorch's `emit_mutable_buffer_names` does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from plans import PlanBuilder, floats

from etconfig.errors import AttributeNotFoundError, InvalidInputError, MethodClosedError
from etconfig.method import OptionChanges, RunnableMethod
from etconfig.method.method import Method
from etconfig.method.request import method_request
from etconfig.program.metadata import MethodMeta
from etconfig.program.model import SerializedTensor


def counting(name: str = "total") -> PlanBuilder:
    """A method with a named state: total += x; out = total + total."""
    builder = PlanBuilder()
    x, state, total, out = (
        builder.tensor(2),
        builder.tensor(2, initial=floats(1, 2)),
        builder.tensor(2),
        builder.tensor(2),
    )
    named(builder, state, name)
    builder.inputs, builder.outputs = [x], [out]
    builder.add_(x, state, total)
    builder.call("aten::copy_", state, total, builder.scalar(False), state)
    builder.add_(state, state, out)
    return builder


def named(builder: PlanBuilder, index: int, name: str) -> None:
    tensor = builder.values[index]
    assert isinstance(tensor, SerializedTensor)
    builder.values[index] = tensor._replace(fully_qualified_name=name)


class TestReading:
    """Reading an attribute returns a copy of its current contents."""

    @pytest.mark.parametrize("optimize", [True, False])
    def test_it_starts_with_the_initial_state_and_changes_with_each_execute(self, optimize: bool) -> None:
        method = counting().load(optimize=optimize)
        assert method.get_attribute("total").tolist() == [1, 2]
        method.execute([floats(10, 20)])
        assert method.get_attribute("total").tolist() == [11, 22]

    def test_a_copy_neither_changes_nor_follows_the_state(self) -> None:
        method = counting().load()
        copied = method.get_attribute("total")
        copied[:] = 9
        method.execute([floats(0, 0)])
        assert (copied.tolist(), method.get_attribute("total").tolist()) == ([9, 9], [1, 2])

    def test_a_buffer_without_initial_state_is_zero(self) -> None:
        builder = counting()
        named(builder, builder.tensor(3), "empty")
        assert builder.load().get_attribute("empty").tolist() == [0, 0, 0]

    def test_the_first_of_two_tensors_of_one_name_is_meant(self) -> None:
        builder = counting()
        named(builder, builder.tensor(3), "total")
        method = builder.load()
        assert method.get_attribute("total").tolist() == [1, 2]
        assert method.metadata.attribute_tensor_meta(0).sizes() == (2,)


class TestWriting:
    """The next execute starts from the contents that were written."""

    @pytest.mark.parametrize("optimize", [True, False])
    def test_the_next_execute_sees_it(self, optimize: bool) -> None:
        method = counting().load(optimize=optimize)
        method.set_attribute("total", floats(100, 200))
        assert method.execute([floats(1, 1)])[0].tolist() == [202, 402]

    def test_other_methods_of_the_program_do_not(self) -> None:
        builder = counting()
        first, second = builder.load(), builder.load()
        first.set_attribute("total", floats(100, 200))
        assert second.get_attribute("total").tolist() == [1, 2]

    @pytest.mark.parametrize(
        ("value", "given"),
        [
            (np.zeros(2), "given dtype float64; convert it to float32 first"),
            (np.zeros(3, np.float32), r"given shape \(3,\)"),
            ([1, 2], "given list, which gives no array"),
        ],
    )
    def test_a_value_that_does_not_fit_is_not_written(self, value: object, given: str) -> None:
        method = counting().load()
        expected = r"'forward', attribute 'total': expected an array of dtype float32 and shape \(2,\), "
        with pytest.raises(InvalidInputError, match=expected + given):
            method.set_attribute("total", value)
        assert method.get_attribute("total").tolist() == [1, 2]


ACCESSES: Sequence[Callable[[Method, str], object]] = (
    lambda method, name: method.get_attribute(name),
    lambda method, name: method.set_attribute(name, floats(1, 2)),
)


@pytest.mark.parametrize("access", ACCESSES, ids=["get", "set"])
class TestNoAccess:
    """Access fails for unknown names, executors without attributes, and closed Methods."""

    def test_an_unknown_name_is_reported_with_the_known_ones(self, access: Callable[..., object]) -> None:
        with pytest.raises(AttributeNotFoundError, match="has no attribute 'sum': it has 'total'"):
            access(counting().load(), "sum")

    def test_a_program_without_names_is_reported_with_a_way_to_get_some(
        self, access: Callable[..., object]
    ) -> None:
        method = PlanBuilder().load()
        expected = "its program names no mutable buffer; export it with emit_mutable_buffer_names=True"
        with pytest.raises(AttributeNotFoundError, match=expected):
            access(method, "total")

    def test_a_named_constant_is_not_an_attribute(self, access: Callable[..., object]) -> None:
        builder = counting()
        named(builder, builder.constant(floats(3, 4)), "weight")
        with pytest.raises(AttributeNotFoundError, match="has no attribute 'weight': it has 'total'"):
            access(builder.load(), "weight")

    def test_an_executor_need_not_support_attributes(self, access: Callable[..., object]) -> None:
        program = counting().program()
        request = method_request(program, program.plan("forward"), {})
        method = Method(MethodMeta(program.plan("forward")), request, Closed())
        with pytest.raises(AttributeNotFoundError, match="the executor gives no access to it; the built-in"):
            access(method, "total")

    def test_a_closed_method_has_none(self, access: Callable[..., object]) -> None:
        method = counting().load()
        method.close()
        with pytest.raises(MethodClosedError):
            access(method, "total")


class Closed(RunnableMethod):
    """A method of an executor that was written before there were attributes."""

    def execute(self, inputs: Sequence[object], resource: object) -> list[Any]:
        return []

    def update(self, changes: OptionChanges) -> None: ...

    def effective_options(self) -> Mapping[str, Mapping[str, object]]:
        return {}

    def release(self) -> None: ...


class TestMetadata:
    """The attributes are known without loading the method."""

    def test_names_and_tensors(self) -> None:
        meta = MethodMeta(counting("layers.0.cache").plan())
        assert (meta.num_attributes(), meta.attribute_names()) == (1, ("layers.0.cache",))
        assert meta.attribute_tensor_meta(0).sizes() == (2,)
        with pytest.raises(IndexError, match=r"'forward' has 1 attribute\(s\); there is no attribute 1"):
            meta.attribute_tensor_meta(1)
