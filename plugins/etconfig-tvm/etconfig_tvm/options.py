"""The options of `TvmBackend`. This module imports nothing of TVM."""

from __future__ import annotations

import enum
from typing import Annotated

from etconfig.plugin.v1 import BackendOptions, Consumes, Ge, model_validator, option


class Runtime(enum.Enum):
    """The part of TVM that runs a model."""

    MINIMAL = "minimal"
    FULL = "full"


class Memory(enum.Enum):
    """The way in which TVM's virtual machine gets memory for intermediate values."""

    POOLED = "pooled"
    NAIVE = "naive"


class Checksum(enum.Enum):
    """The libraries that `build` accepts."""

    IF_PRESENT = "if_present"
    REQUIRED = "required"


class Device(enum.Enum):
    """The kind of device that a model runs on."""

    CPU = "cpu"
    CUDA = "cuda"
    OPENCL = "opencl"
    VULKAN = "vulkan"
    METAL = "metal"
    ROCM = "rocm"


class TvmOptions(BackendOptions):
    """Options of `TvmBackend`."""

    num_threads: Annotated[int, Ge(1)] = option(
        1,
        applies="execute",
        unit="threads",
        consumes=Consumes("threads", only_if={"device": "cpu"}),
        env="TVM_NUM_THREADS",
        doc="The threads that share a kernel, the calling thread among them. TVM keeps one pool for each "
        "thread that runs models, and by itself uses half of the hardware threads on x86. Recommended are "
        "the cores that the process may use, at most as many as there are performance cores; 1 if neither "
        "is known.",
    )
    cores: tuple[Annotated[int, Ge(0)], ...] | None = option(
        None,
        applies="execute",
        doc="The numbers of the cores that the threads run on, the calling thread included. By "
        "default, all that the process may use.",
    )
    pin_threads: bool = option(
        False,
        applies="execute",
        env={"TVM_BIND_THREADS": {False: "0"}},
        doc="Keep each thread on one core of `cores`, in this order; otherwise the threads share them.",
    )
    memory: Memory = option(
        "pooled",
        applies="load",
        doc="`pooled` keeps the memory of intermediate values for the next run; `naive` frees it after each.",
    )
    device: Device = option(
        "cpu",
        applies="load",
        doc="The kind of device. The model must have been compiled for it. Delegates run on `cpu` only.",
    )
    device_index: Annotated[int, Ge(0)] = option(
        0,
        applies="load",
        doc="The number of the device among those of its kind. There is one `cpu`, with the number 0.",
    )
    checksum: Checksum = option(
        "if_present",
        applies="load",
        doc="`if_present` compares the checksum of a library that has one, as those of `CompiledModel.save` "
        "and `seal_library` do; `required` refuses others. Those of delegates are always compared.",
    )
    runtime: Runtime = option(
        "minimal",
        applies="load",
        doc="`minimal` loads tvm_ffi and libtvm_runtime, without the compiler; `full` imports tvm, and "
        "`build` returns its `relax.VirtualMachine`. Delegates need `minimal` only.",
    )
    runtime_library: str = option(
        "",
        applies="load",
        doc="The path of libtvm_runtime where apache-tvm is not installed, only apache-tvm-ffi; empty to use "
        "the one of apache-tvm. A relative path begins at the current directory.",
    )

    @model_validator(mode="after")
    def _check_runtime(self) -> TvmOptions:
        if self.runtime is Runtime.FULL and self.runtime_library:
            raise ValueError(
                'runtime_library must be empty with runtime "full": tvm loads the one of apache-tvm, and a '
                "process can have one only"
            )
        return self

    @model_validator(mode="after")
    def _check_device(self) -> TvmOptions:
        if self.device is Device.CPU and self.device_index:
            raise ValueError(
                f"device_index must be 0 for the device 'cpu', not {self.device_index}; to choose cores, set "
                "the option cores"
            )
        return self

    @model_validator(mode="after")
    def _check_cores(self) -> TvmOptions:
        cores = self.cores
        if cores is None:
            if self.pin_threads:
                raise ValueError("pin_threads needs cores; name one for each thread")
            return self
        if not cores:
            raise ValueError("cores is empty; name a core, or leave cores out")
        if len({*cores}) < len(cores):
            raise ValueError(f"cores names a core twice: {list(cores)}")
        if len(cores) < self.num_threads:
            raise ValueError(
                f"num_threads must be at most {len(cores)}, the number of cores, not {self.num_threads}"
            )
        return self
