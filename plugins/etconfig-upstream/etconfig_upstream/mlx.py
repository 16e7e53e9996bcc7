"""`MLXBackend`: MLX on Apple silicon. Source: backends/mlx/runtime."""

from __future__ import annotations

from typing import Annotated

from etconfig.plugin.v1 import BackendOptions, BackendSpec, Ge, option
from etconfig_upstream.api import API


class MLXOptions(BackendOptions):
    """Options of `MLXBackend`."""

    clear_cache_interval: Annotated[int, Ge(0)] | None = option(
        None,
        applies="load",
        doc="Give cached memory back after so many executes; 0 never does. The count is the instance's own, "
        "the memory is the process's.",
    )
    skip_mutable_buffer_init: bool | None = option(
        None,
        applies="load",
        doc="Leave the state of this instance uninitialised, for sessions that share one. The method must "
        "not touch it while it is loaded.",
    )
    cache_key: str | None = option(
        None, applies="load", doc="The name under which the app installed a cache for keys and values."
    )


SPEC = BackendSpec(
    id="MLXBackend",
    doc="MLX: GPUs of Apple silicon.",
    options=MLXOptions,
    api=API,
    environment={"ET_MLX_ENABLE_OP_LOGGING": "Log every operation."},
)
