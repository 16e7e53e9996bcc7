"""`CBackend` gives a library what the interface promises, and Python what the library answers."""

from __future__ import annotations

import ctypes
import enum
import gc
import logging
import weakref
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from c_libraries import Memory, Payload, compile_library, execute_context, init_context, update_context

from etconfig.base.compile_specs import CompileSpecs
from etconfig.c_interface.backend import CBackend
from etconfig.c_interface.backend_error import CBackendError
from etconfig.c_interface.structs import CRun
from etconfig.plugin.v1 import BackendOptions, DelegateInvalidCompatibilityError, option


class Level(enum.Enum):
    """A choice."""

    LOW = "low"
    HIGH = "high"


class AllOptions(BackendOptions):
    """One option of each kind."""

    mode: str = option("fast", applies="execute", doc="A text that changes.")
    flag: bool = option(True, applies="load", doc="A boolean for the test.")
    count: int = option(-(2**63), applies="load", doc="The smallest integer of C.")
    ratio: float = option(0.1, applies="load", doc="A number with a fraction.")
    level: Level = option(Level.HIGH, applies="load", doc="One of two choices.")
    unset: int | None = option(None, applies="load", doc="An option without a value.")
    names: tuple[str, ...] = option(("a", "ü"), applies="load", doc="A list of texts.")
    grid: list[list[int]] = option([[1], [], [2, 3]], applies="load", doc="A list of lists.")
    table: dict[str, float] = option({"x": 1.5}, applies="load", doc="A table of numbers.")


@pytest.fixture(scope="module")
def backend(tmp_path_factory: pytest.TempPathFactory) -> CBackend:
    return CBackend(compile_library("obedient", tmp_path_factory.mktemp("obedient")), "ObedientBackend")


def load(backend: CBackend, options: BackendOptions | None = None, **changed: Any) -> Any:
    context = init_context(options or AllOptions(), **changed)
    return backend.init(context, Payload(b"data"), context.compile_specs)


def arguments(count: int, *, failing: int | None = None) -> list[Any]:
    inputs = np.arange(count, dtype=np.float32)
    return [inputs, None if failing is None else [failing], np.zeros(count, np.float32)]


class TestInit:
    """`init` receives everything that an `InitContext` has."""

    def test_names_payload_specs_and_data_arrive(
        self, backend: CBackend, caplog: pytest.LogCaptureFixture
    ) -> None:
        specs = CompileSpecs([("op", b"a"), ("z", b""), ("op", b"b")])
        with caplog.at_level(logging.INFO, logger="etconfig.backends.ObedientBackend"):
            handle = load(
                backend,
                instance_name="left",
                delegate_index=7,
                compile_specs=specs,
                named_data={"weights": memoryview(b"123")},
            )
        assert caplog.messages == ["forward left 7 payload=data op=a z= op=b weights=123"]
        backend.destroy(handle)

    def test_the_payload_is_freed_when_the_library_says_so(self, backend: CBackend) -> None:
        payload = Payload(b"data")
        backend.destroy(backend.init(init_context(AllOptions()), payload, CompileSpecs()))
        assert payload.is_freed

    def test_an_error_has_its_code_and_its_text(self, backend: CBackend) -> None:
        with pytest.raises(DelegateInvalidCompatibilityError) as caught:
            backend.init(init_context(AllOptions()), Payload(b"fail"), CompileSpecs())
        assert caught.value.cause == "made for another device"

    def test_an_allocator_without_memory_is_a_memory_error(self, backend: CBackend) -> None:
        class Full(Memory):
            def allocate(self, size_bytes: int, alignment_bytes: int = 64) -> np.ndarray[Any, Any]:
                raise MemoryError("no more")

        with pytest.raises(MemoryError, match="no more"):
            load(backend, allocator=Full())


class TestOptions:
    """Options arrive with their names and types, and come back as the types of the schema."""

    def test_each_kind_survives_the_way_through_c(self, backend: CBackend) -> None:
        options = AllOptions()
        handle = load(backend, options)
        backend.execute(execute_context(options), handle, arguments(2))
        expected = {name: value for name, value in dict(options).items() if value is not None}
        assert backend.effective_options(handle) == expected
        assert isinstance(backend.effective_options(handle)["level"], Level)
        backend.destroy(handle)

    def test_the_options_of_a_run_are_those_of_its_context(self, backend: CBackend) -> None:
        handle = load(backend)
        backend.execute(execute_context(AllOptions(mode="slow")), handle, arguments(1))
        assert backend.effective_options(handle)["mode"] == "slow"

    def test_an_update_reaches_the_library_or_fails_with_its_text(self, backend: CBackend) -> None:
        handle = load(backend)
        backend.update(update_context(AllOptions(mode="slow")), handle, frozenset({"mode"}))
        assert backend.effective_options(handle)["mode"] == "slow"
        with pytest.raises(CBackendError, match=r"update failed with NotSupported \(0x10\): not this mode"):
            backend.update(update_context(AllOptions(mode="broken")), handle, frozenset({"mode"}))

    @pytest.mark.parametrize(
        ("changed", "problem"),
        [({"count": 2**63}, "needs more than 64 bits"), ({"mode": "a\0b"}, "contains a NUL")],
    )
    def test_values_that_c_does_not_have_are_refused(
        self, backend: CBackend, changed: Mapping[str, Any], problem: str
    ) -> None:
        with pytest.raises(ValueError, match=problem):
            load(backend, AllOptions(**changed))


