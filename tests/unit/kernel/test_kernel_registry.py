"""Kernels: declaration, argument kinds, lookup."""

from __future__ import annotations

import pytest

from etconfig.base.scalar_types import ScalarType
from etconfig.errors import DuplicatePluginError, KernelArgumentError, OptionError
from etconfig.kernel.memory import Scratch
from etconfig.kernel.registry import (
    Bools,
    Floats,
    Ints,
    Kernel,
    KernelTable,
    OptionalTensors,
    Scalar,
    Step,
    TensorAlias,
    Tensors,
    kernel,
    kernels_by_operator,
)
from etconfig.kernel.tensor import Register, Tensor

TENSOR = Tensor(ScalarType.FLOAT, (1,), (0,), None)
REGISTER = Register(1)


def binding(annotation: object) -> Kernel:
    """A kernel with one parameter."""

    def bind(x: object) -> Step:
        return lambda: x

    bind.__annotations__["x"] = annotation
    return Kernel(("test::op",), bind)


class TestArgumentKinds:
    """An annotation decides which values may be passed; others are refused before the binder runs."""

    @pytest.mark.parametrize(
        ("annotation", "accepted", "refused"),
        [
            (Tensor, [TENSOR], [None, 1, (TENSOR,)]),
            (Tensor | None, [TENSOR, None], [1, ()]),
            (TensorAlias, [TENSOR], [None]),
            (int, [1, -(2**63)], [True, 1.0, None, "1"]),
            (int | None, [1, None], [True]),
            (float, [0.5, 1], [True, None]),
            (bool, [True], [1, None]),
            (str | None, ["trunc", None], [1]),
            (Scalar, [1, 0.5, False], [None, "1"]),
            (Ints, [(1, 2), ()], [(1, 2.0), (True,), None, 1]),
            (Ints | None, [(1,), None], [(None,)]),
            (Floats, [(1.0, 2)], [(True,)]),
            (Bools, [(True,)], [(1,)]),
            (Tensors, [(TENSOR,), ()], [(TENSOR, None), TENSOR]),
            (OptionalTensors, [(TENSOR, None)], [(1,)]),
            (Register, [REGISTER], [1]),
        ],
    )
    def test_an_annotation_accepts_its_types(self, annotation: object, accepted: list, refused: list) -> None:
        one = binding(annotation)
        for value in accepted:
            assert one.bind("test::op", Scratch(), [value])() is value
        for value in refused:
            with pytest.raises(KernelArgumentError, match="test::op: x must be a"):
                one.bind("test::op", Scratch(), [value])

    @pytest.mark.parametrize(
        ("annotation", "value", "message"),
        [
            (int | None, 0.5, "test::op: x must be an integer or None, not 0.5"),
            (Tensor, (), "test::op: x must be a tensor, not a list"),
            (Ints, TENSOR, "test::op: x must be a list of integers, not a tensor"),
        ],
    )
    def test_the_message_names_the_expected_type(
        self, annotation: object, value: object, message: str
    ) -> None:
        with pytest.raises(KernelArgumentError) as caught:
            binding(annotation).bind("test::op", Scratch(), [value])
        assert str(caught.value) == message

    @pytest.mark.parametrize("annotation", [bytes, list[int], None])
    def test_an_annotation_that_no_program_can_fill_is_a_type_error(self, annotation: object) -> None:
        with pytest.raises(
            TypeError, match=r"kernel binding\.<locals>\.bind: no argument of a program is a x"
        ):
            _ = binding(annotation).parameters


class TestBinding:
    """An exception from a binder becomes an error that names the operator."""

    @pytest.mark.parametrize(
        ("error", "message"),
        [
            (ValueError("shapes differ"), "test::op: shapes differ"),
            (IndexError("list index"), "test::op: IndexError: list index"),
        ],
    )
    def test_an_exception_is_typed_and_chained(self, error: Exception, message: str) -> None:
        @kernel("test::op")
        def fail() -> Step:
            raise error

        with pytest.raises(KernelArgumentError) as caught:
            fail.bind("test::op", Scratch(), [])
        assert str(caught.value) == message
        assert caught.value.__cause__ is error

    @pytest.mark.parametrize("error", [MemoryError("no room"), OptionError(diagnostics=())])
    def test_typed_errors_and_memory_errors_pass_unchanged(self, error: Exception) -> None:
        @kernel("test::op")
        def fail() -> Step:
            raise error

        with pytest.raises(type(error)) as caught:
            fail.bind("test::op", Scratch(), [])
        assert caught.value is error

    def test_a_kernel_gets_scratch_if_it_has_the_parameter(self) -> None:
        @kernel("test::op")
        def with_scratch(x: int, *, scratch: Scratch) -> Step:
            return lambda: scratch

        scratch = Scratch()
        assert with_scratch.bind("test::op", scratch, [1])() is scratch


class TestRegistry:
    """One operator has one kernel."""

    def test_kernels_are_found_by_every_name(self) -> None:
        @kernel("test::one", "test::two")
        def bind() -> Step:
            return lambda: None

        registry = kernels_by_operator([KernelTable("here", (bind,))])
        assert dict(registry) == {"test::one": bind, "test::two": bind}
        assert len(registry) == 2

    def test_two_tables_with_one_operator_are_both_named(self) -> None:
        tables = [
            KernelTable(source, (Kernel(("aten::relu.out",), lambda: None),)) for source in ("a 1.0", "b 2.0")
        ]
        with pytest.raises(DuplicatePluginError) as caught:
            kernels_by_operator(tables)
        assert str(caught.value) == "'aten::relu.out' in etconfig.kernels is claimed by a 1.0 and b 2.0"

    def test_a_table_gathers_kernels_and_tuples_of_them(self) -> None:
        first, second = (Kernel((name,), lambda: None) for name in ("test::first", "test::second"))
        table = KernelTable.of_module({"__name__": "here", "a": first, "b": (second,), "c": 3})
        assert table == KernelTable("here", (first, second))
