"""The spec of `TorchBackend`, which etconfig loads. PyTorch itself is imported later."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

from etconfig.plugin.v1 import (
    Advice,
    ApiRange,
    Backend,
    BackendRequest,
    BackendSpec,
    Capabilities,
    EffectiveOption,
    hookimpl,
)
from etconfig_torch.errors import BACKEND_ID
from etconfig_torch.installed import check_installed
from etconfig_torch.options import TorchOptions


def make_backend() -> Backend[Any, Any]:
    """Return a `TorchBackend`."""
    from etconfig_torch.backend import TorchBackend

    return TorchBackend()


def build(options: TorchOptions, model: Any) -> Any:
    """Return a module of PyTorch; see `build_module`."""
    check_installed()

    from etconfig_torch.build import build_module

    return build_module(options, model)


def effective(module: Any) -> Mapping[str, Any]:
    """Return what is in force in a module; see `effective_module`."""
    from etconfig_torch.build import effective_module

    return effective_module(module)


def update(module: Any, options: TorchOptions, previous: TorchOptions, changed: frozenset[str]) -> None:
    """Bring changed options into force; see `update_module`."""
    from etconfig_torch.build import update_module

    update_module(module, options, previous, changed)


def runner(module: Any) -> Any:
    """Return how to run a module; see `module_runner`."""
    from etconfig_torch.runner import module_runner

    return module_runner(module)


def apply(options: TorchOptions, target: Any, names: frozenset[str]) -> Mapping[str, str]:
    """Bring settings of the process into force.

    Raises:
        TypeError: the target is not the module `torch`.
    """
    import torch

    if target is not torch:
        raise TypeError(f"target: expected the module torch, given {type(target).__name__}")
    from etconfig_torch.process_settings import PROCESS, SETTINGS

    of_modules = dict.fromkeys(names - SETTINGS.keys(), "a setting of one module, which build makes")
    return {**of_modules, **PROCESS.set_each(options, names)}


def read_environment() -> Mapping[str, Any]:
    """Return the settings of a process that only its environment configures, as PyTorch reports them."""
    check_installed()

    from etconfig_torch.process_settings import SETTINGS

    return {
        name: EffectiveOption.read_back(each.read(), "PyTorch reports it") for name, each in SETTINGS.items()
    }


def joint_update() -> AbstractContextManager[None]:
    """Return a block in which all updates count as one; see `ProcessSettings.joint_change`."""
    from etconfig_torch.process_settings import PROCESS

    return PROCESS.joint_change()


ADVICE = (
    Advice(
        "num_threads",
        expr="max(1, min(cpu.available_cores, cpu.performance_cores, 4096))",
        reason="By itself PyTorch counts the cores of the machine, not those that its container may use, and "
        "slow cores hold the others up.",
    ),
    Advice(
        "num_threads",
        expr="max(1, min(cpu.available_cores, 4096))",
        reason="By itself PyTorch counts the cores of the machine, not those that its container may use.",
    ),
)
"""The recommendations."""

SPEC = BackendSpec(
    id=BACKEND_ID,
    doc="PyTorch: exported programs, on the CPU, on accelerators, and on devices that other packages add.",
    options=TorchOptions,
    api=ApiRange(min=1, built=1),
    factory=make_backend,
    capabilities=Capabilities(
        dtypes=frozenset(
            {"float32", "float64", "float16", "bfloat16", "int8", "uint8", "int16", "int32", "int64", "bool"}
        ),
        dim_orders=frozenset({"contiguous", "channels_last"}),
        supports_dynamic_shapes=True,
        supports_zero_size=True,
        supports_scalars=True,
        frees_processed=True,
    ),
    advice=ADVICE,
    build=build,
    effective=effective,
    update=update,
    joint_update=joint_update,
    read_environment=read_environment,
    apply=apply,
    environment={
        "OMP_NUM_THREADS": "The threads of operators, unless `num_threads` has a value, also a recommended "
        "one; a warning in the log says so. PyTorch with MKL takes at most one per core.",
        "MKL_NUM_THREADS": "The same in PyTorch with MKL, where it beats OMP_NUM_THREADS.",
        "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": "With `1`, float32_matmul_precision is `high` at the start.",
        "TORCH_DEVICE_BACKEND_AUTOLOAD": "With `0`, PyTorch does not import the packages that add devices by "
        "itself; name one with `device_module` then.",
    },
    engine=("torch",),
    runner=runner,
    model_files=(".pt2",),
)


@hookimpl
def etconfig_backend(request: BackendRequest) -> BackendSpec:
    """Return the spec."""
    return SPEC
