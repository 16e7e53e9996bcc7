"""A backend in C++ inside the real runtime, called without Python and without the GIL."""

from __future__ import annotations

import ctypes
import logging
import shutil
import subprocess
import sys
import tarfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_libraries import SOURCES, compile_library, compile_with
from c_service_cases import CASES, outcome, services_program, services_spec

import etconfig
from etconfig.c_interface.backend import CBackend
from etconfig.c_interface.backend_error import CBackendError
from etconfig.errors import DelegateError, ExecutionStoppedError
from etconfig.plugin.v1 import ApiRange, BackendOptions, BackendSpec, option
from etconfig.program.editing.replacing import rename_backend
from etconfig.tracing import RecordingTracer

pytestmark = pytest.mark.peers

ROOT = Path(__file__).parents[3]
SUPPORT = ROOT / "tests" / "support"
TEMPLATE = ROOT / "etconfig" / "templates" / "example-cpp"
GOLDEN = sorted((TEMPLATE / "src" / "example_cpp" / "golden").glob("*.pte"))
ADD = (TEMPLATE / "src" / "example_cpp" / "golden" / "add.pte").read_bytes()


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BackendSpec]:
    """The declaration of the template, with its library."""
    library = tmp_path_factory.mktemp("built") / "libexample_cpp.so"
    sources = sorted((TEMPLATE / "native").glob("*.cpp"))
    compile_with("c++", "-O2", "-shared", "-fPIC", *sources, target=library)
    sys.path.insert(0, str(TEMPLATE / "src"))
    try:
        from example_cpp import plugin

        plugin.LIBRARY = library
        yield plugin.SPEC
    finally:
        sys.path.remove(str(TEMPLATE / "src"))


class TestAnswers:
    """Every program of the template has the answers of the built-in executor."""

    @pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
    def test_the_executors_agree(self, path: Path, spec: BackendSpec) -> None:
        with (
            etconfig.load_program(path, executor="executorch") as real,
            etconfig.load_program(path) as built_in,
        ):
            for name in real.method_names:
                metadata = real.metadata(name)
                shapes = [metadata.input_tensor_meta(i).sizes() for i in range(metadata.num_inputs())]
                rng = np.random.default_rng(7)
                inputs = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
                backends = {spec.id: spec}
                with (
                    real.load_method(name, backends=backends) as one,
                    built_in.load_method(name, backends=backends) as other,
                ):
                    for _ in range(2):
                        pairs = zip(one.execute(inputs), other.execute(inputs), strict=True)
                        assert all(np.array_equal(a, b) for a, b in pairs)


