"""Small models, compiled once for all tests that need TVM."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


def small_model() -> tuple[Any, tuple[Any, ...]]:
    """Return a convolution net with every kind of schedule, and an input."""
    import torch

    torch.manual_seed(0)
    layers = (
        torch.nn.Conv2d(3, 8, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.Conv2d(8, 16, 3, stride=2, padding=1),
        torch.nn.Flatten(),
        torch.nn.Linear(16 * 16 * 16, 10),
        torch.nn.Softmax(-1),
    )
    return torch.nn.Sequential(*layers).eval(), (torch.randn(1, 3, 32, 32),)


@pytest.fixture(scope="session")
def compiled() -> Any:
    """The small model, its input, and the model compiled for this machine."""
    import torch
    from etconfig_tvm.aot import compile_model

    model, inputs = small_model()
    return model, inputs[0], compile_model(torch.export.export(model, inputs))


@pytest.fixture(scope="session")
def library(compiled: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library of the small model."""
    path = tmp_path_factory.mktemp("library") / "model.so"
    compiled[2].save(path)
    return path
