"""Models of TVM without a program: compiled, built, run, and read back."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from etconfig_tvm.arrays import aligned
from etconfig_tvm.engine import apply_threads, build, effective, update
from etconfig_tvm.errors import CompileError, DeviceError, TargetError, ThreadPoolError
from etconfig_tvm.options import Checksum, Device, Memory, Runtime, TvmOptions
from etconfig_tvm.threads import usable_cores
from in_force import check_names, table_of

import etconfig
from etconfig.plugin.v1 import EffectiveSource, LibraryError, OptionError

pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]
TOLERANCE = 1e-6

needs_two_cores = pytest.mark.skipif(len(usable_cores()) < 2, reason="needs two cores")


def _run(session: Any, value: Any) -> Any:
    (result,) = session["main"](aligned(value.numpy()))
    return np.from_dlpack(result)


def _printed(code: str) -> str:
    """Return what another process prints that runs `code`."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert not done.returncode, done.stderr
    return done.stdout


class TestCompile:
    """A model is compiled with schedules, for a target that is checked."""

    def test_the_result_is_that_of_torch(self, compiled: Any, library: Path) -> None:
        model, value, _ = compiled
        session = build(TvmOptions(), library)
        assert np.allclose(_run(session, value), model(value).detach().numpy(), atol=TOLERANCE)

    def test_no_function_is_left_as_plain_loops(self, compiled: Any) -> None:
        rules = compiled[2].rules
        assert {*rules.values()} == {"tiles", "vectors", "reduction"}
        assert all(rule == "tiles" for name, rule in rules.items() if "conv" in name or "matmul" in name)

    @pytest.mark.parametrize("settings", [{"layout": "as_exported"}, {"schedule": "none"}, {"opt_level": 0}])
    def test_settings_change_the_code_and_not_the_result(
        self, settings: dict[str, Any], compiled: Any, tmp_path: Path
    ) -> None:
        import torch
        from etconfig_tvm.aot import CompileSettings, compile_model

        model, value, usual = compiled
        other = compile_model(torch.export.export(model, (value,)), settings=CompileSettings(**settings))
        other.save(tmp_path / "model.so")
        session = build(TvmOptions(), tmp_path / "model.so")
        assert np.allclose(_run(session, value), model(value).detach().numpy(), atol=TOLERANCE)
        if "opt_level" not in settings:
            assert other.rules != usual.rules

    @pytest.mark.parametrize(
        ("target", "message"),
        [
            ({"mcpu": "skylaek"}, "mcpu is 'skylaek', which LLVM does not know for .*did you mean 'skylake'"),
            ({"mtriple": "foo"}, "'foo' has no known system"),
            ({"mtriple": "x86-46-linux-gnu"}, "LLVM does not know 'x86'"),
            ({"mattr": ("avx2",)}, r"mattr has 'avx2'; write \+ or -"),
            ({"opt_level": 9}, "opt_level is 9; expected 0 to 3"),
        ],
    )
    def test_an_unknown_target_is_refused(self, target: dict[str, Any], message: str) -> None:
        from etconfig_tvm.aot import TvmTarget

        with pytest.raises(TargetError, match=message):
            TvmTarget(**target)

    def test_the_constraints_of_a_target_are_in_the_words_of_facts(self) -> None:
        from etconfig_tvm.aot import TvmTarget

        host = TvmTarget(mtriple="x86_64-unknown-linux-gnu", mcpu="x86-64-v3").host
        assert (host.arch, host.os, host.abi) == ("x86_64", "linux", "gnu")
        assert {"avx2", "fma", "sse4_2", "bmi1", "abm"} <= {*host.features}
        assert "avx512f" not in host.features
        arm = TvmTarget(mtriple="aarch64-linux-gnu", mcpu="cortex-a76").host
        assert (arm.arch, {"asimd", "asimddp", "atomics"} <= {*arm.features}) == ("arm64", True)

    @pytest.mark.parametrize(
        ("triple", "help_text"),
        [
            ("aarch64-linux-gnu", r"'aarch64-linux-gnu-gcc'; .*`apt-get install gcc-aarch64-linux-gnu`"),
            ("aarch64-unknown-linux-gnu", r"`apt-get install gcc-aarch64-linux-gnu`"),
            ("riscv64-linux-gnu", r"`apt-get install gcc-riscv64-linux-gnu`"),
            ("aarch64-linux-android", r"'aarch64-linux-android24-clang'; it is a part of the Android NDK"),
        ],
    )
    def test_another_device_needs_a_linker(self, triple: str, help_text: str) -> None:
        """The linker at hand would fail on another architecture with a message that names neither."""
        import torch
        from etconfig_tvm.aot import TvmTarget, compile_model

        if TvmTarget().triple.startswith(triple.partition("-")[0]):
            pytest.skip("it is this machine")
        exported = torch.export.export(torch.nn.ReLU(), (torch.ones(2),))
        with pytest.raises(CompileError, match=f"the target is {triple}, and no linker.*{help_text}"):
            compile_model(exported, target=TvmTarget(mtriple=triple))

    def test_a_target_from_the_facts_of_a_device(self) -> None:
        from etconfig_tvm.aot import TvmTarget

        facts = {"cpu.arch": "x86_64", "os.name": "linux", "cpu.features": ("avx2", "fma", "no_such")}
        host = TvmTarget.of_facts(facts).host
        assert (host.arch, host.os, host.abi) == ("x86_64", "linux", "gnu")
        assert {"avx2", "fma"} <= {*host.features}
        assert "avx512f" not in host.features
        for device in ("pi-5", "pixel-8"):
            sheet = etconfig.load_device(device)
            target = TvmTarget.of_facts(sheet.values)
            assert {*target.host.features} <= {*sheet["cpu.features"].value}
            assert (target.host.arch, target.host.os) == ("arm64", sheet["os.name"].value)
        with pytest.raises(TargetError, match=r"the fact os.name is unknown"):
            TvmTarget.of_facts({"cpu.arch": "x86_64"})
        with pytest.raises(TargetError, match="no target for the architecture 'arm64' and the system 'qnx'"):
            TvmTarget.of_facts({"cpu.arch": "arm64", "os.name": "qnx"})

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"layout": "channels_first"}, "layout is 'channels_first'; choose one of channels_last"),
            ({"schedule": "auto"}, "schedule is 'auto'; choose one of vectors, none"),
            ({"opt_level": 7}, "opt_level is 7; choose one of 0, 1, 2, 3, 4"),
        ],
    )
    def test_an_unknown_setting_is_refused(self, settings: dict[str, Any], message: str) -> None:
        from etconfig_tvm.aot import CompileSettings

        with pytest.raises(CompileError, match=message):
            CompileSettings(**settings)

    def test_what_tvm_refuses_is_named(self, compiled: Any) -> None:
        import torch
        from etconfig_tvm.aot import CompileSettings, compile_model

        class Counter(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.register_buffer("count", torch.zeros(1))

            def forward(self, value: torch.Tensor) -> torch.Tensor:
                self.count.add_(1)
                return value + self.count

        value = torch.ones(2)
        exported = torch.export.export(torch.nn.ReLU(), (value,))
        for settings, message in (
            (CompileSettings(pass_config={"tirx.disable_asert": True}), "pass_config: .*tirx.disable_asert"),
            (
                CompileSettings(linker="/nowhere/riscv64-linux-gnu-gcc"),
                "riscv64-linux-gnu-gcc' is not installed; .*`apt-get install gcc-riscv64-linux-gnu`",
            ),
            (CompileSettings(linker="nope-gcc"), "'nope-gcc' is not installed; install it, or name another$"),
            (
                CompileSettings(linker="nope-linux-gnu-gcc"),
                "'nope-linux-gnu-gcc' is not installed; install it, or name another$",
            ),
        ):
            with pytest.raises(CompileError, match=message):
                compile_model(exported, settings=settings)
        for given, message in (
            (Counter(), r"was given a Counter; give torch.export.export\(model, inputs\)"),
            ("model.pt2", r"was given a str; give torch.export.load\(path\)"),
            (None, "was given a NoneType; give torch.export.export"),
        ):
            with pytest.raises(CompileError, match=message):
                compile_model(given)
        with pytest.raises(CompileError, match="the model changes its buffer 'count'"):
            compile_model(torch.export.export(Counter(), (value,)))


class TestBuild:
    """`build` returns TVM's own object, or says what is missing."""

    def test_the_compiler_is_not_loaded(self, library: Path) -> None:
        code = (
            "import sys; from etconfig_tvm.engine import build; from etconfig_tvm.options import TvmOptions; "
            f"build(TvmOptions(), {str(library)!r}); print('tvm' in sys.modules)"
        )
        assert _printed(code) == "False\n"

    @pytest.mark.parametrize("memory", list(Memory))
    def test_the_full_runtime_gives_the_same(self, memory: Memory, compiled: Any, library: Path) -> None:
        from tvm.relax import VirtualMachine

        session = build(TvmOptions(runtime=Runtime.FULL, memory=memory), library)
        assert isinstance(session, VirtualMachine)
        small = build(TvmOptions(memory=memory), library)
        assert np.array_equal(_run(session, compiled[1]), _run(small, compiled[1]))
        assert effective(session)["runtime"].value is Runtime.FULL
        with pytest.raises(TypeError, match="expected a session that build returned, given int"):
            effective(3)

    def test_an_absent_device_is_an_error(self, library: Path) -> None:
        with pytest.raises(DeviceError, match="TVM finds no device vulkan:0 here"):
            build(TvmOptions(device=Device.VULKAN), library)

    def test_more_threads_than_cores_are_an_error(self, library: Path) -> None:
        with pytest.raises(ThreadPoolError, match=r"num_threads is 4096, and .*this process may use"):
            build(TvmOptions(num_threads=4096), library)

    def test_a_copy_of_the_runtime_library_is_enough(self, library: Path, tmp_path: Path) -> None:
        """apache-tvm itself is hidden: tvm_ffi and one library run a model."""
        from etconfig_tvm.installed import find_runtime_library

        copy = tmp_path / "libtvm_runtime.so"
        copy.write_bytes(find_runtime_library().read_bytes())
        code = (
            "import sys; sys.modules['tvm'] = None\n"
            "from etconfig_tvm.engine import build, effective; from etconfig_tvm.options import TvmOptions\n"
            "from etconfig_tvm.arrays import aligned; import numpy as np\n"
            "import importlib.util as util; find = util.find_spec\n"
            "util.find_spec = lambda name, *more: None if name == 'tvm' else find(name, *more)\n"
            f"try: build(TvmOptions(), {str(library)!r})\n"
            "except Exception as error: print(type(error).__name__)\n"
            "session = build(TvmOptions(runtime_library='libtvm_runtime.so'), "
            f"{str(library)!r})\n"
            "print(session['main'](aligned(np.zeros((1, 3, 32, 32), np.float32)))[0].shape)\n"
            "print(effective(session)['runtime'].value.value)\n"
        )
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd=tmp_path
        )
        assert done.stdout == "BackendUnavailableError\n(1, 10)\nminimal\n", done.stderr


