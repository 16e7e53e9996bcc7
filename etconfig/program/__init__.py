"""Real .pte files: a bounded reader that verifies everything before it is used.

with open_program("model.pte") as program:
    plan = program.plan("forward")
"""

from etconfig.program.bundled import BundledCase, BundledTensor, BundledValue
from etconfig.program.cursor import Extent
from etconfig.program.external_data import DataSources
from etconfig.program.faults import PROGRAM_ERROR_CODES
from etconfig.program.flat_tensor import DataFile, open_data_file
from etconfig.program.header import ExtendedHeader
from etconfig.program.limits import Limits
from etconfig.program.metadata import MethodMeta, TensorInfo
from etconfig.program.program import Program, Verification, open_program

__all__ = [
    "PROGRAM_ERROR_CODES",
    "BundledCase",
    "BundledTensor",
    "BundledValue",
    "DataFile",
    "DataSources",
    "ExtendedHeader",
    "Extent",
    "Limits",
    "MethodMeta",
    "Program",
    "TensorInfo",
    "Verification",
    "open_data_file",
    "open_program",
]
