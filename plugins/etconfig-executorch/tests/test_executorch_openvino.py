"""OpenVINO and QNN, the backends of the executorch wheel beside XNNPACK."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import etconfig
from etconfig.errors import BackendUnavailableError, DelegateError, OptionError

pytestmark = pytest.mark.peers

INSTALLATION = etconfig.Installation()
PROGRAMS = Path(__file__).parents[3] / "tests" / "data" / "programs"


@pytest.fixture(scope="session")
def openvino_programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Programs exported with executorch's own partitioner for OpenVINO."""
    directory = tmp_path_factory.mktemp("openvino")
    script = Path(__file__).parent / "export_openvino.py"
    subprocess.run([sys.executable, script, directory], check=True, capture_output=True)
    return directory


@pytest.fixture
def openvino_plugin(tmp_path: Path) -> etconfig.Installation:
    """An installation with etconfig-openvino, whose sources are importable in tests."""
    metadata = tmp_path / "etconfig_openvino-0.1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Name: etconfig-openvino\nVersion: 0.1.0\n")
    points = "[etconfig.backends]\nOpenvinoBackend = etconfig_openvino.plugin\n"
    (metadata / "entry_points.txt").write_text(points)
    return etconfig.Installation(search_path=[str(tmp_path), *sys.path])


LOAD = """
import sys
import etconfig
try:
    etconfig.load_program(sys.argv[1], executor="executorch").load_method("forward")
except etconfig.errors.BackendUnavailableError as error:
    print(error.reason)
    print(error.help)
"""
"""The reason and the help of a program that cannot be loaded."""


def run(directory: Path, name: str) -> tuple[Any, Any]:
    data = np.load(directory / f"{name}.npz")
    program = etconfig.load_program(directory / f"{name}.pte", executor="executorch")
    with program.load_method("forward") as method:
        return method.execute([data["x"]])[0], data


