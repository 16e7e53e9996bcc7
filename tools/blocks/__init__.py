"""The blocks that torchvision- and transformers-like models are made of, each as a program of its own.

Importing the package registers every block of its modules; `BLOCKS` has them by name.
"""

from blocks import attention, heads, images, layers, sequences, vision  # noqa: F401  they register their blocks
from blocks.catalog import BLOCKS, Block, export_block

__all__ = ["BLOCKS", "Block", "export_block"]
