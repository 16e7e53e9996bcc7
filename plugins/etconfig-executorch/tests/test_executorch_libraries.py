"""Libraries of operators and backends: from the executorch wheel, and from a user."""

from __future__ import annotations

import importlib.util
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from compilers import compiled

pytestmark = pytest.mark.peers

HERE = Path(__file__).parent
XNNPACK = HERE.parents[2] / "tests" / "data" / "programs" / "xnnpack.pte"
RUN = """
import json, sys
import numpy as np
import etconfig

def run(name, libraries, installation=None):
    data = np.load(f"{name}.npz")
    inputs = [data[key] for key in sorted(data) if key != "y"]
    options = None if libraries is None else {"libraries": libraries}
    try:
        program = etconfig.load_program(
            f"{name}.pte", executor="executorch", executor_options=options, installation=installation
        )
        with program.load_method("forward") as method:
            y = method.execute(inputs)[0]
    except etconfig.EtconfigError as error:
        print(f"{type(error).__name__}: {error}")
    else:
        print("close" if np.allclose(y, data["y"], rtol=1e-5, atol=1e-5) else "wrong")
"""


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Programs that need libraries, and libraries of a user, built by the system's compiler."""
    directory = tmp_path_factory.mktemp("libraries")
    subprocess.run([sys.executable, HERE / "export_libraries.py", directory], check=True, capture_output=True)
    spec = importlib.util.find_spec("executorch")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    wheel = Path(spec.submodule_search_locations[0])
    include = wheel / "include"
    kinds = {
        "demo": [],
        "copy": [],
        "twice": ["-DTWICE"],
        "stock": ["-DSTOCK"],
        "many": ["-DMANY"],
        "logging": ["-DLOGGING"],
    }
    for name, flags in kinds.items():
        command = (
            *("c++", "-shared", "-fPIC", "-std=c++17", "-DC10_USING_CUSTOM_GENERATED_MACROS", *flags),
            *(f"-I{include}", f"-I{include}/executorch/runtime/core/portable_type/c10"),
            *(HERE / "demo_library.cpp", f"-L{wheel}/lib", "-lexecutorch", f"-Wl,-rpath,{wheel}/lib"),
        )
        compiled(command, directory / f"lib{name}.so")
    (directory / "libtext.so").write_text("not a library")
    (directory / "empty.c").write_text("int nothing;")
    compiled(["cc", "-shared", "-fPIC", directory / "empty.c"], directory / "libempty.so")
    return directory


@pytest.fixture
def answers(programs: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[str]]:
    """Run code in a process of its own, in the directory of the programs, and return the lines it prints."""

    def run(code: str) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", RUN + code], capture_output=True, text=True, check=False, cwd=programs
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.splitlines()

    return run


class TestWheel:
    """The wheel's own libraries, by name."""

    @pytest.mark.parametrize(("program", "library"), [("quantized", "quantized"), ("attention", "llm")])
    def test_a_program_needs_its_library(
        self, answers: Callable[[str], list[str]], program: str, library: str
    ) -> None:
        without, with_it = answers(f"run({program!r}, None); run({program!r}, [{library!r}])")
        assert without.startswith("MissingOperatorError: method 'forward' needs 1 operator(s)")
        assert f"load executorch's library '{library}': --executor-option libraries={library}" in without
        assert with_it == "close"

    @pytest.mark.parametrize("order", ["ours theirs", "theirs ours"])
    def test_executorchs_own_modules_load_the_same(
        self, answers: Callable[[str], list[str]], order: str
    ) -> None:
        """A second registration would end the process."""
        code = """
def ours():
    run("quantized", ["quantized", "llm"])
    run("attention", ["quantized", "llm"])

def theirs():
    import executorch.kernels.quantized
    import executorch.extension.llm.custom_ops.custom_ops
    from executorch.runtime import Runtime
    names = Runtime.get().operator_registry.operator_names
    print("llama::sdpa_with_kv_cache.out" in names, "quantized_decomposed::add.out" in names)
"""
        calls = "; ".join(f"{name}()" for name in order.split())
        said = [line for line in answers(code + calls) if line in ("close", "True True")]
        assert sorted(said) == ["True True", "close", "close"]

    def test_the_lists_of_operators_are_complete(self, answers: Callable[[str], list[str]]) -> None:
        code = """
from etconfig_executorch.native import native
from etconfig_executorch.runtime import the_runtime
from etconfig_executorch.wheel_libraries import WHEEL_LIBRARIES
before = set(native.registered_operators())
for name, library in WHEEL_LIBRARIES.items():
    the_runtime().libraries.load([name])
    now = set(native.registered_operators())
    own = {each for each in now - before if not each.startswith("et_copy::")}
    print(name, own == set(library.operators))
    before = now
"""
        assert answers(code)[-2:] == ["quantized True", "llm True"]