class TestOpenvino:
    """Real programs give eager's answers."""

    @pytest.mark.parametrize(
        "name", ["conv", *(pytest.param(each, marks=pytest.mark.weekly) for each in ("block", "mixed"))]
    )
    def test_close_to_eager(self, openvino_programs: Path, name: str) -> None:
        """OpenVINO computes in bfloat16 where the processor can, and ExecuTorch cannot ask for more.

        So its error may be twice the error that eager itself makes in bfloat16, which rounds at other places.
        """
        y, data = run(openvino_programs, name)
        eagers_error = np.abs(data["coarse"] - data["y"]).max()
        assert np.abs(y - data["y"]).max() <= 2 * eagers_error

    @pytest.mark.parametrize("name", ["conv", "block"])
    def test_the_same_payload_in_float32_is_eager(self, openvino_programs: Path, name: str) -> None:
        """OpenVINO's own API can import the payload for float32: the rest of the error is precision alone."""
        openvino = pytest.importorskip("openvino")
        y, data = run(openvino_programs, name)
        with etconfig.load_program(openvino_programs / f"{name}.pte", executor="numpy") as program:
            (delegate,) = program.program.plan("forward").delegates
            payload = bytes(program.program.delegate_data(delegate))
        core = openvino.Core()
        exact = core.import_model(payload, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})(data["x"])[0]
        np.testing.assert_allclose(exact, data["y"], rtol=1e-5, atol=1e-5)  # float32, other order of sums
        np.testing.assert_array_equal(core.import_model(payload, "CPU")(data["x"])[0], y)

    def test_a_recommendation_for_the_plugin_stays_there(
        self, openvino_programs: Path, openvino_plugin: etconfig.Installation
    ) -> None:
        """ExecuTorch's own backend takes no options: recommended ones are left out, those set are refused."""
        facts = etconfig.FactSheet.from_values({"cpu.features": ["avx512_bf16"]})
        path = openvino_programs / "conv.pte"
        with etconfig.load_program(path, executor="executorch", installation=openvino_plugin) as program:
            found = etconfig.resolve(program, facts=facts)
            assert found.options_for("forward").cpu_inference_precision == "f32"
            with program.load_method("forward", arguments=found.arguments("forward")) as method:
                in_force = method.compared_options()["OpenvinoBackend"]["cpu_inference_precision"]
                assert in_force.differs is None
                assert in_force.effective.reason.startswith("ExecuTorch's runtime has no key for it")
            asked = etconfig.resolve(
                program, facts=facts, overrides={"OpenvinoBackend.cpu_inference_precision": "f32"}
            )
            with pytest.raises(OptionError, match=r"cannot carry OpenvinoBackend\.cpu_inference_precision"):
                program.load_method("forward", arguments=asked.arguments("forward"))

    def test_xnnpack_and_openvino_in_one_method(self, openvino_programs: Path) -> None:
        with etconfig.load_program(openvino_programs / "mixed.pte", executor="executorch") as program:
            assert program.backends("forward") == ("XnnpackBackend", "OpenvinoBackend")
        y, data = run(openvino_programs, "mixed")
        np.testing.assert_allclose(y, data["y"], rtol=2e-5, atol=2e-5)  # no function here runs in bfloat16

    @pytest.mark.parametrize("mode", ["File", "Mmap"])
    def test_large_weights_stay_in_memory(
        self, openvino_programs: Path, in_process: Callable[..., str], mode: str
    ) -> None:
        """OpenVINO uses the weights in the payload, which ExecuTorch's backend frees: a crash."""
        code = """
import sys
import numpy as np
import etconfig
mode = etconfig.LoadMode[sys.argv[3]]
data = np.load(sys.argv[2])
with etconfig.load_program(sys.argv[1], executor="executorch", load_mode=mode) as program:
    method = program.load_method("forward")
y = method.execute([data["x"]])[0]
print(np.abs(y - data["y"]).max() <= 2 * np.abs(data["coarse"] - data["y"]).max())
"""
        paths = openvino_programs / "large.pte", openvino_programs / "large.npz"
        assert in_process(code, *paths, mode).splitlines()[-1] == "True"

    def test_dynamic_shapes_are_refused(self, openvino_programs: Path) -> None:
        with pytest.raises(BackendUnavailableError, match="passes it tensors of a dynamic shape"):
            run(openvino_programs, "dynamic")

    def test_a_damaged_payload_is_an_error(
        self, openvino_programs: Path, in_process: Callable[..., str]
    ) -> None:
        code = """
import sys
import etconfig
data = bytearray(open(sys.argv[1], "rb").read())
with etconfig.load_program(bytes(data)) as program:
    plan = program.program.plan("forward")
    payload = bytes(program.program.delegate_data(plan.delegates[0]))
start = bytes(data).index(payload)
data[start : start + 64] = bytes(64)
try:
    etconfig.load_program(bytes(data), executor="executorch").load_method("forward")
except etconfig.EtconfigError as error:
    print(type(error).__name__, error)
"""
        said = in_process(code, openvino_programs / "conv.pte").splitlines()[-1]
        assert said.startswith(DelegateError.__name__)
        assert "failed to import model for device 'CPU'" in said

    def test_a_wrong_path_is_named_with_its_variable(
        self, openvino_programs: Path, in_process: Callable[..., str]
    ) -> None:
        said = in_process(LOAD, openvino_programs / "conv.pte", OPENVINO_LIB_PATH="/none/libopenvino_c.so")
        reason, help_text = said.splitlines()[-2:]
        assert reason.startswith(
            "OPENVINO_LIB_PATH names /none/libopenvino_c.so, which cannot be loaded: /none"
        )
        assert help_text.startswith(
            "let OPENVINO_LIB_PATH name libopenvino_c.so, or unset it and pip install openvino"
        )

    def test_the_wheel_alone_is_not_enough(
        self, openvino_programs: Path, in_process: Callable[..., str]
    ) -> None:
        """The executorch wheel has the backend, and not OpenVINO itself."""
        code = f"""
import importlib.util
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name == "openvino" else find(name, package)
{LOAD}
"""
        said = in_process(code, openvino_programs / "conv.pte", OPENVINO_LIB_PATH="")
        reason, help_text = said.splitlines()[-2:]
        assert reason == (
            "OpenVINO is not installed; the executorch package has only the backend that calls it "
            "(libopenvino_c.so: cannot open shared object file: No such file or directory)"
        )
        assert help_text.startswith("pip install openvino, or let OPENVINO_LIB_PATH name libopenvino_c.so")

    def test_openvino_without_a_device_is_named_with_its_version(
        self, openvino_programs: Path, in_process: Callable[..., str], tmp_path: Path
    ) -> None:
        """Without its plugins beside it, OpenVINO finds no device."""
        spec = importlib.util.find_spec("openvino")
        assert spec is not None
        assert spec.submodule_search_locations is not None
        libraries = Path(next(iter(spec.submodule_search_locations)), "libs")
        for pattern in ("libopenvino.so.*", "libopenvino_c.so.*", "libtbb*.so.*", "libhwloc.so.*"):
            for path in libraries.glob(pattern):
                shutil.copy(path, tmp_path)
        (library,) = tmp_path.glob("libopenvino_c.so.*")
        said = in_process(LOAD, openvino_programs / "conv.pte", OPENVINO_LIB_PATH=str(library))
        reason, help_text = said.splitlines()[-2:]
        assert re.fullmatch(r"OpenVINO [\d.]+ is installed, but finds no device that it can use", reason), (
            reason
        )
        assert "install OpenVINO's plugin of a device" in help_text

    def test_a_device_that_is_not_there_is_named_with_those_that_are(self, openvino_programs: Path) -> None:
        data = (openvino_programs / "conv.pte").read_bytes()
        for_cpu, for_gpu = (device + b"\0\x06\0\0\0device" for device in (b"CPU", b"GPU"))
        assert data.count(for_cpu) == 1
        with (
            etconfig.load_program(data.replace(for_cpu, for_gpu), executor="executorch") as program,
            pytest.raises(DelegateError, match="failed to import model for device 'GPU'") as caught,
        ):
            program.load_method("forward")
        assert caught.value.help == "export the program for a device that OpenVINO finds here: CPU, not GPU"


