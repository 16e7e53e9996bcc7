from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import tomli
from delegating_programs import delegating_program
from etconfig_upstream.plugin import schema_of
from etconfig_upstream.qnn import HtpPerformanceMode
from etconfig_upstream.vulkan import VULKAN, WEBGPU
from etconfig_upstream.xnnpack import WorkspaceSharing, XnnpackOptions
from plugin_data import write_distribution

import etconfig
from etconfig.app.configuring.configuration import resolve_defaults
from etconfig.app.installation.installation import Installation
from etconfig.base.option_path import parse_option_path
from etconfig.base.provenance import Sourced
from etconfig.diagnostics import Respelling
from etconfig.facts.sheet import FactSheet
from etconfig.plugin.v1 import EXECUTORCH, BackendOptions, CompileSpecs, wire_options
from etconfig.resolver.compiling.program_values import read_program_values
from etconfig.resolver.deciding.unconfigured import values_without_configuration
from etconfig.resolver.explaining.explain import explain_option
from etconfig.schema.declaration import Scope
from etconfig.schema.problem import OptionProblem
from etconfig.schema.validate import check_value, find_option, validate_options

MANIFEST = tomli.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))
BACKENDS = sorted(MANIFEST["project"]["entry-points"]["etconfig.backends"])

SENT: dict[str, dict[str, tuple[Any, Any]]] = {
    "XnnpackBackend": {
        "workspace_sharing_mode": ("per_model", 1),
        "weight_cache_enabled": (True, True),
        "packed_cache_path": ("/cache", "/cache"),
    },
    "CoreMLBackend": {
        "compute_unit": ("cpu_and_ne", "cpu_and_ne"),
        "cache_dir": ("/cache", "/cache"),
        "_use_new_cache": (True, True),
    },
    "QnnBackend": {
        "qnn_runtime_log_level": ("debug", 5),
        "qnn_runtime_htp_performance_mode": ("burst", 2),
        "qnn_runtime_profile_level": ("optrace", 3),
        "qnn_runtime_lpai_fps": (30, 30),
        "qnn_runtime_lpai_ftrt_ratio": (10, 10),
        "qnn_runtime_lpai_client_perf_type": ("non_real_time", 2),
        "qnn_runtime_lpai_affinity": ("hard", 2),
        "qnn_runtime_lpai_core_selection": (0, 0),
        "qnn_runtime_heap_profiling_path": ("/heap", "/heap"),
    },
    "CudaBackend": {
        "use_shared_cuda_stream": (True, True),
        "weight_sharing_across_methods": (False, False),
        "enable_cuda_graph_for_method": (["a", "b"], "a,b"),
        "skip_copy_output_to_cpu_for_method": (["a"], "a"),
    },
    "MLXBackend": {
        "clear_cache_interval": (0, 0),
        "skip_mutable_buffer_init": (True, True),
        "cache_key": ("kv", "kv"),
    },
}
"""By backend and key: a value in a profile, and the same value as ExecuTorch gets it."""


def options_of(backend: str, values: dict[str, Any]) -> BackendOptions:
    validated = validate_options(schema_of(backend), values)
    assert validated.options is not None, validated.problems
    return validated.options


