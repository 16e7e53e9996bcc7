"""`build_module`: a module of PyTorch from options, for use without a program of ExecuTorch."""

from __future__ import annotations

import enum
import weakref
from collections.abc import Callable, Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import torch

from etconfig.plugin.v1 import EffectiveOption
from etconfig_torch.archive import load_program
from etconfig_torch.devices import find_device
from etconfig_torch.options import Autocast, CompileMode, TorchOptions
from etconfig_torch.process_settings import PROCESS, SETTINGS, Setting

_BUILT: weakref.WeakKeyDictionary[Any, tuple[int, TorchOptions, torch.device]] = weakref.WeakKeyDictionary()
"""The claim, options and device of each module that `build_module` returned."""


class AutocastModule(torch.nn.Module):
    """A module that runs inside of `torch.autocast`."""

    def __init__(self, module: Any, device_type: str, dtype: torch.dtype) -> None:
        super().__init__()
        self.module = module
        self._device_type = device_type
        self._dtype = dtype

    def forward(self, *args: Any, **named: Any) -> Any:
        """Run the module."""
        with torch.autocast(self._device_type, self._dtype):
            return self.module(*args, **named)


def build_module(options: TorchOptions, model: Any) -> Any:
    """Return a module on the device of the options, compiled if they say so.

    The process's settings are brought into force, and belong to the module until it is collected.

    Args:
        options: The options.
        model: A `torch.nn.Module`, which is moved; an `ExportedProgram`; its file, as `torch.export.save`
            writes it; or its bytes. Files are read without running code of them.

    Raises:
        BackendUnavailableError: the device is not here.
        SettingRefusedError: a setting of the process cannot be brought into force.
        UnsafeArchiveError: the file contains code.
        TypeError: the model is something else.
    """
    device = find_device(options)
    claim = PROCESS.claim(options)
    try:
        module = with_compile(options, with_autocast(options, device, _module(model).to(device)))
    except BaseException:
        PROCESS.release(claim)
        raise
    _BUILT[module] = claim, options, device
    weakref.finalize(module, PROCESS.release, claim)
    return module


def update_module(
    module: Any, options: TorchOptions, previous: TorchOptions, changed: frozenset[str]
) -> None:
    """Bring changed settings of the process into force. Raises SettingRefusedError."""
    claim, _, device = _BUILT[module]
    PROCESS.change(claim, options)
    _BUILT[module] = claim, options, device


def effective_module(module: Any) -> Mapping[str, EffectiveOption]:
    """Return what is in force in a module that `build_module` returned, by option."""
    _, options, device = _BUILT[module]
    tensor = next(iter([*module.parameters(), *module.buffers()]), None)
    return effective_options(options, device if tensor is None else tensor.device)


def with_autocast(options: TorchOptions, device: torch.device, call: Any) -> Any:
    """Return a module that runs `call` in the type of the options."""
    if options.autocast is Autocast.NONE:
        return call
    return AutocastModule(call, device.type, getattr(torch, options.autocast.value))


def with_compile(options: TorchOptions, call: Any) -> Any:
    """Return what `torch.compile` makes of a module, or the module itself."""
    if options.compile_mode is CompileMode.NONE:
        return call
    is_inductor = options.compile_backend == "inductor"
    return torch.compile(
        call,
        backend=options.compile_backend,
        mode=options.compile_mode.value if is_inductor else None,  # the other backends refuse modes
        dynamic=options.compile_dynamic,
    )


def effective_options(options: TorchOptions, device: torch.device) -> dict[str, EffectiveOption]:
    """Return what is in force: the process's settings as PyTorch reports them, and the device."""
    settings = {name: _read_back(setting) for name, setting in SETTINGS.items()}
    fixed = ["device_module", "autocast", "compile_mode", "compile_backend", "compile_dynamic"]
    assumed = {name: EffectiveOption.assumed(_plain(getattr(options, name)), _FIXED) for name in fixed}
    name = str(device)
    is_same = torch.device(options.device).type == device.type and torch.device(options.device).index is None
    return {
        "device": EffectiveOption.read_back(options.device if is_same else name, "the device of its tensors"),
        **assumed,
        **settings,
    }


def _read_back(setting: Setting) -> EffectiveOption:
    try:
        return EffectiveOption.read_back(setting.read(), "PyTorch reports it")
    except RuntimeError as error:  # after two of PyTorch's ways to set it were mixed
        return EffectiveOption.unknown(f"PyTorch does not report it: {str(error).splitlines()[0]}")


_FIXED = "applied when it was loaded; PyTorch does not report it"


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, enum.Enum) else value


def _module(model: Any) -> Any:
    if isinstance(model, torch.nn.Module):
        return model
    if isinstance(model, (str, PathLike)):
        model = load_program(Path(fspath(model)).read_bytes())
    elif isinstance(model, (bytes, bytearray, memoryview)):
        model = load_program(model)
    if not isinstance(model, torch.export.ExportedProgram):
        raise TypeError(
            "expected a torch.nn.Module, an ExportedProgram, or a file or bytes of one, given "
            f"{type(model).__name__}"
        )
    unlift: Callable[..., Any] = model.module
    return unlift(check_guards=False)
