"""The digits model: a small convolutional network for scikit-learn's 8x8 handwritten digits.

Two methods share its weights. `forward` gives ten class probabilities for one image,
`embed` the mean of each of the 32 feature maps. Both take float32 pixels from 0 to 16,
shaped (1, 1, 8, 8). The tool writes one program for each way to run it:

    digits.pte           features on ReferenceNpuBackend, classifier on ReferenceCpuBackend
    digits_inline.pte    the same, with the delegates' payloads inline instead of in segments
    digits_portable.pte  no delegation
    digits_xnnpack.pte   everything that XNNPACK supports is delegated to it
    digits.npz           200 images that were not used in training, labels, and PyTorch's answers
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from etconfig_reference.aot import ReferenceCpuBackend, ReferenceNpuBackend, ReferencePartitioner
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import ExecutorchBackendConfig
from exporting import check_close, describe_program, lower_methods, run_stock_runtime
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import Tensor, nn

Labels: TypeAlias = npt.NDArray[np.int64]
Outputs: TypeAlias = npt.NDArray[np.float32]

DATA_SOURCE = (
    "scikit-learn's copy of Optical Recognition of Handwritten Digits, E. Alpaydin and C. Kaynak, "
    "UCI Machine Learning Repository, CC BY 4.0"
)
SEED = 20
HELD_OUT = 200
EPOCHS = 40
BATCH = 64
LEARNING_RATE = 2e-3
MIN_ACCURACY = 0.97
TOLERANCE = 1e-5


class Digits(nn.Module):
    """Method `forward`: class probabilities."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(nn.Flatten(), nn.Linear(512, 32), nn.ReLU(), nn.Linear(32, 10))

    def forward(self, image: Tensor) -> Tensor:
        """Map images (N, 1, 8, 8) to probabilities (N, 10)."""
        return torch.softmax(self.classifier(self.features(normalize(image))), dim=1)


class Embedding(nn.Module):
    """Method `embed`: the trained features, averaged over the image."""

    def __init__(self, features: nn.Module) -> None:
        super().__init__()
        self.features = features

    def forward(self, image: Tensor) -> Tensor:
        """Map images (N, 1, 8, 8) to embeddings (N, 32)."""
        return self.features(normalize(image)).mean(dim=(2, 3))


def normalize(image: Tensor) -> Tensor:
    """Scale pixels from 0..16 to -0.5..0.5."""
    return image * 0.0625 - 0.5


def build(folder: Path) -> dict[str, Any]:
    """Train, export in four ways, check each and write everything into `folder`."""
    torch.manual_seed(SEED)
    torch.use_deterministic_algorithms(True)
    torch.set_num_threads(1)
    images, held_out, labels, held_out_labels = _load_images()
    model = _train(images, labels)
    methods = {"forward": model, "embed": Embedding(model.features).eval()}
    with torch.no_grad():
        answers = {name: module(held_out).numpy() for name, module in methods.items()}
    accuracy = float((answers["forward"].argmax(axis=1) == held_out_labels).mean())
    if accuracy < MIN_ACCURACY:
        raise RuntimeError(f"accuracy on the held-out images is {accuracy}, expected at least {MIN_ACCURACY}")

    np.savez_compressed(folder / "digits.npz", images=held_out.numpy(), labels=held_out_labels, **answers)
    return {
        "data": DATA_SOURCE,
        "seed": SEED,
        "held_out_images": HELD_OUT,
        "accuracy": accuracy,
        "programs": _export_programs(folder, methods, held_out, answers),
    }


def _load_images() -> tuple[Tensor, Tensor, Labels, Labels]:
    """Return training and test images (N, 1, 8, 8), then their labels; every class in proportion."""
    digits = load_digits()
    images = digits.images.astype(np.float32).reshape(-1, 1, 8, 8)
    training, held_out, labels, held_out_labels = train_test_split(
        images, digits.target, test_size=HELD_OUT, random_state=SEED, stratify=digits.target
    )
    return torch.from_numpy(training), torch.from_numpy(held_out), labels, held_out_labels


def _train(images: Tensor, labels: Labels) -> Digits:
    model = Digits()
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    targets = torch.from_numpy(labels)
    for _ in range(EPOCHS):
        for batch in torch.randperm(len(images)).split(BATCH):
            logits = model.classifier(model.features(normalize(images[batch])))
            loss = nn.functional.cross_entropy(logits, targets[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return model.eval().requires_grad_(False)


def _export_programs(
    folder: Path, methods: Mapping[str, nn.Module], images: Tensor, answers: Mapping[str, Outputs]
) -> dict[str, Any]:
    """Write the four programs, check them, and return a description of each."""
    example = images[:1]
    delegated = lower_methods(methods, example, _reference_partitioners())
    xnnpack = lower_methods(methods, example, {name: XnnpackPartitioner() for name in methods})
    programs = {
        "digits.pte": delegated.to_executorch(),
        "digits_inline.pte": delegated.to_executorch(
            ExecutorchBackendConfig(extract_delegate_segments=False)
        ),
        "digits_portable.pte": lower_methods(methods, example, {}).to_executorch(),
        "digits_xnnpack.pte": xnnpack.to_executorch(),
    }
    for file_name in ("digits_portable.pte", "digits_xnnpack.pte"):
        for name, expected in answers.items():
            given = run_stock_runtime(programs[file_name].buffer, name, images)
            check_close(f"{name} of {file_name}", given, expected, TOLERANCE)
    for file_name, program in programs.items():
        (folder / file_name).write_bytes(program.buffer)
    return {file_name: describe_program(program) for file_name, program in programs.items()}


def _reference_partitioners() -> dict[str, ReferencePartitioner]:
    npu, cpu = ReferenceNpuBackend.__name__, ReferenceCpuBackend.__name__
    return {
        "forward": ReferencePartitioner({"features": npu, "classifier": cpu}),
        "embed": ReferencePartitioner({"features": npu}),
    }