class TestSchemas:
    """Every backend of ExecuTorch has a schema, with the keys that its runtime reads."""

    def test_fourteen_ids_are_declared(self) -> None:
        assert len(BACKENDS) == 14

    @pytest.mark.parametrize("backend", BACKENDS)
    def test_a_backend_is_declared_under_its_own_id_and_runs_nothing(self, backend: str) -> None:
        spec = schema_of(backend)
        assert spec.id == backend
        assert spec.factory is None

    @pytest.mark.parametrize("backend", BACKENDS)
    def test_options_that_are_not_set_are_not_sent(self, backend: str) -> None:
        wired, problems = wire_options(backend, schema_of(backend).options(), EXECUTORCH)
        assert (wired, problems) == ([], [])

    @pytest.mark.parametrize("backend", SENT)
    def test_values_are_sent_under_the_runtimes_keys(self, backend: str) -> None:
        spec = schema_of(backend)
        names = {info.wire.key: name for name, info in spec.options.option_infos().items()}
        values = {names[key]: given for key, (given, _) in SENT[backend].items()}
        wired, problems = wire_options(backend, options_of(backend, values), EXECUTORCH)
        assert not problems
        assert {each.key: each.value for each in wired} == {
            key: sent for key, (_, sent) in SENT[backend].items()
        }

    @pytest.mark.parametrize("backend", sorted({"QnnBackend", "CudaBackend"}))
    def test_options_that_the_runtime_keeps_once_apply_to_the_whole_process(self, backend: str) -> None:
        infos = schema_of(backend).options.option_infos().values()
        assert {info.scope for info in infos} == {Scope.PROCESS}

    def test_the_two_runtimes_of_vulkans_id_have_options_of_their_own(self) -> None:
        assert VULKAN.id == WEBGPU.id == "VulkanBackend"
        assert not VULKAN.options.option_infos()
        assert set(WEBGPU.options.option_infos()) == {
            "enable_f16_kv_cache",
            "enable_f16_accumulate_gemm",
            "sdpa_query_tile",
        }

    def test_a_cache_file_without_a_cache_is_a_conflict(self) -> None:
        with pytest.raises(ValueError, match="packed_cache_path needs weight_cache_enabled = true"):
            XnnpackOptions(packed_cache_path="/cache")
        assert XnnpackOptions(packed_cache_path="/cache", weight_cache_enabled=True)

    def test_the_runtimes_own_keys_and_values_get_ours(self) -> None:
        count = 0
        for backend in BACKENDS:
            spec = schema_of(backend)
            infos = spec.options.option_infos()
            for name, info in infos.items():
                if info.wire.key not in (None, *infos):
                    _, problem = find_option(spec, info.wire.key)
                    assert problem is not None
                    assert (problem.help, problem.respelling) == (
                        f"write {name}",
                        Respelling(info.wire.key, name, is_safe=True),
                    )
                    count += 1
                for spelling, choice in (info.type.also_called or {}).items():
                    for written in (spelling, f"Scope.{spelling}", f"ns::Scope::{spelling}"):
                        if isinstance(spelling, str) or written is spelling:
                            problem = check_value(spec, info, written)
                            assert isinstance(problem, OptionProblem)
                            assert problem.help == f'write "{choice}"'
                            count += 1
        assert count > 100

    @pytest.mark.peers
    def test_the_names_of_choices_are_those_of_executorch(self) -> None:
        import executorch

        path = Path(executorch.__path__[0]) / "backends/qualcomm/serialization/qc_schema.py"
        an_enum = re.compile(r"^class QnnExecuTorch(\w+)\(IntEnum\):\n((?:    .*\n|\n)*)", re.MULTILINE)
        theirs = {
            match[1]: re.findall(r"^    (k\w+) = (\d+)$", match[2], re.MULTILINE)
            for match in an_enum.finditer(path.read_text())
        }
        for name, option in (
            ("LogLevel", "log_level"),
            ("HtpPerformanceMode", "htp_performance_mode"),
            ("ProfileLevel", "profile_level"),
            ("LpaiClientPerf", "lpai_client_perf_type"),
            ("LpaiCoreAffinity", "lpai_affinity"),
        ):
            ours = schema_of("QnnBackend").options.option_infos()[option].type.also_called or {}
            assert {(word, ours[int(number)]) for word, number in theirs[name]} == {
                each for each in ours.items() if isinstance(each[0], str)
            }

    def test_choices_are_words(self) -> None:
        assert XnnpackOptions(workspace_sharing_mode=WorkspaceSharing.GLOBAL).to_jsonable()[
            "workspace_sharing_mode"
        ] == ("global")


def on_device(backend: str, option: str, facts: dict[str, object]) -> object:
    """The value of an option that nothing sets."""
    found = values_without_configuration(schema_of(backend), facts)[option]
    assert isinstance(found, Sourced)
    return found.value


class TestRecommendations:
    """Recommendations depend on the facts of the device."""

    @pytest.mark.parametrize(
        ("facts", "threads"),
        [
            ({"cpu.available_cores": 8, "cpu.performance_cores": 4}, 4),
            ({"cpu.available_cores": 1, "cpu.performance_cores": 4}, 1),
            ({"cpu.available_cores": 8, "cpu.physical_cores": 4}, 4),
            ({"cpu.physical_cores": 6}, 6),
            ({"cpu.available_cores": 3}, 3),
            ({}, None),
        ],
    )
    def test_threads_follow_performance_cores_and_quota(
        self, facts: dict[str, object], threads: int | None
    ) -> None:
        assert on_device("XnnpackBackend", "num_threads", facts) == threads

    @pytest.mark.parametrize(
        ("facts", "mode"),
        [
            ({"power.source": "mains"}, HtpPerformanceMode.SUSTAINED_HIGH),
            ({"power.source": "battery", "power.battery_level": 0.8}, HtpPerformanceMode.BALANCED),
            ({"power.source": "battery"}, HtpPerformanceMode.BALANCED),
            ({"power.source": "battery", "power.battery_level": 0.1}, HtpPerformanceMode.POWER_SAVER),
            ({}, None),
        ],
    )
    def test_the_clock_follows_the_power_source(
        self, facts: dict[str, object], mode: HtpPerformanceMode | None
    ) -> None:
        assert on_device("QnnBackend", "htp_performance_mode", facts) == mode


