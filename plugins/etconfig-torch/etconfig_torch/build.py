"""`build_module`: a module of PyTorch from options, for use without a program of ExecuTorch."""

from __future__ import annotations

import difflib
import enum
import os
import weakref
from collections.abc import Callable, Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import torch

from etconfig.plugin.v1 import EffectiveOption
from etconfig_torch.archive import load_program
from etconfig_torch.devices import find_device
from etconfig_torch.errors import UnreadableModelError, UnsafeArchiveError, unavailable
from etconfig_torch.exported_module import module_of
from etconfig_torch.options import Autocast, CompileMode, TorchOptions
from etconfig_torch.placement import place
from etconfig_torch.process_settings import PROCESS, SETTINGS, THREADS, Setting

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
        UnreadableModelError: the file is absent, damaged or something else.
        TypeError: the model is something else.
    """
    device = find_device(options)
    claim = PROCESS.claim(options)
    try:
        # torch.compile leaves out the work around each call itself
        module = _module(model, device, is_called_directly=options.compile_mode is CompileMode.NONE)
        module = with_compile(options, with_autocast(options, device, module))
    except BaseException:
        PROCESS.release(claim)
        raise
    _BUILT[module] = claim, options, device
    _let_threads_follow(module, options)
    weakref.finalize(module, PROCESS.release, claim)
    return module


def update_module(
    module: Any, options: TorchOptions, previous: TorchOptions, changed: frozenset[str]
) -> None:
    """Bring changed settings of the process into force.

    Raises:
        SettingRefusedError: a setting cannot be brought into force.
        TypeError: `build_module` did not return the module.
    """
    claim, _, device = _built(module)
    PROCESS.change(claim, options)
    _BUILT[module] = claim, options, device
    _let_threads_follow(module, options)


def effective_module(module: Any) -> Mapping[str, EffectiveOption]:
    """Return what is in force, by option. Raises TypeError unless `build_module` returned the module."""
    _, options, device = _built(module)
    tensor = next(iter([*module.parameters(), *module.buffers()]), None)
    return effective_options(
        options, device if tensor is None else tensor.device, has_tensors=tensor is not None
    )


def device_of(module: Any) -> torch.device:
    """Return the device of a module. Raises TypeError unless `build_module` returned the module."""
    return _built(module)[2]


def _built(module: Any) -> tuple[int, TorchOptions, torch.device]:
    found = _BUILT.get(module) if isinstance(module, torch.nn.Module) else None
    if found is None:
        raise TypeError(
            f"expected a module that build returned, given another {type(module).__name__}; a copy is another"
        )
    return found


def follow_threads(module: object, args: object) -> None:
    """Take the latest number of threads in the thread that calls a module: a hook before each call."""
    if not torch.compiler.is_compiling():
        THREADS.follow()


def _let_threads_follow(module: torch.nn.Module, options: TorchOptions) -> None:
    """Let each thread that calls the module take its number of threads, also after that changed."""
    if options.num_threads is not None and follow_threads not in module._forward_pre_hooks.values():
        module.register_forward_pre_hook(follow_threads)


def with_autocast(options: TorchOptions, device: torch.device, call: Any) -> Any:
    """Return a module that runs `call` in the type of the options."""
    if options.autocast is Autocast.NONE:
        return call
    return AutocastModule(call, device.type, getattr(torch, options.autocast.value))


def with_compile(options: TorchOptions, call: Any) -> Any:
    """Return what `torch.compile` makes of a module, or the module itself."""
    if options.compile_mode is CompileMode.NONE:
        return call
    known = torch._dynamo.list_backends(exclude_tags=())
    if options.compile_backend not in known:
        usual = torch._dynamo.list_backends()
        near = difflib.get_close_matches(options.compile_backend, usual, n=1)
        raise unavailable(
            f"torch.compile has no backend {options.compile_backend!r}",
            f"did you mean {near[0]!r}?" if near else f"choose one of {', '.join(usual)}",
        )
    is_inductor = options.compile_backend == "inductor"
    return torch.compile(
        call,
        backend=options.compile_backend,
        mode=options.compile_mode.value if is_inductor else None,  # the other backends refuse modes
        dynamic=options.compile_dynamic,
    )


def effective_options(
    options: TorchOptions, device: torch.device, *, has_tensors: bool
) -> dict[str, EffectiveOption]:
    """Return what is in force: the process's settings as PyTorch reports them, and the device.

    Args:
        options: The options.
        device: The device of the tensors, or the one to compute on.
        has_tensors: True if there are tensors.
    """
    settings = {name: _setting(name, setting, device) for name, setting in SETTINGS.items()}
    fixed = ["device_module", "autocast", "compile_mode", "compile_backend", "compile_dynamic"]
    assumed = {name: EffectiveOption.assumed(_plain(getattr(options, name)), _FIXED) for name in fixed}
    is_same = torch.device(options.device).type == device.type and torch.device(options.device).index is None
    name = options.device if is_same else str(device)
    found = (
        EffectiveOption.read_back(name, "the device of its tensors")
        if has_tensors
        else EffectiveOption.assumed(name, "it has no tensors that show it")
    )
    return {"device": found, **assumed, **settings}


_OWNERS = {"cudnn": ("cuda", "cuDNN is for CUDA"), "onednn": ("cpu", "oneDNN is for the CPU")}
"""The only device of each library, by the start of its options, and that in words."""


def _setting(name: str, setting: Setting, device: torch.device) -> EffectiveOption:
    """Return a setting as PyTorch reports it; assumed if it is for other devices than the model's."""
    try:
        value = setting.read()
    except RuntimeError as error:  # after two of PyTorch's ways to set it were mixed
        return EffectiveOption.unknown(f"PyTorch does not report it: {str(error).splitlines()[0]}")
    owner, words = _OWNERS.get(name.partition("_")[0], (device.type, ""))
    if owner != device.type:
        idle = f"PyTorch reports it for the process; {words}, so it changes nothing on {device}"
        return EffectiveOption.assumed(value, idle)
    remark = _threads_remark(value) if name == "num_threads" else ""
    return EffectiveOption.read_back(value, f"PyTorch reports it{remark}")


