from __future__ import annotations

import re

import pytest

from etconfig.plugin.v1 import Capabilities


class TestClaims:
    """By default a backend claims float32 in contiguous tensors of fixed shape, and nothing else."""

    def test_every_optional_claim_is_off_by_default(self) -> None:
        claims = Capabilities()
        assert (claims.dtypes, claims.dim_orders, claims.precision) == ({"float32"}, {"contiguous"}, None)
        flags = [value for value in vars(claims).values() if isinstance(value, bool)]
        assert len(flags) == 7
        assert not any(flags)

    def test_a_dtype_unknown_to_this_version_may_be_claimed(self) -> None:
        assert Capabilities(dtypes=frozenset({"float8_e4m3fn"})).dtypes == {"float8_e4m3fn"}

    def test_zero_is_a_precision(self) -> None:
        assert Capabilities(precision={"float32": 0.0}).precision == {"float32": 0.0}


class TestPrecision:
    """A claim of precision names a claimed dtype and a relative error."""

    def test_a_dtype_that_is_not_claimed_is_refused(self) -> None:
        message = "precision names 'float16', but dtypes are ['float32']; claim it there too"
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            Capabilities(precision={"float16": 1e-3})

    @pytest.mark.parametrize("error", [-1e-6, 1.0, float("nan"), float("inf")])
    def test_a_value_that_is_not_a_relative_error_is_refused(self, error: float) -> None:
        message = f"precision of float32 is {error}; expected a relative error, from 0 to below 1"
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            Capabilities(precision={"float32": error})


@pytest.mark.parametrize("name", ["dtypes", "dim_orders"])
def test_one_text_in_place_of_names_is_refused(name: str) -> None:
    with pytest.raises(TypeError, match=rf"^{name} is the text 'x'; write frozenset\(\{{'x'\}}\)$"):
        Capabilities(**{name: "x"})


@pytest.mark.parametrize("name", ["dtypes", "dim_orders"])
@pytest.mark.parametrize("given", [["contiguous"], ("contiguous",), None, {"contiguous": True}, {5}])
def test_what_is_not_a_set_of_names_is_refused(name: str, given: object) -> None:
    message = f"{name} is {given!r}; expected a frozenset of names"
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        Capabilities(**{name: given})  # type: ignore[arg-type]


def test_a_dim_order_that_does_not_exist_is_refused() -> None:
    message = "dim_orders names 'chanels_last', which is not a dim order; did you mean 'channels_last'?"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        Capabilities(dim_orders=frozenset({"contiguous", "chanels_last"}))
