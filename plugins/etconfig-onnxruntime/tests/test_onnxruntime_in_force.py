"""The effects of options beside what `effective` says: threads, files, logs, results and errors."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from in_force import check_names, table_of

pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")

import numpy as np
import onnx
import onnxruntime as ort
from etconfig_onnxruntime import ModelRefusedError, OnnxRuntimeOptions, build_session, make_run_options
from etconfig_onnxruntime.effective import effective_options
from etconfig_onnxruntime.plugin import SPEC
from onnx import helper

pytestmark = [
    pytest.mark.engines,
    pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="counts the threads of Linux"),
]

TABLE = table_of(Path(__file__).parents[1] / "README.md")
STATS = "session.collect_node_memory_stats_to_file"
X = np.ones((2, 4), np.float32)


def folding_model() -> bytes:
    """A model with a node of constants only, an open dimension and metadata."""
    shape = ["n", 4]
    values = [
        helper.make_tensor_value_info(name, 1, shape, shape_denotation=["BATCH", ""]) for name in ("x", "y")
    ]
    constants = [helper.make_tensor(name, 1, [4], [2.0] * 4) for name in ("a", "b")]
    nodes = [helper.make_node("Mul", ["a", "b"], ["c"]), helper.make_node("Add", ["x", "c"], ["y"])]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:], constants)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    made.metadata_props.add(key="version", value="2")
    data: bytes = made.SerializeToString()
    return data


MODEL = folding_model()


def in_ort_format(directory: Path) -> bytes:
    path = directory / "model.ort"
    build_session(OnnxRuntimeOptions(optimized_model_filepath=str(path), save_model_format="ORT"), MODEL)
    return path.read_bytes()


def tasks() -> set[Path]:
    return {*Path("/proc/self/task").iterdir()}


def added_threads(options: OnnxRuntimeOptions, _: Path) -> int:
    before = tasks()
    session = build_session(options, MODEL)
    count = len(tasks() - before)
    del session
    return count


def processors(options: OnnxRuntimeOptions, _: Path) -> str:
    """Return the processors of the thread that a session adds and binds, counted from 1."""
    before = tasks()
    session = build_session(options, MODEL)
    for _ in range(500):  # the thread binds itself after it has begun
        allowed = min((os.sched_getaffinity(int(task.name)) for task in tasks() - before), key=len)
        if len(allowed) == 1:
            break
        time.sleep(0.01)
    del session
    return ",".join(str(each + 1) for each in sorted(allowed))


def result(options: OnnxRuntimeOptions, _: Path, rows: int = 3) -> str:
    """Return `runs`, or the name of the error of building or running a session."""
    try:
        session = build_session(options, MODEL)
        session.run(None, {"x": np.ones((rows, 4), np.float32)})
    except Exception as error:
        return type(error).__name__
    return "runs"


def bytes_result(options: OnnxRuntimeOptions, directory: Path) -> str:
    data = in_ort_format(directory)
    assert SPEC.effective is not None
    session = build_session(options, data)
    session.run(None, {"x": X})
    assert SPEC.effective(session)["use_ort_model_bytes_directly"].value is True
    return result(options, directory)


def nodes(options: OnnxRuntimeOptions, directory: Path) -> int:
    """Return the number of nodes of the optimized model."""
    path = directory / "optimized.onnx"
    values = {**dict(options), "optimized_model_filepath": str(path)}
    build_session(OnnxRuntimeOptions(**values), MODEL)
    return len(onnx.load(path).graph.node)


def files(options: OnnxRuntimeOptions, directory: Path) -> int:
    """Return the number of files that a session writes."""
    before = {*directory.iterdir()}
    session = build_session(options, MODEL)
    session.run(None, {"x": X})
    if options.enable_profiling:
        session.end_profiling()
    del session
    return len({*directory.iterdir()} - before)


def saved_format(options: OnnxRuntimeOptions, _: Path) -> str:
    build_session(options, MODEL)
    return "ORT" if Path(options.optimized_model_filepath).read_bytes()[4:8] == b"ORTM" else "ONNX"


def assigned(options: OnnxRuntimeOptions, _: Path) -> bool:
    try:
        return bool(build_session(options, MODEL).get_provider_graph_assignment_info())
    except ort.capi.onnxruntime_pybind11_state.Fail:
        return False


def logged(options: OnnxRuntimeOptions, _: Path) -> str:
    """Return what a session and a run of it log."""
    saved, log = os.dup(2), Path("log")
    try:
        with log.open("wb") as file:
            os.dup2(file.fileno(), 2)
            session = build_session(options, MODEL)
            session.run(None, {"x": X}, make_run_options(options))
    finally:
        os.dup2(saved, 2)
        os.close(saved)
    return log.read_text(errors="replace")


def logs(text: str) -> Callable[[OnnxRuntimeOptions, Path], bool]:
    return lambda options, directory: text in logged(options, directory)


_FOLDED, _UNFOLDED = 1, 2
_TWO = {"execution_mode": "parallel", "intra_op_num_threads": 1}
_SAVED = {"optimized_model_filepath": "saved.model"}
_PROCESSOR = str(min(os.sched_getaffinity(0)) + 1) if hasattr(os, "sched_getaffinity") else ""
_Case = tuple[Callable[[OnnxRuntimeOptions, Path], object], dict[str, object], list[tuple[Any, object]]]

EFFECTS: dict[str, _Case] = {
    "intra_op_num_threads": (added_threads, {"intra_op_allow_spinning": False}, [(1, 0), (3, 2)]),
    "inter_op_num_threads": (added_threads, _TWO, [(2, 1), (4, 3)]),
    "execution_mode": (
        lambda options, at: added_threads(options, at) > 0,
        {"intra_op_num_threads": 1},
        [("sequential", False), ("parallel", True)],
    ),
    "intra_op_thread_affinities": (processors, {"intra_op_num_threads": 2}, [(_PROCESSOR, _PROCESSOR)]),
    "graph_optimization_level": (nodes, {}, [("none", _UNFOLDED), ("all", _FOLDED)]),
    "disable_specified_optimizers": (nodes, {}, [((), _FOLDED), (("ConstantFolding",), _UNFOLDED)]),
    "constant_folding_max_output_bytes": (nodes, {}, [(8, _UNFOLDED), (16, _FOLDED)]),
    "optimized_model_filepath": (files, {}, [("", 0), ("optimized.onnx", 1)]),
    "config_entries": (files, {}, [({}, 0), ({STATS: "memory.csv"}, 1)]),
    "enable_profiling": (files, {}, [(False, 0), (True, 1)]),
    "profile_file_prefix": (
        lambda options, at: files(options, at) and len([*at.glob("mine*")]),
        {"enable_profiling": True},
        [("onnxruntime_profile_", 0), ("mine", 1)],
    ),
    "save_model_format": (saved_format, _SAVED, [("ORT", "ORT"), ("ONNX", "ONNX")]),
    "load_model_format": (result, {}, [("ONNX", "runs"), ("ORT", "ModelRefusedError")]),
    "use_ort_model_bytes_directly": (bytes_result, {}, [(True, "ModelRefusedError")]),
    "required_metadata": (
        result,
        {},
        [({"version": "2"}, "runs"), ({"version": "3"}, "ModelRefusedError")],
    ),
    "free_dimension_overrides": (result, {}, [({}, "runs"), ({"n": 2}, "InvalidArgument")]),
    "free_dimension_overrides_by_denotation": (result, {}, [({"BATCH": 2}, "InvalidArgument")]),
    "providers": (
        result,
        {},
        [(({"provider": "cpu"},), "runs"), (({"provider": "qnn"},), "BackendUnavailableError")],
    ),
    "record_ep_graph_assignment_info": (assigned, {}, [(False, False), (True, True)]),
    "log_severity_level": (logs("[I:"), {}, [("error", False), ("info", True)]),
    "logid": (logs("mine"), {"log_severity_level": "info"}, [("", False), ("mine", True)]),
    "run_logid": (logs("mine"), {"log_severity_level": "info"}, [("", False), ("mine", True)]),
}
"""For each option: what to measure, what is set beside it, and what each value of it leads to."""

ELSEWHERE = {"set_denormal_as_zero", "use_per_session_threads"}
"""Options of the process; below."""


def test_the_readme_names_every_option() -> None:
    check_names(TABLE, OnnxRuntimeOptions.option_infos(), EFFECTS.keys() | ELSEWHERE)


def test_effects_are_those_of_the_values_in_force(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = []
    added_threads(OnnxRuntimeOptions(), tmp_path)  # the first session may start a thread of the library
    for name, (measure, beside, cases) in EFFECTS.items():
        for number, (value, expected) in enumerate(cases):
            directory = tmp_path / f"{name}{number}"
            directory.mkdir()
            monkeypatch.chdir(directory)
            options = OnnxRuntimeOptions(**{**beside, name: value})
            seen = measure(options, directory)
            if seen != expected:
                wrong.append((name, value, f"{seen!r} was seen, not {expected!r}"))
            if seen in ("ModelRefusedError", "BackendUnavailableError"):
                continue  # nothing is in force
            found = effective_options(build_session(options, MODEL))[name]
            if found.source.value not in TABLE[name].sources or (
                found.is_known and found.value != getattr(options, name)
            ):
                wrong.append((name, value, found))
    assert wrong == [], "\n".join(map(str, wrong))


DENORMALS = """
import sys, threading
import numpy as np
from etconfig_onnxruntime import OnnxRuntimeOptions, build_session
from etconfig_onnxruntime.effective import effective_options
from onnx import helper
values = [helper.make_tensor_value_info(name, 1, [8]) for name in "xy"]
ones = helper.make_tensor("ones", 1, [8], [1.0] * 8)
node = helper.make_node("Mul", ["x", "ones"], ["y"])
graph = helper.make_graph([node], "g", values[:1], values[1:], [ones])
made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
model = made.SerializeToString()
x = np.full(8, 1e-39, np.float32)
def look(session):
    option = effective_options(session)["set_denormal_as_zero"]
    print(not session.run(None, {"x": x})[0].any(), option.value, option.source.value)
