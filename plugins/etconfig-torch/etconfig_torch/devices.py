"""The device that an option names, if it is here."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from etconfig_torch.errors import unavailable
from etconfig_torch.options import TorchOptions


def find_device(options: TorchOptions) -> torch.device:
    """Return the device of the options, after a tensor was placed there.

    Raises:
        BackendUnavailableError: the module that registers it fails, or there is no such device.
    """
    if options.device_module is not None:
        _import(options.device_module)
    try:
        device = torch.device(options.device)
    except RuntimeError as error:
        raise unavailable(
            f"PyTorch has no device {options.device!r}: {_first_line(error)}",
            f"choose one that is here ({', '.join(devices_here())}); if another package registers "
            f"{options.device!r}, set TorchBackend.device_module to its module",
        ) from error
    try:
        _check_index(device)
        torch.empty(1, device=device)
    # each device reports that it is missing by an exception of its own
    except Exception as error:
        raise unavailable(
            f"PyTorch cannot use the device {options.device!r}: {_first_line(error)}",
            f"choose one that is here ({', '.join(devices_here())}), or install what {device.type} needs",
        ) from error
    return device


def devices_here() -> list[str]:
    """Return the names of the devices that this process can use, `cpu` first."""
    found = ["cpu"]
    accelerator: Any = torch.accelerator
    if accelerator.is_available():
        name = accelerator.current_accelerator().type
        found += [f"{name}:{index}" for index in range(accelerator.device_count())]
    return found


def _import(name: str) -> None:
    try:
        importlib.import_module(name)
    # whatever the module's own code raises
    except Exception as error:
        raise unavailable(
            f"the device module {name!r} cannot be imported: {type(error).__name__}: {_first_line(error)}",
            "install the package that has it, or correct TorchBackend.device_module",
        ) from error


def _check_index(device: torch.device) -> None:
    """Raise ValueError for an index past the last device; some kinds accept any."""
    # not every device has a module
    count = getattr(getattr(torch, device.type, None), "device_count", None)
    if device.index is not None and count is not None and device.index >= count():
        raise ValueError(f"there are {count()} of them, numbered from 0")


def _first_line(error: Exception) -> str:
    if isinstance(error, NotImplementedError) and str(error).startswith("Could not run"):
        return "this build of PyTorch has no operators for it"  # its own text lists all of the others
    return (str(error).splitlines() or [type(error).__name__])[0]