def _threads_remark(count: int) -> str:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or count
    return f"; they share the {usable} cores that this process may use" if count > usable else ""


_FIXED = "applied when it was loaded; PyTorch does not report it"


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, enum.Enum) else value


def _program_of(path: Path) -> torch.export.ExportedProgram:
    """Return the program of a file. Raises UnreadableModelError, with the name of the file."""
    try:
        if not path.is_file() and not path.is_dir() and path.exists():
            # reading a pipe would wait, and a device has no end
            raise UnreadableModelError(
                "it is neither a file nor a link to one; name a file of torch.export.save"
            )
        return load_program(path.read_bytes())
    except OSError as error:
        raise UnreadableModelError(f"cannot read the model {path}: {error.strerror or error}") from error
    except UnsafeArchiveError as error:
        raise UnsafeArchiveError(
            f"{path}: {error}. If you trust the file, load it yourself, and pass build the result of "
            "torch.export.load; that runs the code in it"
        ) from error
    except UnreadableModelError as error:
        raise UnreadableModelError(f"{path}: {error}") from error


def _module(model: Any, device: torch.device, is_called_directly: bool) -> Any:
    if isinstance(model, torch.nn.Module):
        return model.to(device)
    if isinstance(model, (str, PathLike)):
        model = _program_of(Path(fspath(model)))
    elif isinstance(model, (bytes, bytearray, memoryview)):
        model = load_program(model)
    if not isinstance(model, torch.export.ExportedProgram):
        raise TypeError(
            "expected a torch.nn.Module, an ExportedProgram, or a file or bytes of one, given "
            f"{type(model).__name__}"
        )
    unlift: Callable[..., Any] = model.module
    module = module_of(model) if is_called_directly else unlift(check_guards=False)
    place(module, device)
    return module
