"""The options of ONNX Runtime, without ONNX Runtime: what it would ignore is refused."""

from __future__ import annotations

import subprocess
import sys
from typing import get_args

import pytest
from etconfig_onnxruntime.options import DYNAMIC_ENTRIES, RUN_ENTRIES, OnnxRuntimeOptions
from etconfig_onnxruntime.plugin import SPEC
from etconfig_onnxruntime.provider_names import PROVIDERS
from etconfig_onnxruntime.provider_tables import PluginProvider, Provider, provider_options, reported_provider
from etconfig_onnxruntime.session_entries import SESSION_ENTRIES
from etconfig_onnxruntime.settings import ATTRIBUTES

import etconfig
from etconfig.errors import BackendUnavailableError, OptionError
from etconfig.schema.validate import validate_options

INSTALLATION = etconfig.Installation().with_backends({SPEC.id: SPEC})


def problems(**values: object) -> list[str]:
    found = validate_options(SPEC, values)
    return [f"{problem.message}; {problem.help}" for problem in found.problems]


class TestMistakes:
    """Each of these is silent in ONNX Runtime 1.32."""

    @pytest.mark.parametrize(
        ("values", "message"),
        [
            ({"intra_op_num_thread": 1}, "has no option 'intra_op_num_thread'; did you mean"),
            ({"intra_op_num_threads": -2}, "expected an integer >= 0 and <= 1024"),
            ({"intra_op_num_threads": True}, "expected an integer"),
            ({"intra_op_num_threads": 100_000}, "<= 1024"),
            ({"intra_op_allow_spinning": "no"}, "expected true or false, given 'no' (a string); write false"),
            ({"providers": [{"provider": "cdua"}]}, "did you mean 'cuda'?"),
            ({"providers": ["cuda"]}, "expected a table with provider = 'cpu' or 'cuda'"),
            ({"providers": []}, "providers is empty; name one, or set provider_selection_policy"),
            ({"providers": [{"provider": "cpu"}, {"provider": "cpu"}]}, "providers names 'cpu' twice"),
            (
                {"providers": [{"provider": "cpu"}, {"provider": "cuda"}]},
                "providers names 'cuda' after 'cpu', which takes all nodes that are left; put 'cpu' last",
            ),
            (
                {"providers": [{"provider": "cpu"}], "disable_cpu_ep_fallback": True},
                "disable_cpu_ep_fallback contradicts the provider 'cpu'",
            ),
            ({"provider_selection_policy": "prefer_npu"}, "providers must be []"),
            ({"inter_op_num_threads": 2}, 'needs execution_mode = "parallel"'),
            ({"intra_op_thread_affinities": "x", "intra_op_num_threads": 2}, "has 'x' for a thread"),
            ({"intra_op_thread_affinities": "1;2", "intra_op_num_threads": 2}, "must be 3"),
            ({"intra_op_thread_affinities": "0", "intra_op_num_threads": 2}, "processors from 1 on"),
            (
                {"intra_op_thread_affinities": "1;4-2", "intra_op_num_threads": 3},
                "has the interval '4-2', which ends before it begins; write '2-4'",
            ),
            ({"arena_shrinkage": "cpu"}, "expected devices such as 'cpu:0;gpu:0'"),
            ({"qdq_matmulnbits_block_size": 17}, "must be a power of two"),
            ({"use_ort_model_bytes_for_initializers": True}, "needs use_ort_model_bytes_directly"),
            ({"config_entries": {"session.prepack.enable_paralel": "1"}}, "enable_parallel'?"),
            ({"config_entries": {"session.prepack.enable_parallel": "yes"}}, 'write "1"'),
            ({"run_config_entries": {"qnn.lora": "x"}}, "expected a known key"),
            (
                {"config_entries": {"session.intra_op.allow_spinning": "0"}},
                "set the option 'intra_op_allow_spinning' instead",
            ),
            ({"config_entries": {"qnn.lora_config": "x"}}, "set the option 'run_config_entries' instead"),
            ({"run_config_entries": {"gpu_graph_id": "1"}}, "set the option 'gpu_graph_id' instead"),
            (
                {"config_entries": {"session.graph_optimization_level": "1"}},
                "set the option 'graph_optimization_level' instead",
            ),
            ({"config_entries": {"session.log_id": "x"}}, "set the option 'logid' instead"),
            ({"config_entries": {"execution_mode": "x"}}, "set the option 'execution_mode' instead"),
            (
                {"config_entries": {"session.of_a_newer_one": "1"}},
                "if yours is newer than this list and knows it, set it in 'newer_config_entries'",
            ),
            (
                {"newer_config_entries": {"session.prepack.enable_parallel": "1"}},
                "has the known key 'session.prepack.enable_parallel'; set it in config_entries",
            ),
            (
                {"newer_run_config_entries": {"session.disable_prepacking": "1"}},
                "has the known key 'session.disable_prepacking'; set it in disable_prepacking",
            ),
            ({"disable_specified_optimizers": ["ConstantFoldng"]}, "did you mean 'ConstantFolding'?"),
            ({"execution_mode": "parallel", "inter_op_num_threads": 1}, "needs inter_op_num_threads above 1"),
            ({"profile_file_prefix": "p"}, "needs enable_profiling"),
            ({"save_model_format": "ORT"}, "needs optimized_model_filepath"),
            ({"ep_context_file_path": "x.onnx"}, "needs ep_context_enable"),
            ({"ep_context_embed_mode": True}, "needs ep_context_enable"),
            ({"arena_shrinkage": "cpu:0", "enable_cpu_mem_arena": False}, "has no effect on 'cpu'"),
            ({"free_dimension_overrides": {"batch": 0}}, "expected an integer >= 1"),
        ],
    )
    def test_it_is_refused(self, values: dict[str, object], message: str) -> None:
        (found,) = problems(**values)
        assert message in found

    @pytest.mark.parametrize(
        "values",
        [
            {},
            {"intra_op_spin_duration_us": 500, "intra_op_allow_spinning": False},
            {"intra_op_thread_affinities": "1,2;3-4", "intra_op_num_threads": 3},
            {"providers": [], "provider_selection_policy": "prefer_npu"},
            {"providers": [{"provider": "cuda"}, {"provider": "cpu"}], "absent_providers": "skip"},
            {"execution_mode": "parallel", "inter_op_num_threads": 2},
            {"qdq_matmulnbits_block_size": -1},
            {"arena_shrinkage": "cpu:0;gpu:1"},
        ],
    )
    def test_what_is_right_is_taken(self, values: dict[str, object]) -> None:
        assert problems(**values) == []

    def test_options_of_the_session_cannot_change_later(self) -> None:
        from etconfig.schema.validate import change_options

        with pytest.raises(OptionError, match="intra_op_num_threads"):
            change_options(SPEC, OnnxRuntimeOptions(), {"intra_op_num_threads": 2})
        changed = change_options(SPEC, OnnxRuntimeOptions(), {"workload_type": "Efficient"})
        assert changed.workload_type == "Efficient"


