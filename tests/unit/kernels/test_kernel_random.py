"""Random numbers: their properties, without comparison to PyTorch's own generator."""

from __future__ import annotations

import numpy as np
import pytest
from plans import PlanBuilder

from etconfig import Method
from etconfig.base.scalar_types import ScalarType

COUNT = 20_000


def generating(operator: str, dtype: ScalarType) -> Method:
    builder = PlanBuilder()
    out = builder.tensor(COUNT, dtype=dtype)
    builder.call(operator, builder.ints(COUNT), out, out)
    builder.outputs.append(out)
    return builder.load()


def dropping(p: float, train: bool | None) -> Method:
    builder = PlanBuilder()
    x, out = builder.tensor(COUNT), builder.tensor(COUNT)
    mask = builder.tensor(COUNT, dtype=ScalarType.BOOL)
    arguments = x, builder.scalar(p), builder.scalar(train), out, mask
    builder.call("aten::native_dropout.out", *arguments)
    builder.inputs.append(x)
    builder.outputs += [out, mask]
    return builder.load()


FLOATING = [ScalarType.HALF, ScalarType.BFLOAT16, ScalarType.FLOAT, ScalarType.DOUBLE]


class TestRandomNumbers:
    """Random numbers have the right distribution, repeat in each Method, and continue from run to run."""

    @pytest.mark.parametrize("dtype", FLOATING)
    def test_rand_is_uniform_below_one(self, dtype: ScalarType) -> None:
        values = generating("aten::rand.out", dtype).execute()[0].astype(np.float64)
        assert values.min() >= 0
        assert values.max() < 1
        # Bounds of five standard errors.
        assert abs(values.mean() - 0.5) < 5 * np.sqrt(1 / 12 / COUNT) + 2**-8
        assert abs(values.var() - 1 / 12) < 0.004

    @pytest.mark.parametrize("dtype", FLOATING)
    def test_randn_is_normal(self, dtype: ScalarType) -> None:
        values = generating("aten::randn.out", dtype).execute()[0].astype(np.float64)
        assert abs(values.mean()) < 5 / np.sqrt(COUNT)
        assert abs(values.var() - 1) < 5 * np.sqrt(2 / COUNT)
        assert abs((np.abs(values) < 1).mean() - 0.6827) < 0.02

    def test_methods_repeat_each_other_and_runs_do_not(self) -> None:
        first, second = (generating("aten::rand.out", ScalarType.FLOAT) for _ in range(2))
        runs = [first.execute()[0], first.execute()[0]]
        np.testing.assert_array_equal(second.execute()[0], runs[0])
        np.testing.assert_array_equal(second.execute()[0], runs[1])
        assert (runs[0] != runs[1]).any()

    def test_numpys_global_generator_is_left_alone(self) -> None:
        state = np.random.get_state()[1].tolist()
        generating("aten::rand.out", ScalarType.FLOAT).execute()
        assert np.random.get_state()[1].tolist() == state

    @pytest.mark.parametrize("train", [True, None])
    def test_dropout_keeps_a_share_and_scales_it(self, train: bool | None) -> None:
        x = np.arange(1, COUNT + 1, dtype=np.float32)
        out, mask = dropping(0.25, train).execute([x])
        assert abs(mask.mean() - 0.75) < 5 * np.sqrt(0.25 * 0.75 / COUNT)
        np.testing.assert_allclose(out, np.where(mask, x / np.float32(0.75), 0), rtol=1e-6)
