"""`Tensor`: a numpy view with the program's dtype, dim order and bounds; `Register`: one value of a plan."""

from __future__ import annotations

import math
from operator import gt
from typing import Any

import ml_dtypes
import numpy as np

from etconfig.base.scalar_types import MAX_RANK, ScalarType, strides_of
from etconfig.kernel.memory import Array, Shape, allocate_zeroed
from etconfig.program.model import TensorShapeDynamism
from etconfig.program.tensor_reader import MAX_TENSOR_BYTES

DTYPES: dict[ScalarType, np.dtype[Any]] = {
    ScalarType.BYTE: np.dtype(np.uint8),
    ScalarType.CHAR: np.dtype(np.int8),
    ScalarType.SHORT: np.dtype(np.int16),
    ScalarType.INT: np.dtype(np.int32),
    ScalarType.LONG: np.dtype(np.int64),
    ScalarType.HALF: np.dtype(np.float16),
    ScalarType.FLOAT: np.dtype(np.float32),
    ScalarType.DOUBLE: np.dtype(np.float64),
    ScalarType.COMPLEX64: np.dtype(np.complex64),
    ScalarType.COMPLEX128: np.dtype(np.complex128),
    ScalarType.BOOL: np.dtype(np.bool_),
    ScalarType.QINT8: np.dtype(np.int8),
    ScalarType.QUINT8: np.dtype(np.uint8),
    ScalarType.QINT32: np.dtype(np.int32),
    ScalarType.BFLOAT16: np.dtype(ml_dtypes.bfloat16),
    ScalarType.QUINT4X2: np.dtype(np.uint8),
    ScalarType.QUINT2X4: np.dtype(np.uint8),
    ScalarType.BITS16: np.dtype(np.uint16),
    ScalarType.FLOAT8E5M2: np.dtype(ml_dtypes.float8_e5m2),
    ScalarType.FLOAT8E4M3FN: np.dtype(ml_dtypes.float8_e4m3fn),
    ScalarType.FLOAT8E5M2FNUZ: np.dtype(ml_dtypes.float8_e5m2fnuz),
    ScalarType.FLOAT8E4M3FNUZ: np.dtype(ml_dtypes.float8_e4m3fnuz),
    ScalarType.UINT16: np.dtype(np.uint16),
    ScalarType.UINT32: np.dtype(np.uint32),
    ScalarType.UINT64: np.dtype(np.uint64),
}
"""The numpy dtype that stores a scalar type; quantized types are stored as plain integers."""

KEPT_SHAPES = 8
"""The most shapes of one tensor, and of the tensors of one instruction, for which bound steps are kept."""

_ROW_MAJOR = tuple(tuple(range(rank)) for rank in range(MAX_RANK + 1))
_NO_MEMORY: Array = np.empty((0,), np.uint8)


class TensorForm:
    """The common properties of tensors that differ only in where their data lie.

    Attributes:
        scalar_type: The element type.
        dtype: Its numpy dtype.
        bounds: The planned sizes: exact if static, upper bounds if bounded.
        dim_order: The dimensions from outermost to innermost in memory.
        dynamism: If and how the shape may change.
        strides: In bytes, at the planned sizes; None if they are row-major.
    """

    __slots__ = ("bounds", "dim_order", "dtype", "dynamism", "scalar_type", "strides")

    def __init__(
        self,
        scalar_type: ScalarType,
        sizes: Shape,
        dim_order: tuple[int, ...],
        dynamism: TensorShapeDynamism = TensorShapeDynamism.STATIC,
    ) -> None:
        self.scalar_type = scalar_type
        self.dtype = DTYPES[scalar_type]
        self.bounds = sizes
        self.dim_order = dim_order
        self.dynamism = dynamism
        self.strides = self.strides_at(sizes)

    def strides_at(self, shape: Shape) -> Shape | None:
        """Return the strides in bytes of a tensor of this form at `shape`; None if they are row-major."""
        if self.dim_order == _ROW_MAJOR[len(shape)]:
            return None
        return strides_of(shape, self.dim_order, self.dtype.itemsize)

    def allows(self, shape: Shape) -> bool:
        """Return whether a tensor may have `shape`.

        As in ExecuTorch, the bounds limit the number of elements: an export without bounds plans the sizes
        of its example, and any other shape with as many elements fits. Source: internal_resize_contiguous,
        tensor_impl.cpp.
        """
        bounds = self.bounds
        if shape == bounds:
            return True
        if self.dynamism is TensorShapeDynamism.STATIC or len(shape) != len(bounds):
            return False
        is_bounded = self.dynamism is TensorShapeDynamism.DYNAMIC_BOUND
        return min(shape) >= 0 and not (is_bounded and math.prod(shape) > math.prod(bounds))

    def is_exceeded_by(self, shape: Shape) -> bool:
        """Return whether a size of `shape` exceeds its bound; inputs and the entries of maps may not."""
        is_bounded = self.dynamism is TensorShapeDynamism.DYNAMIC_BOUND
        return is_bounded and any(map(gt, shape, self.bounds))


