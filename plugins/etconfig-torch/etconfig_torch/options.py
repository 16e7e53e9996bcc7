"""The options of `TorchBackend`. This module does not import torch."""

from __future__ import annotations

import enum
import re
from typing import Annotated

from etconfig.plugin.v1 import BackendOptions, Consumes, Ge, Le, model_validator, option

_DEVICE = re.compile(r"[a-z][a-z0-9_]*(?::(?:0|[1-9][0-9]{0,3}))?")
_USUAL = ("cpu", "cuda", "mps", "xpu")
"""Devices of PyTorch itself; names near them are taken for mistakes, unless `device_module` is set."""
_MODULE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*")


class MatmulPrecision(enum.Enum):
    """The precision of products of float32 matrices."""

    HIGHEST = "highest"
    HIGH = "high"
    MEDIUM = "medium"


class Autocast(enum.Enum):
    """The type that suitable operators compute in."""

    NONE = "none"
    BFLOAT16 = "bfloat16"
    FLOAT16 = "float16"


class CompileMode(enum.Enum):
    """The mode of `torch.compile`."""

    NONE = "none"
    DEFAULT = "default"
    REDUCE_OVERHEAD = "reduce-overhead"
    MAX_AUTOTUNE = "max-autotune"
    MAX_AUTOTUNE_NO_CUDAGRAPHS = "max-autotune-no-cudagraphs"


def _meant(device: str) -> str:
    """Return which device of PyTorch a text may mean, as the end of a message; "" if it may be another."""
    name, colon, index = device.partition(":")
    if name == "gpu":
        return "; write cuda, xpu or mps"
    if name in _USUAL:
        return f"; did you mean {device!r}?" if _DEVICE.fullmatch(device) else ""
    from difflib import get_close_matches

    near = get_close_matches(name, _USUAL, 1, 0.8)
    return f"; did you mean {near[0] + colon + index!r}?" if near else ""


def _flag(name: str, effect: str) -> bool | None:
    value: bool | None = option(
        None, applies="load", scope="process", doc=f"{effect} `{name}`; without a value, PyTorch's own."
    )
    return value


class TorchOptions(BackendOptions):
    """Options of `TorchBackend`."""

    device: str = option(
        "cpu",
        applies="load",
        doc="The device that computes, with an index if there are several: `cpu`, `cuda:1`, `mps`, or the "
        "name that another package registers, such as `npu:0`.",
    )
    device_module: str | None = option(
        None,
        applies="load",
        doc="The Python module whose import registers the device, such as `torch_npu`. It is imported first, "
        "so name only modules that you trust.",
    )
    num_threads: Annotated[int, Ge(1), Le(4096)] | None = option(
        None,
        applies="execute",
        scope="process",
        unit="threads",
        consumes=Consumes("threads", counts={None: "cpu.physical_cores"}),
        env=("OMP_NUM_THREADS", "MKL_NUM_THREADS"),
        doc="`torch.set_num_threads`: the threads that one operator may use; without a value, PyTorch's own.",
    )
    num_interop_threads: Annotated[int, Ge(1), Le(4096)] | None = option(
        None,
        applies="load",
        scope="process",
        unit="threads",
        consumes=Consumes("threads", counts={None: 0}),  # without a value, its pool begins with its first use
        doc="`torch.set_num_interop_threads`: threads for operators that run at once. PyTorch takes it once, "
        "before the first such operator.",
    )
    float32_matmul_precision: MatmulPrecision | None = option(
        None,
        applies="execute",
        scope="process",
        env={"TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": {"highest": "0", "high": "1"}},
        doc="`torch.set_float32_matmul_precision`: how exactly float32 matrices are multiplied, on devices "
        "with faster types; without a value, PyTorch's own, `highest`.",
    )
    autocast: Autocast = option(
        "none",
        applies="load",
        doc="`torch.autocast`: the type in which matrix products and convolutions compute; faster on some "
        "processors, and less exact.",
    )
    compile_mode: CompileMode = option(
        "none",
        applies="load",
        invalidates_cache=True,
        doc="Compile with `torch.compile` in this mode, in the first run; `none` runs the operators singly. "
        "The backend `inductor` needs a C++ compiler.",
    )
    compile_backend: str = option(
        "inductor",
        applies="load",
        invalidates_cache=True,
        doc="The backend of `torch.compile`, such as `inductor`, `aot_eager`, or one that another package "
        "registers.",
    )
    compile_dynamic: bool | None = option(
        None,
        applies="load",
        invalidates_cache=True,
        doc="Compile for any sizes at once (`true`), for each (`false`), or as PyTorch decides.",
    )
    onednn: bool | None = _flag("torch.backends.mkldnn.enabled", "oneDNN for operators on the CPU:")
    cudnn: bool | None = _flag("torch.backends.cudnn.enabled", "cuDNN:")
    cudnn_benchmark: bool | None = _flag(
        "torch.backends.cudnn.benchmark", "Measure cuDNN's algorithms and take the fastest:"
    )
    cudnn_deterministic: bool | None = _flag(
        "torch.backends.cudnn.deterministic", "Only cuDNN's algorithms that give equal bits:"
    )
    cudnn_allow_tf32: bool | None = _flag("torch.backends.cudnn.allow_tf32", "TF32 in cuDNN:")
    deterministic_algorithms: bool | None = _flag(
        "torch.use_deterministic_algorithms", "Refuse operators whose results vary from run to run:"
    )

    @model_validator(mode="after")
    def _check_words(self) -> TorchOptions:
        if not _DEVICE.fullmatch(self.device):
            raise ValueError(
                f"device must be a name and an optional index, such as 'cuda:1', not {self.device!r}"
                f"{_meant(self.device.lower())}"
            )
        if self.device.partition(":")[0] == "meta":
            raise ValueError(
                "device 'meta' computes sizes but no values; choose one that computes, such as 'cpu'"
            )
        if self.device_module is None and self.device.partition(":")[0] not in _USUAL and _meant(self.device):
            raise ValueError(f"device {self.device!r} is not one of PyTorch{_meant(self.device)}")
        if self.device_module is not None and not _MODULE.fullmatch(self.device_module):
            raise ValueError(f"device_module must be the name of a module, not {self.device_module!r}")
        return self

    @model_validator(mode="after")
    def _check_compile(self) -> TorchOptions:
        mode, backend = self.compile_mode, self.compile_backend
        if mode is CompileMode.NONE:
            if self.compile_dynamic is not None:
                raise ValueError(
                    "compile_dynamic has no effect while compile_mode is none; set both or neither"
                )
            if backend != "inductor":
                raise ValueError(
                    "compile_backend has no effect while compile_mode is none; set both or neither"
                )
        elif mode is not CompileMode.DEFAULT and backend != "inductor":
            raise ValueError(
                f"compile_mode {mode.value} is one of the compile_backend inductor; set it to default for "
                f"{backend!r}"
            )
        return self

    @model_validator(mode="after")
    def _check_device(self) -> TorchOptions:
        if self.device.partition(":")[0] != "cpu":
            return self
        if self.device_module is not None:
            raise ValueError(
                f"device_module has no effect while device is {self.device}; set device to the one that it "
                "registers"
            )
        if self.compile_mode is CompileMode.REDUCE_OVERHEAD:
            raise ValueError(
                f"compile_mode reduce-overhead has no effect beyond default while device is {self.device}: "
                "it is for CUDA graphs"
            )
        return self