class TestWithoutPython:
    """A run calls the library itself; Python is called for errors and log lines alone."""

    def test_python_does_not_see_a_run(self, spec: BackendSpec, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(*arguments: object) -> None:
            raise AssertionError("Python was called")

        monkeypatch.setattr(CBackend, "execute", refuse)
        with (
            etconfig.load_program(ADD, executor="executorch") as program,
            program.load_method("forward", backends={spec.id: spec}) as method,
        ):
            x = np.full(method.metadata.input_tensor_meta(0).sizes(), 2, np.float32)
            assert (method.execute([x, x])[0] == 4).all()

    def test_a_tracer_sees_the_run_in_python(self, spec: BackendSpec) -> None:
        tracer = RecordingTracer()
        with etconfig.load_program(ADD, executor="executorch") as program:
            try:
                method = program.load_method("forward", backends={spec.id: spec}, tracer=tracer)
            except ValueError:
                pytest.skip("this executor records no events")
            with method:
                x = np.ones(method.metadata.input_tensor_meta(0).sizes(), np.float32)
                assert (method.execute([x, x])[0] == 2).all()


class ObedientOptions(BackendOptions):
    """The option of the library for tests."""

    mode: str = option("fast", applies="execute", doc="A text that changes between runs.")


@pytest.fixture(scope="module")
def obedient(tmp_path_factory: pytest.TempPathFactory) -> BackendSpec:
    library = compile_library("obedient", tmp_path_factory.mktemp("obedient"))
    return BackendSpec(
        id="ObedientBackend",
        doc="Uses every service of the interface.",
        options=ObedientOptions,
        api=ApiRange(min=1, built=1),
        factory=lambda: CBackend(library, "ObedientBackend"),
    )


class TestServices:
    """The library for tests uses the services of C++ in the same way as the services of Python."""

    def load(self, program: Any, obedient: BackendSpec) -> Any:
        return program.load_method("forward", backends={obedient.id: obedient})

    def open(self) -> Any:
        # its three arguments are tensors here: two inputs and the output
        data = rename_backend(ADD, "ExampleCppBackend", "ObedientBackend")
        return etconfig.load_program(data, executor="executorch")

    def inputs(self, method: Any) -> list[Any]:
        sizes = method.metadata.input_tensor_meta(0).sizes()
        return [np.arange(np.prod(sizes), dtype=np.float32).reshape(sizes)] * 2

    def test_memory_threads_options_and_resource_arrive(self, obedient: BackendSpec) -> None:
        with self.open() as program, self.load(program, obedient) as method:
            inputs, counter = self.inputs(method), ctypes.c_int32(0)
            for _ in range(3):
                output = method.execute(inputs, resource=ctypes.addressof(counter))[0]
                rows = inputs[0].shape[0]
                np.testing.assert_array_equal(output.ravel()[:rows], 2 * inputs[0].ravel()[:rows])
            assert counter.value == 3
            method.update({"ObedientBackend.mode": "slow"})
            method.execute(inputs)
            assert method.effective_options()["ObedientBackend"]["mode"] == "slow"

    def test_log_lines_reach_the_logger(
        self, obedient: BackendSpec, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.INFO, logger="etconfig.backends.ObedientBackend")
        with self.open() as program, self.load(program, obedient):
            pass
        assert caplog.messages[0].startswith("forward - 0 payload=ECPP")

    def test_other_threads_of_python_run_meanwhile(self, obedient: BackendSpec) -> None:
        with self.open() as program:
            methods = [self.load(program, obedient) for _ in range(4)]
            inputs = self.inputs(methods[0])
            results: list[Any] = [None] * len(methods)

            def run(index: int) -> None:
                for _ in range(200):
                    results[index] = methods[index].execute(inputs)[0]

            threads = [threading.Thread(target=run, args=(index,)) for index in range(len(methods))]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert all(np.array_equal(result, results[0]) for result in results)
            for method in methods:
                method.close()


class TestErrors:
    """A failed run is the same error as on the built-in executor."""

    @pytest.mark.parametrize("executor", ["numpy", "executorch"])
    def test_the_cause_has_the_code_and_the_text(self, executor: str, tmp_path: Path) -> None:
        source = tmp_path / "failing.c"
        source.write_text(FAILING)
        compile_with("c", "-shared", "-fPIC", source, target=tmp_path / "failing.so")
        spec = BackendSpec(
            id="FailingBackend",
            doc="Fails in each of its runs.",
            options=ObedientOptions,
            api=ApiRange(min=1, built=1),
            factory=lambda: CBackend(tmp_path / "failing.so", "FailingBackend"),
        )
        data = rename_backend(ADD, "ExampleCppBackend", "FailingBackend")
        with (
            etconfig.load_program(data, executor=executor) as program,
            program.load_method("forward", backends={spec.id: spec}) as method,
        ):
            x = np.ones(method.metadata.input_tensor_meta(0).sizes(), np.float32)
            for _ in range(2):
                with pytest.raises(DelegateError, match="OutOfResources") as caught:
                    method.execute([x, x])
            assert isinstance(caught.value.__cause__, CBackendError)
            assert caught.value.__cause__.code == 0x25
            assert "no engine is free" in str(caught.value)

    @pytest.mark.parametrize("executor", ["numpy", "executorch"])
    def test_a_loop_without_a_task_does_not_end_the_process(self, executor: str, tmp_path: Path) -> None:
        library = compile_library("hostile", tmp_path)
        spec = BackendSpec(
            id="HostileBackend",
            doc="Passes NULL where a task is required.",
            options=ObedientOptions,
            api=ApiRange(min=1, built=1),
            factory=lambda: CBackend(library, "null-task"),
        )
        data = rename_backend(ADD, "ExampleCppBackend", "HostileBackend")
        with (
            etconfig.load_program(data, executor=executor) as program,
            program.load_method("forward", backends={spec.id: spec}) as method,
        ):
            x = np.ones(method.metadata.input_tensor_meta(0).sizes(), np.float32)
            with pytest.raises(DelegateError, match="InvalidArgument"):
                method.execute([x, x])


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_library("services", tmp_path_factory.mktemp("services"))


class TestServicesOfAllExecutors:
    """The services answer a library alike, on whichever executor."""

    @pytest.mark.parametrize("case", CASES)
    def test_a_case(self, services: Path, case: str) -> None:
        assert outcome(services, case, "executorch") == CASES[case]
        assert outcome(services, case, "numpy") == CASES[case]

    @pytest.mark.parametrize("case", [each for each in CASES if "until" in each])
    def test_a_token_stops_a_library(self, services: Path, case: str) -> None:
        spec, token = services_spec(services, case), etconfig.CancelToken()
        with (
            etconfig.load_program(services_program(), executor="executorch") as program,
            program.load_method("forward", backends={spec.id: spec}) as method,
        ):
            thread = threading.Timer(0.02, token.cancel)
            thread.start()
            with pytest.raises(ExecutionStoppedError) as caught:
                method.execute([np.ones(4, np.float32)], cancel=token)
            thread.join()
        assert (caught.value.reason, caught.value.operator) == ("canceled", "ServicesBackend")

    @pytest.mark.parametrize("case", ["wrong-line", "line"])
    def test_an_interrupt_while_a_line_is_logged_is_passed_on(
        self, services: Path, case: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def interrupted(*arguments: object) -> None:
            raise KeyboardInterrupt

        spec = services_spec(services, case)
        with (
            etconfig.load_program(services_program(), executor="executorch") as program,
            program.load_method("forward", backends={spec.id: spec}) as method,
        ):
            monkeypatch.setattr("etconfig.c_interface.services.read_c_text", interrupted)
            with pytest.raises(KeyboardInterrupt):
                method.execute([np.ones(4, np.float32)])
            monkeypatch.undo()
            if case == "line":
                method.execute([np.ones(4, np.float32)])


LEFT = "an exception left the library, which its interface forbids"
REASONS = {
    "error": f"Internal (0x01): {LEFT}: std::runtime_error: a bad day",
    "number": f"Internal (0x01): {LEFT}: int",
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that lets exceptions out."""
    target = tmp_path_factory.mktemp("throwing") / "throwing.so"
    return compile_with("c++", "-shared", "-fPIC", SOURCES / "throwing.cpp", target=target)


class TestExceptions:
    """An exception that leaves a library inside of the real runtime is an error; the process goes on."""

    def load(self, library: Path, case: str, tracer: RecordingTracer | None = None) -> etconfig.Method:
        spec = services_spec(library, case)
        program = etconfig.load_program(services_program(), executor="executorch")
        return program.load_method("forward", backends={spec.id: spec}, tracer=tracer)

    def reason(self, caught: pytest.ExceptionInfo[DelegateError], phase: str) -> str:
        cause = caught.value.__cause__
        assert caught.value.phase == phase
        assert isinstance(cause, CBackendError)
        assert str(cause) in str(caught.value)
        return str(cause).partition(" failed with ")[2]

    @pytest.mark.parametrize("kind", REASONS)
    @pytest.mark.parametrize("place", ["init", "init task"])
    def test_in_init(self, library: Path, place: str, kind: str) -> None:
        with pytest.raises(DelegateError) as caught:
            self.load(library, f"{place}-{kind}")
        assert self.reason(caught, "init") == REASONS[kind]

    @pytest.mark.parametrize("kind", REASONS)
    @pytest.mark.parametrize("place", ["run", "run task"])
    @pytest.mark.parametrize("is_traced", [True, False])
    def test_in_run(self, library: Path, place: str, kind: str, is_traced: bool) -> None:
        with self.load(library, f"{place}-{kind}", RecordingTracer() if is_traced else None) as method:
            for _ in range(2):
                with pytest.raises(DelegateError) as caught:
                    method.execute([np.ones(4, np.float32)])
                assert self.reason(caught, "execute") == REASONS[kind]

    @pytest.mark.parametrize("kind", REASONS)
    def test_in_the_other_functions(self, library: Path, kind: str) -> None:
        with (
            self.load(library, f"effective_options-{kind}") as method,
            pytest.raises(DelegateError) as caught,
        ):
            method.effective_options()
        assert self.reason(caught, "effective_options") == REASONS[kind]
        method = self.load(library, f"destroy-{kind}")
        with pytest.raises(DelegateError) as caught:
            method.close()
        assert self.reason(caught, "destroy") == REASONS[kind]

    def test_in_update(self, library: Path) -> None:
        with self.load(library, "update-error") as method:
            with pytest.raises(DelegateError) as caught:
                method.update({"ServicesBackend.level": 1})
            assert self.reason(caught, "update") == REASONS["error"]
            assert method.options("ServicesBackend").level == 0

    @pytest.mark.parametrize("case", ["init-memory", "run-memory", "run task-memory"])
    def test_too_little_memory_is_a_memory_error(self, library: Path, case: str) -> None:
        with pytest.raises(DelegateError) as caught:  # noqa: PT012  either call may fail
            method = self.load(library, case)
            method.execute([np.ones(4, np.float32)])
        assert isinstance(caught.value.__cause__, MemoryError)

    def test_the_built_in_executor_cannot_stop_one(
        self, library: Path, in_process: Callable[..., str]
    ) -> None:
        """Python calls the library by way of C code that no exception of C++ passes."""
        code = f"""
import signal, subprocess, sys
code = '''
import sys
sys.path.insert(0, {str(SUPPORT)!r})
from pathlib import Path
from c_service_cases import outcome
outcome(Path({str(library)!r}), "run-error", "numpy")
'''
done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
print(done.returncode == -signal.SIGABRT, "a bad day" in done.stderr)
"""
        assert in_process(code).splitlines()[-1] == "True True"


FAILING = """
#include <etconfig/backend.h>
#include <string.h>
static int state;
static EtconfigStatus init(const EtconfigInit *request, void **handle, EtconfigMessage *error) {
  (void)request;
  (void)error;
  *handle = &state;
  return ETCONFIG_OK;
}
static EtconfigStatus run(void *handle, const EtconfigRun *call, EtconfigMessage *error) {
  (void)handle;
  (void)call;
  strcpy(error->text, "no engine is free");
  return ETCONFIG_OUT_OF_RESOURCES;
}
static void destroy(void *handle) { (void)handle; }
static const EtconfigBackend table = {
    sizeof(EtconfigBackend), ETCONFIG_ABI_MAJOR, 0, NULL, &init, &run, NULL, NULL, &destroy};
const EtconfigBackend *etconfig_backend(const EtconfigHost *host, const char *id, EtconfigMessage *error) {
  (void)host;
  (void)id;
  (void)error;
  return &table;
}
"""


BUILD = """
import sys
from scikit_build_core.build import build_sdist
build_sdist(sys.argv[1])
"""


def test_a_source_distribution_has_the_header_of_etconfig(tmp_path: Path) -> None:
    """In a checkout, the header is taken from etconfig's package; there is no second one."""
    plugin = Path("plugins", "etconfig-executorch")
    headers = Path("etconfig", "c_interface", "include")
    shutil.copytree(ROOT / plugin, tmp_path / plugin, ignore=shutil.ignore_patterns("tests", "include"))
    shutil.copytree(ROOT / headers, tmp_path / headers)
    command = [sys.executable, "-c", BUILD, tmp_path / "dist"]
    done = subprocess.run(command, cwd=tmp_path / plugin, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (archive,) = (tmp_path / "dist").iterdir()
    with tarfile.open(archive) as files:
        (name,) = (each for each in files.getnames() if each.endswith("include/etconfig/backend.h"))
        member = files.extractfile(name)
        assert member is not None
        assert member.read() == (ROOT / headers / "etconfig" / "backend.h").read_bytes()
