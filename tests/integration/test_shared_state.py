"""Programs whose methods share a cache, compared with eager PyTorch over a sequence of calls."""

from __future__ import annotations

import gc
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import DATA, ROOT, Outcome
from every import every
from plans import PlanBuilder

import etconfig
from etconfig.base.scalar_types import ScalarType
from etconfig.errors import ArenaConflictError, InvalidMemoryError, MethodClosedError, MethodInUseError
from etconfig.program.program import open_program
from etconfig.program.shared_state import read_planned_state, shared_state_of

FOLDER = DATA / "shared_state"
SHARED = ("shared", "shared_named", "shared_initialized")
PROGRAMS = sorted(
    path
    for folder in ("tests/data", "plugins", "etconfig", "examples")
    for path in (ROOT / folder).rglob("*.pte")
    if "hostile" not in path.parts
)


@pytest.fixture(scope="module")
def answers() -> Mapping[str, np.ndarray]:
    with np.load(FOLDER / "answers.npz") as archive:
        return dict(archive)


def steps(answers: Mapping[str, np.ndarray]) -> Iterator[tuple[str, list[np.ndarray], list[np.ndarray]]]:
    """Yield the method, inputs and outputs of each call."""
    for step in sorted({key.partition("/")[0] for key in answers}):
        inputs, outputs = (
            [answers[key] for key in sorted(answers) if key.startswith(f"{step}/{role}")]
            for role in ("in", "out")
        )
        yield step.partition("_")[2], inputs, outputs


def load(name: str, **arguments: Any) -> etconfig.LoadedProgram:
    return etconfig.load_program(FOLDER / f"{name}.pte", **arguments)


def agree(methods: Mapping[str, etconfig.Method], answers: Mapping[str, np.ndarray]) -> list[bool]:
    """Return for each call whether all outputs are those of PyTorch."""
    return [
        all(
            np.allclose(given, expected, atol=1e-6)
            for given, expected in zip(methods[name].execute(inputs), outputs, strict=True)
        )
        for name, inputs, outputs in steps(answers)
    ]


class TestSharing:
    """With `share_memory_arenas=True`, the methods of a program have one cache, as in eager PyTorch."""

    @pytest.mark.parametrize("optimize", [True, False])
    @pytest.mark.parametrize("name", SHARED)
    def test_a_sequence_of_calls_gives_pytorchs_answers(
        self, name: str, optimize: bool, answers: Mapping[str, np.ndarray]
    ) -> None:
        program = load(name, share_memory_arenas=True)
        methods = {each: program.load_method(each, optimize=optimize) for each in program.method_names}
        assert all(agree(methods, answers))

    def test_instances_share_state_but_not_options_or_names(self, answers: Mapping[str, np.ndarray]) -> None:
        program = load("shared_named", share_memory_arenas=True)
        one, other = program.load_method("decode"), program.load_method("decode")
        one.set_attribute("model.keys", np.full((8, 4), 3.0, np.float32))
        assert (other.get_attribute("model.keys") == 3).all()

    def test_outputs_are_written_into_arrays_of_the_caller(self) -> None:
        program = load("shared_named", share_memory_arenas=True)
        read = program.load_method("read")
        read.set_attribute("model.keys", np.full((8, 4), 3.0, np.float32))
        keys = np.zeros((8, 4), np.float32)
        assert read.execute([], outputs=[keys, None])[0] is keys
        assert (keys == 3).all()

    def test_two_programs_of_one_file_share_nothing(self) -> None:
        one, other = (load("shared_named", share_memory_arenas=True).load_method("read") for _ in range(2))
        one.set_attribute("model.keys", np.ones((8, 4), np.float32))
        assert (other.execute([])[0] == 0).all()

    def test_state_outlives_the_methods_until_the_program_is_dropped(self) -> None:
        program = load("shared_named", share_memory_arenas=True)
        with program.load_method("decode") as method:
            method.set_attribute("model.keys", np.ones((8, 4), np.float32))
        with program.load_method("read") as method:
            assert (method.execute([])[0] == 1).all()

    def test_loading_writes_the_initial_values_that_the_file_stores(self) -> None:
        program = load("shared_initialized", share_memory_arenas=True)
        read = program.load_method("read")
        program.load_method("decode").execute([np.ones((1, 4), np.float32), np.array([2])])
        assert (read.execute([])[0] != 0).any()
        program.load_method("prefill")
        assert (read.execute([])[0] == 0).all()

    def test_methods_keep_the_arenas_after_the_program_was_closed(
        self, answers: Mapping[str, np.ndarray]
    ) -> None:
        program = load("shared", share_memory_arenas=True)
        methods = {each: program.load_method(each) for each in program.method_names}
        program.close()
        del program
        gc.collect()
        assert all(agree(methods, answers))

    def test_separate_caches_give_other_answers(self, answers: Mapping[str, np.ndarray]) -> None:
        program = load("shared")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", etconfig.UnsharedStateWarning)
            methods = {each: program.load_method(each) for each in program.method_names}
        assert not all(agree(methods, answers))


