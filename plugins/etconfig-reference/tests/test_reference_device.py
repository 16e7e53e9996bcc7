"""The simulated device: its availability, its failures, and what it leaves behind."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from etconfig_reference.declared import NPU_VARIABLE
from etconfig_reference.device import Core
from etconfig_reference.errors import DeviceError
from etconfig_reference.graph import Graph
from etconfig_reference.npu import ReferenceNpuBackend
from etconfig_reference.options import Fault, PowerMode, ReferenceNpuOptions
from etconfig_reference.payload import encode_graph
from etconfig_reference.plugin import SPECS

X = np.array([[1.0, -2.0, 0.5]], np.float32)
Y = np.zeros((1, 2), np.float32)


@pytest.fixture
def payload(small_graph: Graph) -> bytes:
    return encode_graph(small_graph)


@pytest.fixture
def npu(make_harness: Any) -> Any:
    return make_harness(ReferenceNpuBackend(sleep=lambda _: None), ReferenceNpuOptions())


@pytest.fixture
def device_threads() -> Callable[[], list[str]]:
    """A function that names the threads of the device that the test has started and not ended."""
    before = threading.enumerate()
    return lambda: [thread.name for thread in threading.enumerate() if thread not in before]


class TestAvailability:
    """An environment variable, which the spec declares, makes the device unavailable."""

    @pytest.mark.parametrize("setting", ["on", None])
    def test_the_device_is_available(self, monkeypatch: pytest.MonkeyPatch, setting: str | None) -> None:
        monkeypatch.delenv(NPU_VARIABLE, raising=False)
        if setting is not None:
            monkeypatch.setenv(NPU_VARIABLE, setting)
        assert ReferenceNpuBackend().availability().is_available

    @pytest.mark.parametrize(
        ("setting", "reason"),
        [
            ("off", "the simulated device is off: ETCONFIG_REFERENCE_NPU is 'off'"),
            ("0", "the setting of the device is unknown: ETCONFIG_REFERENCE_NPU is '0'"),
        ],
    )
    def test_the_device_is_unavailable(
        self, monkeypatch: pytest.MonkeyPatch, setting: str, reason: str
    ) -> None:
        monkeypatch.setenv(NPU_VARIABLE, setting)
        availability = ReferenceNpuBackend().availability()
        assert not availability.is_available
        assert availability.reason == reason
        assert availability.fix == "set ETCONFIG_REFERENCE_NPU to on, or unset it"

    def test_the_variable_is_declared(self) -> None:
        assert NPU_VARIABLE in SPECS["ReferenceNpuBackend"].environment


class TestFaults:
    """The option `fault` makes the device fail, and nothing stays behind."""

    def test_a_failed_init_leaves_no_thread_and_keeps_the_payload(
        self, npu: Any, payload: bytes, device_threads: Callable[[], list[str]]
    ) -> None:
        npu.options = npu.options.model_copy(update={"fault": Fault.INIT})
        message = r"^core 0 does not answer to init: the option fault asks for it$"
        with pytest.raises(DeviceError, match=message):
            npu.init(payload)
        assert device_threads() == []
        assert not npu.payload.is_freed

    def test_an_execute_fails_as_long_as_the_option_is_set(self, npu: Any, payload: bytes) -> None:
        handle = npu.init(payload)
        with pytest.raises(DeviceError, match=r"^core 0 does not answer to execute: "):
            npu.execute(handle, X, Y.copy(), fault=Fault.EXECUTE)
        assert handle.executes == 0
        npu.execute(handle, X, Y.copy())
        assert handle.executes == 1

    def test_a_failed_update_leaves_the_former_options_in_force(self, npu: Any, payload: bytes) -> None:
        handle, before = npu.init(payload), npu.options
        with pytest.raises(DeviceError, match=r"^core 0 does not answer to update: "):
            npu.update(handle, fault=Fault.UPDATE, power_mode=PowerMode.HIGH)
        assert npu.backend.effective_options(handle) == dict(before)

    def test_an_update_is_in_force_from_then_on(self, npu: Any, payload: bytes) -> None:
        handle = npu.init(payload)
        npu.update(handle, power_mode=PowerMode.HIGH)
        assert npu.backend.effective_options(handle)["power_mode"] is PowerMode.HIGH


class TestMemory:
    """The device copies what it needs from the payload, and frees the payload."""

    def test_the_payload_is_freed_when_nothing_references_it(
        self, npu: Any, payload: bytes, small_graph: Graph
    ) -> None:
        handle = npu.init(payload)
        assert npu.payload.is_freed
        assert npu.heap.allocated_bytes == (6 + 2) * 4
        y = Y.copy()
        npu.execute(handle, np.array([[1.0, 2.0, 3.0]], np.float32), y)
        np.testing.assert_array_equal(y, [[14.25, 0.0]])

    def test_a_payload_that_is_refused_is_not_freed(self, npu: Any, payload: bytes) -> None:
        with pytest.raises(ValueError, match="checksum"):
            npu.init(payload[:-1] + b"\xff")
        assert not npu.payload.is_freed


class TestThread:
    """A loaded delegate has a thread, the core, which ends when the delegate is destroyed."""

    def test_destroying_ends_the_thread(
        self, npu: Any, payload: bytes, device_threads: Callable[[], list[str]]
    ) -> None:
        handle = npu.init(payload)
        npu.execute(handle, X, Y.copy())
        assert device_threads() == ["reference-npu-core_0"]
        npu.destroy()
        assert device_threads() == []

    def test_destroying_waits_for_started_work(self) -> None:
        may_end, done = threading.Event(), []
        core = Core(lambda seconds: done.append(may_end.wait(60) and seconds))
        core.start(0.25)
        may_end.set()
        core.close()
        assert done == [0.25]

    def test_a_fork_is_told_to_load_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        core = Core(lambda _: None)
        core.start(0.0).result()
        monkeypatch.setattr(os, "getpid", lambda: -1)
        message = (
            "^the method was loaded before this process was forked, and the device stayed behind; "
            "load it again here$"
        )
        with pytest.raises(DeviceError, match=message):
            core.start(0.0)
        core.close()
