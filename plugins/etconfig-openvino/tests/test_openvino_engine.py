"""Models of OpenVINO's own formats, compiled with options on the installed OpenVINO."""

from __future__ import annotations

import logging
import subprocess
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from etconfig_openvino import engine, facts, readback
from etconfig_openvino.cache import cache_directory
from etconfig_openvino.errors import AdjustedValueError, ModelError, PropertyError
from etconfig_openvino.installed import installed_version
from etconfig_openvino.options import OpenvinoOptions
from etconfig_openvino.plugin import SPEC
from etconfig_openvino.properties import CORE, PROPERTIES, READ_ONLY_ROLES
from etconfig_openvino.settings import word_of

import etconfig
from etconfig.plugin.v1 import EffectiveSource

pytestmark = pytest.mark.engines
INSTALLATION = etconfig.Installation(search_path=()).with_backends({"OpenvinoBackend": SPEC})
X = np.random.default_rng(1).normal(size=(1, 3, 32, 32)).astype(np.float32)


@pytest.fixture(scope="module")
def ov() -> Any:
    import openvino

    return openvino


@pytest.fixture(scope="module")
def model(ov: Any) -> Any:
    """A convolution, a ReLU and a sum over channels."""
    from openvino import opset13 as ops

    rng = np.random.default_rng(0)
    x = ops.parameter([1, 3, 32, 32], np.float32, name="x")
    y = x
    for inputs, outputs in ((3, 16), (16, 16)):
        weight = rng.normal(size=(outputs, inputs, 3, 3)).astype(np.float32) / np.float32(3 * inputs**0.5)
        y = ops.relu(ops.convolution(y, ops.constant(weight), [1, 1], [1, 1], [1, 1], [1, 1]))
    return ov.Model([y], [x], "net")


@pytest.fixture(scope="module")
def path(ov: Any, model: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model as OpenVINO IR, in float32."""
    path = tmp_path_factory.mktemp("models") / "net.xml"
    ov.save_model(model, path, compress_to_fp16=False)
    return path


@pytest.fixture(scope="module")
def exact(ov: Any, path: Path) -> Any:
    """The output in float32, by OpenVINO's own API."""
    return ov.Core().compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})(X)[0]


def error_of(compiled: Any, exact: Any) -> float:
    """The largest error relative to the largest output."""
    return float(np.abs(compiled(X)[0] - exact).max() / np.abs(exact).max())


@pytest.mark.skipif((installed_version() or "") < "2026.4", reason="the table is of OpenVINO 2026.4")
class TestPropertyTable:
    """The table of properties matches the installed library."""

    @pytest.mark.parametrize("device", ["CPU", "NPU", "AUTO", "MULTI", "HETERO", "BATCH"])
    def test_every_writable_property_has_an_option(self, ov: Any, device: str) -> None:
        supported = ov.Core().get_property(device, "SUPPORTED_PROPERTIES")
        writable = {key for key, access in supported.items() if access in ("RW", "WO")}
        core = {prop.key for prop in PROPERTIES.values() if CORE in prop.devices}
        ours = {prop.key for prop in PROPERTIES.values() if device in prop.devices}
        assert writable - ours - core == writable & set(READ_ONLY_ROLES)

    @pytest.mark.parametrize("device", ["CPU", "NPU", "AUTO", "MULTI", "HETERO", "BATCH"])
    def test_defaults_are_the_real_ones(self, ov: Any, device: str) -> None:
        core = ov.Core()
        supported = core.get_property(device, "SUPPORTED_PROPERTIES")
        for name, prop in PROPERTIES.items():
            default = prop.defaults.get(device)
            if prop.key in supported and default is not None:
                assert readback.spelled(name, core.get_property(device, prop.key)) == default, name

    def test_properties_of_the_npu_that_its_compiler_adds_are_in_no_list(self, ov: Any) -> None:
        """Without an NPU, these keys are known but not listed."""
        supported = ov.Core().get_property("NPU", "SUPPORTED_PROPERTIES")
        hidden = {
            name
            for name, prop in PROPERTIES.items()
            if prop.devices == ("NPU",) and prop.key not in supported
        }
        assert hidden == {"npu_compilation_mode_params", "npu_turbo", "npu_tiles", "npu_workload_type"}

    def test_every_word_is_taken_or_refused_by_name(self, ov: Any, model: Any) -> None:
        """No choice of an option of the CPU is one that OpenVINO does not know."""
        refused = set()
        for name, info in OpenvinoOptions.option_infos().items():
            if name not in PROPERTIES or "CPU" not in PROPERTIES[name].devices:
                continue
            for choice in info.choices:
                try:
                    ov.Core().compile_model(model, "CPU", {PROPERTIES[name].key: word_of(name, choice)})
                except RuntimeError:
                    refused.add((name, choice))
        assert refused == {("kv_cache_precision", "dynamic")}  # a word of the GPU


