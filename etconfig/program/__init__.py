"""Real .pte files: a bounded reader that verifies everything before it is used.

with open_program("model.pte") as program:
    plan = program.plan("forward")
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from etconfig.lazy import lazy_names

_HOME = {
    "BundledCase": "bundled",
    "BundledTensor": "bundled",
    "BundledValue": "bundled",
    "DataFile": "flat_tensor",
    "DataLoader": "source",
    "DataSources": "external_data",
    "ExtendedHeader": "header",
    "Extent": "cursor",
    "Limits": "limits",
    "LoadMode": "source",
    "MethodMeta": "metadata",
    "PROGRAM_ERROR_CODES": "program_errors",
    "Program": "program",
    "TensorInfo": "metadata",
    "Verification": "program",
    "open_data_file": "flat_tensor",
    "open_program": "program",
}
"""Which module each public name lives in."""

if TYPE_CHECKING:
    from etconfig.program.bundled import BundledCase, BundledTensor, BundledValue
    from etconfig.program.cursor import Extent
    from etconfig.program.external_data import DataSources
    from etconfig.program.flat_tensor import DataFile, open_data_file
    from etconfig.program.header import ExtendedHeader
    from etconfig.program.limits import Limits
    from etconfig.program.metadata import MethodMeta, TensorInfo
    from etconfig.program.program import Program, Verification, open_program
    from etconfig.program.program_errors import PROGRAM_ERROR_CODES
    from etconfig.program.source import DataLoader, LoadMode

__all__ = [
    "PROGRAM_ERROR_CODES",
    "BundledCase",
    "BundledTensor",
    "BundledValue",
    "DataFile",
    "DataLoader",
    "DataSources",
    "ExtendedHeader",
    "Extent",
    "Limits",
    "LoadMode",
    "MethodMeta",
    "Program",
    "TensorInfo",
    "Verification",
    "open_data_file",
    "open_program",
]

__getattr__, __dir__ = lazy_names(__name__, _HOME)