class TestGuard:
    """One of the methods that share arenas executes at a time."""

    def test_a_second_method_is_refused_while_one_executes(self) -> None:
        program = load("shared_named", share_memory_arenas=True)
        decode, read = program.load_method("decode"), program.load_method("read")
        inside, leave = threading.Event(), threading.Event()

        class Waiting:
            """An input that waits in the middle of `execute`."""

            def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
                inside.set()
                leave.wait(30)
                return np.zeros((1, 4), np.float32)

        thread = threading.Thread(target=decode.execute, args=([Waiting(), np.array([0])],))
        thread.start()
        assert inside.wait(30)
        try:
            for refused in (
                lambda: read.execute([]),
                lambda: read.get_attribute("model.keys"),
                lambda: read.set_attribute("model.keys", np.zeros((8, 4), np.float32)),
                lambda: program.load_method("prefill"),
            ):
                with pytest.raises(MethodInUseError, match="shares its arenas with 'decode'") as raised:
                    refused()
                assert raised.value.shares_arenas_with == "decode"
        finally:
            leave.set()
            thread.join()
        read.execute([])
        program.load_method("prefill").close()

    def test_an_error_frees_the_arenas_for_others(self) -> None:
        program = load("shared", share_memory_arenas=True)
        decode, read = program.load_method("decode"), program.load_method("read")
        with pytest.raises(etconfig.ExecutionError):
            decode.execute([])
        read.execute([])
        decode.close()
        with pytest.raises(MethodClosedError):
            decode.execute([])
        read.execute([])

    @pytest.mark.parametrize("name", ["separate", "counters"])
    def test_methods_that_would_overwrite_each_other_are_refused(self, name: str) -> None:
        program = load(name, share_memory_arenas=True)
        first, second, *_ = program.method_names
        program.load_method(first)
        with pytest.raises(ArenaConflictError, match="share_mutable_buffers=True"):
            program.load_method(second)


class TestWarning:
    """Without shared arenas, loading a second method of such a program warns, and only then."""

    @pytest.mark.parametrize("name", SHARED)
    def test_the_second_method_warns_of_the_parameter(self, name: str) -> None:
        program = load(name)
        program.load_method("prefill").close()
        with pytest.warns(etconfig.UnsharedStateWarning, match="share_memory_arenas=True") as caught:
            program.load_method("decode")
        assert caught[0].filename == __file__
        assert ("model.keys" in str(caught[0].message)) is (name == "shared_named")

    def test_a_second_instance_of_one_method_does_not_warn(self) -> None:
        program = load("shared")
        program.load_method("decode")
        program.load_method("decode")

    @every("path", PROGRAMS, ids=lambda path: path.stem)
    def test_no_other_program_of_this_repository_shares_state(self, path: Path) -> None:
        try:
            program = open_program(path)
        except etconfig.ProgramError:
            return
        found = shared_state_of(map(program.plan, program.method_names))
        assert bool(found) is (path.parent == FOLDER and path.stem.startswith("shared"))

    def test_inspect_names_the_state_and_its_methods(self, cli: Callable[..., Outcome]) -> None:
        outcome = cli("inspect", FOLDER / "shared_named.pte")
        assert "shared state: model.keys, of decode, prefill, read, reset" in outcome.stdout
        assert "share_memory_arenas=True" in outcome.stdout


