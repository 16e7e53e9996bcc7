"""Programs that ExecuTorch exported, with their data files: each run equals the one that PyTorch recorded."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import DATA, Outcome, error
from kernel_cases import assert_close

from etconfig import Method
from etconfig.backend import Backend, BoundBackend, ExecuteContext, InitContext, Processed, Value
from etconfig.errors import MissingDataError
from etconfig.kernels import builtin_kernels
from etconfig.numpy_executor import load_method
from etconfig.program.program import open_program

EXPORTS = DATA / "exports"
KERNELS = builtin_kernels()
LAYERS = EXPORTS / "external_constants.pte"
WHERE_VALUES_GO: Mapping[str, Callable[..., list[Any]]] = {
    "nested": lambda b, a, first, second: [b, a, first, second, True, 2.5, None]
}
"""The inputs that are not tensors, which `answers.npz` lacks."""


@pytest.fixture(scope="module")
def answers() -> Mapping[str, np.ndarray]:
    with np.load(EXPORTS / "answers.npz") as archive:
        return dict(archive)


def runs_of(name: str, answers: Mapping[str, np.ndarray]) -> Iterator[tuple[list[Any], list[np.ndarray]]]:
    """Yield the inputs and outputs of each recorded run."""
    for run in itertools.count():
        inputs, outputs = (list(tensors(f"{name}/{run}/{role}", answers)) for role in ("in", "out"))
        if not outputs:
            return
        yield inputs, outputs


def tensors(prefix: str, answers: Mapping[str, np.ndarray]) -> Iterator[np.ndarray]:
    places = itertools.takewhile(lambda at: f"{prefix}{at}" in answers, itertools.count())
    return (answers[f"{prefix}{place}"] for place in places)


def data_files(name: str) -> Sequence[Path]:
    return sorted(EXPORTS.glob(f"{name}*.ptd"))


@pytest.mark.parametrize(
    "name",
    [
        "branches",
        "external_constants",
        "external_two_files",
        "grow",
        "lifted",
        "mutable_cache",
        "nested",
        "scan",
        "unbounded",
    ],
)
def test_every_run_equals_that_of_pytorch(name: str, answers: Mapping[str, np.ndarray]) -> None:
    program = open_program(EXPORTS / f"{name}.pte", data=data_files(name))
    method = load_method(program, "forward", KERNELS, {})
    runs = list(runs_of(name, answers))
    assert runs
    for inputs, expected in runs:
        given = WHERE_VALUES_GO.get(name, lambda *tensors: list(tensors))(*inputs)
        for output, answer in zip(method.execute(given), expected, strict=True):
            assert_close(output, answer)


def test_each_instance_has_buffers_of_its_own(answers: Mapping[str, np.ndarray]) -> None:
    program = open_program(EXPORTS / "mutable_cache.pte")
    first, second = (load_method(program, "forward", KERNELS, {}) for _ in range(2))
    inputs, expected = next(runs_of("mutable_cache", answers))
    first.execute(inputs)
    for output, answer in zip(second.execute(inputs), expected, strict=True):
        assert_close(output, answer)


def test_a_method_refuses_to_load_without_its_data_and_lists_all_missing_keys() -> None:
    with pytest.raises(MissingDataError) as caught:
        load_method(open_program(LAYERS), "forward", KERNELS, {})
    assert caught.value.keys == ("first.bias", "second.weight", "second.bias")


def test_a_closed_program_leaves_its_external_constants_to_the_method(
    answers: Mapping[str, np.ndarray],
) -> None:
    with open_program(LAYERS, data=data_files("external_constants")) as program:
        method = load_method(program, "forward", KERNELS, {})
    inputs, expected = next(runs_of("external_constants", answers))
    assert_close(method.execute(inputs)[0], expected[0])


class NestedBackend(Backend[None, Method]):
    """As ExecuTorch's demo `ExecutorBackend`: the payload is a program, and its method `forward` runs."""

    def init(
        self, context: InitContext[None], processed: Processed, compile_specs: Mapping[str, bytes]
    ) -> Method:
        return load_method(open_program(processed.data), "forward", KERNELS, {})

    def execute(self, context: ExecuteContext[None], handle: Method, args: Sequence[Value]) -> None:
        count = handle.metadata.num_inputs()
        for result, out in zip(handle.execute(args[:count]), args[count:], strict=True):
            assert isinstance(out, np.ndarray)
            np.copyto(out, result)

    def destroy(self, handle: Method) -> None:
        handle.close()


class LayersBackend(Backend[None, "list[np.ndarray]"]):
    """Two layers whose weights are the method's named data, as XNNPACK stores them: by size, in order."""

    def init(
        self, context: InitContext[None], processed: Processed, compile_specs: Mapping[str, bytes]
    ) -> list[np.ndarray]:
        return [np.frombuffer(data, np.float32) for data in context.named_data.values()]

    def execute(self, context: ExecuteContext[None], handle: list[np.ndarray], args: Sequence[Value]) -> None:
        (weight,) = (each.reshape(4, 4) for each in handle if each.size == 16)
        first, second = (each for each in handle if each.size == 4)
        x, out = args
        assert isinstance(out, np.ndarray)
        out[:] = np.maximum(x @ weight.T + first, 0) @ weight.T + second