class TestReports:
    """`doctor`, `backends` and `inspect` show the backends that the runtime registers."""

    def test_doctor(self) -> None:
        findings = {each.subject: each for each in etconfig.examine_installation(INSTALLATION).findings}
        assert findings["executor executorch"].detail.endswith("with executorch 1.5.1")
        openvino = findings["executor executorch, backend OpenvinoBackend"]
        assert re.fullmatch(r"can run here, OpenVINO \d{4}\.\d+\.\d+", openvino.detail)
        assert "XnnpackBackend" in " ".join(findings)
        qnn = findings["executor executorch, backend QnnBackend"]
        assert (qnn.status, "libQnnSystem.so" in qnn.detail) == ("warning", True)

    def test_inspect_finds_no_obstacle(self, openvino_programs: Path) -> None:
        with etconfig.load_program(openvino_programs / "mixed.pte", executor="executorch") as program:
            assert etconfig.inspect_program(program).methods[0].obstacles == ()
            obstacles = etconfig.inspect_program(program, executor="numpy").methods[0].obstacles
        installed = {each.distribution for each in INSTALLATION.index.installed}
        # etconfig-openvino runs OpenvinoBackend on the numpy executor
        missing = ["XnnpackBackend", *(["OpenvinoBackend"] if "etconfig-openvino" not in installed else [])]
        assert [each.what for each in obstacles] == [f"backend {name}" for name in missing]


class TestQnn:
    """The wheel has QNN's half of ExecuTorch; Qualcomm's libraries come with their SDK."""

    def test_the_missing_library_is_named(self, in_process: Callable[..., str]) -> None:
        """The backend itself answers that it is available, also without any library of QNN."""
        code = """
import sys
import etconfig
from etconfig_executorch.executor import ExecutorchExecutor
from etconfig_executorch.native import native
data = open(sys.argv[1], "rb").read().replace(b"XnnpackBackend", b"QnnBackend\\0\\0\\0\\0")
import struct
at = data.index(b"QnnBackend")
data = data[: at - 4] + struct.pack("<I", len("QnnBackend")) + data[at:]
try:
    etconfig.load_program(data, executor="executorch").load_method("forward")
except etconfig.errors.BackendUnavailableError as error:
    print(native.ask_availability("QnnBackend"))
    print(error)
"""
        says, error = in_process(code, PROGRAMS / "xnnpack.pte").splitlines()[-2:]
        assert says == "(True, [])"
        assert (
            "backend 'QnnBackend' cannot run here: the libraries of QNN cannot be loaded: libQnnSystem.so"
            in error
        )


BOTH = """
import sys

def ours():
    from etconfig_executorch.runtime import the_runtime
    return sorted(the_runtime().native_backends())

def theirs():
    from executorch.runtime import Runtime
    return sorted(Runtime.get().backend_registry.registered_backend_names)

loads = {"etconfig": ours, "executorch": theirs}
for name in sys.argv[1:]:
    loads[name]()
print(ours() == theirs(), *ours())
"""


@pytest.mark.parametrize("order", [["etconfig", "executorch"], ["executorch", "etconfig"]])
def test_our_registry_is_that_of_executorchs_own_bindings(
    in_process: Callable[..., str], order: list[str]
) -> None:
    """They load the same libraries, so neither order registers a backend twice."""
    said = in_process(BOTH, *order).splitlines()[-1]
    assert said == "True OpenvinoBackend QnnBackend XnnpackBackend"