class TestBuild:
    """`build` returns the engine's own object."""

    def test_a_path(self, ov: Any, path: Path, exact: Any) -> None:
        compiled = engine.build(OpenvinoOptions(cpu_inference_precision="f32"), path)
        assert isinstance(compiled, ov.CompiledModel)
        np.testing.assert_array_equal(compiled(X)[0], exact)

    def test_bytes_with_weights(self, path: Path, exact: Any) -> None:
        options = OpenvinoOptions(cpu_inference_precision="f32")
        compiled = engine.build(options, path.read_bytes(), weights=path.with_suffix(".bin").read_bytes())
        np.testing.assert_array_equal(compiled(X)[0], exact)

    def test_a_model_in_memory(self, model: Any, exact: Any) -> None:
        compiled = engine.build(OpenvinoOptions(cpu_inference_precision="f32"), model)
        np.testing.assert_array_equal(compiled(X)[0], exact)

    def test_through_resolve(self, path: Path, exact: Any) -> None:
        config = etconfig.resolve(
            models={"detector": "OpenvinoBackend"},
            overrides={"OpenvinoBackend.cpu_inference_precision": "f32"},
            installation=INSTALLATION,
        )
        np.testing.assert_array_equal(config.build("detector", path)(X)[0], exact)

    @pytest.mark.parametrize("device", ["AUTO", "AUTO:CPU", "HETERO:CPU", "MULTI:CPU"])
    def test_devices_behind_a_virtual_one_get_their_options(
        self, path: Path, exact: Any, device: str
    ) -> None:
        options = OpenvinoOptions(device=device, cpu_inference_precision="f32", inference_num_threads=1)
        compiled = engine.build(options, path)
        np.testing.assert_allclose(compiled(X)[0], exact, rtol=1e-5, atol=1e-6)
        found = readback.effective(compiled)
        assert (found["device"].value, found["cpu_inference_precision"].value) == ("CPU", "f32")
        assert found["inference_num_threads"].value == 1

    def test_batches(self, path: Path) -> None:
        compiled = engine.build(OpenvinoOptions(device="BATCH:CPU(4)", batch_timeout_ms=1), path)
        found = readback.effective(compiled)
        assert (found["batch_timeout_ms"].value, found["device"].value) == (1, "CPU")
        assert found["num_streams"].source is EffectiveSource.UNKNOWN


class TestStrictness:
    """A value that OpenVINO replaces is an error, or reported."""

    @pytest.mark.parametrize(
        ("values", "message"),
        [
            ({"inference_num_threads": 4096}, r"inference_num_threads is 4096, but OpenVINO uses \d+ on CPU"),
            ({"num_streams": 4096}, r"num_streams is 4096, but OpenVINO uses \d+ on CPU"),
            ({"num_streams": 2, "inference_num_threads": 1}, r"num_streams is 2, but OpenVINO uses 1 on CPU"),
            ({"device": "AUTO:CPU", "num_streams": 4096}, r"num_streams is 4096, but"),
        ],
    )
    def test_refused(self, path: Path, values: dict[str, Any], message: str) -> None:
        with pytest.raises(AdjustedValueError, match=f"{message}.*set adjusted_values to report"):
            engine.build(OpenvinoOptions(**values), path)

    def test_a_model_that_reserved_the_cores_is_named_as_a_reason(self, path: Path) -> None:
        reserving = OpenvinoOptions(enable_cpu_reservation=True, inference_num_threads=1)
        first = engine.build(reserving, path)
        with pytest.raises(
            (AdjustedValueError, ModelError), match=r"reserved.*cores \(enable_cpu_reservation\)"
        ):
            engine.build(OpenvinoOptions(inference_num_threads=4096), path)
        del first

    def test_reported(self, path: Path, caplog: pytest.LogCaptureFixture) -> None:
        options = OpenvinoOptions(inference_num_threads=4096, adjusted_values="report")
        with caplog.at_level(logging.WARNING, "etconfig_openvino"):
            compiled = engine.build(options, path)
        assert "inference_num_threads is 4096, but OpenVINO uses" in caplog.text
        assert readback.effective(compiled)["inference_num_threads"].value < 4096

    @pytest.mark.parametrize(
        "values", [{"inference_num_threads": 0}, {"num_streams": -1}, {"num_streams": -2}]
    )
    def test_a_choice_that_is_left_to_openvino_is_no_adjustment(
        self, path: Path, values: dict[str, Any]
    ) -> None:
        engine.build(OpenvinoOptions(**values), path)


