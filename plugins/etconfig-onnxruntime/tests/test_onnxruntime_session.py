"""Sessions of the real ONNX Runtime: built from options, read back, and strict."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")

import numpy as np
import onnxruntime as ort
from etconfig_onnxruntime import (
    ModelRefusedError,
    OnnxRuntimeOptions,
    ProviderFallbackWarning,
    build_session,
    make_run_options,
)
from etconfig_onnxruntime.effective import effective_options
from etconfig_onnxruntime.known_entries import KNOWN_RUN_ENTRIES, KNOWN_SESSION_ENTRIES
from etconfig_onnxruntime.options import DYNAMIC_ENTRIES, RUN_ENTRIES
from etconfig_onnxruntime.plugin import SPEC
from etconfig_onnxruntime.provider_tables import CpuProvider
from etconfig_onnxruntime.session_entries import SESSION_ENTRIES
from etconfig_onnxruntime.settings import ATTRIBUTES, attribute_value
from onnx import TensorProto, helper

import etconfig
from etconfig.plugin.v1 import BackendUnavailableError, EffectiveOption, OptionError

pytestmark = pytest.mark.engines

INSTALLATION = etconfig.Installation().with_backends({SPEC.id: SPEC})

OTHER_BUILDS = {
    *(key for key in [*RUN_ENTRIES.values(), *KNOWN_RUN_ENTRIES] if key.startswith("qnn.")),
    *DYNAMIC_ENTRIES.values(),
    "ep.context_node_name_prefix",
    "ep.nnapi.partitioning_stop_ops",
    "ep.share_ep_contexts",
    "ep.stop_share_ep_contexts",
    "mlas.enable_gemm_fastmath_arm64_bfloat16",
}
"""Keys of other builds, for Qualcomm, Android or Arm, which the library for x86 does not contain."""


def model(dimension: object = "n", metadata: dict[str, str] | None = None, scale: float = 1.0) -> bytes:
    """A model that multiplies its input of 4 columns."""
    shape = [dimension, 4]
    graph = helper.make_graph(
        [helper.make_node("Mul", ["x", "scale"], ["y"])],
        "scaled",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
        [helper.make_tensor("scale", TensorProto.FLOAT, [1], [scale])],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    for key, value in (metadata or {}).items():
        made.metadata_props.add(key=key, value=value)
    data: bytes = made.SerializeToString()
    return data


def providers(*names: str) -> Any:
    """The tables of these providers, without options."""
    return tuple({"provider": name} for name in names)


def library_bytes() -> bytes:
    (library,) = Path(ort.__file__).parent.glob("capi/onnxruntime_pybind11_state*")
    return library.read_bytes()


class TestNames:
    """Names, defaults and keys match the installed library."""

    @pytest.mark.parametrize("name", ATTRIBUTES)
    def test_the_default_of_an_attribute_is_that_of_a_new_session(self, name: str) -> None:
        assert attribute_value(ort.SessionOptions(), name) == OnnxRuntimeOptions.option_infos()[name].default

    def test_every_attribute_is_an_option(self) -> None:
        settings = ort.SessionOptions()
        found = {name for name in dir(settings) if name[0] != "_" and not callable(getattr(settings, name))}
        assert found == {*ATTRIBUTES}

    @pytest.mark.parametrize("name", ATTRIBUTES)
    def test_every_choice_of_an_attribute_can_be_set(self, name: str) -> None:
        from etconfig_onnxruntime.settings import _set_attribute

        for choice in OnnxRuntimeOptions.option_infos()[name].choices:
            settings = ort.SessionOptions()
            _set_attribute(ort, settings, name, choice)
            assert attribute_value(settings, name) == choice

    def test_every_attribute_of_a_run_is_an_option(self) -> None:
        from etconfig_onnxruntime.run_options import RUN_ATTRIBUTES

        options = ort.RunOptions()
        found = {name for name in dir(options) if name[0] != "_" and not callable(getattr(options, name))}
        assert found - {"terminate"} == {*RUN_ATTRIBUTES.values()}  # terminate ends one run, from elsewhere

    def test_the_library_reads_every_key(self) -> None:
        data = library_bytes()
        keys = {*SESSION_ENTRIES.values(), *RUN_ENTRIES.values(), *DYNAMIC_ENTRIES.values()}
        keys |= {*KNOWN_SESSION_ENTRIES, *KNOWN_RUN_ENTRIES}
        assert {key for key in keys if key.encode() + b"\0" not in data} == OTHER_BUILDS

    def test_every_key_of_the_library_is_known(self) -> None:
        options = OnnxRuntimeOptions.option_infos()
        known = {
            key
            for name in ("config_entries", "run_config_entries")
            for key in (*(options[name].type.known_keys or ()), *(options[name].type.keys_of_options or ()))
        }
        families = "|".join(sorted({key.partition(".")[0] for key in known if "." in key}))
        pattern = rf"(?<![\w.])((?:{families})\.[a-z_0-9.]*[a-z0-9])\0".encode()
        found = {key.decode() for key in re.findall(pattern, library_bytes())}
        assert len(found) > 120
        assert found - known == set()


class TestBuilding:
    """`config.build` gives a session with exactly the options."""

    def config(self, **overrides: object) -> etconfig.Resolution:
        return etconfig.resolve(
            models={"detector": SPEC.id},
            overrides={f"detector:{SPEC.id}.{name}": value for name, value in overrides.items()},
            installation=INSTALLATION,
        )

    def test_a_session_of_bytes_and_of_a_path(self, tmp_path: Path) -> None:
        path = tmp_path / "model.onnx"
        path.write_bytes(model(scale=3.0))
        config = self.config(intra_op_num_threads=1)
        for given in (path, str(path), path.read_bytes()):
            session = config.build("detector", given)
            (output,) = session.run(None, {"x": np.ones((2, 4), np.float32)})
            assert output.tolist() == [[3.0] * 4] * 2
            assert session.get_session_options().intra_op_num_threads == 1

    def test_without_a_model_it_gives_the_settings(self) -> None:
        settings = self.config(graph_optimization_level="basic").build("detector")
        session = ort.InferenceSession(model(), *settings)
        level = session.get_session_options().graph_optimization_level
        assert level == ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
        assert session.get_providers() == ["CPUExecutionProvider"]

    def test_entries_arrive(self) -> None:
        session = self.config(
            intra_op_allow_spinning=False,
            disable_specified_optimizers=["ConstantFolding", "GemmTransposeFusion"],
            config_entries={"session.prepack.enable_parallel": "1"},
        ).build("detector", model())
        settings = session.get_session_options()
        assert settings.get_session_config_entry("session.intra_op.allow_spinning") == "0"
        assert settings.get_session_config_entry("session.prepack.enable_parallel") == "1"
        entry = settings.get_session_config_entry("optimization.disable_specified_optimizers")
        assert entry == "ConstantFolding,GemmTransposeFusion"

    def test_entries_of_a_newer_one_arrive(self) -> None:
        session = self.config(newer_config_entries={"session.of_a_newer_one": "1"}).build("detector", model())
        assert session.get_session_options().get_session_config_entry("session.of_a_newer_one") == "1"

    def test_a_mistyped_model_name_is_refused_with_a_suggestion(self) -> None:
        with pytest.raises(OptionError, match="did you mean 'detector'"):
            self.config().build("detectr", model())

    def test_the_model_does_not_replace_the_options(self, monkeypatch: pytest.MonkeyPatch) -> None:
        own = '{"session_options": {"intra_op_num_threads": 5}}'
        data = model(metadata={"ort_config": own})
        session = self.config(intra_op_num_threads=1).build("detector", data)
        assert session.get_session_options().intra_op_num_threads == 1
        monkeypatch.setenv("ORT_LOAD_CONFIG_FROM_MODEL", "1")
        with pytest.raises(BackendUnavailableError, match="so models would replace the options; unset it"):
            self.config(intra_op_num_threads=1).build("detector", data)

    def test_the_effect_of_threads_is_seen_from_outside(self) -> None:
        """Two instances at once with different options: each has its own threads."""
        if not Path("/proc/self/task").exists():
            pytest.skip("counts the threads of Linux")

        configs = {threads: self.config(intra_op_num_threads=threads) for threads in (2, 4)}

        def built(threads: int) -> int:
            before = {*Path("/proc/self/task").iterdir()}
            sessions.append(configs[threads].build("detector", model()))
            return len({*Path("/proc/self/task").iterdir()} - before)

        sessions: list[Any] = []
        built(2)  # the first one of a process may start a thread of the library, too
        assert (built(2), built(4)) == (1, 3)


class TestProviders:
    """A provider that is absent is an error, unless the options allow to go on without it."""

    def test_an_absent_provider_is_refused(self) -> None:
        with pytest.raises(BackendUnavailableError) as caught:
            build_session(OnnxRuntimeOptions(providers=providers("cuda", "cpu")), model())
        assert "there is no provider 'cuda': this build of ONNX Runtime" in str(caught.value)
        fix = 'install onnxruntime-gpu, choose another provider, or set absent_providers = "skip"'
        assert fix in str(caught.value)

    def test_with_a_declared_fallback_it_is_reported(self) -> None:
        options = OnnxRuntimeOptions(providers=providers("cuda", "cpu"), absent_providers="skip")
        with pytest.warns(ProviderFallbackWarning, match="left out the provider 'cuda'"):
            session = build_session(options, model())
        assert session.get_providers() == ["CPUExecutionProvider"]
        assert effective_options(session)["providers"].value == (CpuProvider(),)

    def test_each_build_of_a_model_warns_where_it_is_called(self, tmp_path: Path) -> None:
        """Python shows a warning once for each text and line, unless it is asked for more."""
        config = etconfig.resolve(
            models={"detector": SPEC.id},
            overrides={
                f"{SPEC.id}.providers": [{"provider": "cuda"}, {"provider": "cpu"}],
                f"{SPEC.id}.absent_providers": "skip",
            },
            installation=INSTALLATION,
        )
        paths = [tmp_path / "left.onnx", tmp_path / "right.onnx"]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            for path in paths:
                path.write_bytes(model())
                config.build("detector", path)
            config.build("detector", model())
            config.build("detector")
        texts = [str(warning.message).partition(": left out")[0] for warning in caught]
        size = len(model())
        expected = [*map(str, paths), f"model of {size} bytes", "settings without a model"]
        assert texts == expected
        assert {warning.filename for warning in caught} == {__file__}

    def test_skipping_all_is_refused(self) -> None:
        options = OnnxRuntimeOptions(providers=providers("cuda"), absent_providers="skip")
        with pytest.raises(BackendUnavailableError, match="there is none of the providers 'cuda'"):
            build_session(options, model())

    def test_nodes_run_on_the_cpu_only_if_it_is_listed(self) -> None:
        from etconfig_onnxruntime.settings import session_entries

        key = "session.disable_cpu_ep_fallback"
        assert session_entries(OnnxRuntimeOptions(providers=providers("cuda")))[key] == "1"
        assert key not in session_entries(OnnxRuntimeOptions(providers=providers("cuda", "cpu")))
        allowed = OnnxRuntimeOptions(providers=providers("cuda"), disable_cpu_ep_fallback=False)
        assert session_entries(allowed)[key] == "0"

    def test_runs_do_not_fall_back_either(self) -> None:
        session = build_session(OnnxRuntimeOptions(), model())
        assert session._enable_fallback is False

    def test_a_policy_chooses(self) -> None:
        options = OnnxRuntimeOptions(providers=(), provider_selection_policy="prefer_npu")
        assert build_session(options, model()).get_providers() == ["CPUExecutionProvider"]

    def test_a_provider_that_does_not_start_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """ONNX Runtime leaves it out with a line in its log."""
        monkeypatch.setattr(ort.InferenceSession, "get_providers", lambda self: [])
        with pytest.raises(BackendUnavailableError, match="could not start it; its log says why"):
            build_session(OnnxRuntimeOptions(), model())


class TestModels:
    """Metadata and dimensions that the options name must be in the model."""

    def test_metadata(self) -> None:
        data = model(metadata={"version": "2"})
        build_session(OnnxRuntimeOptions(required_metadata={"version": "2"}), data)
        with pytest.raises(ModelRefusedError, match="must have version = '3', but version is '2'"):
            build_session(OnnxRuntimeOptions(required_metadata={"version": "3"}), data)
        with pytest.raises(ModelRefusedError, match="there is no 'task' in it"):
            build_session(OnnxRuntimeOptions(required_metadata={"task": "x"}), data)

    def test_dimensions(self, tmp_path: Path) -> None:
        options = OnnxRuntimeOptions(free_dimension_overrides={"n": 2})
        assert build_session(options, model()).get_inputs()[0].shape == [2, 4]
        path = tmp_path / "model.onnx"
        path.write_bytes(model("batch"))
        with pytest.raises(ModelRefusedError) as caught:
            build_session(options, path)
        assert str(caught.value) == (
            f"{path}: its inputs have no open dimension 'n'; they have 'batch'; "
            "correct free_dimension_overrides"
        )

    def test_denotations(self) -> None:
        made = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4], shape_denotation=["BATCH", ""])
        from etconfig_onnxruntime.model_inputs import named_dimensions

        graph = helper.make_graph([], "g", [made], [])
        assert named_dimensions(helper.make_model(graph).SerializeToString()) == [("x", 0, "n", "BATCH")]


class TestEffective:
    """Every option is known in some way, or it says why not."""

    def test_requested_against_in_force(self) -> None:
        options = OnnxRuntimeOptions(
            intra_op_num_threads=2,
            graph_optimization_level="layout",
            execution_order="priority_based",
            intra_op_spin_duration_us=500,
            disable_specified_optimizers=("ConstantFolding",),
        )
        found = effective_options(build_session(options, model()))
        for name in (
            "intra_op_num_threads",
            "graph_optimization_level",
            "execution_order",
            "intra_op_spin_duration_us",
            "disable_specified_optimizers",
            "providers",
        ):
            assert found[name].source.value == ("read back" if name == "providers" else "assumed")
            assert found[name].value == getattr(options, name), name

    def test_the_default_number_of_threads_is_unknown(self) -> None:
        found = effective_options(build_session(OnnxRuntimeOptions(), model()))
        assert not found["intra_op_num_threads"].is_known
        assert found["disable_prepacking"] == EffectiveOption.assumed(
            False, "it is not set; this is the default of ONNX Runtime"
        )
        assert found["workload_type"].source.value == "assumed"
        assert not found["arena_shrinkage"].is_known

    def test_of_a_session_that_was_built_elsewhere_only_what_it_shows_is_known(self) -> None:
        found = effective_options(ort.InferenceSession(model(), providers=["CPUExecutionProvider"]))
        assert found.keys() == OnnxRuntimeOptions.option_infos().keys()
        assert not any(
            found[name].is_known
            for name in ("workload_type", "free_dimension_overrides", "config_entries", "absent_providers")
        )
        assert found["providers"].source.value == "read back"

    def test_config_effective_shows_all_options(self) -> None:
        config = etconfig.resolve(
            models={"detector": SPEC.id},
            overrides={f"{SPEC.id}.intra_op_num_threads": 1},
            installation=INSTALLATION,
        )
        text = str(config.effective("detector", config.build("detector", model())))
        assert "intra_op_num_threads" in text
        assert "read back" in text


class TestRuns:
    """Options of a run apply at execute, and cost nothing if none is set."""

    def test_there_are_none_by_default(self) -> None:
        assert make_run_options(OnnxRuntimeOptions()) is None

    def test_they_arrive(self) -> None:
        made = make_run_options(
            OnnxRuntimeOptions(
                arena_shrinkage="cpu:0",
                run_log_severity_level="error",
                run_logid="x",
                run_config_entries={"qnn.lora_config": "a"},
                gpu_graph_id=-1,
            )
        )
        assert made.get_run_config_entry("memory.enable_memory_arena_shrinkage") == "cpu:0"
        assert made.get_run_config_entry("gpu_graph_id") == "-1"
        assert made.get_run_config_entry("qnn.lora_config") == "a"
        assert (made.log_severity_level, made.logid) == (3, "x")
        session = build_session(OnnxRuntimeOptions(), model())
        session.run(None, {"x": np.ones((1, 4), np.float32)}, made)

    def test_live_arguments_change_a_loaded_session(self) -> None:
        calls: list[dict[str, str]] = []

        class Session:
            def set_ep_dynamic_options(self, entries: dict[str, str]) -> None:
                calls.append(entries)

        assert SPEC.update is not None
        new, old = OnnxRuntimeOptions(workload_type="Efficient", run_logid="x"), OnnxRuntimeOptions()
        SPEC.update(Session(), new, old, frozenset({"workload_type", "run_logid"}))
        assert calls == [{"ep.dynamic.workload_type": "Efficient"}]
        SPEC.update(build_session(old, model()), new, old, frozenset({"workload_type"}))


class TestPools:
    """The pools of the process are created once; each of these needs a process of its own."""

    CODE = (
        "import sys, os; sys.path[:0] = {path!r}; "
        "from etconfig_onnxruntime import *; from etconfig_onnxruntime.effective import effective_options; "
        "data = open({file!r}, 'rb').read(); "
        "shared = lambda n: OnnxRuntimeOptions(use_per_session_threads=False, intra_op_num_threads=n); "
        "first = build_session(shared(3), data); before = len(os.listdir('/proc/self/task')); "
        "second = build_session(shared(3), data); print(len(os.listdir('/proc/self/task')) - before); "
        "print(effective_options(first)['intra_op_num_threads'].value)\n"
        "for other in (shared(2), OnnxRuntimeOptions()):\n"
        "    try: build_session(other, data)\n"
        "    except Exception as error: print(error)\n"
    )

    def test_sessions_share_them(self, tmp_path: Path) -> None:
        if not Path("/proc/self/task").exists():
            pytest.skip("counts the threads of Linux")
        file = tmp_path / "model.onnx"
        file.write_bytes(model())
        code = self.CODE.format(path=sys.path, file=str(file))
        lines = subprocess.run(
            [sys.executable, "-c", code], check=True, capture_output=True, text=True
        ).stdout.splitlines()
        assert lines[:2] == ["0", "3"]
        assert "have the sizes 3 (intra_op) and 0 (inter_op), not 2 (intra_op) and 0 (inter_op)" in lines[2]
        assert "no session can have its own threads; set use_per_session_threads = false" in lines[3]


class TestFacts:
    """The providers and their devices are facts."""

    def test_they_are_detected(self) -> None:
        from etconfig_onnxruntime.facts import DETECTOR, FACTS

        from etconfig.facts.builtin import BUILTIN_FACTS
        from etconfig.facts.detecting.detection import detect

        sheet = detect(registry=BUILTIN_FACTS.extended(FACTS), detectors=[DETECTOR])
        assert sheet["onnxruntime.version"].value == ort.__version__
        assert "cpu" in sheet["onnxruntime.providers"].value
        assert sheet["onnxruntime.device.0.provider"].value == "cpu"
        assert sheet["onnxruntime.device.0.type"].value == "cpu"

    def test_a_captured_tree_has_none(self, tmp_path: Path) -> None:
        from etconfig_onnxruntime.facts import DETECTOR, FACTS

        from etconfig.facts.builtin import BUILTIN_FACTS
        from etconfig.facts.detecting.detection import detect

        sheet = detect(tmp_path, registry=BUILTIN_FACTS.extended(FACTS), detectors=[DETECTOR])
        assert sheet["onnxruntime.version"].reason == "ONNX Runtime is not installed there"
