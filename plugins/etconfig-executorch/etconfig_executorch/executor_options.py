"""The options of the executor itself: `[executor.executorch]` of a project file."""

from __future__ import annotations

from etconfig.plugin.v1 import BackendOptions, option


class ExecutorchOptions(BackendOptions):
    """The options of the executor `executorch`."""

    libraries: tuple[str, ...] = option(
        (),
        applies="load",
        scope="process",
        doc="Libraries of operators and backends to load into the process: `quantized` and `llm` of the "
        "executorch wheel, or paths of shared libraries.",
    )
