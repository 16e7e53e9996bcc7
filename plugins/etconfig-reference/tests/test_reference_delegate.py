from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from etconfig_reference.cpu import ReferenceCpuBackend
from etconfig_reference.device import CLOCK_HZ, LAUNCH_CYCLES, count_cycles, seconds_of
from etconfig_reference.errors import CompileSpecError, DamagedPayloadError, DelegateArgumentError
from etconfig_reference.graph import Graph, Operation, ValueType
from etconfig_reference.npu import ReferenceNpuBackend
from etconfig_reference.options import (
    Accumulate,
    PowerMode,
    Precision,
    ReferenceCpuOptions,
    ReferenceNpuOptions,
)
from etconfig_reference.payload import encode_graph

X = np.array([[1.0, -2.0, 0.5]], np.float32)
Y = np.array([[0.0, 0.0]], np.float32)


@pytest.fixture
def payload(small_graph: Graph) -> bytes:
    return encode_graph(small_graph)


@pytest.fixture
def cpu(make_harness: Any) -> Any:
    return make_harness(ReferenceCpuBackend(), ReferenceCpuOptions())


@pytest.fixture
def naps() -> list[float]:
    return []


@pytest.fixture
def npu(make_harness: Any, naps: list[float]) -> Any:
    return make_harness(ReferenceNpuBackend(sleep=naps.append), ReferenceNpuOptions())


