"""Programs that ExecuTorch exported, run with the built-in kernels."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from kernel_cases import assert_close

from etconfig import Method
from etconfig.base.scalar_types import ScalarType
from etconfig.errors import (
    BackendUnavailableError,
    InvalidInputError,
    KernelArgumentError,
)
from etconfig.kernels import builtin_kernels
from etconfig.numpy_executor import load_method
from etconfig.program import model
from etconfig.program.program import Program, open_program

DATA = Path(__file__).parents[1] / "data"
KERNELS = builtin_kernels()


def open_corpus(name: str) -> Program:
    return open_program(DATA / "programs" / f"{name}.pte")


def load(name: str, method: str = "forward") -> Method:
    return load_method(open_corpus(name), method, KERNELS, {})


def counting(*sizes: int) -> np.ndarray:
    """Return 0, 1, 2, ... in a shape."""
    return np.arange(np.prod(sizes), dtype=np.float32).reshape(sizes)


@pytest.mark.parametrize("name", ["add", "add_unplanned"])
def test_inputs_and_outputs_with_and_without_a_memory_plan(name: str) -> None:
    method = load(name)
    for factor in (1, 2):
        x = counting(2, 3) * factor
        np.testing.assert_array_equal(method.execute([x, x + 1])[0], 2 * x + 1)


def test_either_branch_of_a_condition() -> None:
    method = load("branch")
    for x in (np.ones(3, np.float32), -np.ones(3, np.float32), np.ones(3, np.float32)):
        expected = np.sin(x) if x.sum() > 0 else np.cos(x)
        assert_close(method.execute([x])[0], expected)


def test_a_map_over_the_first_dimension() -> None:
    method = load("mapping")
    for start in (0, 5):
        xs, y = counting(3, 2) + start, np.array([2, 3], np.float32)
        np.testing.assert_array_equal(method.execute([xs, y])[0], xs * y)


def test_buffers_that_change_from_run_to_run() -> None:
    method = load("mutable_buffers")
    x = np.array([1, 1, 1], np.float32)
    assert [each.tolist() for each in method.execute([x])] == [[2, 3, 4], [1]]
    assert [each.tolist() for each in method.execute([x])] == [[3, 4, 5], [2]]


def test_shapes_that_differ_from_run_to_run() -> None:
    method = load("dynamic_shapes")
    for rows in (7, 1, 3, 7):
        x = counting(rows, 2)
        np.testing.assert_array_equal(method.execute([x, x])[0], x * 2)
    with pytest.raises(InvalidInputError, match=r"at most shape \(7, 2\), given shape \(8, 2\)"):
        method.execute([counting(8, 2)] * 2)


def test_a_symbolic_integer_as_input() -> None:
    method = load("symbolic_integer")
    for count, rows in ((6, 3), (4, 2), (2, 2), (6, 3)):
        x = counting(count)
        np.testing.assert_array_equal(method.execute([x, rows])[0], (x * 2).reshape(rows, -1))
    with pytest.raises(KernelArgumentError, match=r"aten::view_copy\.out: 7 elements .* viewed as \(3, -1\)"):
        method.execute([counting(7), 3])


def test_every_kind_of_list() -> None:
    method = load("lists")
    shapes = [method.metadata.input_tensor_meta(each).sizes() for each in range(2)]
    x, index = counting(*shapes[0]), np.arange(shapes[1][0], dtype=np.int64)[::-1]
    picked, larger, first, gelu = method.execute([x, index])
    np.testing.assert_array_equal(picked, np.concatenate([x, x * 2])[:, index])
    rows = np.arange(2 * x.shape[0]) // 2
    columns = np.arange(x.shape[1] // 2) * 2
    np.testing.assert_array_equal(larger[0, 0], x[rows[:, None], columns])
    np.testing.assert_array_equal(first, x[:1])
    assert_close(
        gelu, (0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))).astype(np.float32)
    )


def test_every_scalar_type_and_outputs_that_are_not_tensors() -> None:
    x = np.array([1, 2, 3], np.float32)
    halves, brains, masked, integer, mask, nothing, number, same = load("types").execute([x])
    assert halves.dtype == np.float16
    assert halves.tolist() == [1, 3, 5]
    assert brains.dtype == ml_dtypes.bfloat16
    assert brains.tolist() == [0, 2, 4, 6]
    assert masked.tolist() == [1, -np.inf, 3]
    assert (integer.dtype, integer.item()) == (np.int8, 3)
    assert mask.tolist() == [True, False, True]
    assert (nothing, number) == (None, 3)
    assert same.tolist() == [1, 2, 3]


def test_methods_that_only_return_a_constant() -> None:
    program = open_corpus("two_methods")
    values = {
        name: load_method(program, name, KERNELS, {}).execute()[0]
        for name in ("version_of_model", "name_of_model", "scale")
    }
    assert values == {"version_of_model": 7, "name_of_model": "corpus", "scale": 0.25}


@pytest.mark.parametrize("name", ["linear", "linear_inline_constants"])
def test_constants_in_segments_and_inline_are_the_same(name: str) -> None:
    program = open_corpus(name)
    x = counting(2, 4)
    (out,) = load_method(program, "forward", KERNELS, {}).execute([x])
    weight = np.frombuffer(program.constant(1, 48), np.float32).reshape(3, 4)
    bias = np.frombuffer(program.constant(2, 12), np.float32)
    assert_close(out, x @ weight.T + bias)


def test_channels_last_gives_logical_arrays() -> None:
    program = open_corpus("convolution_channels_last")
    (out,) = load_method(program, "forward", KERNELS, {}).execute([np.zeros((1, 3, 8, 8), np.float32)])
    assert out.shape == (1, 4, 4, 4)
    # a convolution of zeros leaves the bias, the same at every place
    np.testing.assert_array_equal(out, np.broadcast_to(out[:, :, :1, :1], out.shape))


def test_a_delegate_needs_its_backend() -> None:
    with pytest.raises(BackendUnavailableError, match="'XnnpackBackend' cannot run here"):
        load("xnnpack")


class TestDigits:
    """The outputs of a network that reads digits equal those of PyTorch."""

    @pytest.mark.parametrize("method", ["forward", "embed"])
    def test_every_output_is_close_to_that_of_pytorch(
        self, recorded: Mapping[str, np.ndarray], method: str
    ) -> None:
        program = open_program(DATA / "digits" / "digits_portable.pte")
        loaded = load_method(program, method, KERNELS, {})
        found = np.concatenate([loaded.execute([image[None]])[0] for image in recorded["images"]])
        np.testing.assert_allclose(found, recorded[method], rtol=1e-5, atol=2e-6)

    def test_two_methods_in_two_threads_equal_one_alone_bit_for_bit(
        self, recorded: Mapping[str, np.ndarray]
    ) -> None:
        program = open_program(DATA / "digits" / "digits_portable.pte")
        images = recorded["images"][:60]

        def run_all(results: list[bytes]) -> None:
            method = load_method(program, "forward", KERNELS, {})
            results.extend(method.execute([image[None]])[0].tobytes() for image in images)

        alone: list[bytes] = []
        run_all(alone)
        together: list[list[bytes]] = [[], []]
        threads = [threading.Thread(target=run_all, args=(results,)) for results in together]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert together == [alone, alone]


METHODS = [
    (f"{folder}/{stem}.pte", method)
    for folder, stem, *methods in (
        ("digits", "digits_portable", "forward", "embed"),
        *(("programs", each, "forward") for each in ("add", "add_unplanned", "branch", "lists", "mapping")),
        *(("programs", each, "forward") for each in ("dynamic_shapes", "linear", "linear_inline_constants")),
        *(("programs", each, "forward") for each in ("convolution_channels_last", "mutable_buffers")),
        *(("programs", each, "forward") for each in ("types",)),
        ("programs", "two_methods", "forward", "größe"),
    )
    for method in methods
]


def example_input(value: model.EValue, rng: np.random.Generator) -> object:
    """Return a random input; integers are small enough to be indices."""
    if not isinstance(value, model.SerializedTensor):
        return 2
    integral = value.scalar_type is ScalarType.LONG
    return rng.integers(0, 2, value.sizes) if integral else rng.normal(size=value.sizes).astype(np.float32)


@pytest.mark.parametrize(("path", "name"), METHODS, ids=str)
def test_the_optimizer_changes_no_output(path: str, name: str) -> None:
    program = open_program(DATA / path)
    plan = program.plan(name)
    faithful, optimized = (
        load_method(program, name, KERNELS, {}, optimize=optimize) for optimize in (False, True)
    )
    rng = np.random.default_rng(0)
    for _ in range(3):
        inputs = [example_input(plan.values[index], rng) for index in plan.inputs]
        for given, expected in zip(optimized.execute(inputs), faithful.execute(inputs), strict=True):
            if isinstance(expected, np.ndarray):
                assert_close(given, expected)
            else:
                assert given == expected


ARCHITECTURES = sorted((DATA / "architectures").glob("*.pte"))


@pytest.mark.parametrize("path", ARCHITECTURES, ids=lambda path: path.stem)
def test_the_optimizer_changes_whole_models_by_rounding_at_most(path: Path) -> None:
    program, recorded = open_program(path), np.load(path.with_suffix(".npz"))
    count = len(program.plan("forward").inputs)
    inputs = [recorded[f"call0_input{index}"] for index in range(count)]
    given, expected = (
        load_method(program, "forward", KERNELS, {}, optimize=optimize).execute(inputs)
        for optimize in (True, False)
    )
    for one, other in zip(given, expected, strict=True):
        one, other = one.astype(np.float64), other.astype(np.float64)
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-6 * np.abs(other).max())
