"""`OVModelForFeatureExtraction` of optimum-intel 2.2.0, as far as a recipe needs it."""

from __future__ import annotations

from typing import Any

import openvino

core = openvino.Core()


class OVModelForFeatureExtraction:
    """A model with a compiled model."""

    def __init__(self, model: Any, device: str = "CPU", ov_config: dict[str, str] | None = None) -> None:
        self.ov_config = {} if ov_config is None else {**ov_config}
        self.ov_config.setdefault("PERFORMANCE_HINT", "LATENCY")
        self.request = core.compile_model(model, device, config=self.ov_config)

    @classmethod
    def from_pretrained(cls, model_id: str, **kwargs: Any) -> OVModelForFeatureExtraction:
        """Return the model of a directory."""
        return cls(core.read_model(f"{model_id}/openvino_model.xml"), **kwargs)