class TestCompiledModels:
    """Only options that change an optimized or compiled model count for the keys of caches."""

    def test_options_that_keep_the_model_as_it_is(self) -> None:
        from etconfig.plugin.v1 import cache_key

        infos = OnnxRuntimeOptions.option_infos()
        marked = {name for name, info in infos.items() if info.invalidates_cache}
        assert {"providers", "graph_optimization_level", "disable_specified_optimizers"} <= marked
        assert not marked & {name for name, info in infos.items() if info.applies.value == "execute"}
        for word in ("num_threads", "spin", "log", "profil", "arena", "filepath"):
            assert not [name for name in marked if word in name]

        def key(**values: object) -> str:
            options = OnnxRuntimeOptions(**values)  # type: ignore[arg-type]  # of the options' types
            return cache_key(options, payload_hash="ab", engine_version="1.32.0")

        assert key() == key(intra_op_num_threads=3, log_severity_level="error")
        assert key() != key(graph_optimization_level="basic")
        assert key() != key(providers=({"provider": "tensorrt", "trt_fp16_enable": True},))


class TestProviders:
    """Each provider has a table of its own options, which ONNX Runtime takes as texts."""

    @pytest.mark.parametrize(
        ("table", "texts"),
        [
            ({"provider": "cpu"}, {}),
            (
                {"provider": "cuda", "device_id": 1, "gpu_mem_limit": "2 GiB", "use_tf32": False},
                {"device_id": "1", "gpu_mem_limit": "2147483648", "use_tf32": "0"},
            ),
            ({"provider": "tensorrt", "trt_fp16_enable": True}, {"trt_fp16_enable": "1"}),
            (
                {"provider": "openvino", "device_type": "NPU", "disable_dynamic_shapes": True},
                {"device_type": "NPU", "disable_dynamic_shapes": "True"},
            ),
            (
                {"provider": "qnn", "backend_type": "htp", "vtcm_mb": 8},
                {"backend_type": "htp", "vtcm_mb": "8"},
            ),
            ({"provider": "coreml", "compute_units": "CPUOnly"}, {"MLComputeUnits": "CPUOnly"}),
            ({"provider": "directml", "disable_metacommands": True}, {"disable_metacommands": "true"}),
            ({"provider": "webgpu", "preferred_layout": "NCHW"}, {"preferredLayout": "NCHW"}),
        ],
    )
    def test_set_options_are_passed_under_their_keys_and_read_back(
        self, table: dict[str, object], texts: dict[str, str]
    ) -> None:
        (made,) = OnnxRuntimeOptions(providers=[table]).providers  # type: ignore[arg-type]  # as in a profile
        assert provider_options(made) == texts
        assert reported_provider(made.provider, texts) == made

    def test_the_names_of_providers_are_those_of_their_tables(self) -> None:
        assert {
            each.model_fields["provider"].default: each.also_called[0]
            for each in get_args(Provider)
            if each is not PluginProvider
        } == PROVIDERS

    @pytest.mark.parametrize("name", PROVIDERS)
    def test_the_name_in_onnx_runtime_is_explained(self, name: str) -> None:
        theirs = PROVIDERS[name]
        (found,) = problems(providers=[{"provider": theirs}])
        assert found.endswith(f"given {theirs!r} (a string); did you mean {name!r}?")
        for wrong in (theirs, name, name.upper()):
            (found,) = problems(providers=[wrong])
            assert f'; write a table: {{ provider = "{name}" }} in a file' in found
            (found,) = problems(providers=wrong)
            assert f'; write an array: [{{ provider = "{name}" }}] in a file' in found

    def test_what_cannot_be_read_back_is_left_out(self) -> None:
        texts = {"device_id": "x", "use_tf32": "?", "arena_extend_strategy": "k", "further": "1"}
        assert provider_options(reported_provider("cuda", texts)) == {}  # type: ignore[arg-type]
        assert reported_provider("AzureExecutionProvider", {}) == "AzureExecutionProvider"

    @pytest.mark.parametrize(
        ("table", "message"),
        [
            ({"provider": "cuda", "device_idd": 1}, "did you mean 'device_id'?"),
            ({"provider": "cuda", "device_id": -1}, "expected an integer >= 0"),
            ({"provider": "cpu", "device_id": 0}, "providers[0].device_id"),
            ({"device_id": 0}, "provider"),
        ],
    )
    def test_a_mistake_is_found_at_its_place(self, table: dict[str, object], message: str) -> None:
        (found,) = problems(providers=[table])
        assert message in found


