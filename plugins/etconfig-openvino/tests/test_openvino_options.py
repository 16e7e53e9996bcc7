"""Options, devices and settings, none of which needs OpenVINO."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from etconfig_openvino import facts
from etconfig_openvino.devices import DeviceChoice, parse_device
from etconfig_openvino.matching import DeviceMatch, ValueMatch, is_met
from etconfig_openvino.messages import help_for, reason_of
from etconfig_openvino.options import OpenvinoOptions
from etconfig_openvino.plugin import SPEC, options_of_program
from etconfig_openvino.properties import PROPERTIES
from etconfig_openvino.rules import RECOMMENDED
from etconfig_openvino.settings import Settings, settings_of

import etconfig
from etconfig.errors import OptionError
from etconfig.plugin.v1 import CompileSpecs

PLUGIN = Path(__file__).parents[1]
INSTALLATION = etconfig.Installation(search_path=()).with_backends({"OpenvinoBackend": SPEC})


def sheet(**values: Any) -> etconfig.FactSheet:
    """The facts of a device."""
    return etconfig.FactSheet.from_values(values)


def resolved(**values: object) -> object:
    """The options of a model, with values that a profile would set."""
    arguments = {f"OpenvinoBackend.{name}": value for name, value in values.items()}
    resolution = etconfig.resolve(
        models={"net": "OpenvinoBackend"}, overrides=arguments, installation=INSTALLATION, facts=sheet()
    )
    return resolution.options_for("net")


class TestDevices:
    """The option `device` has OpenVINO's own grammar, and nothing else."""

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("gpu", "device is 'gpu'; did you mean 'GPU'?"),
            ("Cpu", "did you mean 'CPU'?"),
            ("GPUU", "did you mean 'GPU'?"),
            (" NPU", "did you mean 'NPU'?"),
            ("gpu.1", "did you mean 'GPU.1'?"),
            ("auto:gpu,cpu", "did you mean 'AUTO:GPU,CPU'?"),
            ("AUTO:GPUU,CPU", "where 'GPUU' is not a device; did you mean 'GPU'?"),
            ("cpu:0", "device is 'cpu:0'; expected CPU, GPU, GPU.1, NPU, or a list"),
            ("CUDA", "device is 'CUDA'; expected CPU, GPU, GPU.1, NPU, or a list"),
            ("GPU.x", "device is 'GPU.x'; expected CPU, GPU, GPU.1, NPU, or a list"),
            ("AUTO:GPU.x,CPU", "where 'GPU.x' is not a device; expected CPU"),
            ("", "device is ''; expected CPU, GPU, GPU.1, NPU, or a list"),
            ("AUTO:", "device is 'AUTO:', where '' is not a device; expected CPU"),
        ],
    )
    def test_a_mistake_has_a_suggestion(self, text: str, message: str) -> None:
        with pytest.raises(OptionError, match=re.escape(message)):
            resolved(device=text)

    @pytest.mark.parametrize(
        ("text", "kind", "targets", "kinds"),
        [
            ("CPU", "CPU", ("CPU",), ("CPU",)),
            ("GPU.1", "GPU", ("GPU.1",), ("GPU",)),
            ("AUTO", "AUTO", (), ("CPU", "GPU", "NPU")),
            ("AUTO:GPU,CPU", "AUTO", ("GPU", "CPU"), ("GPU", "CPU")),
            ("AUTO:-NPU", "AUTO", (), ("CPU", "GPU")),
            ("HETERO:GPU.0,GPU.1,CPU", "HETERO", ("GPU.0", "GPU.1", "CPU"), ("GPU", "CPU")),
            ("MULTI:CPU(4),GPU(8)", "MULTI", ("CPU", "GPU"), ("CPU", "GPU")),
            ("BATCH:GPU(16)", "BATCH", ("GPU",), ("GPU",)),
        ],
    )
    def test_texts(self, text: str, kind: str, targets: tuple[str, ...], kinds: tuple[str, ...]) -> None:
        choice = parse_device(text)
        assert choice == DeviceChoice(text, kind, targets, ("NPU",) if "-NPU" in text else ())
        assert choice.kinds == kinds

    @pytest.mark.parametrize(
        "text",
        ["", "cpu", "GPX", "CPU ", "CPU:GPU", "GPU.", "CPU(4)", "-CPU", "AUTO:", "AUTO:GPX", "AUTO:CPU,"],
    )
    def test_other_texts_are_refused(self, text: str) -> None:
        with pytest.raises(ValueError, match=re.escape(f"device is {text!r}")):
            parse_device(text)

    @pytest.mark.parametrize("kind", ["HETERO", "MULTI", "BATCH"])
    def test_a_list_is_needed(self, kind: str) -> None:
        with pytest.raises(ValueError, match=f"name the devices behind it, such as {kind}:CPU"):
            parse_device(kind)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("AUTO:CPU,CPU", "name CPU once"),
            ("AUTO:CPU,-CPU", "name CPU once"),
            ("HETERO:-CPU", "HETERO cannot leave out CPU"),
            ("BATCH:-CPU", "BATCH cannot leave out CPU"),
            ("BATCH:GPU(2),CPU", "BATCH takes one device"),
            ("HETERO:CPU(4)", "HETERO takes no number of requests"),
        ],
    )
    def test_lists_that_openvino_would_ignore_in_part_are_refused(self, text: str, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            parse_device(text)

    @pytest.mark.parametrize(
        ("text", "here", "is_included"),
        [
            ("GPU", "GPU.1", True),
            ("GPU.0", "GPU", True),
            ("GPU.1", "GPU", False),
            ("GPU.1", "GPU.1", True),
            ("CPU.0", "CPU", False),
            ("AUTO", "NPU", True),
            ("AUTO:-GPU", "GPU.0", False),
            ("AUTO:-GPU", "CPU", True),
            ("AUTO:-GPU.1", "GPU.0", True),
        ],
    )
    def test_devices_as_openvino_lists_them(self, text: str, here: str, is_included: bool) -> None:
        assert parse_device(text).includes(here) is is_included


class TestMatching:
    """A requested value is met, or OpenVINO replaced it."""

    @pytest.mark.parametrize(
        ("name", "requested", "used", "meets"),
        [
            ("inference_num_threads", 0, 2, True),
            ("inference_num_threads", 3, 2, False),
            ("num_streams", -1, 4, True),
            ("num_streams", -2, 1, True),
            ("cpu_sparse_weights_decompression_rate", 0.1, 0.10000000149011612, True),
            ("cpu_sparse_weights_decompression_rate", 0.1, 0.11, False),
            ("model_distribution_policy", ("tensor_parallel",), ("tensor_parallel",), True),
            ("model_distribution_policy", ("tensor_parallel",), (), False),
            ("perf_count", True, False, False),
        ],
    )
    def test_values(self, name: str, requested: object, used: object, meets: bool) -> None:
        assert is_met(name, requested, used) is meets
        match = ValueMatch(name, used)
        assert match(requested) is meets
        assert pickle.loads(pickle.dumps(match)) == match

    @pytest.mark.parametrize(
        ("requested", "virtual", "devices", "meets"),
        [
            ("CPU", None, ("CPU",), True),
            ("GPU", None, ("GPU.0",), True),
            ("GPU.1", None, ("GPU.0",), False),
            ("AUTO", "AUTO", ("CPU",), True),
            ("AUTO:GPU,CPU", "AUTO", ("CPU",), True),
            ("AUTO:GPU", "AUTO", ("CPU",), False),
            ("AUTO:-CPU", "AUTO", ("CPU",), False),
            ("HETERO:GPU,CPU", "HETERO", ("GPU.0", "CPU"), True),
            ("MULTI:CPU", "AUTO", ("CPU",), False),
            ("AUTO", None, ("CPU",), False),
            ("CPU", "AUTO", ("CPU",), False),
        ],
    )
    def test_devices(
        self, requested: str, virtual: str | None, devices: tuple[str, ...], meets: bool
    ) -> None:
        assert DeviceMatch(virtual, devices)(requested) is meets


class TestStrictness:
    """Values that OpenVINO changes in silence are refused before it sees them."""

    @pytest.mark.parametrize(
        ("values", "message"),
        [
            ({"inference_num_threads": 1.5}, "expected an integer"),
            ({"inference_num_threads": True}, "expected an integer"),
            ({"inference_num_threads": "1"}, "expected an integer"),
            ({"inference_num_threads": -1}, ">= 0"),
            ({"num_streams": -3}, ">= -2"),
            ({"perf_count": 1}, "true or false"),
            ({"cpu_sparse_weights_decompression_rate": 2.0}, "<= 1"),
            ({"key_cache_group_size": -1}, ">= 0"),
            ({"performance_hint": "LATENCY"}, "'latency'"),
            ({"cpu_inference_precision": "i8"}, "'f32'"),
            ({"device": "GPX"}, "device is 'GPX'"),
            ({"device": "AUTO", "batch_timeout_ms": 5}, "batch_timeout_ms is an option of BATCH"),
            ({"gpu_queue_priority": "low"}, "gpu_queue_priority is an option of GPU, but device is 'CPU'"),
            ({"device": "BATCH:CPU(4)", "batch_timeout_ms": -5}, ">= 0"),
            ({"device": "AUTO", "auto_low_power_device": "XYZ"}, "'CPU'"),
            ({"device": "AUTO", "auto_devices_utilization_threshold": {"CPU": 80.5}}, "an integer"),
            ({"inference_num_thread": 1}, "inference_num_threads"),
            ({"inference_num_threads": 2**31}, "<= 2147483647"),
            ({"num_streams": 2**32 + 1}, "<= 2147483647"),
            ({"key_cache_group_size": 2**63}, "<= 9223372036854775807"),
            ({"cache_mode": "optimize_size"}, "cache_mode changes nothing without cache_dir"),
            (
                {"kv_cache_precision": "dynamic"},
                "kv_cache_precision = dynamic is a value for GPU, but device",
            ),
            (
                {"model_distribution_policy": ["pipeline_parallel"]},
                "is a value for HETERO, but device is 'CPU'",
            ),
            (
                {"device": "HETERO:CPU", "model_distribution_policy": ["tensor_parallel"]},
                "is a value for CPU, but device is 'HETERO:CPU'",
            ),
            ({"model_distribution_policy": ["tensor_parallel"] * 2}, "has an item twice"),
            ({"device": "AUTO", "auto_schedule_policy": "round_robin"}, "changes nothing with AUTO unless"),
            ({"device": "AUTO:CPU", "auto_low_power_device": "NPU"}, "'NPU', which is not behind device"),
            (
                {"device": "AUTO", "auto_devices_utilization_threshold": {"GPX": 80}},
                "the key 'GPX', which is not a device; did you mean 'GPU'?",
            ),
            (
                {"device": "AUTO", "auto_devices_utilization_threshold": {"disk": 80}},
                "the key 'disk', which is not a device; expected CPU, GPU, NPU",
            ),
            (
                {"device": "AUTO:CPU", "auto_devices_utilization_threshold": {"CPU": 80, "GPU.1": 9}},
                "the key 'GPU.1', which is not behind device 'AUTO:CPU'",
            ),
            (
                {"device": "AUTO:CPU", "gpu_queue_priority": "low"},
                "is an option of GPU, but device is 'AUTO:CPU'",
            ),
            (
                {"device": "AUTO:-GPU", "gpu_queue_priority": "low"},
                "is an option of GPU, but device is 'AUTO:-",
            ),
            ({"auto_enable_startup_fallback": True}, "is an option of AUTO, but device is 'CPU'"),
        ],
    )
    def test_refused(self, values: dict[str, object], message: str) -> None:
        with pytest.raises(OptionError, match=re.escape(message)):
            resolved(**values)

    def test_each_conflict_is_a_problem(self) -> None:
        with pytest.raises(OptionError) as caught:
            resolved(npu_turbo=True, batch_timeout_ms=3, cache_mode="optimize_size")
        messages = [problem.message for problem in caught.value.diagnostics]
        begins = ("batch_timeout_ms is an option", "npu_turbo is an option", "cache_mode changes nothing")
        assert len(messages) == len(begins)
        for message, begin in zip(messages, begins, strict=True):
            assert message.startswith(f"OpenvinoBackend: {begin}")
        with pytest.raises(ValueError, match=r"npu_turbo is .*; cache_mode changes"):
            OpenvinoOptions(npu_turbo=True, cache_mode="optimize_size")

    @pytest.mark.parametrize(
        "values",
        [
            {"device": "AUTO", "auto_devices_utilization_threshold": {"CPU": 80, "GPU.1": 50, "GPU": 60}},
            {"device": "AUTO:GPU,CPU", "auto_low_power_device": "GPU"},
            {
                "device": "AUTO",
                "auto_schedule_policy": "round_robin",
                "performance_hint": "cumulative_throughput",
            },
            {"device": "MULTI:CPU", "auto_schedule_policy": "round_robin"},
            {"device": "HETERO:CPU", "model_distribution_policy": ["pipeline_parallel"]},
            {"device": "AUTO", "kv_cache_precision": "dynamic"},
        ],
    )
    def test_accepted(self, values: dict[str, object]) -> None:
        assert resolved(**values) is not None

    def test_a_recommended_option_is_allowed_for_every_device(self) -> None:
        """The recommendation does not know the device that a profile chooses."""
        assert resolved(**{"device": "GPU", RECOMMENDED: "f32"}) is not None
        assert {entry.option for entry in SPEC.advice} == {RECOMMENDED}

    @pytest.mark.parametrize(
        ("features", "precision"),
        [(["avx2"], None), (["avx512_bf16"], "f32"), (["amx_bf16", "avx512_bf16"], "f32")],
    )
    def test_float32_is_recommended_where_openvino_takes_bfloat16(
        self, features: list[str], precision: str | None
    ) -> None:
        resolution = etconfig.resolve(
            models={"net": "OpenvinoBackend"},
            facts=sheet(**{"cpu.features": features}),
            installation=INSTALLATION,
        )
        options = resolution.options_for("net")
        assert isinstance(options, OpenvinoOptions)
        assert options.cpu_inference_precision == precision


class TestSettings:
    """The arguments of `compile_model` for options."""

    def test_options_without_a_value_are_left_out(self) -> None:
        assert settings_of(OpenvinoOptions()) == Settings("CPU", {})
        assert SPEC.build is not None
        assert SPEC.build(OpenvinoOptions()) == Settings("CPU", {})

    def test_words_are_those_of_openvino(self) -> None:
        options = OpenvinoOptions(
            performance_hint="throughput",
            log_level="error",
            model_distribution_policy=("tensor_parallel",),
            inference_num_threads=2,
            perf_count=False,
        )
        assert settings_of(options).properties == {
            "PERFORMANCE_HINT": "THROUGHPUT",
            "LOG_LEVEL": "LOG_ERROR",
            "MODEL_DISTRIBUTION_POLICY": "TENSOR_PARALLEL",
            "INFERENCE_NUM_THREADS": 2,
            "PERF_COUNT": False,
        }

    def test_devices_behind_a_virtual_one_get_their_own(self) -> None:
        """AUTO and HETERO take every key in silence, so only devices that have a property get it."""
        options = OpenvinoOptions(
            device="AUTO:GPU.1,CPU",
            performance_hint="latency",
            num_streams=2,
            cpu_inference_precision="f32",
            gpu_inference_precision="f16",
        )
        nested = {
            "GPU.1": {"NUM_STREAMS": 2, "INFERENCE_PRECISION_HINT": "f16"},
            "CPU": {"NUM_STREAMS": 2, "INFERENCE_PRECISION_HINT": "f32"},
        }
        assert settings_of(options) == Settings(
            "AUTO:GPU.1,CPU", {"PERFORMANCE_HINT": "LATENCY", "DEVICE_PROPERTIES": nested}
        )

    def test_auto_without_a_list_means_the_devices_that_are_here(self) -> None:
        options = OpenvinoOptions(device="AUTO", inference_num_threads=1)
        nested = {"DEVICE_PROPERTIES": {"CPU": {"INFERENCE_NUM_THREADS": 1}}}
        assert settings_of(options, ["CPU", "GPU"]).properties == nested

    def test_batch_passes_on_what_it_gets(self) -> None:
        options = OpenvinoOptions(device="BATCH:CPU(4)", batch_timeout_ms=5, inference_num_threads=1)
        assert settings_of(options).properties == {"AUTO_BATCH_TIMEOUT": 5, "INFERENCE_NUM_THREADS": 1}


class TestSpec:
    """The declaration of the backend."""

    def test_every_property_has_an_option_with_its_default_in_words(self) -> None:
        infos = OpenvinoOptions.option_infos()
        assert set(infos) - set(PROPERTIES) == {"device", "adjusted_values"}
        assert set(PROPERTIES) <= set(infos)
        assert all("OpenVINO's own: " in infos[name].doc for name in PROPERTIES)

    def test_what_compiles_anew_is_marked(self) -> None:
        unmarked = {n for n, info in OpenvinoOptions.option_infos().items() if not info.invalidates_cache}
        assert unmarked == {"adjusted_values", "cache_dir", "enable_mmap", "log_level", "npu_workload_type"}

    def test_only_the_workload_type_can_change_while_a_model_is_loaded(self) -> None:
        infos = OpenvinoOptions.option_infos().values()
        assert [info.name for info in infos if info.applies.value == "execute"] == ["npu_workload_type"]

    def test_the_device_of_the_program_is_the_default(self) -> None:
        assert options_of_program(CompileSpecs([("device", b"GPU")])) == {"device": "GPU"}
        assert options_of_program(CompileSpecs()) == {}

    def test_build_takes_one_model(self) -> None:
        with pytest.raises(TypeError, match="the model is None; expected a path, bytes or"):
            SPEC.build(OpenvinoOptions(), None)
        with pytest.raises(TypeError, match="positional arguments"):
            SPEC.build(OpenvinoOptions(), "model.xml", "GPU")

    def test_importing_the_plugin_imports_no_engine(self) -> None:
        code = (
            "import sys, etconfig_openvino.plugin; "
            "print(sorted({'openvino', 'numpy', 'torch', 'executorch', 'onnx'} & set(sys.modules)))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=PLUGIN
        )
        assert done.stdout == "[]\n"

    def test_importing_the_plugin_imports_little_of_the_standard_library(self) -> None:
        """Those took half of the time; every command that lists backends imports the plugin."""
        code = (
            "import sys, etconfig.plugin.v1 as v1; v1.BackendOptions; before = set(sys.modules); "
            "import etconfig_openvino.plugin; "
            "print(sorted({'importlib.metadata', 'difflib', 'email'} & set(sys.modules) - before))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=PLUGIN
        )
        assert done.stdout == "[]\n"


class TestMessages:
    """OpenVINO's errors without the places in its source."""

    TEXT = (
        "Exception from src/inference/src/cpp/core.cpp:217:\n"
        "Exception from src/inference/src/dev/plugin.cpp:74:\n"
        "Check 'is_valid_model' failed at src/plugins/intel_cpu/src/x.cpp:222:\n"
        "[CPU] Could not deserialize by device xml header.\n\n\n"
    )

    def test_the_reason_is_one_line(self) -> None:
        assert reason_of(self.TEXT) == "[CPU] Could not deserialize by device xml header."
        assert reason_of(" \n") == "OpenVINO gives no reason"

    def test_help_where_the_sign_is_known(self) -> None:
        assert help_for("x: proc_type_table is empty. No CPU").startswith("; another model of this process")
        assert help_for("something else") == ""


class Answering:
    """A system whose process answers with a text."""

    def __init__(self, output: str | None) -> None:
        self.output = output

    def run(self, *command: str) -> str | None:
        assert command[1] == str(facts.PROBE)
        return self.output


class TestFacts:
    """Devices as the process that starts OpenVINO reports them."""

    @pytest.mark.parametrize(
        ("output", "reason"),
        [
            (None, "gave no answer within a second"),
            ("", "OpenVINO ended the process that started it"),
            ("Segmentation fault\n", "OpenVINO ended the process that started it"),
            ('{"problem": "OpenVINO is not installed"}\n', 'not installed; pip install "openvino>=2025"'),
        ],
    )
    def test_unknown(self, output: str | None, reason: str) -> None:
        readings = list(facts.detect(Answering(output)))  # type: ignore[arg-type]
        assert [reading.name for reading in readings] == ["openvino.version", "openvino.devices"]
        assert all(reading.value is None and reason in str(reading.reason) for reading in readings)

    def test_devices(self) -> None:
        output = (
            '{"version": "2026.4.1", "devices": [{"id": "CPU", "name": "Xeon", "capabilities": "BF16 FP32", '
            '"precision": "bf16", "streams": "1 8"}, {"id": "GPU.0", "name": "Arc", "gpu_driver": "25.1"}]}\n'
        )
        found = {reading.name: reading.value for reading in facts.detect(Answering(output))}  # type: ignore[arg-type]
        assert found["openvino.devices"] == ("CPU", "GPU.0")
        assert found["openvino.0.capabilities"] == ("BF16", "FP32")
        assert (found["openvino.0.default_precision"], found["openvino.0.max_streams"]) == ("bf16", 8)
        assert (found["openvino.1.driver_version"], found["openvino.1.max_streams"]) == ("25.1", None)


class TestAutomaticStreams:
    """The default number of streams is 1, so `auto` is not the same as no value."""

    MINUS_ONE = ", or write -1 if the description of num_streams says that it means auto"

    def test_in_a_profile(self, tmp_path: Path) -> None:
        profile = tmp_path / "p.toml"
        head = '[profile]\nname = "p"\n[options.OpenvinoBackend]\n'
        profile.write_text(f'{head}num_streams = "auto"\n')
        (problem,) = etconfig.validate_file(profile, installation=INSTALLATION)
        assert problem.help == "write { unset = true } for the default" + self.MINUS_ONE
        assert problem.fix is None
        profile.write_text(f'{head}num_streams = "default"\n')
        (problem,) = etconfig.validate_file(profile, installation=INSTALLATION)
        assert problem.help == "write { unset = true } for the default"
        assert problem.fix is not None

    def test_in_an_override(self) -> None:
        with pytest.raises(OptionError) as caught:
            resolved(num_streams="auto")
        assert "for the value of the profile, else the default" + self.MINUS_ONE in str(caught.value)

    def test_options_without_such_a_number(self) -> None:
        with pytest.raises(OptionError) as caught:
            resolved(inference_num_threads="auto")
        assert "write -1" not in str(caught.value)


def test_devices_that_a_machine_lacks_are_refused_where_its_facts_are_known() -> None:
    from etconfig_openvino.plugin import SPEC

    assert SPEC.verify_on_device is not None
    for device, found, expected in (
        ("GPU", ("CPU",), ["device is 'GPU', and openvino.devices of this device has 'CPU'"]),
        (
            "AUTO:GPU,CPU",
            ("CPU",),
            ["device is 'AUTO:GPU,CPU', and openvino.devices of this device has 'CPU'"],
        ),
        ("AUTO:-CPU", ("CPU",), ["device is 'AUTO:-CPU', which leaves none of openvino.devices, 'CPU'"]),
        ("GPU.0", ("CPU", "GPU"), []),
        ("AUTO", ("CPU",), []),
        ("NPU", None, []),
    ):
        facts = {} if found is None else {"openvino.devices": found}
        assert [*SPEC.verify_on_device(OpenvinoOptions(device=device), facts)] == expected
