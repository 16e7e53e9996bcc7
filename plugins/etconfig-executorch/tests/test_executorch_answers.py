"""Programs on the real runtime give the answers of the numpy executor, through the same API."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import etconfig
from etconfig.errors import InvalidInputError, MethodClosedError, MethodInUseError, RuntimeFailedError

pytestmark = pytest.mark.peers

ROOT = Path(__file__).parents[3]
DATA = ROOT / "tests" / "data"

SAME = [
    "add",
    "add_unplanned",
    "branch",
    "convolution_channels_last",
    "dynamic_shapes",
    "linear",
    "lists",
    "mapping",
    "mutable_buffers",
    "two_methods",
]
"""Programs of the corpus that both executors run."""


def inputs_of(method: Any) -> list[Any]:
    rng = np.random.default_rng(0)
    infos = [method.metadata.input_tensor_meta(index) for index in range(method.metadata.num_inputs())]
    return [_random(rng, info) for info in infos]


def _random(rng: np.random.Generator, info: Any) -> Any:
    if info.dtype().dtype_name == "bool":
        return np.ones(info.sizes(), np.bool_)
    if info.dtype().dtype_name.startswith("int"):
        return np.zeros(info.sizes(), info.dtype().dtype_name)  # valid as indices, too
    return (rng.random(info.sizes()) * 4).astype(info.dtype().dtype_name)


@pytest.mark.parametrize("name", SAME)
def test_both_executors_agree(name: str) -> None:
    path = DATA / "programs" / f"{name}.pte"
    theirs, ours = (etconfig.load_program(path, executor=executor) for executor in ("executorch", "numpy"))
    for method in ours.method_names:
        with theirs.load_method(method) as a, ours.load_method(method) as b:
            inputs = inputs_of(b)
            for _ in range(3):  # repeated, to reveal leftover state
                for left, right in zip(a.execute(inputs), b.execute(inputs), strict=True):
                    assert_same(left, right)


def assert_same(left: Any, right: Any) -> None:
    assert type(left) is type(right)
    if isinstance(left, np.ndarray):
        np.testing.assert_allclose(left, right, rtol=1e-5, atol=1e-6)
        assert (left.dtype, left.strides) == (right.dtype, right.strides)
    else:
        assert left == right


class TestPythonBackends:
    """etconfig's own backends run inside the runtime, each delegate with its typed options."""

    def test_a_program_with_two_python_backends_gives_the_recorded_answers(self) -> None:
        data = np.load(DATA / "digits" / "digits.npz")
        with etconfig.load_program(DATA / "digits" / "digits.pte", executor="executorch") as program:
            method = program.load_method("forward")
            for image, answer in list(zip(data["images"], data["forward"], strict=True))[:20]:
                (out,) = method.execute([image[None]])
                np.testing.assert_allclose(out[0], answer, atol=1e-5)

    def test_a_python_backend_runs_beside_xnnpack_in_one_method(
        self, mixed_program: tuple[Path, Path]
    ) -> None:
        path, answers = mixed_program
        data = np.load(answers)
        with etconfig.load_program(path, executor="executorch") as program:
            config = etconfig.resolve(
                program,
                instances={"forward": ["left", "right"]},
                overrides=[
                    "forward@left:XnnpackBackend.single_threaded=true",
                    "forward@left:ReferenceCpuBackend.num_threads=2",
                    "forward@right:XnnpackBackend.workspace_sharing_mode=per_model",
                    "forward@right:ReferenceCpuBackend.num_threads=1",
                ],
            )
            left, right = (
                program.load_method("forward", config.arguments("forward", instance=each))
                for each in ("left", "right")
            )
            for method, threads in ((left, 2), (right, 1)):
                np.testing.assert_allclose(method.execute([data["x"]])[0], data["y"], atol=1e-5)
                assert method.effective_options()["ReferenceCpuBackend"]["num_threads"] == threads

    def test_two_instances_have_arguments_of_their_own(self) -> None:
        with etconfig.load_program(DATA / "digits" / "digits.pte", executor="executorch") as program:
            config = etconfig.resolve(
                program,
                instances={"forward": ["left", "right"]},
                overrides=[
                    "forward@left:ReferenceNpuBackend.core=1",
                    "forward@right:ReferenceNpuBackend.core=3",
                    "forward@left:ReferenceCpuBackend.num_threads=1",
                    "forward@right:ReferenceCpuBackend.num_threads=2",
                ],
            )
            methods = [
                program.load_method("forward", config.arguments("forward", instance=name))
                for name in ("left", "right")
            ]
            effective = [method.effective_options() for method in methods]
        assert [each["ReferenceNpuBackend"]["core"] for each in effective] == [1, 3]
        assert [each["ReferenceCpuBackend"]["num_threads"] for each in effective] == [1, 2]

    def test_execute_time_options_change_between_executes(self) -> None:
        with etconfig.load_program(DATA / "digits" / "digits.pte", executor="executorch") as program:
            method = program.load_method("forward")
            method.update({"ReferenceNpuBackend.power_mode": "high"})
            effective = method.effective_options()["ReferenceNpuBackend"]["power_mode"]
        assert getattr(effective, "value", effective) == "high"