class TestDevice:
    """Providers that the ONNX Runtime of a device lacks are refused where its facts are known."""

    def test_absent_providers_are_named(self) -> None:
        from etconfig_onnxruntime.plugin import SPEC

        def reasons(facts: dict[str, object], **values: object) -> list[str]:
            assert SPEC.verify_on_device is not None
            return [*SPEC.verify_on_device(OnnxRuntimeOptions(**values), facts)]

        here = {"onnxruntime.providers": ("AzureExecutionProvider", "cpu")}
        both = ({"provider": "cuda"}, {"provider": "cpu"})
        assert reasons(here, providers=both) == [
            "providers names 'cuda', and onnxruntime.providers of this device has "
            "'AzureExecutionProvider', 'cpu'"
        ]
        assert reasons(here, providers=both, absent_providers="skip") == []
        assert len(reasons(here, providers=both[:1], absent_providers="skip")) == 1
        assert reasons(here) == reasons({}, providers=both) == []


class TestTables:
    """Each option has exactly one way to ONNX Runtime."""

    def test_every_option_is_an_attribute_an_entry_or_one_of_ours(self) -> None:
        from etconfig_onnxruntime.run_options import RUN_ATTRIBUTES

        ours = {
            "providers",
            "absent_providers",
            "provider_selection_policy",
            "free_dimension_overrides",
            "free_dimension_overrides_by_denotation",
            "required_metadata",
            "config_entries",
            "run_config_entries",
            "newer_config_entries",
            "newer_run_config_entries",
        }
        ways = [*ATTRIBUTES, *SESSION_ENTRIES, *RUN_ATTRIBUTES, *RUN_ENTRIES, *DYNAMIC_ENTRIES, *ours]
        assert sorted(ways) == sorted(OnnxRuntimeOptions.option_infos())

    def test_what_a_run_or_a_loaded_session_takes_applies_at_execute(self) -> None:
        from etconfig_onnxruntime.run_options import RUN_OPTIONS

        late = {
            name
            for name, info in OnnxRuntimeOptions.option_infos().items()
            if info.applies.value == "execute"
        }
        assert late == RUN_OPTIONS | {*DYNAMIC_ENTRIES}


