"""`session_runner`: a session as measurements run it, as an application does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from etconfig.plugin.v1 import ModelRunner
from etconfig_tvm.arrays import readable


def session_runner(session: Any) -> ModelRunner:
    """Return a function that runs `main` of a session; a library does not say what that takes."""
    main = session["main"]

    def run(values: Sequence[Any]) -> Sequence[Any]:
        found = main(*(readable(np.asarray(value)) for value in values))
        outputs = [found] if hasattr(found, "__dlpack__") else list(found)
        return [np.from_dlpack(each).copy() for each in outputs]

    return ModelRunner(inputs=(), run=run)
