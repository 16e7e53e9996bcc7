"""Every option with every kind of valid value on a compiled model: in force, replaced, or unknown."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from etconfig_openvino import engine, readback
from etconfig_openvino.errors import AdjustedValueError, ModelError, PropertyError
from etconfig_openvino.installed import installed_version
from etconfig_openvino.options import OpenvinoOptions
from etconfig_openvino.plugin import SPEC
from etconfig_openvino.properties import PROPERTIES
from in_force import check_names, table_of

import etconfig
from etconfig.plugin.v1 import EffectiveSource

pytestmark = pytest.mark.engines
INSTALLATION = etconfig.Installation(search_path=()).with_backends({"OpenvinoBackend": SPEC})

TABLE = table_of(Path(__file__).parents[1] / "README.md")
VERSION = installed_version() or ""
IS_TABLES = VERSION >= "2026.4"
"""True if OpenVINO has the table's version, or a newer one: each option and value is known."""

VALUES: dict[str, tuple[Any, ...]] = {
    "performance_hint_num_requests": (0, 1, 2, 7),
    "num_streams": (-2, -1, 0, 1),
    "inference_num_threads": (0, 1),
    "cpu_sparse_weights_decompression_rate": (0.0, 0.1, 0.3, 0.7, 1.0),
    "dynamic_quantization_group_size": (0, 1, 33, 2**63 - 1),
    "key_cache_group_size": (0, 17, 2**63 - 1),
    "value_cache_group_size": (0, 17, 2**63 - 1),
    "model_distribution_policy": ((), ("tensor_parallel",), ("pipeline_parallel",)),
    "auto_devices_utilization_threshold": ({}, {"CPU": 80}),
    "auto_low_power_device": ("CPU",),
    "batch_timeout_ms": (0, 1, 2**31 - 1),
    "log_level": ("no", "error"),  # AUTO prints at the others
}
MACHINE = {"cpu_inference_precision", "enable_hyper_threading", "scheduling_core_type"}
"""Options of which some processors do not take each value."""

ELSEWHERE = {"cache_dir", "cache_mode", "weights_path", "enable_mmap", "enable_cpu_reservation"}
"""Options of files, and the option that keeps other models from loading; they have tests of their own."""

UNREPORTED = {"enable_weightless"} | {
    name for name in PROPERTIES if name.startswith("auto_") and name != "auto_schedule_policy"
}
"""Options that OpenVINO reports for no compiled model."""


@pytest.fixture(scope="module")
def ov() -> Any:
    import openvino

    return openvino


@pytest.fixture(scope="module")
def model(ov: Any) -> Any:
    """A convolution with a ReLU."""
    from openvino import opset13 as ops

    x = ops.parameter([1, 3, 8, 8], np.float32, name="x")
    weight = ops.constant(np.random.default_rng(0).normal(size=(8, 3, 3, 3)).astype(np.float32))
    y = ops.relu(ops.convolution(x, weight, [1, 1], [1, 1], [1, 1], [1, 1]))
    return ov.Model([y], [x], "net")


def cases(device: str) -> Iterator[tuple[str, Any]]:
    """Each option with each of its values that the schema takes for the device."""
    for name, info in OpenvinoOptions.option_infos().items():
        if name not in PROPERTIES or name in ELSEWHERE:
            continue
        for value in VALUES.get(name) or info.choices or (True, False):
            try:
                asked(device, name, value)
            except ValueError:
                continue
            yield name, value


def asked(device: str, name: str, value: Any) -> OpenvinoOptions:
    """Options with one value, and what it needs beside it."""
    beside = {"auto_schedule_policy": {"performance_hint": "cumulative_throughput"}}.get(name, {})
    if device.startswith("MULTI"):
        beside = {}
    return OpenvinoOptions(device=device, **{name: value}, **beside)


def in_force(compiled: Any, options: OpenvinoOptions) -> etconfig.resolver.OptionsInForce:
    given = {name: getattr(options, name) for name in OpenvinoOptions.option_infos()}
    overrides = {f"OpenvinoBackend.{name}": value for name, value in given.items() if value is not None}
    config = etconfig.resolve(
        models={"net": "OpenvinoBackend"},
        overrides=overrides,
        installation=INSTALLATION,
        facts=etconfig.FactSheet.from_values({}),  # without the recommended precision
    )
    return config.effective("net", compiled)


