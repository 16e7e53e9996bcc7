"""A device of another package: numpy arrays behind PyTorch's PrivateUse1, registered by the import."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

CALLS: list[str] = []
"""The operators that ran on the device."""


class DeviceModule:
    """The functions that PyTorch calls about the devices."""

    @staticmethod
    def is_available() -> bool:
        return True

    @staticmethod
    def device_count() -> int:
        return 1

    @staticmethod
    def current_device() -> int:
        return 0

    @staticmethod
    def _is_in_bad_fork() -> bool:
        return False

    @staticmethod
    def get_amp_supported_dtype() -> list[Any]:
        return [torch.float32]


_setup_privateuseone_for_python_backend("npu", backend_module=DeviceModule())


class NpuTensor(torch.Tensor):
    """A tensor of the device."""

    array: Any

    @staticmethod
    def __new__(cls, size: Any, dtype: Any, array: Any) -> Any:
        made: Any = torch._C._acc.create_empty_tensor(size, dtype)
        made.__class__ = NpuTensor
        return made

    def __init__(self, size: Any, dtype: Any, array: Any) -> None:
        self.array = array


def on_device(array: Any) -> Any:
    array = np.asarray(array)
    return NpuTensor(array.shape, torch.from_numpy(np.zeros(1, array.dtype)).dtype, array)


def implement(name: str) -> Any:
    def decorate(function: Any) -> Any:
        def run(*args: Any, **named: Any) -> Any:
            CALLS.append(name)
            return function(*args, **named)

        return torch.library.impl(name, "privateuseone")(run)

    return decorate


@implement("aten::empty.memory_format")
def empty(size: Any, dtype: Any = None, **named: Any) -> Any:
    return on_device(np.empty(tuple(size), torch.empty(0, dtype=dtype).numpy().dtype))


@implement("aten::empty_strided")
def empty_strided(size: Any, stride: Any, dtype: Any = None, **named: Any) -> Any:
    return on_device(np.empty(tuple(size), torch.empty(0, dtype=dtype).numpy().dtype))


@implement("aten::_copy_from")
def copy_from(source: Any, target: Any, non_blocking: bool = False) -> Any:
    array = source.array if source.device.type == "npu" else source.detach().numpy()
    if target.device.type == "npu":
        target.array = np.array(array)
    else:
        target.copy_(torch.from_numpy(np.ascontiguousarray(array)))
    return target


@implement("aten::detach")
def detach(x: Any) -> Any:
    return on_device(x.array)


@implement("aten::linear")
def linear(x: Any, weight: Any, bias: Any = None) -> Any:
    result = x.array @ weight.array.T
    return on_device(result if bias is None else result + bias.array)


@implement("aten::relu")
def relu(x: Any) -> Any:
    return on_device(np.maximum(x.array, 0))