def _system_threads() -> set[int]:
    """Return the threads of this process by the numbers of the system."""
    return {int(path.name) for path in Path("/proc/self/task").iterdir()}


def _worker_seconds(run: Any, rounds: int) -> float:
    """Return the processor time that other threads of this process spent during some runs."""
    own, all_threads = time.thread_time(), time.process_time()
    for _ in range(rounds):
        run()
    return (time.process_time() - all_threads) - (time.thread_time() - own)


def _wait_until_idle() -> None:
    """Wait until no worker looks for work any more, as each does for a while after its last.

    On a busy machine, one that waits for a processor looks idle for a moment.
    """
    quiet = 0
    for _ in range(600):
        quiet = quiet + 1 if _worker_seconds(lambda: time.sleep(0.05), 1) < 0.001 else 0
        if quiet == 10:
            return
    raise AssertionError("a worker still looks for work")


@needs_two_cores
class TestThreads:
    """The threads of a session share its work, as measured, and TVM reports their number."""

    @pytest.fixture
    def large(self, tmp_path: Path) -> tuple[Path, Any]:
        import torch
        from etconfig_tvm.aot import compile_model

        model = torch.nn.Conv2d(32, 64, 3, padding=1).eval()
        value = torch.randn(1, 32, 64, 64)
        compile_model(torch.export.export(model, (value,))).save(tmp_path / "large.so")
        return tmp_path / "large.so", aligned(value.numpy())

    def test_two_sessions_in_one_thread(self, library: Path, compiled: Any) -> None:
        """Each call has the number of its own session, in whatever order."""
        sessions = {count: build(TvmOptions(num_threads=count), library) for count in (1, 2)}
        for count in (1, 2, 1, 1, 2, 2, 1):
            _run(sessions[count], compiled[1])
            found = effective(sessions[count])["num_threads"]
            assert (found.value, found.source) == (count, EffectiveSource.READ_BACK)
            other = effective(sessions[3 - count])["num_threads"]
            assert (other.value, other.source) == (3 - count, EffectiveSource.ASSUMED)

    @pytest.mark.parametrize("runtime", list(Runtime))
    def test_two_sessions_in_two_threads_with_a_refresh_between(
        self, runtime: Runtime, library: Path, compiled: Any, tmp_path: Path
    ) -> None:
        """A refresh reaches the pools of all threads, at the next call of each."""
        profile = tmp_path / "board.toml"
        profile.write_text(
            '[profile]\nname = "board"\n[options.TvmBackend]\nnum_threads = 1\n'
            f'runtime = "{runtime.value}"\n[[when]]\nif = \'power.source == "battery"\'\n'
            "[when.instances.left.options.TvmBackend]\nnum_threads = 2\n"
            '[instances.left]\nmethod = "detector"\n[instances.right]\nmethod = "detector"\n'
        )
        facts = etconfig.detect_facts().with_overrides({"power.source": "mains"})
        live = etconfig.LiveArguments(models={"detector": "TvmBackend"}, profile=profile, facts=facts)
        left, right = (live.build("detector", library, instance=name) for name in ("left", "right"))
        found: list[dict[str, object]] = []
        barrier = threading.Barrier(3, timeout=60)

        def serve() -> None:
            for _ in range(2):
                for session in (left, right, left):
                    _run(session, compiled[1])
                    _note(session)
                barrier.wait()
                barrier.wait()

        def _note(session: Any) -> None:
            value = effective(session)["num_threads"]
            assert value.source is EffectiveSource.READ_BACK
            found.append({"left" if session is left else "right": value.value})

        threads = [threading.Thread(target=serve) for _ in range(2)]
        for thread in threads:
            thread.start()
        for changes in ({"power.source": "battery"}, {"power.source": "mains"}):
            barrier.wait()
            report = live.refresh(facts.with_overrides(changes))
            assert [str(change.path) for change in report.applied] == ["detector@left:TvmBackend.num_threads"]
            barrier.wait()
        for thread in threads:
            thread.join()
        assert found[:6].count({"left": 1}) == 4
        assert found[6:].count({"left": 2}) == 4
        assert found.count({"right": 1}) == 4
        assert len(found) == 12

    def test_impossible_threads_are_refused_by_update(self, library: Path, compiled: Any) -> None:
        one = TvmOptions(num_threads=1)
        session = build(one, library)
        with pytest.raises(ThreadPoolError, match="num_threads is 4096"):
            update(session, TvmOptions(num_threads=4096), one, frozenset({"num_threads"}))
        _run(session, compiled[1])
        assert effective(session)["num_threads"].value == 1

    def test_every_way_to_a_function_has_the_threads_of_the_session(
        self, library: Path, compiled: Any
    ) -> None:
        import tvm_ffi

        other, session = (build(TvmOptions(num_threads=count), library) for count in (1, 2))
        value = aligned(compiled[1].numpy())
        full: Any = build(TvmOptions(num_threads=2, runtime=Runtime.FULL), library)
        full.set_input("main", value)
        assert isinstance(session, tvm_ffi.Module)
        ways: tuple[Any, ...] = (
            lambda: session.main(value),  # type: ignore[attr-defined]
            lambda: session(value),  # type: ignore[operator]
            lambda: session.get_function("main")(value),  # type: ignore[attr-defined]
            lambda: full["main"](value),
            lambda: full.invoke_stateful("main"),
        )
        for run in ways:
            _run(other, compiled[1])
            assert effective(session)["num_threads"].source is EffectiveSource.ASSUMED
            run()
            assert effective(session)["num_threads"].source is EffectiveSource.READ_BACK

    @pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
    def test_pinned_threads_run_on_one_core_each(self, library: Path, compiled: Any) -> None:
        """TVM pins workers only if each has a core in the list, and never the calling thread."""
        first, second = usable_cores()[:2]
        pinned = build(TvmOptions(num_threads=2, cores=(second, first), pin_threads=True), library)
        alone = build(TvmOptions(num_threads=1, cores=(second,), pin_threads=True), library)
        shared = build(TvmOptions(num_threads=2), library)
        threads = _system_threads()
        seen: list[set[frozenset[int]]] = []

        def serve() -> None:
            for session in (pinned, alone, shared):
                _run(session, compiled[1])
                seen.append({frozenset(os.sched_getaffinity(0))})
                assert effective(session)["pin_threads"].value is (session is not shared)
            _run(pinned, compiled[1])
            mine = _system_threads() - threads - {threading.get_native_id()}
            seen.append({frozenset(os.sched_getaffinity(each)) for each in mine})

        thread = threading.Thread(target=serve)
        thread.start()
        thread.join()
        assert seen[:3] == [{frozenset({second})}, {frozenset({second})}, {frozenset(usable_cores())}]
        assert frozenset({first}) in seen[3]

    def test_the_workers_work_only_if_they_are_asked(self, large: tuple[Path, Any]) -> None:
        path, value = large
        session: Any = build(TvmOptions(num_threads=2), path)
        rounds = 200
        session["main"](value)
        shared = _worker_seconds(lambda: session["main"](value), rounds)
        update(session, TvmOptions(num_threads=1), TvmOptions(num_threads=2), frozenset({"num_threads"}))
        session["main"](value)
        assert effective(session)["num_threads"].source is EffectiveSource.READ_BACK
        _wait_until_idle()
        alone = _worker_seconds(lambda: session["main"](value), rounds)
        assert shared > 4 * alone

    def test_the_calling_thread_gets_its_cores(self, library: Path, compiled: Any) -> None:
        first, second = usable_cores()[:2]
        session = build(TvmOptions(num_threads=1, cores=(second,)), library)
        _run(session, compiled[1])
        assert effective(session)["cores"].value == (second,)
        assert effective(session)["cores"].source is EffectiveSource.OBSERVED
        assert os.sched_getaffinity(0) == {second}
        apply_threads(TvmOptions(num_threads=2, cores=(first, second)))
        assert effective(session)["cores"].source is EffectiveSource.ASSUMED
        _run(build(TvmOptions(), library), compiled[1])
        assert os.sched_getaffinity(0) == {*usable_cores()}

    def test_cores_that_tvm_did_not_set_are_shown(
        self, library: Path, compiled: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """With `TVM_BIND_THREADS=0`, the system places the threads, whatever was asked."""
        monkeypatch.setenv("TVM_BIND_THREADS", "0")
        second = usable_cores()[1]
        session = build(TvmOptions(num_threads=1, cores=(second,), pin_threads=True), library)
        _run(session, compiled[1])
        found = effective(session)
        assert (found["cores"].value, found["pin_threads"].value) == (usable_cores(), False)


class TestInForce:
    """Other tests measure the time and cores of threads, and see the errors of devices and checksums."""

    TABLE = table_of(Path(__file__).parents[1] / "README.md")

    def test_the_readme_names_every_option(self) -> None:
        measured = TvmOptions.option_infos().keys() - {"memory"}
        check_names(self.TABLE, TvmOptions.option_infos(), measured)

    def test_each_source_is_that_of_the_table(self, library: Path, compiled: Any) -> None:
        """Before the first run in this thread, and after it."""
        session = build(TvmOptions(cores=usable_cores()[:1]), library)
        before = effective(session)
        _run(session, compiled[1])
        after = effective(session)
        assert before.keys() == self.TABLE.keys()
        wrong = [
            (name, found)
            for name, row in self.TABLE.items()
            for found in (before[name], after[name])
            if found.source.value not in row.sources
        ]
        assert wrong == []
        assert (after["cores"].value, after["num_threads"].value) == (usable_cores()[:1], 1)

    def test_the_runtime_library_is_the_one_that_the_process_maps(self, library: Path) -> None:
        found = effective(build(TvmOptions(), library))["runtime_library"]
        path = Path(found.reason.removeprefix("loaded from ")).resolve()
        assert str(path) in Path("/proc/self/maps").read_text()


class TestArguments:
    """Whatever its memory, an argument does not end the process."""

    def test_arrays_of_any_alignment(self, library: Path, compiled: Any) -> None:
        model, value, _ = compiled
        expected = model(value).detach().numpy()
        session: Any = build(TvmOptions(num_threads=1), library)
        memory = np.empty(value.numel() + 64, np.float32)
        for offset in range(1, 33):
            array = memory[offset : offset + value.numel()].reshape(value.shape)
            array[:] = value.numpy()
            array.flags.writeable = offset % 2 == 0
            for run in (session["main"], session.main):
                (result,) = run(array)
                assert np.allclose(np.from_dlpack(result), expected, atol=TOLERANCE)

    def test_a_tensor_that_is_not_aligned_is_an_error(self, library: Path, compiled: Any) -> None:
        import torch

        session: Any = build(TvmOptions(num_threads=1), library)
        value = compiled[1]
        memory = torch.empty(value.numel() + 1)
        with pytest.raises(ValueError, match=r"memory of a Tensor begins at .*pass a copy of it, such as"):
            session["main"](memory[1:].view(value.shape))
        session["main"](value)
        with pytest.raises(ValueError, match="expect Tensor with dtype float32"):
            session["main"](np.zeros((1, 3, 32, 32)))

    def test_a_session_that_several_threads_call(self, library: Path, compiled: Any) -> None:
        """They take turns: TVM would end the process."""
        model, value, _ = compiled
        expected = model(value).detach().numpy()
        session: Any = build(TvmOptions(num_threads=1), library)
        results: list[bool] = []

        def serve() -> None:
            for _ in range(200):
                (result,) = session["main"](value)
                results.append(np.allclose(np.from_dlpack(result), expected, atol=TOLERANCE))

        threads = [threading.Thread(target=serve) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert results == [True] * 800


class TestLibrary:
    """A library is checked before its code is loaded, and what was checked is loaded."""

    def test_a_damaged_library_is_refused(self, library: Path, tmp_path: Path) -> None:
        data = bytearray(library.read_bytes())
        path = tmp_path / "model.so"
        for place in range(0, len(data), len(data) // 60):
            data[place] ^= 1
            path.write_bytes(data)
            with pytest.raises(LibraryError, match=r"model.so' cannot be loaded"):
                build(TvmOptions(), path)
            data[place] ^= 1

    def test_a_library_of_tvm_has_no_checksum_until_it_is_sealed(self, compiled: Any, tmp_path: Path) -> None:
        from etconfig_tvm.aot import seal_library

        path = tmp_path / "model.so"
        path.write_bytes(compiled[2].library)
        found = effective(build(TvmOptions(), path))["checksum"]
        assert (found.value, found.reason) == (Checksum.IF_PRESENT, "the library has none")
        required = TvmOptions(checksum=Checksum.REQUIRED)
        with pytest.raises(LibraryError, match=r"it has no checksum, .*`etconfig_tvm.aot.seal_library`"):
            build(required, path)
        seal_library(path)
        assert effective(build(required, path))["checksum"].reason == "the SHA-256 was compared"
        with pytest.raises(CompileError, match="has a checksum already"):
            seal_library(path)

    def test_what_build_refuses_is_not_sealed(self, compiled: Any, library: Path, tmp_path: Path) -> None:
        from etconfig_tvm.aot import TvmTarget, seal_library

        plain, sealed = compiled[2].library, library.read_bytes()
        damaged = bytearray(sealed)
        damaged[len(plain) // 2] ^= 1
        path = tmp_path / "model.so"
        for data, message in (
            (b"", "it is empty"),
            (b"# a text\n" * 100, "it is not a shared library"),
            (b"PK\3\4" + bytes(100), "it is not a shared library"),
            (plain[: len(plain) // 2], "it is cut off: "),
            (sealed[:-1], "it is damaged: its checksum is not whole"),
            (bytes(damaged), "it is damaged: its SHA-256 is not"),
            (sealed, "has a checksum already"),
        ):
            path.write_bytes(data)
            with pytest.raises((LibraryError, CompileError), match=message):
                seal_library(path)
            assert path.read_bytes() == data
            assert [*tmp_path.iterdir()] == [path]
        path.write_bytes(plain)
        other = "riscv64" if TvmTarget().host.arch != "riscv64" else "x86_64"
        with pytest.raises(LibraryError, match=f"it is for .*, and the target is {other}"):
            seal_library(path, target=TvmTarget(mtriple=f"{other}-unknown-linux-gnu"))
        assert path.read_bytes() == plain

    def test_a_sealed_library_keeps_its_mode_and_links_to_it(self, compiled: Any, tmp_path: Path) -> None:
        from etconfig_tvm.aot import seal_library

        path, link = tmp_path / "model.so", tmp_path / "link.so"
        path.write_bytes(compiled[2].library)
        path.chmod(0o640)
        link.symlink_to(path.name)
        before = path.stat()
        seal_library(link)
        assert link.is_symlink()
        assert path.stat().st_mode == before.st_mode
        assert path.stat().st_ino != before.st_ino
        build(TvmOptions(checksum=Checksum.REQUIRED), link)

    def test_a_library_for_another_device_is_refused(
        self, compiled: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from etconfig_tvm.aot import target

        from etconfig.plugin.v1 import HostConstraints

        other = HostConstraints(features=("avx9000",))
        monkeypatch.setattr(target.TvmTarget, "host", property(lambda self: other))
        compiled[2].save(tmp_path / "model.so")
        with pytest.raises(LibraryError, match="needs a device with the instructions avx9000"):
            build(TvmOptions(), tmp_path / "model.so")

    def test_a_replaced_library_is_the_new_one(self, compiled: Any, tmp_path: Path) -> None:
        """The system takes the loaded library for a path that it knows, so each load has a new path."""
        import torch
        from etconfig_tvm.aot import compile_model

        path = tmp_path / "model.so"
        value = torch.ones(4)
        sessions = []
        for factor in (2, 3):
            model = torch.nn.Linear(4, 1, bias=False).eval()
            torch.nn.init.constant_(model.weight, factor)
            compile_model(torch.export.export(model, (value,))).save(path)
            sessions.append(build(TvmOptions(num_threads=1), path))
            assert [_run(session, value)[0] for session in sessions] == [8, 12][: len(sessions)]

    @pytest.mark.parametrize("runtime", list(Runtime))
    def test_a_session_survives_what_is_written_to_its_file(
        self, runtime: Runtime, library: Path, compiled: Any, tmp_path: Path
    ) -> None:
        """A library that was loaded where it is would end the process. So this runs in another one."""
        path = tmp_path / "model.so"
        path.write_bytes(library.read_bytes())
        np.save(tmp_path / "value.npy", compiled[1].numpy())
        code = f"""
            import os, numpy as np
            from etconfig_tvm.engine import build
            from etconfig_tvm.options import Runtime, TvmOptions
            value, path = np.load({str(tmp_path / "value.npy")!r}), {str(path)!r}
            session = build(TvmOptions(num_threads=1, runtime=Runtime.{runtime.name}), path)
            def run(): return np.from_dlpack(session["main"](value)[0]).tobytes()
            before = run()
            with open(path, "r+b") as file:
                file.write(bytes(os.path.getsize(path)))
            assert run() == before
            os.truncate(path, 0)
            assert run() == before
            print("same results")
        """
        assert _printed(textwrap.dedent(code)) == "same results\n"

    def test_what_is_not_a_file_is_refused(self, tmp_path: Path) -> None:
        """Opening a pipe would wait for somebody who writes to it."""
        os.mkfifo(tmp_path / "pipe")
        for path in (tmp_path / "pipe", Path("/dev/zero")):
            with pytest.raises(LibraryError, match="it is not a file"):
                build(TvmOptions(), path)

    def test_a_second_runtime_library_is_refused(self, library: Path, tmp_path: Path) -> None:
        """TVM would end the process."""
        from etconfig_tvm.installed import find_runtime_library

        build(TvmOptions(), library)
        copy = tmp_path / "libtvm_runtime.so"
        copy.write_bytes(find_runtime_library().read_bytes())
        with pytest.raises(LibraryError, match="has loaded another libtvm_runtime, and can have one only"):
            build(TvmOptions(runtime_library=str(copy)), library)

    def test_another_library_is_not_the_runtime(self, library: Path) -> None:
        import _ctypes

        code = (
            "from etconfig_tvm.engine import build; from etconfig_tvm.options import TvmOptions\n"
            f"try: build(TvmOptions(runtime_library={_ctypes.__file__!r}), {str(library)!r})\n"
            "except Exception as error: print(error)"
        )
        assert "it is not libtvm_runtime: Cannot find global function" in _printed(code)

    def test_a_link_and_hostile_names(self, library: Path, compiled: Any, tmp_path: Path) -> None:
        for name in ("link.so", "a b\n\u202e'\".so", "-rf.so", "no-suffix"):
            (tmp_path / name).symlink_to(library)
            _run(build(TvmOptions(num_threads=1), tmp_path / name), compiled[1])
        with pytest.raises(LibraryError, match="Is a directory; correct the path"):
            build(TvmOptions(), tmp_path)

    def test_no_file_is_left(self, library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        build(TvmOptions(), library)
        assert not list(tmp_path.iterdir())


class TestModels:
    """Models get their options from a profile, without a program."""

    PROFILE = """
        [profile]
        name = "board"
        [options.TvmBackend]
        num_threads = 1
        [methods.detector.options.TvmBackend]
        memory = "naive"
    """

    @pytest.fixture
    def profile(self, tmp_path: Path) -> Path:
        path = tmp_path / "board.toml"
        path.write_text(self.PROFILE)
        return path

    def test_a_session_from_a_profile(self, profile: Path, compiled: Any, library: Path) -> None:
        config = etconfig.resolve(models={"detector": "TvmBackend"}, profile=profile)
        session = config.build("detector", library)
        model, value, _ = compiled
        assert np.allclose(_run(session, value), model(value).detach().numpy(), atol=TOLERANCE)
        options = config.options_for("detector")
        assert (options.num_threads, options.memory) == (1, Memory.NAIVE)
        assert config.effective("detector", session)["num_threads"].differs is False

    def test_a_mistake_is_named_with_the_fix(self, profile: Path) -> None:
        profile.write_text(self.PROFILE.replace('"naive"', '"nave"'))
        with pytest.raises(OptionError, match="did you mean 'naive'"):
            etconfig.resolve(models={"detector": "TvmBackend"}, profile=profile)