class TestEveryOption:
    """No value that is in force is reported as replaced, and none that is not as in force."""

    @pytest.mark.parametrize("device", ["CPU", "AUTO", "AUTO:CPU", "MULTI:CPU", "HETERO:CPU"])
    def test_values(self, ov: Any, model: Any, device: str) -> None:
        core = ov.Core()
        wrong, seen = [], set()
        for name, value in cases(device):
            if (
                "CPU" not in PROPERTIES[name].devices
                and device.partition(":")[0] not in PROPERTIES[name].devices
            ):
                continue  # of a device that may not be here
            options = asked(device, name, value)
            if value == "dynamic" and name == "kv_cache_precision":
                continue  # a word of GPUs
            try:
                compiled = engine.build(options, model, core=core)
            except (PropertyError, ModelError) as error:
                if IS_TABLES or not (name in str(error) and f"OpenVINO {VERSION}" in str(error)):
                    wrong.append((name, value, str(error)))
                seen.add(name)
                continue
            except AdjustedValueError as error:
                is_ours = name in MACHINE or (device, name) == ("MULTI:CPU", "performance_hint")
                if not is_ours or f"{name} is" not in str(error):
                    wrong.append((name, value, str(error)))
                continue
            seen.add(name)
            view = in_force(compiled, options)
            found = view[name]
            unreported = name in UNREPORTED or (device, name) == ("HETERO:CPU", "model_distribution_policy")
            expected = "assumed" if unreported else "read back"
            if found.effective.source.value != expected or expected not in TABLE[name].sources:
                wrong.append((name, value, found))
            elif found.differs is not False or view["device"].differs is not False:
                wrong.append((name, value, found, view["device"]))
        assert not wrong
        own = {name for name, prop in PROPERTIES.items() if "CPU" in prop.devices} - ELSEWHERE
        assert own <= seen | MACHINE

    @pytest.mark.skipif(not IS_TABLES, reason="older releases refuse some values")
    def test_behind_batch_all_but_the_timeout_is_assumed(self, model: Any) -> None:
        for name, value in cases("BATCH:CPU(4)"):
            if "CPU" in PROPERTIES[name].devices:
                options = asked("BATCH:CPU(4)", name, value)
                found = in_force(engine.build(options, model), options)
                assert (found[name].differs, bool(found["device"].differs)) == (False, False), name
                assert found[name].effective.source is EffectiveSource.ASSUMED, name
        options = OpenvinoOptions(device="BATCH:CPU(4)", batch_timeout_ms=7)
        assert in_force(engine.build(options, model), options)["batch_timeout_ms"].differs is False

    @pytest.mark.skipif(not IS_TABLES, reason="OpenVINO 2025.0 cannot reserve cores")
    @pytest.mark.parametrize("device", ["CPU", "AUTO", "MULTI:CPU", "HETERO:CPU"])
    @pytest.mark.parametrize("is_reserved", [True, False])
    def test_reserved_cores(self, model: Any, device: str, is_reserved: bool) -> None:
        """They are free again when the model is gone."""
        options = OpenvinoOptions(device=device, enable_cpu_reservation=is_reserved)
        for _ in range(2):
            compiled = engine.build(options, model)
            assert in_force(compiled, options).differing == ()
            del compiled

    def test_a_replaced_value_differs(self, model: Any) -> None:
        options = OpenvinoOptions(inference_num_threads=4096, num_streams=-1, adjusted_values="report")
        view = in_force(engine.build(options, model), options)
        assert view.differing == ("inference_num_threads",)
        assert view["num_streams"].effective.source is EffectiveSource.READ_BACK

    def test_a_model_that_was_compiled_for_another_device_differs(self, model: Any) -> None:
        compiled = engine.build(OpenvinoOptions(device="AUTO:CPU"), model)
        assert in_force(compiled, OpenvinoOptions(device="CPU")).differing == ("device",)
        assert in_force(compiled, OpenvinoOptions(device="MULTI:CPU")).differing == ("device",)
        assert in_force(compiled, OpenvinoOptions(device="AUTO")).differing == ()

    @pytest.mark.parametrize("hint", ["latency", "throughput", "cumulative_throughput"])
    def test_the_virtual_device_of_each_hint_is_known(self, model: Any, hint: Any) -> None:
        options = OpenvinoOptions(device="AUTO", performance_hint=hint)
        view = in_force(engine.build(options, model), options)
        assert (view["performance_hint"].effective.value, view.differing) == (hint, ())


