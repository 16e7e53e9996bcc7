"""Every option on a real session, with each kind of value: what is in force is what was asked for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args

import pytest
from in_force import table_of

pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")

import onnxruntime as ort
from etconfig_onnxruntime.optimizers import Optimizer
from etconfig_onnxruntime.options import OnnxRuntimeOptions
from etconfig_onnxruntime.plugin import SPEC
from onnx import helper

import etconfig

pytestmark = pytest.mark.engines

INSTALLATION = etconfig.Installation().with_backends({SPEC.id: SPEC})
INFOS = OnnxRuntimeOptions.option_infos()
TABLE = table_of(Path(__file__).parents[1] / "README.md")

VALUES: dict[str, list[object]] = {
    "providers": [[{"provider": "cpu"}]],
    "intra_op_thread_affinities": ["1", "1,2", "1-2"],
    "intra_op_spin_backoff_max": [1, 64],
    "inter_op_spin_backoff_max": [1, 64],
    "inter_op_num_threads": [0, 2],
    "execution_order": ["default", "priority_based"],  # memory_efficient: only in builds for training
    "free_dimension_overrides": [{"n": 2}],
    "free_dimension_overrides_by_denotation": [{"BATCH": 2}],
    "required_metadata": [{"version": "2"}],
    "config_entries": [{"session.prepack.enable_parallel": "1"}],
    "run_config_entries": [{"qnn.lora_config": "x"}],
    "newer_config_entries": [{"session.of_a_newer_one": "1"}],
    "newer_run_config_entries": [{"run.of_a_newer_one": "x"}],
    "optimized_model_filepath": ["o.onnx", "1"],
    "disable_specified_optimizers": [[], ["ConstantFolding"], ["ConstantFolding", "GemmTransposeFusion"]],
    "arena_shrinkage": ["cpu:0"],
    "ep_context_file_path": ["1", "x.onnx"],
    "ep_context_enable": [False],  # True needs a provider that compiles
    "load_model_format": ["ONNX"],
    "minimal_build_optimizations": ["save"],
    "disable_cpu_ep_fallback": [False],
    "qdq_matmulnbits_accuracy_level": [0, 4],
    "qdq_matmulnbits_block_size": [-1, 16, 32],
    "profile_file_prefix": ["", "p", "1"],
    "logid": ["", "1", "true"],
    "run_logid": ["", "1"],
    "use_per_session_threads": [True],  # False is for the whole process
    "log_severity_level": ["default", "error", "fatal"],  # the others write to stderr
}
"""The values to try, where they are not all choices, or True and False, or some numbers."""

WITH: dict[str, dict[str, object]] = {
    "intra_op_thread_affinities": {"intra_op_num_threads": 2},
    "inter_op_num_threads": {"execution_mode": "parallel"},
    "provider_selection_policy": {"providers": []},
    "profile_file_prefix": {"enable_profiling": True},
    "save_model_format": {"optimized_model_filepath": "optimized.model"},
    "minimal_build_optimizations": {"optimized_model_filepath": "o.ort", "save_model_format": "ORT"},
}
"""The options that another one needs."""

ELSEWHERE = ("set_denormal_as_zero", "use_ort_model_bytes_directly", "use_ort_model_bytes_for_initializers")
"""Options of which this process, or this model, does not take each value."""

NEEDS_COMPILER = ("ep_context_file_path", "ep_context_embed_mode")
"""Options of a provider that compiles: here their entries are read back without a session's model."""


def model() -> bytes:
    shape = ["n", 4]
    values = [
        helper.make_tensor_value_info(name, 1, shape, shape_denotation=["BATCH", ""]) for name in ("x", "y")
    ]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", values[:1], values[1:])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    made.metadata_props.add(key="version", value="2")
    data: bytes = made.SerializeToString()
    return data


def values_of(name: str) -> list[Any]:
    info = INFOS[name]
    if name in VALUES:
        return VALUES[name]
    if info.type.kind.value == "boolean":
        return [True, False]
    return [*info.choices] or [0, 1, 2, 7]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", [name for name in INFOS if name not in NEEDS_COMPILER + ELSEWHERE])
def test_nothing_differs_from_what_was_asked(name: str) -> None:
    for value in values_of(name):
        Path("optimized.model").unlink(missing_ok=True)
        asked = {name: value, **WITH.get(name, {})}
        config = etconfig.resolve(
            models={"m": SPEC.id},
            facts=etconfig.FactSheet.from_values({}),
            overrides={f"{SPEC.id}.{key}": each for key, each in asked.items()},
            installation=INSTALLATION,
        )
        view = config.effective("m", config.build("m", model()))
        assert view.differing == (), asked
        assert view[name].effective.source.value in TABLE[name].sources, (asked, view[name])


@pytest.mark.parametrize("name", NEEDS_COMPILER)
@pytest.mark.parametrize("text", ["1", "0"])
def test_texts_of_compiled_models_are_read_as_their_type(name: str, text: str) -> None:
    from etconfig_onnxruntime import effective

    expected = text if name == "ep_context_file_path" else text == "1"
    assert effective._value(INFOS[name], text) == expected


def test_a_real_difference_is_reported() -> None:
    config = etconfig.resolve(models={"m": SPEC.id}, installation=INSTALLATION)
    other = SPEC.build(OnnxRuntimeOptions(graph_optimization_level="basic"), model())
    assert config.effective("m", other).differing == ("graph_optimization_level",)


def test_more_threads_than_cores_are_noted() -> None:
    options = OnnxRuntimeOptions(intra_op_num_threads=512, intra_op_allow_spinning=False)
    found = SPEC.effective(SPEC.build(options, model()))["intra_op_num_threads"]
    assert found.value == 512
    assert re.search(r"more than the \d+ core\(s\) of this process", found.reason)


def test_the_library_has_every_optimizer() -> None:
    (library,) = Path(ort.__file__).parent.glob("capi/onnxruntime_pybind11_state*")
    data = library.read_bytes()
    inlined = {
        "ConvActivationFusion",
        "IsInfReduceSumFusion",
        "Level1_RuleBasedTransformer",  # put together from its level
        "Level2_RuleBasedTransformer",
        "PropagateCastOps",
        "TransposeOptimizer_CPUExecutionProvider",
    }
    assert {name for name in get_args(Optimizer) if name.encode() + b"\0" not in data} == inlined
