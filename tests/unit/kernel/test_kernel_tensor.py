"""`Tensor`, the memory below it, and the checks of kernels."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from etconfig.base.scalar_types import ScalarType
from etconfig.kernel import checks
from etconfig.kernel.memory import MethodAllocator, Scratch, TemporaryAllocator, allocate_zeroed
from etconfig.kernel.tensor import DTYPES, Tensor
from etconfig.program.model import TensorShapeDynamism

STATIC, BOUND, UNBOUND = TensorShapeDynamism
FLOAT = ScalarType.FLOAT


def tensor(*sizes: int, dtype: ScalarType = FLOAT, dynamism: TensorShapeDynamism = STATIC) -> Tensor:
    return Tensor(dtype, sizes, tuple(range(len(sizes))), allocate_zeroed(1024), 0, dynamism)


class TestTensor:
    """A tensor is a view, whose shape changes as far as the program allows."""

    @pytest.mark.parametrize("scalar_type", ScalarType)
    def test_every_scalar_type_has_a_dtype_of_its_size(self, scalar_type: ScalarType) -> None:
        assert DTYPES[scalar_type].itemsize == scalar_type.itemsize_bytes
        assert tensor(2, dtype=scalar_type).array.dtype == DTYPES[scalar_type]

    def test_a_view_lies_at_its_offset_in_its_dim_order(self) -> None:
        memory = allocate_zeroed(64)
        memory.view(np.float32)[:] = range(16)
        view = Tensor(FLOAT, (2, 3), (1, 0), memory, 8)
        assert view.array.tolist() == [[2, 4, 6], [3, 5, 7]]

    def test_a_static_tensor_keeps_its_shape(self) -> None:
        fixed = tensor(2, 3)
        token = fixed.token
        fixed.resize((2, 3))
        assert fixed.token is token
        with pytest.raises(ValueError, match=r"shape \(3, 2\) differs from the planned shape \(2, 3\)"):
            fixed.resize((3, 2))
        with pytest.raises(ValueError, match=r"shape \(6,\) has rank 1, planned is rank 2"):
            fixed.resize((6,))

    def test_a_bounded_tensor_is_another_view_of_the_same_bytes(self) -> None:
        bounded = tensor(4, 2, dynamism=BOUND)
        bounded.array[...] = np.arange(8).reshape(4, 2)
        token = bounded.token
        bounded.resize((2, 1))
        assert bounded.array.tolist() == [[0], [1]]
        assert bounded.token is not token
        with pytest.raises(ValueError, match=r"shape \(4, 3\) exceeds the planned bounds \(4, 2\)"):
            bounded.resize((4, 3))

    def test_bounds_are_those_of_the_number_of_elements_as_in_executorch(self) -> None:
        bounded = tensor(4, 2, dynamism=BOUND)
        bounded.array[...] = np.arange(8).reshape(4, 2)
        bounded.resize((2, 4))
        assert bounded.array.tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
        with pytest.raises(ValueError, match=r"shape \(3, 3\) exceeds the planned bounds \(4, 2\)"):
            bounded.resize((3, 3))

    def test_memory_that_is_not_planned_is_allocated_once_and_for_the_bounds(self) -> None:
        bounded = Tensor(FLOAT, (4,), (0,), None, dynamism=BOUND)
        assert not bounded.has_memory
        bounded.resize((2,))
        first = bounded.array
        bounded.resize((4,))
        assert np.shares_memory(first, bounded.array)

    def test_releasing_is_for_unbounded_tensors(self) -> None:
        unbounded, fixed = Tensor(FLOAT, (0,), (0,), None, dynamism=UNBOUND), tensor(2)
        unbounded.resize((3,))
        unbounded.release()
        fixed.release()
        assert not unbounded.has_memory
        assert fixed.has_memory


class TestMemory:
    """Memory is aligned, zeroed, and no larger than requested."""

    @pytest.mark.parametrize("alignment", [1, 64, 4096])
    def test_blocks_are_zeroed_and_aligned(self, alignment: int) -> None:
        block = allocate_zeroed(100, alignment)
        assert block.nbytes == 100
        assert not block.any()
        assert block.ctypes.data % alignment == 0

    @pytest.mark.parametrize("size_bytes", [2**62, 2**80])
    def test_memory_that_is_not_available_is_a_memory_error(self, size_bytes: int) -> None:
        with pytest.raises(MemoryError):
            allocate_zeroed(size_bytes)

    def test_scratch_arrays_of_one_call_do_not_overlap(self) -> None:
        scratch = Scratch()
        first, second = scratch.arrays(((3, 5), np.dtype(np.float32)), ((7,), np.dtype(np.int64)))
        assert (first.shape, second.shape) == ((3, 5), (7,))
        assert not np.shares_memory(first, second)
        assert second.ctypes.data % 64 == 0

    def test_scratch_is_shared_and_grows_by_doubling(self) -> None:
        scratch = Scratch()
        first, again = (scratch.array((100,), np.dtype(np.uint8)) for _ in range(2))
        assert np.shares_memory(first, again)
        larger = scratch.array((129,), np.dtype(np.uint8))
        assert not np.shares_memory(first, larger)
        assert np.shares_memory(larger, scratch.array((256,), np.dtype(np.uint8)))

    def test_a_methods_memory_is_kept(self) -> None:
        allocator = MethodAllocator()
        address = allocator.allocate(10_000).ctypes.data
        others = [allocator.allocate(10_000).ctypes.data for _ in range(5)]
        assert address not in others

    def test_temporary_memory_is_used_again_after_reset(self) -> None:
        allocator = TemporaryAllocator()
        allocator.allocate(1000).fill(7)
        allocator.allocate(1000)
        allocator.reset()
        first = allocator.allocate(1000)
        assert not first.any()
        second = allocator.allocate(900)
        assert not np.shares_memory(first, second)
        first.fill(7)
        allocator.reset()
        again = allocator.allocate(1000)
        assert np.shares_memory(first, again)
        assert not again.any()


class TestChecks:
    """A failed check is a ValueError with a sentence about the arguments."""

    def test_dtypes_must_be_equal(self) -> None:
        checks.require_same_dtype(a=tensor(1), b=tensor(2), c=None)
        with pytest.raises(ValueError, match="dtypes must be equal, but a is float32, b is int64"):
            checks.require_same_dtype(a=tensor(1), b=tensor(1, dtype=ScalarType.LONG), c=None)

    def test_dtypes_must_be_allowed(self) -> None:
        expected = "x must be one of bfloat16, float16, float32, float64, but is int64"
        with pytest.raises(ValueError, match=expected):
            checks.require_floating("x", tensor(1, dtype=ScalarType.LONG))

    def test_ranks_must_be_allowed(self) -> None:
        with pytest.raises(ValueError, match=r"x must have rank 3 or 4, but has shape \(2, 3\)"):
            checks.require_rank("x", tensor(2, 3), 3, 4)

    def test_dimensions_count_from_the_front(self) -> None:
        assert [checks.dimension(each, 3) for each in (0, 2, -1, -3)] == [0, 2, 2, 0]
        assert [checks.dimension(each, 0) for each in (0, -1)] == [0, 0]
        with pytest.raises(ValueError, match="dimension 3 is out of range for rank 3"):
            checks.dimension(3, 3)

    def test_no_dimensions_mean_all(self) -> None:
        assert checks.dimensions(None, 3) == checks.dimensions((), 3) == (0, 1, 2)
        assert checks.dimensions((-1, 0), 3) == (2, 0)
        assert checks.dimensions((0,), 0) == ()
        with pytest.raises(ValueError, match=r"dimensions \(0, -3\) repeat one"):
            checks.dimensions((0, -3), 3)

    def test_shapes_that_do_not_broadcast_are_named(self) -> None:
        assert checks.broadcast_shape((2, 1), (3,)) == (2, 3)
        with pytest.raises(ValueError, match=r"shapes \(2,\) and \(3,\) do not broadcast"):
            checks.broadcast_shape((2,), (3,))

    @pytest.mark.parametrize(
        ("first", "second", "promoted"),
        [
            ("int64", "float16", "float16"),
            ("uint8", "int8", "int16"),
            ("bool", "int8", "int8"),
            ("float32", "float64", "float64"),
            (ml_dtypes.bfloat16, "float16", "float32"),
            (ml_dtypes.bfloat16, "float32", "float32"),
            (ml_dtypes.bfloat16, "int64", ml_dtypes.bfloat16),
        ],
    )
    def test_dtypes_promote_as_in_pytorch(self, first: object, second: object, promoted: object) -> None:
        assert checks.promote(np.dtype(first), np.dtype(second)) == np.dtype(promoted)
        assert checks.promote(np.dtype(second), np.dtype(first)) == np.dtype(promoted)

    def test_dtypes_without_a_common_one_are_named(self) -> None:
        with pytest.raises(ValueError, match="uint64 and int64 have no common dtype"):
            checks.promote(np.dtype(np.uint64), np.dtype(np.int64))
