from __future__ import annotations

import ctypes
from typing import Any

from etconfig.facts.detecting.nvml import NvmlGpu, list_gpus

OK, FAILED = 0, 999


class Library:
    """A stand-in for libnvidia-ml with two GPUs; `fails` names functions that do not work."""

    def __init__(self, *fails: str) -> None:
        self.fails = fails
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any) -> int:
            self.calls.append(name)
            if name in self.fails:
                return FAILED
            getattr(self, f"_{name}", lambda *_: None)(*arguments)
            return OK

        if name.startswith("_"):
            raise AttributeError(name)
        return call

    def _nvmlDeviceGetCount_v2(self, count: Any) -> None:
        count._obj.value = 2

    def _nvmlDeviceGetHandleByIndex_v2(self, index: int, handle: Any) -> None:
        handle._obj.value = index + 1

    def _nvmlDeviceGetName(self, handle: ctypes.c_void_p, name: Any, size: int) -> None:
        assert size == ctypes.sizeof(name)
        name.value = f"NVIDIA GPU {handle.value}".encode()

    def _nvmlDeviceGetPciInfo_v3(self, handle: ctypes.c_void_p, pci: Any) -> None:
        # busIdLegacy, then five numbers, then busId
        assert ctypes.sizeof(pci) == 68
        pci[36:] = f"00000000:0{handle.value}:00.0".upper().encode().ljust(32, b"\0")

    def _nvmlDeviceGetMemoryInfo(self, handle: ctypes.c_void_p, memory: Any) -> None:
        memory[0], memory[1], memory[2] = 1 << 33, 1 << 32, 1 << 32


class TestListing:
    """NVML reports name, address and memory of each GPU."""

    def test_each_gpu_is_listed(self):
        assert list_gpus(Library()) == (
            NvmlGpu("0000:01:00.0", "NVIDIA GPU 1", 1 << 33),
            NvmlGpu("0000:02:00.0", "NVIDIA GPU 2", 1 << 33),
        )

    def test_the_library_is_shut_down(self):
        library = Library()
        list_gpus(library)
        assert (library.calls[0], library.calls[-1]) == ("nvmlInit_v2", "nvmlShutdown")

    def test_without_a_driver_nothing_is_known(self):
        library = Library("nvmlInit_v2")
        assert list_gpus(library) is None
        assert library.calls == ["nvmlInit_v2"]

    def test_a_count_that_fails_is_none_and_the_library_is_shut_down(self):
        library = Library("nvmlDeviceGetCount_v2")
        assert list_gpus(library) is None
        assert library.calls[-1] == "nvmlShutdown"

    def test_a_gpu_that_does_not_answer_is_left_out(self):
        for function in ("nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetName", "nvmlDeviceGetPciInfo_v3"):
            assert list_gpus(Library(function)) == ()

    def test_a_gpu_without_memory_of_its_own_is_listed(self):
        gpus = list_gpus(Library("nvmlDeviceGetMemoryInfo"))
        assert gpus is not None
        assert [gpu.memory_bytes for gpu in gpus] == [None, None]
