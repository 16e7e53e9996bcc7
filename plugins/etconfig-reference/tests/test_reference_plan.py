from __future__ import annotations

import re
from dataclasses import replace

import pytest
from etconfig_reference.errors import InvalidGraphError
from etconfig_reference.graph import Graph, Operation, ValueType
from etconfig_reference.ops import OPS
from etconfig_reference.plan import Plan


def with_second(graph: Graph, **changes: object) -> Graph:
    """Return the graph with its second operation changed."""
    return replace(graph, operations=(graph.operations[0], replace(graph.operations[1], **changes)))


class TestPlan:
    """Every value is computed once, before its use, in its declared shape."""

    def test_results_lie_side_by_side_in_the_arena(self, small_graph: Graph) -> None:
        plan = Plan(small_graph)
        assert [step.arena_offset for step in plan.steps] == [0, 64]
        assert plan.arena_bytes == 128

    def test_an_unknown_operation_is_named(self, small_graph: Graph) -> None:
        with pytest.raises(InvalidGraphError) as caught:
            Plan(with_second(small_graph, name="gelu"))
        known = ", ".join(OPS)
        assert str(caught.value) == f"operations[1] (gelu): there is no such operation, only {known}"

    def test_a_value_that_nothing_computed_is_named(self, small_graph: Graph) -> None:
        with pytest.raises(InvalidGraphError) as caught:
            Plan(with_second(small_graph, inputs=(4,)))
        assert str(caught.value) == "operations[1] (relu): value 4 is used before it is computed"

    def test_a_value_that_is_computed_twice_is_named(self, small_graph: Graph) -> None:
        with pytest.raises(InvalidGraphError) as caught:
            Plan(with_second(small_graph, output=3))
        assert str(caught.value) == "operations[1] (relu): value 3 is there already"

    def test_an_input_that_is_a_constant_is_named(self, small_graph: Graph) -> None:
        with pytest.raises(InvalidGraphError) as caught:
            Plan(replace(small_graph, inputs=(2, 1)))
        assert str(caught.value) == "inputs: value 1 is there already"

    def test_an_output_that_nothing_computed_is_named(self, small_graph: Graph) -> None:
        with pytest.raises(InvalidGraphError) as caught:
            Plan(replace(small_graph, operations=small_graph.operations[:1]))
        assert str(caught.value) == "outputs: value 4 is used before it is computed"

    def test_a_result_of_another_shape_is_named(self, small_graph: Graph) -> None:
        with pytest.raises(InvalidGraphError) as caught:
            Plan(replace(small_graph, values=(*small_graph.values[:4], ValueType(shape=(2, 1)))))
        assert str(caught.value) == "operations[1] (relu): its result has shape (1, 2), not (2, 1)"

    @pytest.mark.parametrize(
        ("shapes", "name", "attributes", "message"),
        [
            ([(2,), (2,)], "relu", {}, "takes 1 input(s), given 2"),
            ([(2,)], "linear", {}, "takes 2 or 3 input(s), given 1"),
            ([(2,)], "softmax", {}, "takes the attributes ['dim'], given []"),
            ([(2,)], "relu", {"dim": (0,)}, "takes the attributes [], given ['dim']"),
            ([(2,)], "softmax", {"dim": (0, 0)}, "dim takes 1 integer(s), given [0, 0]"),
            ([(2,)], "softmax", {"dim": (1,)}, "[1] are not dimensions of a tensor of rank 1"),
            ([(2, 2)], "mean", {"dims": (0, 0), "keep_dims": (0,)}, "[0, 0] are not dimensions"),
            ([(2, 2)], "permute", {"dims": (1,)}, "[1] leave out dimensions of a tensor of rank 2"),
            ([(2, 2)], "reshape", {"shape": (3,)}, "a tensor of shape (2, 2) cannot be shaped (3,)"),
            ([(2, 2)], "reshape", {"shape": (-2, -2)}, "a tensor of shape (2, 2) cannot be shaped (-2, -2)"),
            ([(2,), (3,)], "add", {}, "shape mismatch"),
            ([(2, 3), (2, 3)], "matmul", {}, "matrices of shapes (2, 3) and (2, 3) cannot be multiplied"),
            ([(3,), (3, 2)], "matmul", {}, "matrices of shapes (3,) and (3, 2) cannot be multiplied"),
            (
                [(1, 3), (2, 4)],
                "linear",
                {},
                "an input of shape (1, 3) does not fit a weight of shape (2, 4)",
            ),
            ([(1, 3), (2, 3), (3,)], "linear", {}, "a bias of shape (3,) does not fit 2 outputs"),
        ],
    )
    def test_an_operation_that_cannot_be_computed_is_explained(
        self,
        shapes: list[tuple[int, ...]],
        name: str,
        attributes: dict[str, tuple[int, ...]],
        message: str,
    ) -> None:
        with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
            OPS[name](shapes, attributes)

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"kernel": (0, 1)}, "kernel, stride and dilation must be from 1 to 1024"),
            ({"stride": (1, 1025)}, "kernel, stride and dilation must be from 1 to 1024"),
            ({"dilation": (0, 1)}, "kernel, stride and dilation must be from 1 to 1024"),
            ({"padding": (-1, 0)}, "padding must be from 0 to 1024"),
            ({"kernel": (1, 7)}, "a kernel of extent 7 does not fit into 5 with padding"),
        ],
    )
    def test_a_window_that_does_not_fit_is_explained(
        self, changes: dict[str, tuple[int, int]], message: str
    ) -> None:
        settings = {"kernel": (2, 2), "stride": (1, 1), "padding": (0, 0), "dilation": (1, 1), **changes}
        with pytest.raises(ValueError, match=f"^{message}$"):
            OPS["max_pool2d"]([(1, 1, 5, 5)], settings)

    @pytest.mark.parametrize("weight", [(4, 3, 1, 1), (3, 2, 1, 1)])
    def test_groups_that_do_not_divide_the_channels_are_explained(self, weight: tuple[int, ...]) -> None:
        settings = {"stride": (1, 1), "padding": (0, 0), "dilation": (1, 1), "groups": (2,)}
        with pytest.raises(ValueError, match=r"does not fit a weight of shape \(\d, \d, 1, 1\) in 2 groups"):
            OPS["conv2d"]([(1, 4, 5, 5), weight], settings)

    def test_an_image_must_have_four_dimensions(self) -> None:
        settings = {"kernel": (1, 1), "stride": (1, 1), "padding": (0, 0), "dilation": (1, 1)}
        with pytest.raises(ValueError, match=r"^takes a tensor of rank 4, given \(4, 5, 5\)$"):
            OPS["max_pool2d"]([(4, 5, 5)], settings)

    @pytest.mark.parametrize(
        ("name", "shapes", "attributes", "expected"),
        [
            ("relu", [(4, 5)], {}, 20),
            ("mean", [(4, 5)], {"dims": (1,), "keep_dims": (0,)}, 20),
            ("linear", [(2, 3), (5, 3)], {}, 2 * 5 * 3),
            ("matmul", [(2, 3), (3, 5)], {}, 2 * 5 * 3),
            (
                "conv2d",
                [(1, 4, 6, 6), (8, 2, 3, 3)],
                {"stride": (1, 1), "padding": (1, 1), "dilation": (1, 1), "groups": (2,)},
                8 * 36 * 2 * 9,
            ),
        ],
    )
    def test_work_is_counted_in_multiply_accumulates(
        self,
        name: str,
        shapes: list[tuple[int, ...]],
        attributes: dict[str, tuple[int, ...]],
        expected: int,
    ) -> None:
        assert OPS[name](shapes, attributes).multiply_accumulates == expected


def test_an_operation_without_operands_is_refused(small_graph: Graph) -> None:
    nothing = Operation(name="relu", inputs=(), output=3, attributes={})
    with pytest.raises(InvalidGraphError, match=r"^operations\[0\] \(relu\): takes 1 input\(s\), given 0$"):
        Plan(replace(small_graph, operations=(nothing,)))