class TestCallersMemory:
    """`load_method(..., memory=[...])` places tensors in the caller's buffers."""

    def sizes(self, program: etconfig.LoadedProgram, name: str) -> list[int]:
        meta = program.metadata(name)
        return [meta.memory_planned_buffer_size(at) for at in range(meta.num_memory_planned_buffers())]

    def test_two_methods_in_one_buffer_share_their_state(self, answers: Mapping[str, np.ndarray]) -> None:
        program = load("shared")
        cache = bytearray(self.sizes(program, "decode")[1])
        with warnings.catch_warnings():
            warnings.simplefilter("error", etconfig.UnsharedStateWarning)
            methods = {each: program.load_method(each, memory=[None, cache]) for each in program.method_names}
        assert all(agree(methods, answers))
        assert any(cache)

    def test_state_can_be_handed_to_another_method(self) -> None:
        program = load("shared_named")
        cache = np.full(64, 7, np.float32)
        (keys, _) = program.load_method("read", memory=(None, cache)).execute([])
        assert (keys == 7).all()

    def test_a_buffer_can_be_released_after_close(self) -> None:
        program, cache = load("shared"), bytearray(256)
        method = program.load_method("read", memory=[None, cache])
        with pytest.raises(BufferError):
            cache.append(0)
        method.close()
        del method
        gc.collect()
        cache.append(0)

    @pytest.mark.parametrize(
        ("memory", "message"),
        [
            ([None], "memory: expected 2, one for each planned buffer, given 1"),
            ([None, bytearray(255)], r"memory\[1\]: expected at least 256 bytes, given 255"),
            ([None, bytes(256)], r"memory\[1\]: expected memory that can be written, given read-only bytes"),
            ([None, 5], r"memory\[1\]: expected a numpy array, bytearray, mmap or memoryview, given int"),
            ([None, np.zeros((64, 4), np.uint8)[:, :2]], r"memory\[1\]: expected contiguous bytes"),
            (
                [None, np.zeros(64, object)],
                r"memory\[1\]: expected an array of numbers, given ndarray of Python",
            ),
            ([None, np.zeros(64, [("f", object)])], r"memory\[1\]: expected an array of numbers"),
            ([None, np.zeros(512, np.uint8)[1:300]], r"memory\[1\]: expected an address that is a multiple"),
        ],
    )
    def test_memory_that_does_not_fit_is_refused(self, memory: Any, message: str) -> None:
        with pytest.raises(InvalidMemoryError, match=message):
            load("shared").load_method("read", memory=memory)

    def test_fields_may_have_any_name(self) -> None:
        memory = [None, np.zeros(64, [("O", np.float32)])]
        with load("shared").load_method("read", memory=memory) as method:
            assert method.execute([])[0].shape == (8, 4)

    @pytest.mark.parametrize("given", ["no", 1, None])
    def test_sharing_is_true_or_false(self, given: Any) -> None:
        with pytest.raises(TypeError, match="share_memory_arenas: expected True or False"):
            load("shared", share_memory_arenas=given)

    def test_buffers_that_overlap_are_refused(self) -> None:
        block = np.zeros(1024, np.uint8)
        with pytest.raises(InvalidMemoryError, match=r"memory\[1\]: .* given bytes of buffer 0"):
            load("shared").load_method("read", memory=[block[:512], block[128:]])

    def test_shared_arenas_are_not_replaced(self) -> None:
        program = load("shared", share_memory_arenas=True)
        with pytest.raises(InvalidMemoryError, match=r"memory\[1\]: expected None: memory 2 is shared"):
            program.load_method("read", memory=[None, bytearray(256)])

    def test_a_text_is_not_a_list_of_buffers(self) -> None:
        with pytest.raises(TypeError, match="memory: expected a list"):
            load("shared").load_method("read", memory=5)  # type: ignore[arg-type]

    def test_metadata_knows_the_planned_buffers(self) -> None:
        meta = load("shared").metadata("read")
        assert meta.num_memory_planned_buffers() == 2
        assert [meta.memory_planned_buffer_size(at) for at in range(2)] == [256, 256]
        with pytest.raises(IndexError, match="there is no planned buffer 2"):
            meta.memory_planned_buffer_size(2)


def test_a_place_that_only_a_delegate_uses_may_be_state() -> None:
    plan = open_program(FOLDER / "shared_xnnpack.pte").plan("read")
    assert {state.is_certain for state in read_planned_state(plan).states} == {False}


def test_no_output_of_a_kernel_with_several_is_state() -> None:
    """The exporter repeats several outputs as a list, after them, as for the values and indices of max."""
    builder = PlanBuilder()
    given = builder.tensor(2, 3)
    values, indices = builder.tensor(2), builder.tensor(2, dtype=ScalarType.LONG)
    dim, keeps = builder.scalar(1), builder.scalar(False)
    repeated = builder.tensors(values, indices)
    builder.inputs, builder.outputs = [given], [values, indices]
    builder.call("aten::max.dim_max", given, dim, keeps, values, indices, repeated)
    assert read_planned_state(builder.plan()).states == ()