class TestRun:
    """`run` receives the arguments, and may use every service."""

    def test_it_reads_inputs_and_writes_outputs(self, backend: CBackend) -> None:
        handle = load(backend)
        for count in (3, 3, 5):
            args = arguments(count)
            backend.execute(execute_context(AllOptions()), handle, args)
            np.testing.assert_array_equal(args[2], 2 * args[0])

    def test_temporary_memory_comes_from_the_context(self, backend: CBackend) -> None:
        memory = Memory()
        backend.execute(execute_context(AllOptions(), temporary=memory), load(backend), arguments(1))
        assert [block.size for block in memory.blocks] == [100]

    def test_parts_run_on_the_workers_of_the_context(self, backend: CBackend) -> None:
        calls: list[tuple[int, int]] = []

        def parallel_for(count: int, body: Any, max_workers: int) -> None:
            calls.append((count, max_workers))
            for index in reversed(range(count)):
                body(index)

        args = arguments(4)
        backend.execute(execute_context(AllOptions(), parallel_for=parallel_for), load(backend), args)
        np.testing.assert_array_equal(args[2], 2 * args[0])
        assert calls == [(4, 4)]

    def test_the_status_of_a_part_that_failed_is_that_of_the_run(self, backend: CBackend) -> None:
        with pytest.raises(CBackendError) as caught:
            backend.execute(execute_context(AllOptions()), load(backend), arguments(4, failing=2))
        assert caught.value.code_name == "OutOfResources"

    @pytest.mark.parametrize("kind", [KeyboardInterrupt, MemoryError, RuntimeError])
    def test_an_exception_of_a_service_is_raised_after_the_call(
        self, backend: CBackend, kind: type[BaseException]
    ) -> None:
        def parallel_for(count: int, body: Any, max_workers: int) -> None:
            raise kind("from the host")

        handle = load(backend)
        with pytest.raises(kind, match="from the host"):
            backend.execute(execute_context(AllOptions(), parallel_for=parallel_for), handle, arguments(1))
        backend.execute(execute_context(AllOptions()), handle, arguments(1))

    def test_the_library_sees_that_the_call_must_stop(self, backend: CBackend) -> None:
        context = execute_context(AllOptions(), should_stop=lambda: True)
        with pytest.raises(CBackendError, match=r"InvalidState \(0x02\): the call was canceled"):
            backend.execute(context, load(backend), arguments(1))

    def test_an_output_is_resized_to_the_new_array(self, backend: CBackend) -> None:
        larger = np.zeros(5, np.float32)

        def resize_output(index: int, shape: Any) -> np.ndarray[Any, Any]:
            assert (index, shape) == (2, (5,))
            return larger

        args = [np.arange(5, dtype=np.float32), None, np.zeros(2, np.float32)]
        backend.execute(execute_context(AllOptions(), resize_output=resize_output), load(backend), args)
        np.testing.assert_array_equal(larger, [0, 2, 4, 6, 8])

    def test_sizes_that_the_program_does_not_allow_are_its_error(self, backend: CBackend) -> None:
        args = [np.zeros(5, np.float32), None, np.zeros(2, np.float32)]
        with pytest.raises(ValueError, match="cannot become"):
            backend.execute(execute_context(AllOptions()), load(backend), args)

    def test_arguments_of_other_types_are_refused_by_the_library(self, backend: CBackend) -> None:
        with pytest.raises(CBackendError, match=r"InvalidArgument \(0x12\): it takes a tensor"):
            backend.execute(execute_context(AllOptions()), load(backend), [1, 2.5, "text"])

    @pytest.mark.parametrize("wrap", [int, ctypes.c_void_p])
    def test_the_resource_of_the_call_is_an_address(self, backend: CBackend, wrap: Any) -> None:
        counter = ctypes.c_int32(41)
        context = execute_context(AllOptions(), resource=wrap(ctypes.addressof(counter)))
        backend.execute(context, load(backend), arguments(1))
        assert counter.value == 42

    def test_another_resource_is_refused(self, backend: CBackend) -> None:
        with pytest.raises(TypeError, match="takes an address as the resource of a call"):
            backend.execute(execute_context(AllOptions(), resource="x"), load(backend), arguments(1))

    def test_arguments_are_not_kept_alive(self, backend: CBackend) -> None:
        handle = load(backend)
        args = arguments(3)
        backend.execute(execute_context(AllOptions()), handle, args)
        references = [weakref.ref(args[0]), weakref.ref(args[2])]
        del args
        gc.collect()
        assert [each() for each in references] == [None, None]


class TestAvailability:
    """The library says whether it can run here."""

    def test_it_can(self, backend: CBackend) -> None:
        assert backend.availability().is_available

    def test_it_cannot(self, backend: CBackend, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OBEDIENT_DEVICE", "off")
        availability = backend.availability()
        assert (availability.reason, availability.fix) == ("the device is switched off", "switch it on")


class TestNativeCall:
    """An executor in C++ finds the options and the resource in force at an address."""

    def test_it_follows_the_context(self, backend: CBackend) -> None:
        handle = load(backend)
        call = backend.native_call(handle)
        assert call is not None
        in_force = CRun.from_address(call.call)
        before = in_force.options
        call.refresh(execute_context(AllOptions(mode="slow"), resource=64))
        assert (in_force.resource, in_force.option_count) == (64, len(AllOptions.option_infos()))
        assert in_force.options != before
        call.refresh(execute_context(AllOptions()))
        assert in_force.resource is None

    def test_it_makes_the_errors_of_a_run(self, backend: CBackend) -> None:
        call = backend.native_call(load(backend))
        assert call is not None
        assert str(call.failure(0x25, "full")) == "run failed with OutOfResources (0x25): full"
        assert isinstance(call.failure(0x21, ""), MemoryError)
