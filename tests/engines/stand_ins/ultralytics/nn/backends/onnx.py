"""`ONNXBackend` of ultralytics 8.4.190, as far as a recipe needs it."""

from __future__ import annotations

from typing import Any

import onnxruntime


class ONNXBackend:
    """A model with a session that it creates itself."""

    def __init__(
        self,
        weight: str,
        device: Any,
        fp16: bool = False,
        format: str = "onnx",  # noqa: A002  (its name there)
        session_options: Any = None,
    ) -> None:
        self.session = onnxruntime.InferenceSession(
            weight, session_options, providers=["CPUExecutionProvider"]
        )