class TestNothingIsDropped:
    """An option that no device of this machine takes is an error that names both."""

    @pytest.mark.parametrize(
        "values",
        [
            {"gpu_queue_priority": "low"},
            {"npu_turbo": True},
            {"kv_cache_precision": "dynamic"},
            {"gpu_inference_precision": "f16"},
        ],
    )
    def test_of_a_device_that_is_not_behind_auto_here(self, model: Any, values: dict[str, Any]) -> None:
        (name,) = values
        with pytest.raises(
            PropertyError, match=rf"{name}.* is for [GN]PU, but OpenVINO finds only CPU here for device"
        ):
            engine.build(OpenvinoOptions(device="AUTO", **values), model)

    @pytest.mark.parametrize(
        ("values", "device"),
        [
            ({"auto_low_power_device": "NPU"}, "NPU"),
            ({"auto_devices_utilization_threshold": {"CPU": 80, "GPU.1": 50}}, r"GPU\.1"),
        ],
    )
    def test_auto_names_a_device_that_is_not_here(
        self, model: Any, values: dict[str, Any], device: str
    ) -> None:
        with pytest.raises(PropertyError, match=f"'AUTO' is CPU here, and an option of AUTO names {device}"):
            engine.build(OpenvinoOptions(device="AUTO", **values), model)

    def test_auto_without_a_device(self, model: Any) -> None:
        with pytest.raises(PropertyError, match="leaves none of OpenVINO's devices here: CPU"):
            engine.build(OpenvinoOptions(device="AUTO:-CPU"), model)

    def test_options_of_files(self, model: Any, tmp_path: Any) -> None:
        with pytest.raises(PropertyError, match="enable_mmap is for models in files"):
            engine.build(OpenvinoOptions(enable_mmap=True), model)
        with pytest.raises(PropertyError, match=r"weights_path (is for blobs|needs OpenVINO's property)"):
            engine.build(OpenvinoOptions(weights_path=str(tmp_path)), model)
        with pytest.raises(PropertyError, match=r"which is not a file here|needs OpenVINO's property"):
            engine.import_blob(OpenvinoOptions(weights_path=str(tmp_path)), b"", "the blob")

    def test_a_value_that_this_openvino_lacks_is_named_with_the_version(self) -> None:
        def refuse() -> None:
            raise RuntimeError(
                "Wrong value u3 for property key KV_CACHE_PRECISION. Supported values: u8, bf16"
            )

        options = OpenvinoOptions(kv_cache_precision="u3", perf_count=True)
        expected = rf"bf16; OpenVINO {VERSION} has no such value: change kv_cache_precision, or leave it out"
        with pytest.raises(ModelError, match=expected):
            engine.compiled_strictly(options, refuse, "net.xml")


def _relu(device: str, shape: list[int], adjusted: Any, values: dict[str, Any]) -> tuple[Any, Any]:
    import openvino
    from openvino import opset13 as ops

    x = ops.parameter(openvino.PartialShape(shape), np.float32, name="x")
    options = OpenvinoOptions(device=device, adjusted_values=adjusted, **values)
    return options, openvino.Model([ops.relu(x)], [x], "net")


