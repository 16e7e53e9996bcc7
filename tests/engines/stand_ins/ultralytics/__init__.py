"""Stand-ins for ultralytics 8.4.190: what it does to engines before a recipe does."""

from __future__ import annotations

import os
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")


class YOLO:
    """A model of PyTorch, which sets the number of threads when it first chooses a device."""

    def __init__(self, model: str = "yolo26n.pt") -> None:
        self.predictor: object = None

    def predict(self, source: Any = None, **kwargs: Any) -> None:
        import torch

        if self.predictor is None:
            torch.set_num_threads(min(8, max(1, (os.cpu_count() or 1) - 1)))
            self.predictor = self
