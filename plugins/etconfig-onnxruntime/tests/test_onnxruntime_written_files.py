"""Files that a session writes, and processors that it binds: mistakes that ONNX Runtime takes in silence."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")

import numpy as np
import onnxruntime as ort
from etconfig_onnxruntime import ModelRefusedError, OnnxRuntimeOptions, build_session
from onnx import TensorProto, helper

from etconfig.plugin.v1 import BackendUnavailableError

pytestmark = pytest.mark.engines

STATS = "session.collect_node_memory_stats_to_file"
PARTITION = "session.node_partition_config_file"


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model in a directory of its own below the current one."""
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", value[:1], value[1:])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    path = tmp_path / "models" / "model.onnx"
    path.parent.mkdir()
    path.write_bytes(made.SerializeToString())
    monkeypatch.chdir(tmp_path)
    return path


class TestTheModelIsNotOverwritten:
    """A file that a session writes may not be its model, however its path is spelt."""

    @pytest.mark.parametrize("spelling", ["same", "relative", "symbolic link", "hard link"])
    def test_the_optimized_model_is_another_file(self, model: Path, tmp_path: Path, spelling: str) -> None:
        before = model.read_bytes()
        path = {"same": model, "relative": Path("models/../models/model.onnx")}.get(
            spelling, tmp_path / "link.onnx"
        )
        if spelling == "symbolic link":
            path.symlink_to(model)
        if spelling == "hard link":
            os.link(model, path)
        options = OnnxRuntimeOptions(graph_optimization_level="basic", optimized_model_filepath=str(path))
        with pytest.raises(ModelRefusedError) as caught:
            build_session(options, model)
        assert str(caught.value) == (
            f"{model}: optimized_model_filepath is {str(path)!r}, which is this file: ONNX Runtime would "
            "overwrite the model; name another file"
        )
        assert model.read_bytes() == before

    def test_another_file_is_written(self, model: Path) -> None:
        options = OnnxRuntimeOptions(
            graph_optimization_level="basic", optimized_model_filepath="optimized.onnx"
        )
        for _ in range(2):  # the second time it is there
            build_session(options, model)
            assert Path("optimized.onnx").is_file()

    def test_other_files_are_no_model_either(self, model: Path) -> None:
        with pytest.raises(ModelRefusedError, match="which is this file"):
            build_session(OnnxRuntimeOptions(config_entries={STATS: "model.onnx"}), model)


class TestWritableFiles:
    """The directory of each file is there and can be written, or no session is built."""

    @pytest.mark.parametrize(
        ("values", "place"),
        [
            ({"optimized_model_filepath": "absent/x"}, "optimized_model_filepath"),
            ({"enable_profiling": True, "profile_file_prefix": "absent/x"}, "profile_file_prefix"),
            ({"ep_context_enable": True, "ep_context_file_path": "absent/x"}, "ep_context_file_path"),
            ({"config_entries": {PARTITION: "absent/x"}}, f"config_entries[{PARTITION!r}]"),
        ],
    )
    def test_a_missing_directory(
        self, model: Path, tmp_path: Path, values: dict[str, object], place: str
    ) -> None:
        options = OnnxRuntimeOptions(**values)  # type: ignore[arg-type]  # of the options' types
        for given in (model, model.read_bytes(), None):
            with pytest.raises(BackendUnavailableError) as caught:
                build_session(options, given)
            assert str(caught.value).endswith(
                f"{place} is 'absent/x', but there is no directory {tmp_path / 'absent'}; "
                "create it, or name a file in another one"
            )

    def test_the_memory_of_nodes_is_written_beside_the_model(self, model: Path) -> None:
        with pytest.raises(BackendUnavailableError, match=r"no directory .*models/absent; create it"):
            build_session(OnnxRuntimeOptions(config_entries={STATS: "absent/x.csv"}), model)
        session = build_session(OnnxRuntimeOptions(config_entries={STATS: "x.csv"}), model)
        session.run(None, {"x": np.ones((1, 4), np.float32)})
        del session  # it writes the file
        assert (model.parent / "x.csv").is_file()

    def test_a_directory_in_place_of_a_file(self, model: Path) -> None:
        with pytest.raises(BackendUnavailableError, match="is 'models', which is a directory; name a file"):
            build_session(OnnxRuntimeOptions(optimized_model_filepath="models"), model)

    def test_without_permission(self, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(os, "access", lambda path, mode: False)
        with pytest.raises(
            BackendUnavailableError, match="cannot be written; allow that, or name a file in another one"
        ):
            build_session(OnnxRuntimeOptions(optimized_model_filepath="x.onnx"), model)
        monkeypatch.setattr(os, "access", lambda path, mode: Path(path).is_dir())
        Path("x.onnx").touch()
        with pytest.raises(BackendUnavailableError, match=r"is 'x\.onnx', which cannot be written"):
            build_session(OnnxRuntimeOptions(optimized_model_filepath="x.onnx"), model)

    def test_a_profile_where_nothing_else_is_written(self, model: Path) -> None:
        options = OnnxRuntimeOptions(enable_profiling=True, profile_file_prefix="models/profile")
        assert Path(build_session(options, model).end_profiling()).is_file()


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="the system does not list processors")
class TestProcessors:
    """Each processor that a thread is bound to is one that this process may use."""

    @pytest.mark.parametrize("affinities", ["999999;{here}", "{here},999999;{here}", "{here}-99999999999;1"])
    def test_one_that_is_not_here(self, model: Path, affinities: str) -> None:
        text = affinities.format(here=min(os.sched_getaffinity(0)) + 1)
        options = OnnxRuntimeOptions(intra_op_num_threads=3, intra_op_thread_affinities=text)
        before = os.sched_getaffinity(0)
        with pytest.raises(BackendUnavailableError) as caught:
            build_session(options, model)
        assert f"intra_op_thread_affinities is {text!r}, but threads cannot run on processor " in str(
            caught.value
        )
        assert "; choose among " in str(caught.value)
        assert os.sched_getaffinity(0) == before

    def test_those_that_are_here(self, model: Path) -> None:
        text = str(min(os.sched_getaffinity(0)) + 1)
        options = OnnxRuntimeOptions(intra_op_num_threads=2, intra_op_thread_affinities=text)
        assert isinstance(build_session(options, model), ort.InferenceSession)

    def test_processors_are_listed_as_intervals(self) -> None:
        from etconfig_onnxruntime.processors import _intervals

        assert _intervals([1, 2, 3, 7, 9, 10]) == "1-3, 7, 9-10"
