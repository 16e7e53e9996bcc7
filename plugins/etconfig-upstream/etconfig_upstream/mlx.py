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
        doc="Free cached memory after this number of executes; 0 means never. Each instance counts its own "
        "executes, but the memory belongs to the process.",
    )
    skip_mutable_buffer_init: bool | None = option(
        None,
        applies="load",
        doc="Leave the state of this instance uninitialized, for sessions that share one. The method must "
        "not use it while it is loaded.",
    )
    cache_key: str | None = option(
        None, applies="load", doc="The name under which the app installed a key-value cache."
    )


SPEC = BackendSpec(
    id="MLXBackend",
    doc="MLX: GPUs of Apple silicon.",
    options=MLXOptions,
    api=API,
    environment={"ET_MLX_ENABLE_OP_LOGGING": "Log every operation."},
)