class TestReadBack:
    """Every option of a compiled model is read back, or unknown with a reason."""

    def test_all_options(self, path: Path) -> None:
        options = OpenvinoOptions(
            performance_hint="throughput",
            num_streams=1,
            perf_count=True,
            execution_mode="accuracy",
            cpu_inference_precision="f32",
            log_level="error",
            tbb_partitioner="auto",
            kv_cache_precision="bf16",
            cpu_denormals_optimization=True,
            model_distribution_policy=("tensor_parallel",),
            cpu_sparse_weights_decompression_rate=0.5,
        )
        found = readback.effective(engine.build(options, path))
        assert set(found) == set(OpenvinoOptions.option_infos())
        asked = {name: getattr(options, name) for name in PROPERTIES if getattr(options, name) is not None}
        assert {name: found[name].value for name in asked} == asked
        known = {name for name, option in found.items() if option.source is EffectiveSource.READ_BACK}
        cpu = {name for name, prop in PROPERTIES.items() if "CPU" in prop.devices}
        assert known == {"device", *cpu} - {"enable_weightless", "weights_path"}
        assert all(option.reason for option in found.values())

    def test_through_config(self, path: Path) -> None:
        config = etconfig.resolve(
            models={"net": "OpenvinoBackend"},
            overrides={"OpenvinoBackend.inference_num_threads": 1},
            installation=INSTALLATION,
        )
        compiled = config.build("net", path)
        assert SPEC.effective is not None
        assert SPEC.effective(compiled)["inference_num_threads"].value == 1


class TestInstances:
    """Two instances with different options run at once, each with its own."""

    def test_two_at_once(self, path: Path, exact: Any) -> None:
        config = etconfig.resolve(
            models={"net": "OpenvinoBackend"},
            instances={"net": ["exact", "fast"]},
            overrides={
                "net@exact:OpenvinoBackend.cpu_inference_precision": "f32",
                "net@exact:OpenvinoBackend.inference_num_threads": 1,
                "net@fast:OpenvinoBackend.cpu_inference_precision": "bf16",
                "net@fast:OpenvinoBackend.adjusted_values": "report",
            },
            installation=INSTALLATION,
        )
        built = {name: config.build("net", path, instance=name) for name in ("exact", "fast")}
        errors: dict[str, list[float]] = {name: [] for name in built}

        def run(name: str) -> None:
            errors[name] = [error_of(built[name], exact) for _ in range(20)]

        threads = [threading.Thread(target=run, args=(name,)) for name in built]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert set(errors["exact"]) == {0.0}
        found = {name: readback.effective(compiled) for name, compiled in built.items()}
        assert found["exact"]["inference_num_threads"].value == 1
        if found["fast"]["cpu_inference_precision"].value == "bf16":  # where the processor has it
            assert all(1e-4 < error < 2e-2 for error in errors["fast"])