for text in sys.argv[1:]:
    options = OnnxRuntimeOptions(set_denormal_as_zero=text == "True", intra_op_num_threads=1)
    session = build_session(options, model)
    look(session)
other = threading.Thread(target=look, args=[session])
other.start()
other.join()
"""

POOLS = """
import os
from etconfig_onnxruntime import OnnxRuntimeOptions, build_session
from etconfig_onnxruntime.effective import effective_options
from test_onnxruntime_in_force import MODEL
options = OnnxRuntimeOptions(use_per_session_threads=False, intra_op_num_threads=3, inter_op_num_threads=1)
sessions, counts = [], []
for _ in range(3):
    sessions.append(build_session(options, MODEL))
    counts.append(len(os.listdir("/proc/self/task")))
found = effective_options(sessions[0])
print(counts[2] - counts[0], found["use_per_session_threads"].value, found["intra_op_num_threads"].value)
"""


def run(code: str, *arguments: str, **environment: str) -> tuple[list[str], str]:
    """Run code in a process of its own; return the lines that it prints, and its standard error."""
    here = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": here, **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines(), done.stderr


@pytest.mark.parametrize("order", [("False", "True"), ("True", "False")])
def test_denormal_numbers_are_what_effective_says(order: tuple[str, str]) -> None:
    """The first session decides for this thread, whatever the second one asks for; not for other threads."""
    lines, _ = run(DENORMALS, *order)
    for line in lines:
        is_zero, value, source = line.split(maxsplit=2)
        assert (value, source) in ((is_zero, "observed"), ("None", "unknown")), lines
    assert {line.split(maxsplit=2)[2] for line in lines} == {*TABLE["set_denormal_as_zero"].sources}


def test_sessions_share_the_threads_of_the_process() -> None:
    lines, _ = run(POOLS)
    assert lines == ["0 False 3"]
    assert TABLE["use_per_session_threads"].sources == ("assumed",)


def test_variables_of_threads_that_an_option_replaces_are_logged() -> None:
    code = (
        "import sys; from etconfig_onnxruntime import OnnxRuntimeOptions, build_session\n"
        "for number in (2, 5, 0): build_session(OnnxRuntimeOptions(intra_op_num_threads=number))\n"
    )
    _, log = run(code, ORT_INTRA_OP_NUM_THREADS="5")
    assert log.splitlines() == [
        "settings without a model: intra_op_num_threads is 2, so ORT_INTRA_OP_NUM_THREADS=5 has no effect; "
        "set the option to 0 to follow the variable"
    ]
    assert {"ORT_INTRA_OP_NUM_THREADS", "ORT_INTER_OP_NUM_THREADS"} <= SPEC.environment.keys()


class TestOptimizedModels:
    """Two models never write one file; a model may write its own again."""

    def test_of_another_model_or_other_options(self, tmp_path: Path) -> None:
        path = tmp_path / "optimized.onnx"
        (tmp_path / "link").symlink_to(tmp_path)
        first = OnnxRuntimeOptions(optimized_model_filepath=str(path), graph_optimization_level="basic")
        other = MODEL.replace(b"version", b"Version")
        build_session(first, MODEL)
        before = path.read_bytes()
        level = OnnxRuntimeOptions(optimized_model_filepath=str(path), graph_optimization_level="none")
        spelt = OnnxRuntimeOptions(
            optimized_model_filepath=str(tmp_path / "link" / "optimized.onnx"),
            graph_optimization_level="basic",
        )
        for options, model in ((first, other), (level, MODEL), (spelt, other)):
            with pytest.raises(
                ModelRefusedError, match=r"which was written for .*name a file for each model, or remove"
            ):
                build_session(options, model)
            assert path.read_bytes() == before
        build_session(first, MODEL)
        path.unlink()
        build_session(first, other)
        assert path.exists()

    def test_a_model_that_cannot_be_loaded_keeps_no_file(self, tmp_path: Path) -> None:
        options = OnnxRuntimeOptions(optimized_model_filepath=str(tmp_path / "optimized.onnx"))
        with pytest.raises(ModelRefusedError):
            build_session(options, b"no model")
        build_session(options, MODEL)


def test_an_object_that_is_not_a_session_is_named() -> None:
    with pytest.raises(TypeError, match=r"^expected an onnxruntime\.InferenceSession, given SessionOptions$"):
        effective_options(ort.SessionOptions())