def bound(backend: Backend[None, Any], backend_id: str) -> Mapping[str, BoundBackend]:
    def refuse(options: None, values: Mapping[str, object]) -> None:
        raise AssertionError("nothing is updated")

    return {
        backend_id: BoundBackend(backend_id=backend_id, create=lambda: backend, options=None, changed=refuse)
    }


class TestDelegates:
    """Delegates that ExecuTorch exported get their payloads, and their data from data files."""

    def test_a_payload_may_be_a_program(self, answers: Mapping[str, np.ndarray]) -> None:
        program = open_program(EXPORTS / "nested_program.pte")
        with load_method(program, "forward", KERNELS, bound(NestedBackend(), "ExecutorBackend")) as method:
            for inputs, expected in runs_of("nested_program", answers):
                assert_close(method.execute(inputs)[0], expected[0])

    def test_weights_may_be_named_data_of_a_data_file(self, answers: Mapping[str, np.ndarray]) -> None:
        program = open_program(EXPORTS / "external_delegate.pte", data=data_files("external_delegate"))
        method = load_method(program, "forward", KERNELS, bound(LayersBackend(), "XnnpackBackend"))
        for inputs, expected in runs_of("external_delegate", answers):
            assert_close(method.execute(inputs)[0], expected[0])


class TestCommands:
    """`--data` names the data files of a program; `inspect` shows where each tensor is."""

    DATA_FILE = LAYERS.with_suffix(".ptd")

    @pytest.fixture(autouse=True)
    def _input(self, place: Path) -> None:
        np.save(place / "x.npy", np.array([[1, -2, 3, -4]], np.float32))

    def test_run_takes_several(
        self, cli: Callable[..., Outcome], place: Path, answers: Mapping[str, np.ndarray]
    ) -> None:
        parts = [item for path in data_files("external_two_files") for item in ("--data", path)]
        done = cli("run", EXPORTS / "external_two_files.pte", *parts, "--input", "x.npy", "--output", "y.npz")
        assert (done.status, done.stderr) == (0, "")
        with np.load(place / "y.npz") as outputs:
            assert_close(outputs["out0"], answers["external_two_files/0/out0"])

    def test_run_without_data_files_names_the_missing_ones(self, cli: Callable[..., Outcome]) -> None:
        assert cli("run", LAYERS, "--input", "x.npy") == Outcome(
            2,
            "",
            error(
                f"{LAYERS}: method 'forward': the data of 3 tensor(s) lie outside the program, and no data "
                "file was given: 'first.bias', 'second.weight', 'second.bias' [missing-external-data]",
                "give the .ptd that was exported with the program: data=[...], or --data FILE.ptd",
            ),
        )

    def test_commands_that_run_nothing_do_not_need_them(
        self, cli: Callable[..., Outcome], place: Path
    ) -> None:
        (place / "mine.toml").write_text('[profile]\nname = "acme/mine"\n')
        for command in (
            ["resolve", LAYERS],
            ["inspect", LAYERS],
            ["validate", "mine.toml", "--program", LAYERS],
        ):
            assert cli(*command).status == 0

    def test_inspect_shows_where_each_tensor_is(self, cli: Callable[..., Outcome]) -> None:
        part = EXPORTS / "external_two_files_biases.ptd"
        done = cli("inspect", LAYERS, "--data", part)
        assert done.stdout.splitlines()[:2] == [
            f"{LAYERS}: 2.094 KiB, constants 0 bytes, 1 segment",
            f"{part}: 528 bytes, 2 keys",
        ]
        assert [line.split() for line in done.stdout.splitlines()[-6:-2]] == [
            ["EXTERNAL", "TENSOR", "TYPE", "FILE"],
            ["first.bias", "float32", "[4]", str(part)],
            ["second.weight", "float32", "[4,", "4]", "not", "given"],
            ["second.bias", "float32", "[4]", str(part)],
        ]

    def test_inspect_shows_it_as_json(self, cli: Callable[..., Outcome]) -> None:
        printed = cli("inspect", LAYERS, "--data", self.DATA_FILE, "--json").json
        assert printed["data_files"] == [{"path": str(self.DATA_FILE), "size_bytes": 784, "keys": 3}]
        assert printed["methods"][0]["external_tensors"][0] == {
            "key": "first.bias",
            "tensor": "float32 [4]",
            "file": str(self.DATA_FILE),
        }

    def test_a_damaged_file_is_named(self, cli: Callable[..., Outcome], place: Path) -> None:
        (place / "short.ptd").write_bytes(self.DATA_FILE.read_bytes()[:100])
        done = cli("inspect", LAYERS, "--data", "short.ptd")
        assert (done.status, done.stdout) == (2, "")
        assert done.stderr.startswith("error: short.ptd: data header at byte 0: needs ")

    def test_an_output_that_cannot_be_written_is_noticed_before_the_run(
        self, cli: Callable[..., Outcome], place: Path
    ) -> None:
        before = sorted(place.iterdir())
        missing = "No such file or directory; create the directory 'missing' first"
        for path, reason in (("missing/y.npz", missing), (".", "Is a directory")):
            done = cli("run", LAYERS, "--data", self.DATA_FILE, "--output", path)  # also lacks an input
            assert done == Outcome(2, "", error(f"cannot write {path}: {reason}"))
        assert sorted(place.iterdir()) == before
