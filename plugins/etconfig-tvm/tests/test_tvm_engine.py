"""Models of TVM without a program: compiled, built, run, and read back."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from etconfig_tvm.arrays import aligned
from etconfig_tvm.engine import apply_threads, build, effective, update
from etconfig_tvm.errors import CompileError, DeviceError, TargetError, ThreadPoolError
from etconfig_tvm.options import Device, Memory, Runtime, TvmOptions
from etconfig_tvm.threads import usable_cores

import etconfig
from etconfig.plugin.v1 import EffectiveSource, OptionError

pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]
TOLERANCE = 1e-6

needs_two_cores = pytest.mark.skipif(len(usable_cores()) < 2, reason="needs two cores")


def _run(session: Any, value: Any) -> Any:
    (result,) = session["main"](aligned(value.numpy()))
    return np.from_dlpack(result)


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
            (CompileSettings(linker="no-such-gcc"), "the linker 'no-such-gcc' is not installed"),
        ):
            with pytest.raises(CompileError, match=message):
                compile_model(exported, settings=settings)
        with pytest.raises(CompileError, match="the model changes its buffer 'count'"):
            compile_model(torch.export.export(Counter(), (value,)))


class TestBuild:
    """`build` returns TVM's own object, or says what is missing."""

    def test_the_compiler_is_not_loaded(self, library: Path) -> None:
        code = (
            "import sys; from etconfig_tvm.engine import build; from etconfig_tvm.options import TvmOptions; "
            f"build(TvmOptions(), {str(library)!r}); print('tvm' in sys.modules)"
        )
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
        assert done.stdout == "False\n", done.stderr

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
        with pytest.raises(ThreadPoolError, match="num_threads is 4096, and this process may use"):
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
            f"session = build(TvmOptions(runtime_library={str(copy)!r}), {str(library)!r})\n"
            "print(session['main'](aligned(np.zeros((1, 3, 32, 32), np.float32)))[0].shape)\n"
            "print(effective(session)['runtime'].value.value)\n"
        )
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
        assert done.stdout == "BackendUnavailableError\n(1, 10)\nminimal\n", done.stderr


def _worker_seconds(run: Any, rounds: int) -> float:
    """Return the processor time that other threads of this process spent during some runs."""
    own, all_threads = time.thread_time(), time.process_time()
    for _ in range(rounds):
        run()
    return (time.process_time() - all_threads) - (time.thread_time() - own)


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

    def test_two_sessions_with_different_threads(self, large: tuple[Path, Any]) -> None:
        """Each runs on a thread of its own at the same time, and has its own number of workers."""
        path, value = large
        found: dict[int, tuple[object, float]] = {}
        barrier = threading.Barrier(2)

        def serve(count: int) -> None:
            session: Any = build(TvmOptions(num_threads=count), path)
            barrier.wait()
            session["main"](value)
            found[count] = (effective(session)["num_threads"].value, 0.0)

        threads = [threading.Thread(target=serve, args=(count,)) for count in (1, 2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert {count: value for count, (value, _) in found.items()} == {1: 1, 2: 2}

    def test_the_workers_work_only_if_they_are_asked(self, large: tuple[Path, Any]) -> None:
        path, value = large
        session: Any = build(TvmOptions(num_threads=2), path)
        rounds = 200
        shared = _worker_seconds(lambda: session["main"](value), rounds)
        update(session, TvmOptions(num_threads=1), TvmOptions(num_threads=2), frozenset({"num_threads"}))
        assert effective(session)["num_threads"].value == 1
        time.sleep(0.3)  # until the worker has stopped looking for work
        alone = _worker_seconds(lambda: session["main"](value), rounds)
        assert shared > 4 * alone

    def test_the_calling_thread_gets_its_cores(self, library: Path) -> None:
        first, second = usable_cores()[:2]
        session = build(TvmOptions(cores=(second,)), library)
        assert effective(session)["cores"].value == (second,)
        assert effective(session)["cores"].source is EffectiveSource.OBSERVED
        apply_threads(TvmOptions(num_threads=2, cores=(first, second)))
        assert effective(session)["num_threads"].value == 2
        apply_threads(TvmOptions())
        assert effective(session)["cores"].value == usable_cores()


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