@pytest.mark.skipif(not IS_TABLES, reason="older releases report less")
class TestBatch:
    """BATCH leaves a model alone whose batch is open or not 1, without a word."""

    def test_a_batch_that_is_lost_is_an_error_or_differs(self) -> None:
        wrong = []
        values: tuple[dict[str, Any], ...] = ({}, {"num_streams": 2}, {"performance_hint": "throughput"})
        for shape in ([-1, 4], [2, 4], [1, -1]):
            for each in values:
                with pytest.raises(AdjustedValueError, match=r"BATCH collects no requests .* without BATCH"):
                    engine.build(*_relu("BATCH:CPU(4)", shape, "refuse", each))
                options, model = _relu("BATCH:CPU(4)", shape, "report", each)
                view = in_force(engine.build(options, model), options)
                if view.differing != ("device",) or view["batch_timeout_ms"].effective.is_known:
                    wrong.append((shape, each, view["device"]))
        assert wrong == []

    def test_a_batch_that_is_collected(self) -> None:
        for each in ({}, {"num_streams": 2}, {"performance_hint_num_requests": 2}):
            options, model = _relu("BATCH:CPU(4)", [1, 4], "refuse", each)
            assert in_force(engine.build(options, model), options)["device"].differs is False, each

    def test_what_nothing_shows_is_unknown(self) -> None:
        options, model = _relu("BATCH:CPU(4)", [1, 4], "refuse", {"performance_hint_num_requests": 7})
        found = readback.effective(engine.build(options, model))["device"]
        assert found.reason == "OpenVINO does not report whether BATCH collects requests of this model"

    def test_without_a_number_openvino_chooses(self) -> None:
        options, model = _relu("BATCH:CPU", [-1, 4], "refuse", {})
        assert in_force(engine.build(options, model), options)["device"].differs is False


def result(options: OpenvinoOptions, at: Path) -> float:
    """Return the product of small numbers, which is denormal."""
    from openvino import Model
    from openvino import opset13 as ops

    x = ops.parameter([1, 8], np.float32, name="x")
    model = Model([ops.multiply(x, ops.constant(np.full((1, 8), 1e-10, np.float32)))], [x], "net")
    (output,) = engine.build(options, model)([np.full((1, 8), 1e-30, np.float32)]).values()
    return float(output[0][0])


def refusal(options: OpenvinoOptions, at: Path) -> str:
    """Return the name of the error of loading a model, or `loads`."""
    try:
        engine.build(options, at / "net.xml")
    except (ModelError, PropertyError, AdjustedValueError) as error:
        return type(error).__name__
    return "loads"


def other_refusal(options: OpenvinoOptions, at: Path) -> str:
    kept = engine.build(options, at / "net.xml")
    seen = refusal(OpenvinoOptions(), at)
    del kept
    return seen


def is_mapped(options: OpenvinoOptions, at: Path) -> bool:
    kept = engine.build(options, at / "net.xml")
    seen = str(at / "net.bin") in Path("/proc/self/maps").read_text()
    del kept
    return seen


def cached_bytes(options: OpenvinoOptions, at: Path) -> int:
    cache = at / str(options.cache_mode)
    values = {**dict(options), "cache_dir": str(cache)}
    engine.build(OpenvinoOptions(**values), at / "net.xml")
    return sum(path.stat().st_size for path in cache.rglob("*.blob"))


_Measure = Callable[[OpenvinoOptions, Path], Any]
EFFECTS: dict[str, tuple[_Measure, dict[str, Any], list[tuple[Any, Any]]]] = {
    "device": (refusal, {}, [("CPU", "loads"), ("GPU.7", "PropertyError")]),
    "adjusted_values": (
        refusal,
        {"inference_num_threads": 4096},
        [("report", "loads"), ("refuse", "AdjustedValueError")],
    ),
    "cpu_denormals_optimization": (lambda *given: result(*given) == 0, {}, [(False, False), (True, True)]),
    "enable_cpu_reservation": (
        other_refusal,
        {"inference_num_threads": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1},
        [(False, "loads"), (True, "ModelError")],
    ),
    "enable_mmap": (is_mapped, {}, [(True, True), (False, False)]),
    "cache_mode": (
        lambda *given: cached_bytes(*given) > 100_000,
        {"cache_dir": "c"},
        [("optimize_speed", True), ("optimize_size", False)],
    ),
}
"""For each option: what to measure, what is set beside it, and what each value of it leads to."""
ELSEWHERE_MEASURED = {"cpu_inference_precision", "inference_num_threads", "cache_dir"}

