"""One exported program in two modules of PyTorch with different options, at the same time.

Usage: python examples/standalone/torch/run.py [DIRECTORY]

Needs etconfig-torch[engine]. The model is written to DIRECTORY, or else to a temporary one.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import torch

import etconfig

PROFILE = Path(__file__).with_name("two_cameras.toml")
SHAPE = (1, 3, 96, 96)


def make_model() -> torch.nn.Module:
    """Return a network of three convolutions."""
    torch.manual_seed(0)
    layers = []
    for inputs, outputs in ((3, 32), (32, 64), (64, 64)):
        layers += [torch.nn.Conv2d(inputs, outputs, 3, stride=2), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers).eval()


def main(directory: Path) -> None:
    """Build both modules and show what differs."""
    path = directory / "detector.pt2"
    model, image = make_model(), torch.rand(SHAPE)
    torch.export.save(torch.export.export(model, (image,)), path)
    config = etconfig.resolve(models={"detector": "TorchBackend"}, profile=PROFILE)
    modules = {name: config.build("detector", path, instance=name) for name in ("left", "right")}
    with torch.inference_mode():
        expected = model(image)
        for name, module in modules.items():
            error = (module(image).float() - expected).abs().max().item()
            view = config.effective("detector", module, instance=name)
            print(f"{name}: error {error:.1e}, {view['autocast'].effective.value}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))