class TestCache:
    """A cached model is used again, and only for the same model, options and engine."""

    def caches(self, directory: Path) -> set[str]:
        return {each.name for each in directory.iterdir()}

    def test_a_second_build_loads_it(self, path: Path, tmp_path: Path) -> None:
        options = OpenvinoOptions(cache_dir=str(tmp_path))
        assert not engine.build(options, path).get_property("LOADED_FROM_CACHE")
        assert engine.build(options, path).get_property("LOADED_FROM_CACHE")
        assert len(self.caches(tmp_path)) == 1

    def test_other_options_and_models_have_their_own(
        self, ov: Any, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        base = {"cache_dir": str(tmp_path)}
        keys = set()
        for values in ({}, {"cpu_inference_precision": "f32"}, {"inference_num_threads": 1}):
            engine.build(OpenvinoOptions(**base, **values), path)
            keys.add(frozenset(self.caches(tmp_path)))
        engine.build(OpenvinoOptions(**base, log_level="error"), path)
        assert len(self.caches(tmp_path)) == 3
        other = tmp_path.parent / "other.xml"
        other.write_text(path.read_text().replace('name="net"', 'name="other"'))
        other.with_suffix(".bin").write_bytes(path.with_suffix(".bin").read_bytes())
        engine.build(OpenvinoOptions(**base), other)
        assert len(self.caches(tmp_path)) == 4
        monkeypatch.setattr(ov, "__version__", "2099.1.0")
        engine.build(OpenvinoOptions(**base), path)
        assert len(self.caches(tmp_path)) == 5

    def test_another_driver_or_device_has_its_own(self, tmp_path: Path) -> None:
        class Core:
            def __init__(self, **values: str) -> None:
                self.values = {"FULL_DEVICE_NAME": "Arc", "GPU_DRIVER_VERSION": "25.1", **values}
                self.available_devices = ["GPU"]

            def get_property(self, device: str, key: str) -> str:
                return self.values[key]

        options = OpenvinoOptions(device="GPU", cache_dir=str(tmp_path))
        cores = (Core(), Core(GPU_DRIVER_VERSION="25.2"), Core(FULL_DEVICE_NAME="Iris"), Core())
        found = [cache_directory(options, b"hash", core) for core in cores]
        assert (len(set(found)), found[0]) == (3, found[3])

    def test_weights_that_changed_are_another_model(self, path: Path, tmp_path: Path) -> None:
        """The .xml is the same, so a key from it alone would serve the old weights."""
        options = OpenvinoOptions(cache_dir=str(tmp_path / "cache"), cpu_inference_precision="f32")
        for each in (path, path.with_suffix(".bin")):
            (tmp_path / each.name).write_bytes(each.read_bytes())
        before = engine.build(options, tmp_path / path.name)(X)[0]
        weights = np.frombuffer(path.with_suffix(".bin").read_bytes(), np.uint8).view(np.float32) * 2
        (tmp_path / path.name).with_suffix(".bin").write_bytes(weights.tobytes())
        after = engine.build(options, tmp_path / path.name)
        assert not after.get_property("LOADED_FROM_CACHE")
        assert not np.allclose(after(X)[0], before)

    def test_a_damaged_file_is_compiled_again(self, path: Path, tmp_path: Path) -> None:
        """OpenVINO itself loads it, and computes wrong results."""
        options = OpenvinoOptions(cache_dir=str(tmp_path), cpu_inference_precision="f32")
        expected = engine.build(options, path)(X)[0]
        (blob,) = tmp_path.glob("*/*.blob")
        data = blob.read_bytes()
        sums = blob.with_name(blob.name + ".sha256")
        for place in range(0, len(data), len(data) // 16):
            blob.write_bytes(bytes((*data[:place], data[place] ^ 64, *data[place + 1 :])))
            compiled = engine.build(options, path)
            assert not compiled.get_property("LOADED_FROM_CACHE")
            assert np.array_equal(compiled(X)[0], expected)
        for leave in (sums.unlink, lambda: sums.write_text("x"), lambda: blob.write_bytes(data[:9])):
            leave()
            assert not engine.build(options, path).get_property("LOADED_FROM_CACHE")
            assert engine.build(options, path).get_property("LOADED_FROM_CACHE")

    def test_another_file_in_the_place_of_a_checksum_is_kept(self, path: Path, tmp_path: Path) -> None:
        cache, mine = tmp_path / "cache", tmp_path / "mine.txt"
        options = OpenvinoOptions(cache_dir=str(cache))
        engine.build(options, path)
        (sums,) = cache.glob("*/*.sha256")
        mine.write_text("mine " * 20)
        for make in (lambda: sums.write_text(mine.read_text()), lambda: sums.symlink_to(mine)):
            sums.unlink()
            make()
            with pytest.raises(ModelError, match="cannot be used: it is "):
                engine.build(options, path)
            assert sums.read_text() == mine.read_text() == "mine " * 20

    def test_files_that_auto_wrote_later_stay(self, path: Path, tmp_path: Path) -> None:
        options = OpenvinoOptions(device="AUTO:CPU", cache_dir=str(tmp_path))
        engine.build(options, path)
        for sums in tmp_path.glob("*/*.sha256"):
            sums.unlink()
        before = {each: each.stat().st_ino for each in tmp_path.glob("*/*.blob")}
        engine.build(options, path)
        assert before == {each: each.stat().st_ino for each in tmp_path.glob("*/*.blob")}
        assert len(list(tmp_path.glob("*/*.sha256"))) == len(before) > 0

    def test_a_model_in_memory_is_refused(self, model: Any, tmp_path: Path) -> None:
        with pytest.raises(ModelError, match=r"save it with openvino\.save_model"):
            engine.build(OpenvinoOptions(cache_dir=str(tmp_path)), model)

    def test_files_that_an_onnx_refers_to_are_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "net.onnx"
        path.write_bytes(b"\x0a\x08location\x12\x0bweights.bin")
        with pytest.raises(ModelError, match=r"refers to files with weights"):
            engine.build(OpenvinoOptions(cache_dir=str(tmp_path)), path)


class TestErrors:
    """A refusal of OpenVINO is an error that says what to do."""

    def test_a_missing_file(self, tmp_path: Path) -> None:
        with pytest.raises(ModelError, match=r"there is no model at .*net\.xml; name a file"):
            engine.build(OpenvinoOptions(), tmp_path / "net.xml")

    @pytest.mark.parametrize("share", [0, 0.05, 0.25, 0.26, 0.27, 0.5, 0.99])
    def test_a_file_that_is_cut_off(self, path: Path, tmp_path: Path, share: float) -> None:
        damaged = tmp_path / "net.xml"
        data = path.read_bytes()
        damaged.write_bytes(data[: int(len(data) * share)])
        damaged.with_suffix(".bin").write_bytes(path.with_suffix(".bin").read_bytes())
        with pytest.raises(
            ModelError, match=r"cannot load .*net\.xml: .*; (copy or )?export the model again"
        ):
            engine.build(OpenvinoOptions(), damaged)

    @pytest.mark.parametrize("size", [0, 1, 1000, -1])
    def test_weights_that_are_cut_off(self, path: Path, tmp_path: Path, size: int) -> None:
        (tmp_path / "net.xml").write_bytes(path.read_bytes())
        weights = path.with_suffix(".bin").read_bytes()[:size]
        (tmp_path / "net.bin").write_bytes(weights)
        with pytest.raises(ModelError, match=r"net\.xml: .*the \.xml and the \.bin do not belong together"):
            engine.build(OpenvinoOptions(), tmp_path / "net.xml")
        with pytest.raises(ModelError, match=r"the \.xml and the \.bin do not belong together"):
            engine.build(OpenvinoOptions(), path.read_bytes(), weights=weights)

    def test_weights_that_are_missing(self, path: Path, tmp_path: Path) -> None:
        (tmp_path / "net.xml").write_bytes(path.read_bytes())
        with pytest.raises(ModelError, match=r"there is no .*net\.bin: copy both files of the model"):
            engine.build(OpenvinoOptions(), tmp_path / "net.xml")

    def test_weights_beside_a_path(self, path: Path) -> None:
        with pytest.raises(ModelError, match=r"weights are for the bytes of an \.xml"):
            engine.build(OpenvinoOptions(), path, weights=b"1")

    def test_a_model_of_another_format(self, tmp_path: Path) -> None:
        other = tmp_path / "net.onnx"
        other.write_bytes(b"not a model")
        with pytest.raises(ModelError, match=r"net\.onnx.*; export the model again"):
            engine.build(OpenvinoOptions(), other)

    def test_a_file_that_is_cut_off_is_not_blamed_on_its_weights(self, path: Path, tmp_path: Path) -> None:
        other = tmp_path / "cut.xml"
        text = path.read_text()
        other.write_text(text[: text.index("</layers>")])
        with pytest.raises(ModelError, match=r"cut\.xml: .*; copy or export the model again: it is damaged"):
            engine.build(OpenvinoOptions(), other)
        other.write_bytes(path.read_bytes())
        with pytest.raises(ModelError, match=r"there is no .*cut\.bin: copy both files of the model"):
            engine.build(OpenvinoOptions(), other)

    def test_an_unusable_cache(self, path: Path) -> None:
        with pytest.raises(ModelError, match="let cache_dir name a directory that can be written"):
            engine.build(OpenvinoOptions(cache_dir=str(path)), path)
        absent = path.parent / "absent"
        with pytest.raises(ModelError, match=f"but there is no directory {absent}; create it"):
            engine.build(OpenvinoOptions(cache_dir=str(absent / "cache")), path)
        assert not absent.exists()

    def test_another_object(self) -> None:
        with pytest.raises(ModelError, match="a model of type int cannot be compiled"):
            engine.build(OpenvinoOptions(), 3)

    @pytest.mark.parametrize("device", ["GPU", "NPU", "AUTO:GPU,CPU", "CPU.1"])
    def test_a_device_that_is_not_here(self, path: Path, device: str) -> None:
        with pytest.raises(PropertyError, match=r"but OpenVINO finds CPU here, not .*; choose one of these"):
            engine.build(OpenvinoOptions(device=device), path)

    def test_a_fallback_is_declared(self, path: Path) -> None:
        with pytest.raises(
            PropertyError, match=r"not GPU; .*; 'AUTO' alone takes whatever is here"
        ) as caught:
            engine.build(OpenvinoOptions(device="AUTO:GPU,CPU"), path)
        assert """if = '"GPU" in openvino.devices'""" in str(caught.value)
        engine.build(OpenvinoOptions(device="AUTO"), path)

    def test_cores_that_another_model_reserved(self, path: Path) -> None:
        holder = engine.build(OpenvinoOptions(enable_cpu_reservation=True), path)
        with pytest.raises(ModelError, match="another model of this process reserved the cores"):
            engine.build(OpenvinoOptions(enable_cpu_reservation=True), path)
        del holder

    def test_a_property_that_another_openvino_lacks(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(engine, "_keys", lambda core, device: frozenset({"NUM_STREAMS"}))
        with pytest.raises(PropertyError, match=r"perf_count needs OpenVINO's property PERF_COUNT"):
            engine.build(OpenvinoOptions(perf_count=True), path)

    def test_an_unchangeable_model(self, path: Path) -> None:
        compiled = engine.build(OpenvinoOptions(), path)
        options = OpenvinoOptions(device="NPU", npu_workload_type="efficient")
        with pytest.raises(ModelError, match="OpenVINO cannot change npu_workload_type"):
            engine.update(compiled, options, OpenvinoOptions(device="NPU"), frozenset({"npu_workload_type"}))


class TestSavedModels:
    """A model of TensorFlow is a directory."""

    def test_it_runs_from_the_cache_too(self, saved_model: Path, tmp_path: Path) -> None:
        options = OpenvinoOptions(cache_dir=str(tmp_path / "cache"))
        for is_cached in (False, True):
            compiled = engine.build(options, saved_model)
            assert compiled.get_property("LOADED_FROM_CACHE") is is_cached
            assert compiled(np.array([[-1, 2, -3, 4]], np.float32))[0].tolist() == [[0, 2, 0, 4]]
        (saved_model / "variables.index").write_bytes(b"x")
        assert not engine.build(options, saved_model).get_property("LOADED_FROM_CACHE")

    def test_another_directory_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(ModelError) as caught:
            engine.build(OpenvinoOptions(), tmp_path)
        assert str(caught.value) == (
            f"{tmp_path} is a directory without saved_model.pb; name the file of a model, such as an .xml or "
            ".onnx, or the directory of a SavedModel of TensorFlow"
        )

    def test_a_damaged_one_is_refused(self, saved_model: Path) -> None:
        (saved_model / "saved_model.pb").write_bytes(b"\xff" * 99)
        with pytest.raises(ModelError, match=r"OpenVINO cannot load .*saved"):
            engine.build(OpenvinoOptions(), saved_model)


@pytest.fixture
def saved_model(tmp_path: Path) -> Path:
    """A SavedModel with one Relu. Source: tensorflow/core/protobuf/saved_model.proto, meta_graph.proto."""

    def field(number: int, value: int | str | list[bytes]) -> bytes:
        if isinstance(value, int):
            return bytes((number << 3, value))
        data = value.encode() if isinstance(value, str) else b"".join(value)
        size = (len(data),) if len(data) < 128 else (len(data) & 127 | 128, len(data) >> 7)
        return bytes((number << 3 | 2, *size)) + data

    def attribute(name: str, value: bytes) -> bytes:
        return field(5, [field(1, name), field(2, [value])])

    shape = [field(2, [field(1, 1)]), field(2, [field(1, 4)])]
    float_type = field(6, 1)
    x = [field(1, "x"), field(2, "Placeholder"), attribute("dtype", float_type)]
    nodes = [
        field(1, [*x, attribute("shape", field(7, shape))]),
        field(1, [field(1, "y"), field(2, "Relu"), field(3, "x"), attribute("T", float_type)]),
    ]
    tensors = [
        field(number, [field(1, name), field(2, [field(1, f"{name}:0"), field(2, 1), field(3, shape)])])
        for number, name in ((1, "x"), (2, "y"))
    ]
    signature = field(5, [field(1, "serving_default"), field(2, tensors)])
    graph = field(2, [field(1, [field(4, "serve")]), field(2, nodes), signature])
    path = tmp_path / "saved"
    path.mkdir()
    (path / "saved_model.pb").write_bytes(field(1, 1) + graph)
    return path


class TestUpdate:
    """A changed workload type reaches the model; nothing else does."""

    class Model:
        def __init__(self) -> None:
            self.values: list[dict[str, object]] = []

        def set_property(self, values: dict[str, object]) -> None:
            self.values.append(values)

    def test_the_word_of_openvino(self) -> None:
        compiled = self.Model()
        options = OpenvinoOptions(device="NPU", npu_workload_type="efficient")
        engine.update(compiled, options, OpenvinoOptions(device="NPU"), frozenset({"npu_workload_type"}))
        assert compiled.values == [{"WORKLOAD_TYPE": "EFFICIENT"}]

    def test_a_choice_that_is_left_to_openvino(self) -> None:
        compiled = self.Model()
        engine.update(compiled, OpenvinoOptions(), OpenvinoOptions(), frozenset({"npu_workload_type"}))
        assert compiled.values == []


class TestFacts:
    """The detector starts OpenVINO in a process of its own."""

    @pytest.fixture
    def found(self) -> dict[str, object]:
        class Here:
            def run(self, *command: str) -> str:
                return subprocess.run(command, check=True, capture_output=True, text=True).stdout

        return {reading.name: reading.value for reading in facts.detect(Here())}  # type: ignore[arg-type]

    def test_they_are_those_of_openvino(self, ov: Any, found: dict[str, object]) -> None:
        core = ov.Core()
        assert found["openvino.version"] == ov.__version__.partition("-")[0]
        assert found["openvino.devices"] == tuple(core.available_devices)
        cpu = core.available_devices.index("CPU")
        assert found[f"openvino.{cpu}.name"] == core.get_property("CPU", "FULL_DEVICE_NAME")
        assert found[f"openvino.{cpu}.max_streams"] == core.get_property("CPU", "RANGE_FOR_STREAMS")[1]
        capabilities = core.get_property("CPU", "OPTIMIZATION_CAPABILITIES")
        assert found[f"openvino.{cpu}.capabilities"] == tuple(capabilities)
        precision = readback.spelled(
            "cpu_inference_precision", core.get_property("CPU", "INFERENCE_PRECISION_HINT")
        )
        assert found[f"openvino.{cpu}.default_precision"] == precision
