"""Well-known architectures in plain torch, with random weights, by name and size.

from architectures import make

example = make("resnet", "small")
example.module(*example.calls[0])
"""

from architectures.catalog import ARCHITECTURES, SIZES
from architectures.example import Example, make

__all__ = ["ARCHITECTURES", "SIZES", "Example", "make"]