class TestInputsAndOutputs:
    """Inputs are read in place if they fit; outputs belong to the caller."""

    @pytest.fixture
    def method(self) -> Any:
        return etconfig.load_program(DATA / "programs" / "add.pte", executor="executorch").load_method(
            "forward"
        )

    def test_outputs_do_not_change_with_later_runs(self, method: Any) -> None:
        inputs = inputs_of(method)
        (first,) = method.execute(inputs)
        kept = first.copy()
        method.execute([np.zeros_like(each) for each in inputs])
        np.testing.assert_array_equal(first, kept)

    def test_inputs_with_other_layouts_are_converted(self, method: Any) -> None:
        inputs = inputs_of(method)
        (expected,) = method.execute(inputs)
        wide = [np.repeat(each, 2, axis=-1)[..., ::2] for each in inputs]
        assert not wide[0].flags.c_contiguous
        (given,) = method.execute(wide)
        np.testing.assert_array_equal(given, expected)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda x: x.astype(np.float64), "given dtype float64; convert it to float32 first"),
            (lambda x: x.view(np.int32), "given dtype int32; convert it to float32 first"),
            (lambda x: np.concatenate([x, x]), "given shape"),
            (lambda x: "text", "given str"),
        ],
    )
    def test_an_input_that_does_not_fit_is_named(self, method: Any, change: Any, message: str) -> None:
        inputs = inputs_of(method)
        with pytest.raises(InvalidInputError, match="input 0: expected an array of dtype float32") as caught:
            method.execute([change(inputs[0]), *inputs[1:]])
        assert message in str(caught.value)

    def test_the_number_of_inputs_is_checked(self, method: Any) -> None:
        with pytest.raises(InvalidInputError, match="inputs: expected"):
            method.execute([])

    def test_inputs_that_are_no_list_are_taken_as_by_the_built_in_executor(self, method: Any) -> None:
        inputs = inputs_of(method)
        (expected,) = method.execute(inputs)
        (given,) = method.execute(dict(enumerate(inputs)))
        np.testing.assert_array_equal(given, expected)
        for wrong in (None, 5, iter(inputs)):
            with pytest.raises(InvalidInputError, match="instead of a list; put the inputs into a list"):
                method.execute(wrong)

    def test_a_number_for_a_dynamic_input_is_refused(self) -> None:
        path = DATA / "programs" / "symbolic_integer.pte"
        with (
            etconfig.load_program(path, executor="executorch") as program,
            program.load_method("forward") as method,
            pytest.raises(RuntimeFailedError, match="accepts no number for a dynamic input"),
        ):
            method.execute([np.ones(6, np.float32), 3])

    def test_a_tensor_without_dimensions_can_be_input_and_output(self, rankless_program: Path) -> None:
        with etconfig.load_program(rankless_program, executor="executorch") as program:
            (out,) = program.load_method("forward").execute([np.array(2.5, np.float32)])
        assert (out.shape, out.dtype, out.item()) == ((), np.float32, 5.0)

    def test_a_closed_method_says_so(self, method: Any) -> None:
        method.close()
        with pytest.raises(MethodClosedError):
            method.execute([])


class TestLifetime:
    """Threads, many instances and many loads."""

    def test_methods_of_one_program_run_in_parallel(self, large_program: tuple[Path, Path]) -> None:
        path, answers = large_program
        data = np.load(answers)
        program = etconfig.load_program(path, executor="executorch")
        methods = [program.load_method("forward") for _ in range(4)]

        def run(method: Any) -> bool:
            outputs = [method.execute([data["x"]])[0] for _ in range(20)]
            return all(np.array_equal(outputs[0], each) for each in outputs[1:]) and bool(
                np.allclose(outputs[0], data["y"], atol=1e-4)
            )

        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(run, methods)) == [True] * 4

    def test_a_second_thread_in_one_method_is_refused(self, large_program: tuple[Path, Path]) -> None:
        path, answers = large_program
        x = np.load(answers)["x"]
        method = etconfig.load_program(path, executor="executorch").load_method("forward")

        def run(_: int) -> str:
            try:
                method.execute([x])
            except MethodInUseError:
                return "in use"
            return "ran"

        with ThreadPoolExecutor(4) as pool:
            assert set(pool.map(run, range(200))) == {"in use", "ran"}

    def test_a_method_outlives_its_program(self) -> None:
        program = etconfig.load_program(DATA / "programs" / "add.pte", executor="executorch")
        method = program.load_method("forward")
        inputs = inputs_of(method)
        (expected,) = method.execute(inputs)
        program.close()
        del program
        gc.collect()
        np.testing.assert_array_equal(method.execute(inputs)[0], expected)
        strided = [np.repeat(each, 2, axis=-1)[..., ::2] for each in inputs]  # must be checked, and copied
        np.testing.assert_array_equal(method.execute(strided)[0], expected)

    def test_loading_repeatedly_does_not_increase_memory_use(self) -> None:
        program = etconfig.load_program(DATA / "digits" / "digits.pte", executor="executorch")

        def load_and_run() -> int:
            for _ in range(50):
                with program.load_method("forward") as method:
                    method.execute(inputs_of(method))
            return resident_bytes()

        load_and_run()
        before = load_and_run()
        assert load_and_run() - before < 2_000_000


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096