@pytest.fixture(params=["cpu", "npu"])
def either(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


def single_linear(weight: Any) -> Graph:
    outputs, items = weight.shape
    return Graph(
        values=tuple(ValueType(shape=shape) for shape in (weight.shape, (1, items), (1, outputs))),
        inputs=(1,),
        outputs=(2,),
        constants={0: weight},
        operations=(Operation(name="linear", inputs=(1, 0), output=2, attributes={}),),
    )


class TestEither:
    """Both backends keep the contract."""

    def test_the_output_is_written_in_place(self, either: Any, payload: bytes) -> None:
        x = np.array([[1.0, 2.0, 3.0]], np.float32)
        y = np.full((1, 2), np.nan, np.float32)
        either.execute(either.init(payload), x, y)
        np.testing.assert_array_equal(y, [[14.25, 0.0]])
        np.testing.assert_array_equal(x, [[1.0, 2.0, 3.0]])

    def test_an_output_may_be_strided_and_an_input_read_only(self, either: Any, payload: bytes) -> None:
        x = np.array([[1.0, 2.0, 3.0]], np.float32)
        x.flags.writeable = False
        y = np.zeros((1, 4), np.float32)
        either.execute(either.init(payload), x, y[:, ::2])
        np.testing.assert_array_equal(y, [[14.25, 0.0, 0.0, 0.0]])

    def test_an_output_may_share_memory_with_an_input(self, either: Any, conv_graph: Graph) -> None:
        handle = either.init(encode_graph(conv_graph))
        memory = np.random.default_rng(1).standard_normal(2 * 8 * 24 * 30, np.float32)
        y = memory.reshape(2, 8, 24, 30)
        x = memory[: 2 * 3 * 24 * 17].reshape(2, 3, 24, 17)
        apart = np.empty_like(y)
        either.execute(handle, x, apart)
        either.execute(handle, x, y)
        np.testing.assert_array_equal(y, apart)

    def test_two_handles_do_not_disturb_each_other(self, either: Any, payload: bytes) -> None:
        first, second = either.init(payload), either.init(payload)
        left, right = np.zeros((1, 2), np.float32), np.zeros((1, 2), np.float32)
        either.execute(first, np.ones((1, 3), np.float32), left)
        either.execute(second, 2 * np.ones((1, 3), np.float32), right)
        np.testing.assert_array_equal(left, [[6.25, 0.0]])
        np.testing.assert_array_equal(right, [[12.25, 0.0]])

    def test_infinities_pass_without_a_warning(self, either: Any, payload: bytes) -> None:
        y = np.zeros((1, 2), np.float32)
        either.execute(either.init(payload), np.array([[np.inf, -np.inf, 3e38]], np.float32), y)
        assert np.isnan(y).any()

    def test_a_damaged_payload_is_refused(self, either: Any, payload: bytes) -> None:
        with pytest.raises(DamagedPayloadError):
            either.init(payload[:-1] + b"\xff")

    def test_a_compile_spec_is_refused(self, either: Any, payload: bytes) -> None:
        with pytest.raises(
            CompileSpecError, match=r"^compile spec 'device' is not known; there is named_data$"
        ):
            either.init(payload, {"device": b"x"})

    def test_a_compile_spec_of_other_bytes_is_refused(self, either: Any, payload: bytes) -> None:
        message = r"^compile spec 'named_data': expected 0 or 1 \(bool\), given 120$"
        with pytest.raises(CompileSpecError, match=message):
            either.init(payload, {"named_data": b"x"})

    @pytest.mark.parametrize(
        ("args", "message"),
        [
            ((X,), "takes 1 input(s) and 1 output(s), given 1 arguments"),
            ((X, Y, Y), "takes 1 input(s) and 1 output(s), given 3 arguments"),
            ((1.5, Y), "argument 0 must be float32 (1, 3), given float"),
            ((X.astype(np.float64), Y), "argument 0 must be float32 (1, 3), given float64 (1, 3)"),
            ((X.T, Y), "argument 0 must be float32 (1, 3), given float32 (3, 1)"),
            ((X, Y[0]), "argument 1 must be float32 (1, 2), given float32 (2,)"),
        ],
    )
    def test_arguments_that_do_not_fit_are_refused(
        self, either: Any, payload: bytes, args: tuple[Any, ...], message: str
    ) -> None:
        handle = either.init(payload)
        with pytest.raises(DelegateArgumentError) as caught:
            either.execute(handle, *args)
        assert str(caught.value) == message

    def test_each_operation_is_a_span(self, either: Any, payload: bytes) -> None:
        either.execute(either.init(payload), X.copy(), Y.copy())
        assert [name for name in either.spans.names if "core" not in name] == ["linear", "relu"]

    def test_the_options_in_force_can_be_read_back(self, either: Any, payload: bytes) -> None:
        handle = either.init(payload)
        assert either.backend.effective_options(handle) == dict(either.options)


def run_convolution(harness: Any, graph: Graph, **changed: Any) -> Any:
    x = np.random.default_rng(5).standard_normal((2, 3, 24, 17), np.float32)
    y = np.zeros((2, 8, 24, 30), np.float32)
    harness.execute(harness.init(encode_graph(graph)), x, y, **changed)
    return y


class TestCpu:
    """`ReferenceCpuBackend` cuts work into tiles, which workers share."""

    def test_float32_constants_are_not_copied(self, cpu: Any, payload: bytes) -> None:
        cpu.init(payload)
        assert cpu.heap.allocated_bytes == 0
        assert not cpu.payload.is_freed

    def test_results_do_not_depend_on_the_number_of_threads(
        self, make_harness: Any, conv_graph: Graph
    ) -> None:
        harness = make_harness(ReferenceCpuBackend(), ReferenceCpuOptions(scratch_bytes=4096))
        alone = run_convolution(harness, conv_graph, num_threads=1)
        for num_threads in (2, 3, 8):
            together = run_convolution(harness, conv_graph, num_threads=num_threads)
            np.testing.assert_array_equal(together, alone)

    def test_tiles_run_on_num_threads_workers(self, make_harness: Any, conv_graph: Graph) -> None:
        harness = make_harness(ReferenceCpuBackend(), ReferenceCpuOptions(scratch_bytes=4096))
        run_convolution(harness, conv_graph, num_threads=3)
        assert [workers for _, workers in harness.workers.calls] == [3, 1]

    @pytest.mark.parametrize(("scratch_bytes", "tiles"), [(4096, 2 * 12), (16384, 2 * 3), (1 << 20, 2)])
    def test_scratch_bytes_decides_how_work_is_cut(
        self, make_harness: Any, conv_graph: Graph, scratch_bytes: int, tiles: int
    ) -> None:
        # one row of the result takes 27 * 17 * 4 = 1836 bytes of gathered pixels
        harness = make_harness(ReferenceCpuBackend(), ReferenceCpuOptions(scratch_bytes=scratch_bytes))
        run_convolution(harness, conv_graph)
        assert harness.workers.calls[0][0] == tiles

    def test_scratch_memory_stays_within_its_limit(self, make_harness: Any, conv_graph: Graph) -> None:
        used = {}
        for num_threads in (1, 4):
            harness = make_harness(ReferenceCpuBackend(), ReferenceCpuOptions(scratch_bytes=4096))
            run_convolution(harness, conv_graph, num_threads=num_threads)
            used[num_threads] = harness.temporary.allocated_bytes
        assert 0 < used[4] - used[1] <= 3 * 4096

    def test_fp64_sums_are_exact_to_the_last_bit(self, make_harness: Any) -> None:
        x, *weight = np.random.default_rng(2).standard_normal((65, 1000), np.float32)
        exact = [np.float32(math.fsum(np.multiply(x, row, dtype=np.float64))) for row in weight]
        results = {}
        for accumulate in Accumulate:
            harness = make_harness(ReferenceCpuBackend(), ReferenceCpuOptions(accumulate=accumulate))
            y = np.zeros((1, 64), np.float32)
            harness.execute(harness.init(encode_graph(single_linear(np.stack(weight)))), x[np.newaxis], y)
            results[accumulate] = y[0]
        np.testing.assert_array_equal(results[Accumulate.FP64], exact)
        assert (results[Accumulate.FP32] != exact).any()

    def test_fp64_weights_are_in_the_memory_of_the_method(self, make_harness: Any, payload: bytes) -> None:
        harness = make_harness(ReferenceCpuBackend(), ReferenceCpuOptions(accumulate=Accumulate.FP64))
        harness.init(payload)
        assert harness.heap.allocated_bytes == (6 + 2) * 8


class TestNpu:
    """`ReferenceNpuBackend` computes on one core of a simulated device and takes its time."""

    def test_a_core_takes_its_cycles(self) -> None:
        assert count_cycles([6400, 1], core=0) == 2 * LAUNCH_CYCLES + 100 + 1
        assert count_cycles([6400, 1], core=3) == 2 * LAUNCH_CYCLES + 400 + 1

    def test_the_power_mode_sets_the_clock(self) -> None:
        seconds = {mode: seconds_of(20_000, mode) for mode in PowerMode}
        assert seconds == {PowerMode.LOW: 4e-3, PowerMode.BALANCED: 2e-3, PowerMode.HIGH: 1e-3}

    def test_a_narrow_core_takes_longer(self, make_harness: Any, conv_graph: Graph) -> None:
        cycles = []
        for core in range(4):
            harness = make_harness(ReferenceNpuBackend(), ReferenceNpuOptions(core=core))
            cycles.append(harness.init(encode_graph(conv_graph)).cycles_per_execute)
        assert cycles[0] == cycles[1] < cycles[2] == cycles[3] < 4 * cycles[0]

    def test_the_handle_counts_what_its_core_did(self, npu: Any, payload: bytes) -> None:
        handle = npu.init(payload)
        for mode in (PowerMode.LOW, PowerMode.HIGH):
            npu.execute(handle, X.copy(), Y.copy(), power_mode=mode)
        cycles = 2 * LAUNCH_CYCLES + 1 + 1
        assert (handle.executes, handle.cycles) == (2, 2 * cycles)
        clocks = CLOCK_HZ[PowerMode.LOW], CLOCK_HZ[PowerMode.HIGH]
        assert handle.busy_seconds == pytest.approx(sum(cycles / clock for clock in clocks))

    def test_an_execute_takes_no_longer_than_the_device(
        self, npu: Any, payload: bytes, naps: list[float]
    ) -> None:
        handle = npu.init(payload)
        npu.execute(handle, X.copy(), Y.copy())
        assert naps == [handle.busy_seconds]

    def test_an_execute_that_failed_is_not_counted(self, npu: Any, payload: bytes) -> None:
        handle = npu.init(payload)
        with pytest.raises(DelegateArgumentError):
            npu.execute(handle, X.copy())
        assert (handle.executes, handle.cycles, handle.busy_seconds) == (0, 0, 0.0)

    def test_fp16_rounds_weights_and_results(self, make_harness: Any) -> None:
        graph = single_linear(np.array([[1.0001, 2048.0]], np.float32))
        y = np.zeros((1, 1), np.float32)
        harness = make_harness(ReferenceNpuBackend(), ReferenceNpuOptions(precision=Precision.FP16))
        harness.execute(harness.init(encode_graph(graph)), np.ones((1, 2), np.float32), y)
        # 1.0001 rounds to 1, and 2049 is between two float16 numbers
        assert y[0, 0] == 2048.0
        assert harness.heap.allocated_bytes == 2 * 4

    def test_fp16_differs_a_little_from_fp32(self, make_harness: Any, conv_graph: Graph) -> None:
        results = {}
        for precision in Precision:
            harness = make_harness(ReferenceNpuBackend(), ReferenceNpuOptions(precision=precision))
            results[precision] = run_convolution(harness, conv_graph)
        error = np.abs(results[Precision.FP16] - results[Precision.FP32]).max()
        assert 1e-4 < error < 0.05 * np.abs(results[Precision.FP32]).max()

    def test_fp16_overflows_to_infinity_without_a_warning(self, make_harness: Any) -> None:
        graph = single_linear(np.array([[1e6]], np.float32))
        y = np.zeros((1, 1), np.float32)
        harness = make_harness(ReferenceNpuBackend(), ReferenceNpuOptions(precision=Precision.FP16))
        harness.execute(harness.init(encode_graph(graph)), np.ones((1, 1), np.float32), y)
        assert np.isinf(y[0, 0])

    def test_the_core_is_a_span(self, make_harness: Any, payload: bytes) -> None:
        harness = make_harness(ReferenceNpuBackend(), ReferenceNpuOptions(core=2))
        harness.execute(harness.init(payload), X.copy(), Y.copy())
        assert harness.spans.names[0] == "npu core 2"