class Tensor:
    """One tensor value of a method: a view into memory that the method or the program owns.

    Attributes:
        array: The data in logical dimension order; its strides carry the dim order.
        dtype: The numpy dtype.
        form: Everything else about the tensor except its memory.
        token: An object that identifies `array`: it changes with the array, and returns with a shape that
            the tensor had before. Steps that were bound at another token must be bound again.
        is_alias: `array` is not a view of the tensor's own memory, but was passed to `set_array`.
    """

    __slots__ = ("_memory", "_offset", "_views", "array", "dtype", "form", "is_alias", "token")

    def __init__(
        self,
        scalar_type: ScalarType,
        sizes: Shape,
        dim_order: tuple[int, ...],
        memory: Array | memoryview | None,
        offset: int = 0,
        dynamism: TensorShapeDynamism = TensorShapeDynamism.STATIC,
    ) -> None:
        """Place the tensor at byte `offset` of `memory`; None means that it has no memory yet."""
        self._place(TensorForm(scalar_type, sizes, dim_order, dynamism), memory, offset)

    @classmethod
    def of_form(
        cls,
        form: TensorForm,
        memory: Array | memoryview | None,
        offset: int = 0,
        array: Array | None = None,
    ) -> Tensor:
        """Return a tensor of a shared form; `array` is its view of `memory`, if there already is one."""
        tensor = cls.__new__(cls)
        tensor._place(form, memory, offset, array)
        return tensor

    def _place(
        self,
        form: TensorForm,
        memory: Array | memoryview | None,
        offset: int,
        array: Array | None = None,
    ) -> None:
        self.form = form
        self.dtype = form.dtype
        self.token = object()
        self.is_alias = False
        self._memory = memory
        self._offset = offset
        self._views: dict[Shape, tuple[Array, object]] = {}
        if array is None and memory is not None:
            array = np.ndarray(form.bounds, form.dtype, memory, offset, form.strides)
        self.array: Array = _NO_MEMORY if array is None else array

    @property
    def scalar_type(self) -> ScalarType:
        """The element type."""
        return self.form.scalar_type

    @property
    def dim_order(self) -> tuple[int, ...]:
        """The dimensions from outermost to innermost in memory."""
        return self.form.dim_order

    @property
    def dynamism(self) -> TensorShapeDynamism:
        """If and how the shape may change."""
        return self.form.dynamism

    @property
    def bounds(self) -> Shape:
        """The planned sizes: exact if static, upper bounds if bounded."""
        return self.form.bounds

    @property
    def shape(self) -> Shape:
        """The current sizes."""
        shape: Shape = self.array.shape
        return shape

    @property
    def has_memory(self) -> bool:
        """True if there are data to read."""
        return self.array is not _NO_MEMORY

    def resize(self, shape: Shape) -> None:
        """Give the tensor the sizes that an operator computed for it.

        The bytes do not change. Memory that the program does not plan is allocated here.

        Raises:
            ValueError: the program plans other sizes, or too small bounds.
        """
        if self.array.shape == shape and self.array is not _NO_MEMORY:
            return
        known = self._views.get(shape)
        if known is None:
            self.check_shape(shape)
            if self._memory is None or self.form.dynamism is TensorShapeDynamism.DYNAMIC_UNBOUND:
                self._reserve(shape)
            known = self._remember(shape)
        become(self, *known, is_alias=False)

    def ensure_memory(self) -> None:
        """Allocate zeroed memory, at the planned sizes, if the tensor has none yet."""
        if not self.has_memory:
            self.resize(self.bounds)

    def check_shape(self, shape: Shape) -> None:
        """Refuse sizes that the program does not allow for this tensor.

        Raises:
            ValueError: the program plans other sizes, or too small bounds.
        """
        if self.form.allows(shape):
            return
        if len(shape) != len(self.bounds):
            raise ValueError(f"shape {shape} has rank {len(shape)}, planned is rank {len(self.bounds)}")
        if min(shape, default=0) < 0:
            raise ValueError(f"shape {shape} has a negative size")
        if self.dynamism is TensorShapeDynamism.STATIC:
            raise ValueError(f"shape {shape} differs from the planned shape {self.bounds}")
        raise ValueError(f"shape {shape} exceeds the planned bounds {self.bounds}")

    def set_array(self, array: Array, token: object = None) -> None:
        """Make the tensor another view, with another token for steps that were bound to the old one.

        Args:
            array: The view.
            token: The token that the tensor had when it was this very view before; by default a new one.
        """
        become(self, array, object() if token is None else token, is_alias=True)

    def release(self) -> None:
        """Free the memory of an unbounded tensor; other tensors keep theirs."""
        if self.dynamism is TensorShapeDynamism.DYNAMIC_UNBOUND:
            self._memory = None
            self._views.clear()
            end_alias(self)

    def _remember(self, shape: Shape) -> tuple[Array, object]:
        """Return a view of `shape` and its token, and forget the oldest if there are too many."""
        if len(self._views) == KEPT_SHAPES:
            del self._views[next(iter(self._views))]
        form = self.form
        strides = None if form.strides is None else form.strides_at(shape)
        view: Array = np.ndarray(shape, form.dtype, self._memory, self._offset, strides)
        known = self._views[shape] = (view, object())
        return known

    def _reserve(self, shape: Shape) -> None:
        is_bounded = self.dynamism is TensorShapeDynamism.DYNAMIC_BOUND
        sizes = self.bounds if is_bounded else shape
        # numpy refuses strides beyond 63 bits, even of arrays without elements
        if math.prod(size or 1 for size in sizes) * self.dtype.itemsize > MAX_TENSOR_BYTES:
            raise MemoryError(f"sizes {sizes} take 2**63 bytes or more")
        size_bytes = math.prod(sizes) * self.dtype.itemsize
        old = self._memory
        if old is None or old.nbytes < size_bytes:
            self._memory = allocate_zeroed(size_bytes)
            self._views.clear()
            if old is not None:
                self._memory[: old.nbytes] = old


def become(tensor: Tensor, array: Array, token: object, *, is_alias: bool) -> None:
    """Give a tensor the array and token that it had before."""
    tensor.array = array
    tensor.token = token
    tensor.is_alias = is_alias


def end_alias(tensor: Tensor) -> None:
    """Leave a tensor without memory until `resize` gives it a view of its own again."""
    become(tensor, _NO_MEMORY, object(), is_alias=False)


def memory_of(tensor: Tensor) -> object:
    """Return the memory of the tensor's own views: another object whenever it is allocated anew."""
    return tensor._memory


class Register:
    """One entry of a plan's `values` while it runs: a Tensor, a scalar, a string, a list, or None.

    Instructions refer to registers, so that they can compute scalars and move tensors.
    """

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value