class TestUsersLibrary:
    """A library that a user builds against the wheel's headers."""

    def test_its_operator(self, answers: Callable[[str], list[str]]) -> None:
        assert answers('run("custom", ["./libdemo.so"])') == ["close"]

    def test_its_backend_runs_without_options(self, answers: Callable[[str], list[str]]) -> None:
        """No plugin declares it: a note says so, and an option for it is an error."""
        code = """
run("delegated", ["libdemo.so"])
program = etconfig.load_program(
    "delegated.pte", executor="executorch", executor_options={"libraries": ["libdemo.so"]}
)
print(*[f"{each.severity.value}: {each.message}" for each in etconfig.resolve(program).warnings], sep="; ")
try:
    etconfig.resolve(program, overrides=["DemoBackend.size=1"])
except etconfig.EtconfigError as error:
    print(error)
"""
        answer, note, error = answers(code)
        assert answer == "close"
        assert "note: DemoBackend runs without options: the executor's runtime has it, but no" in note
        assert "DemoBackend has no option 'size'" in error
        assert "no installed plugin declares its options" in error

    def test_xnnpack_without_its_schema(self, answers: Callable[[str], list[str]], programs: Path) -> None:
        """A project may refuse etconfig-upstream, which declares the options of the wheel's backends."""
        project = programs / "refusing"
        project.mkdir(exist_ok=True)
        (project / "etconfig.toml").write_text('[plugins]\ndeny = ["etconfig-upstream"]\n')
        code = f"""
installation = etconfig.Installation("refusing")
path = {str(XNNPACK)!r}
program = etconfig.load_program(path, executor="executorch", installation=installation)
print([each.message for each in etconfig.resolve(program).warnings if "XnnpackBackend" in each.message])
with program.load_method("forward") as method, etconfig.load_program(path, executor="executorch") as other:
    sizes = [method.metadata.input_tensor_meta(i).sizes() for i in range(method.metadata.num_inputs())]
    inputs = [np.ones(size, np.float32) for size in sizes]
    print(np.array_equal(method.execute(inputs)[0], other.load_method("forward").execute(inputs)[0]))
"""
        note, is_same = answers(code)
        assert note.startswith('["XnnpackBackend runs without options: ')
        assert is_same == "True"

    def test_the_project_file_names_it(self, answers: Callable[[str], list[str]], programs: Path) -> None:
        """Relative to the file, not to the current directory."""
        project = programs / "project"
        project.mkdir(exist_ok=True)
        (project / "etconfig.toml").write_text(
            '[executor]\nname = "executorch"\n[executor.executorch]\nlibraries = ["../libdemo.so"]\n'
        )
        assert answers('run("custom", None, etconfig.Installation("project"))') == ["close"]

    @pytest.mark.parametrize(
        ("library", "message"),
        [
            ("libnone.so", "OptionError: executor.executorch.libraries[0]: {0}/libnone.so does not exist"),
            ("libtext.so", "LibraryError: library '{0}/libtext.so' cannot be loaded: {0}/libtext.so: "),
            ("libempty.so", "it registers no operator and no backend with this runtime; link it dynamically"),
            ("libtwice.so", "it ends the process that loads it with SIGABRT: "),
            ("libstock.so", "operator 'aten::add.out' is already registered by libexecutorch_kernels_opti"),
            ("libmany.so", "ExecuTorch has room for 2000 operators in a process: "),
            ("quantised", "executorch has none of this name; expected 'quantized' and 'llm', or a path"),
        ],
    )
    def test_one_that_cannot_be_loaded(
        self, answers: Callable[[str], list[str]], programs: Path, library: str, message: str
    ) -> None:
        """The process lives on: it runs another program."""
        refused, good = answers(f'run("custom", [{library!r}]); run("custom", ["libdemo.so"])')
        assert message.format(programs) in refused
        assert good == "close"

    def test_two_libraries_of_one_operator(self, answers: Callable[[str], list[str]]) -> None:
        refused, good = answers('run("custom", ["libdemo.so", "libcopy.so"]); run("custom", ["libdemo.so"])')
        assert refused.startswith("LibraryError: ")
        assert "operator 'demo::triple.out' is already registered by libdemo.so; load one of" in refused
        assert good == "close"

    def test_one_library_under_two_paths(self, answers: Callable[[str], list[str]]) -> None:
        assert answers('run("custom", ["libdemo.so", "./libdemo.so"])') == ["close"]

    def test_inspect_counts_its_operators(self, programs: Path) -> None:
        def inspect(*options: str) -> str:
            command = [sys.executable, "-m", "etconfig", "inspect", "custom.pte", "--executor", "executorch"]
            done = subprocess.run(
                [*command, *options], capture_output=True, text=True, check=True, cwd=programs
            )
            return done.stdout

        assert "operator demo::triple.out: the runtime of executor 'executorch' has no kernel" in inspect()
        assert "cannot run here" not in inspect("--executor-option", "libraries=libdemo.so")


