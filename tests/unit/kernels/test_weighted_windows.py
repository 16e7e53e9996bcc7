"""Resizing and pooling of images that contain infinities and NaN."""

from __future__ import annotations

import numpy as np
import pytest

from etconfig.base.scalar_types import ScalarType
from etconfig.errors import KernelArgumentError
from etconfig.kernel.memory import Scratch, allocate_zeroed
from etconfig.kernel.tensor import Tensor
from etconfig.kernels import builtin_kernels
from etconfig.program.model import TensorShapeDynamism

KERNELS = builtin_kernels()


def image(height: int, width: int) -> Tensor:
    shape = (1, 1, height, width)
    memory = allocate_zeroed(4 * height * width)
    return Tensor(ScalarType.FLOAT, shape, (0, 1, 2, 3), memory, 0, TensorShapeDynamism.STATIC)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(
    ("operator", "arguments", "size"),
    [
        ("aten::_adaptive_avg_pool2d.out", ((2, 2),), 2),
        ("aten::upsample_bilinear2d.vec_out", ((8, 8), False, None), 8),
        ("aten::_upsample_bilinear2d_aa.out", ((2, 2), False, None, None), 2),
    ],
)
def test_an_element_only_reaches_results_that_have_a_weight_for_it(
    operator: str, arguments: tuple[object, ...], size: int, value: float
) -> None:
    x, out = image(4, 4), image(size, size)
    step = KERNELS[operator].bind(operator, Scratch(), [x, *arguments, out])
    x.array[...] = 1.0
    x.array[0, 0, 0, 0] = value
    with np.errstate(all="ignore"):
        step()
    assert np.isfinite(out.array[0, 0, size // 2 :, :]).all()
    assert np.isfinite(out.array[0, 0, :, size - 1]).all()
    np.testing.assert_equal(out.array[0, 0, 0, 0], np.float32(value))
    x.array[0, 0, 0, 0] = 1.0
    step()
    np.testing.assert_allclose(out.array, 1.0, rtol=1e-6)


@pytest.mark.parametrize(
    ("operator", "arguments"),
    [
        ("aten::_adaptive_avg_pool2d.out", ((16_384, 1),)),
        ("aten::upsample_bilinear2d.vec_out", ((16_384, 1), False, None)),
        ("aten::_upsample_bilinear2d_aa.out", ((16_384, 1), False, None, None)),
    ],
)
def test_weights_that_take_far_more_memory_than_the_tensors_are_refused(
    operator: str, arguments: tuple[object, ...]
) -> None:
    """Their number is the product of two sizes: images of 64 KiB could require gigabytes."""
    text = "16384 windows over 4097 elements are too many weights"
    with pytest.raises(KernelArgumentError, match=text):
        KERNELS[operator].bind(operator, Scratch(), [image(4097, 1), *arguments, image(16_384, 1)])
