"""The element types that a method passes to each of its backends."""

from __future__ import annotations

from plans import PlanBuilder

from etconfig.base.scalar_types import ScalarType
from etconfig.program.metadata import delegated_dtypes


def test_each_backend_has_the_types_of_all_its_calls() -> None:
    builder = PlanBuilder()
    wide, narrow = builder.tensor(2), builder.tensor(2, dtype=ScalarType.BFLOAT16)
    for backend_id, args in (("A", (wide,)), ("A", (narrow, wide)), ("B", (wide, wide))):
        builder.delegate_call(builder.delegate(backend_id), *args)
    assert delegated_dtypes(builder.plan()) == {"A": {"float32", "bfloat16"}, "B": {"float32"}}


def test_tensors_in_lists_count_and_scalars_have_no_type() -> None:
    builder = PlanBuilder()
    listed = builder.tensors(builder.tensor(2, dtype=ScalarType.LONG))
    builder.delegate_call(builder.delegate("A"), listed, builder.scalar(3), builder.scalar(None))
    assert delegated_dtypes(builder.plan()) == {"A": {"int64"}}


def test_values_of_other_instructions_do_not_count() -> None:
    builder = PlanBuilder()
    builder.tensor(2, dtype=ScalarType.DOUBLE)
    builder.delegate("A")
    assert delegated_dtypes(builder.plan()) == {"A": frozenset()}