class TestLogLines:
    """A library of the user logs in calls that succeed, and before it ends the process."""

    CODE = """
import logging
handler = logging.StreamHandler(sys.stdout)
handler.setFormatter(logging.Formatter("%(levelname)s %(filename)s %(funcName)s %(message)s"))
logging.getLogger("etconfig.executorch").addHandler(handler)
"""

    def test_information_is_logged_on_request(self, answers: Callable[[str], list[str]]) -> None:
        code = self.CODE + 'run("delegated", ["liblogging.so"])'
        error = "ERROR demo_library.cpp execute an error \\xff that stops nothing"
        assert answers(code) == [error, "close"]
        code = (
            self.CODE
            + """
logging.getLogger("etconfig.executorch").setLevel(logging.INFO)
run("delegated", ["liblogging.so"])
"""
        )
        assert answers(code) == ["INFO demo_library.cpp execute adding 1, 100% sure", error, "close"]

    def test_without_a_handler_errors_go_to_stderr(self, programs: Path) -> None:
        done = _run(programs, 'run("delegated", ["liblogging.so"])')
        assert done.stdout == "close\n"
        assert "an error \\xff that stops nothing" in done.stderr
        assert "sure" not in done.stderr

    def test_with_a_handler_they_do_not(self, programs: Path) -> None:
        done = _run(programs, self.CODE + 'run("delegated", ["liblogging.so"])')
        assert done.stderr == ""

    def test_the_last_words_of_a_process_are_written(self, programs: Path) -> None:
        code = (
            self.CODE
            + """
import os
os.environ["DEMO_IS_BROKEN"] = "1"
run("delegated", ["liblogging.so"])
"""
        )
        done = _run(programs, code)
        assert done.returncode == -signal.SIGABRT
        first, last = done.stderr.splitlines()[:2]
        assert "the demo's device does not answer" in first
        assert "the demo's device is broken" in last


def _run(directory: Path, code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", RUN + code], capture_output=True, text=True, check=False, cwd=directory
    )