class TestManifests:
    """The declared entry points match the schemas."""

    def test_every_schema_is_in_the_manifest(self) -> None:
        from etconfig_upstream.fixed import SPECS
        from etconfig_upstream.plugin import _MODULES

        assert sorted(BACKENDS) == sorted({*SPECS, *_MODULES})

    def test_webgpu_comes_with_a_package_of_its_own(self) -> None:
        manifest = Path(__file__).parents[2] / "etconfig-webgpu" / "pyproject.toml"
        assert 'VulkanBackend = "etconfig_webgpu"' in manifest.read_text("utf-8")


class TestNamesOfMethods:
    """Options that name methods are compared with the program's."""

    def test_a_mistyped_method_is_a_warning_and_another_one_a_note(self, tmp_path: Path) -> None:
        path = tmp_path / "program.pte"
        path.write_bytes(delegating_program("CudaBackend"))
        entry_points = "[etconfig.backends]\nCudaBackend = etconfig_upstream.plugin\n"
        write_distribution(tmp_path, "etconfig_upstream-1.0.dist-info", entry_points)
        installed = Installation(None, environ={}, search_path=[str(tmp_path)])
        with etconfig.load_program(path, installation=installed) as program:
            found = etconfig.resolve(
                program,
                profile="generic/any",
                facts=FactSheet.empty(),
                overrides={"CudaBackend.enable_cuda_graph_for_method": ["forward", "forwrad", "encode"]},
            ).warnings
        messages = [(each.severity.value, each.message, each.help) for each in found]
        what = "CudaBackend.enable_cuda_graph_for_method"
        assert messages == [
            ("warning", f"{what}[1]: the program has no method 'forwrad'", "did you mean 'forward'?"),
            ("note", f"{what}[2]: the program has no method 'encode'", "it has forward"),
        ]


class TestValuesOfTheProgram:
    """Core ML uses the processors that a model was compiled for, unless the option says otherwise."""

    @pytest.mark.parametrize(
        ("extra", "value", "lines"),
        [
            ({}, "cpu_and_ne", ["  from program {path} (compile spec compute_units)"]),
            (
                {"CoreMLBackend.compute_unit": "all"},
                "all",
                [
                    "  from override resolve(overrides) (CoreMLBackend.compute_unit)",
                    "  beat 'cpu_and_ne' from program {path} (compile spec compute_units)",
                ],
            ),
        ],
    )
    def test_explain_shows_them(
        self, tmp_path: Path, extra: dict[str, str], value: str, lines: list[str]
    ) -> None:
        path = tmp_path / "model.pte"
        path.write_bytes(delegating_program("CoreMLBackend", specs={"compute_units": b"cpu_and_ne"}))
        entry_points = "[etconfig.backends]\nCoreMLBackend = etconfig_upstream.plugin\n"
        write_distribution(tmp_path, "etconfig_upstream-1.0.dist-info", entry_points)
        installed = Installation(None, environ={}, search_path=[str(tmp_path)])
        with etconfig.load_program(path, installation=installed) as program:
            resolution = etconfig.resolve(
                program, profile="generic/any", facts=FactSheet.empty(), overrides=extra
            )
            bare = resolve_defaults(program, "forward", facts=FactSheet.empty())
        text = explain_option(resolution, parse_option_path("CoreMLBackend.compute_unit"))
        expected = [line.format(path=path) for line in lines]
        assert text.splitlines() == [
            f"forward:CoreMLBackend.compute_unit = {value!r}",
            *expected,
            "  beat no value from default CoreMLOptions",
        ]
        assert bare["CoreMLBackend"].to_jsonable()["compute_unit"] == "cpu_and_ne"

    def test_every_choice_of_the_exporter_is_one_of_the_option(self) -> None:
        for unit in ("all", "cpu_and_gpu", "cpu_and_ne", "cpu_only"):
            specs = CompileSpecs([("compute_units", unit.encode())])
            values = read_program_values(schema_of("CoreMLBackend"), [specs], "m")
            assert values["compute_unit"].value.value == unit  # type: ignore[attr-defined]