class TestRecommendation:
    """There are as many threads as cores that this process may use."""

    @pytest.mark.parametrize(
        ("facts", "threads", "spinning"),
        [
            ({"cpu.available_cores": 2, "cpu.performance_cores": 32}, 2, None),
            ({"cpu.available_cores": 12, "cpu.performance_cores": 4, "power.source": "battery"}, 4, False),
            ({"cpu.available_cores": 3}, 3, None),
            ({}, 0, None),
        ],
    )
    def test_it_follows_the_cores(
        self, facts: dict[str, object], threads: int, spinning: bool | None
    ) -> None:
        config = etconfig.resolve(
            models={"detector": SPEC.id},
            profile="generic/any",
            facts=etconfig.FactSheet.from_values(facts),  # type: ignore[arg-type]  # of the facts' types
            installation=INSTALLATION,
        )
        options = config.options_for("detector")
        assert (options.intra_op_num_threads, options.intra_op_allow_spinning) == (threads, spinning)


class TestWithoutTheEngine:
    """Schemas, profiles and recommendations need no ONNX Runtime."""

    def test_importing_the_plugin_does_not_import_the_engine(self) -> None:
        code = (
            "import sys; import etconfig_onnxruntime.plugin, etconfig_onnxruntime.facts; "
            "etconfig_onnxruntime.facts.etconfig_facts(None); "
            "assert not {'onnxruntime', 'onnx', 'numpy'} & {*sys.modules}"
        )
        environment = {"PYTHONPATH": ":".join(sys.path)}
        subprocess.run([sys.executable, "-c", code], check=True, env=environment)

    def test_a_model_that_is_none_is_refused(self) -> None:
        with pytest.raises(TypeError, match="the model is None; expected a path or bytes"):
            SPEC.build(OnnxRuntimeOptions(), None)

    def test_build_says_how_to_install_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("etconfig_onnxruntime.engine.find_spec", lambda name: None)
        config = etconfig.resolve(models={"detector": SPEC.id}, installation=INSTALLATION)
        with pytest.raises(BackendUnavailableError) as caught:
            config.build("detector", "model.onnx")
        assert str(caught.value) == (
            "backend 'OnnxRuntimeBackend' cannot run here: ONNX Runtime is not installed; "
            "install it: pip install onnxruntime"
        )

    @pytest.mark.parametrize(
        ("version", "is_available"), [("1.22.1", False), ("1.23.0", True), ("dev", True)]
    )
    def test_an_old_version_is_refused(
        self, monkeypatch: pytest.MonkeyPatch, version: str, is_available: bool
    ) -> None:
        from etconfig_onnxruntime import engine

        monkeypatch.setattr(engine, "find_spec", lambda name: name)
        monkeypatch.setattr(engine, "installed_version", lambda: version)
        found = engine.engine_availability()
        assert found.is_available is is_available
        if not is_available:
            assert found.reason == "ONNX Runtime 1.22.1 is installed, and 1.23 or newer is needed"


class TestDimensions:
    """The open dimensions are read from the bytes of a model; anything else is not a model."""

    @pytest.mark.parametrize(
        "data", [b"", b"\x3a\xff", b"ORTM" * 9, b"\xff" * 20, b"\x07", bytes(range(256))]
    )
    def test_bytes_that_are_no_model(self, data: bytes) -> None:
        from etconfig_onnxruntime.model_inputs import named_dimensions

        assert not named_dimensions(data)