THREADS = """
import os, sys, numpy as np, openvino
from etconfig_openvino import engine, readback
from etconfig_openvino.options import OpenvinoOptions
before = len(os.listdir("/proc/self/task"))
compiled = engine.build(OpenvinoOptions(inference_num_threads=int(sys.argv[1])), sys.argv[2])
compiled([np.zeros((1, 256), np.float32)])
found = readback.effective(compiled)["inference_num_threads"]
print(len(os.listdir("/proc/self/task")) - before, found.value)
"""


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs the files of Linux")
@pytest.mark.skipif(not IS_TABLES, reason="older releases have fewer options")
class TestEffects:
    """An option has the effect that `effective` says."""

    @pytest.fixture
    def at(self, ov: Any, tmp_path: Path) -> Path:
        """A directory with a model of 262 kB."""
        from openvino import opset13 as ops

        x = ops.parameter([1, 256], np.float32, name="x")
        weight = ops.constant(np.random.default_rng(0).normal(size=(256, 256)).astype(np.float32))
        ov.save_model(
            ov.Model([ops.matmul(x, weight, False, False)], [x], "net"),
            tmp_path / "net.xml",
            compress_to_fp16=False,
        )
        return tmp_path

    def test_the_readme_names_every_option(self) -> None:
        check_names(TABLE, OpenvinoOptions.option_infos(), EFFECTS.keys() | ELSEWHERE_MEASURED)

    def test_each(self, at: Path) -> None:
        wrong = []
        for name, (measure, beside, cases_of) in EFFECTS.items():
            for value, expected in cases_of:
                given = {**beside, name: value}
                if "cache_dir" in given:
                    given["cache_dir"] = str(at / "c")
                options = OpenvinoOptions(**given)
                seen = measure(options, at)
                if seen != expected:
                    wrong.append((name, value, f"{seen!r} was seen, not {expected!r}"))
                if seen in ("PropertyError", "AdjustedValueError"):
                    continue  # nothing is in force
                found = readback.effective(engine.build(options, at / "net.xml"))[name]
                if found.value != value or found.source.value not in TABLE[name].sources:
                    wrong.append((name, value, found))
        assert wrong == [], "\n".join(map(str, wrong))

    def test_the_cache_is_seen(self, at: Path, ov: Any) -> None:
        cache = at / "seen"
        options = OpenvinoOptions(cache_dir=str(cache))
        compiled = engine.build(options, at / "net.xml")
        found = readback.effective(compiled)["cache_dir"]
        assert (found.value, found.source) == (str(cache), EffectiveSource.OBSERVED)
        assert [*cache.rglob("*.blob")]
        for path in cache.rglob("*.*"):
            path.unlink()
        assert in_force(compiled, options).differing == ("cache_dir",)
        other = readback.effective(ov.Core().compile_model(str(at / "net.xml"), "CPU"))
        assert not other["cache_dir"].is_known

    def test_the_precision_is_that_of_the_results(self, at: Path) -> None:
        x = np.random.default_rng(1).normal(size=(1, 256)).astype(np.float32)
        weight = np.random.default_rng(0).normal(size=(256, 256)).astype(np.float32)
        for precision in ("f32", "bf16"):
            options = OpenvinoOptions(cpu_inference_precision=precision, adjusted_values="report")  # type: ignore[arg-type]
            compiled = engine.build(options, at / "net.xml")
            error = np.abs(compiled([x])[0] - x @ weight).max()
            found = readback.effective(compiled)["cpu_inference_precision"]
            assert bool(error > 1e-3) is (found.value == "bf16"), (precision, found, error)

    @pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")
    def test_threads_are_those_of_the_system(self, at: Path) -> None:
        counts = []
        for number in ("1", "2"):
            done = subprocess.run(
                [sys.executable, "-c", THREADS, number, at / "net.xml"], capture_output=True, text=True
            )
            added, value = done.stdout.split()
            assert value == number
            counts.append(int(added))
        assert counts[1] == counts[0] + 1


def test_an_object_that_is_not_a_compiled_model_is_named() -> None:
    with pytest.raises(TypeError, match=r"^expected an openvino\.CompiledModel, given Settings$"):
        readback.effective(engine.build(OpenvinoOptions()))
