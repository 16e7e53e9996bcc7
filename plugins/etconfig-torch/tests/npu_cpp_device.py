"""The device of npu_device.cpp, compiled and registered by the import, as a package of a vendor does."""

from __future__ import annotations

import os
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch.utils.cpp_extension import load

EXTENSION: Any = load(
    "etconfig_npu_device",
    [str(Path(__file__).parent / "npu_device.cpp")],
    build_directory=os.environ["NPU_BUILD_DIRECTORY"],
    extra_cflags=["-O0", "-g0"],  # compiles in half of the time
)

_MODULE: Any = ModuleType("torch.npu")
_MODULE.is_available = lambda: True
_MODULE.device_count = EXTENSION.device_count
_MODULE.current_device = EXTENSION.current_device
_MODULE._is_in_bad_fork = lambda: False
_MODULE.get_amp_supported_dtype = lambda: [torch.float16, torch.bfloat16]

torch.utils.rename_privateuse1_backend("npu")
torch._register_device_module("npu", _MODULE)
