"""`ORTModelForFeatureExtraction` of optimum-onnx 0.1.0, as far as a recipe needs it."""

from __future__ import annotations

from typing import Any

import onnxruntime


class ORTModelForFeatureExtraction:
    """A model with a session."""

    def __init__(self, session: Any) -> None:
        self.session = session

    @classmethod
    def from_pretrained(
        cls,
        model_id: str,
        provider: str = "CPUExecutionProvider",
        session_options: Any = None,
    ) -> ORTModelForFeatureExtraction:
        """Return the model of a directory."""
        return cls(
            onnxruntime.InferenceSession(
                f"{model_id}/model.onnx", providers=[provider], sess_options=session_options
            )
        )
