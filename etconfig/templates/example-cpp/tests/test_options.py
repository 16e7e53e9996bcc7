from __future__ import annotations

import pytest

from example_cpp.options import MIN_TILE_BYTES, ExampleCppOptions


class TestOptions:
    """The options have defaults that work, and refuse values that the device does not support."""

    def test_the_defaults_are_valid(self) -> None:
        assert ExampleCppOptions().tile_bytes == 64 << 10

    @pytest.mark.parametrize("changed", [{"tile_bytes": MIN_TILE_BYTES - 1}, {"num_threads": 0}])
    def test_a_value_below_its_bound_is_refused(self, changed: dict[str, int]) -> None:
        with pytest.raises(ValueError, match="greater than or equal to"):
            ExampleCppOptions(**changed)
