"""Modules that `build` makes, with real PyTorch."""

from __future__ import annotations

import contextlib
import copy
import gc
import io
import json
import os
import pickle
import random
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from etconfig_torch.errors import SettingRefusedError, UnreadableModelError, UnsafeArchiveError
from etconfig_torch.options import Autocast, CompileMode, MatmulPrecision, TorchOptions
from etconfig_torch.plugin import SPEC, build, effective, update
from in_force import check_names, table_of

import etconfig
from etconfig.base.provenance import Origin, OriginKind, Sourced
from etconfig.plugin.v1 import BackendUnavailableError

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.engines,
    pytest.mark.filterwarnings("ignore"),  # torch warns about its own code
]

HERE = Path(__file__).parent


PYTORCH_DEFAULTS = {
    "float32_matmul_precision": "highest",
    "onednn": True,
    "cudnn": True,
    "cudnn_benchmark": False,
    "cudnn_deterministic": False,
    "cudnn_allow_tf32": True,
    "deterministic_algorithms": False,
}


@pytest.fixture(autouse=True)
def _same_settings() -> Iterator[None]:
    """Begin with PyTorch's defaults, whatever ran before in this process, and restore the settings."""
    from etconfig_torch.process_settings import SETTINGS

    before = {name: setting.read() for name, setting in SETTINGS.items() if name != "num_interop_threads"}
    for name, value in PYTORCH_DEFAULTS.items():
        SETTINGS[name].bring_into_force(name, value)
    yield
    gc.collect()
    for name, value in before.items():
        SETTINGS[name].bring_into_force(name, value)


def exported() -> Any:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
    return torch.export.export(model.eval(), (torch.zeros(2, 8),))


def saved(program: Any = None) -> bytes:
    buffer = io.BytesIO()
    torch.export.save(exported() if program is None else program, buffer)
    return buffer.getvalue()


def in_process(code: str) -> str:
    """Return what a fresh interpreter prints."""
    path = os.pathsep.join([str(HERE.parent), str(HERE), str(HERE.parents[2])])
    environment = os.environ | {"PYTHONPATH": path, "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


class TestModels:
    """Each form of a model becomes a module that gives the same results."""

    @pytest.mark.parametrize("form", ["program", "module", "file", "bytes"])
    def test_forms(self, form: str, tmp_path: Path) -> None:
        program = exported()
        x = torch.randn(2, 8)
        expected = program.module()(x)
        path = tmp_path / "model.pt2"
        path.write_bytes(saved(program))
        model = {"program": program, "module": program.module(), "file": path, "bytes": path.read_bytes()}[
            form
        ]
        module = build(TorchOptions(), model)
        assert isinstance(module, torch.nn.Module)
        assert torch.equal(module(x), expected)

    def test_something_else_is_refused(self) -> None:
        with pytest.raises(TypeError, match=r"expected a torch.nn.Module, .* given int"):
            build(TorchOptions(), 3)

    def test_a_dynamic_program(self) -> None:
        model = torch.nn.Linear(8, 4)
        shapes = ({0: torch.export.Dim("batch", min=2, max=64) * 2},)
        program = torch.export.export(model, (torch.zeros(4, 8),), dynamic_shapes=shapes)
        module = build(TorchOptions(), saved(program))
        x = torch.randn(10, 8)
        assert torch.allclose(module(x), model(x))


class Sums(torch.nn.Module):
    """Takes and returns what the case says, and counts calls in a buffer."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x: Any, y: Any) -> Any:
        self.count += 1
        if self.kind == "table":
            return {"sum": x["a"] + y, "count": self.count.clone()}
        z = x + y
        return {"one": z, "tuple": (z, z * x.shape[0]), "list": [z, self.count.clone()]}[self.kind]


class TestCalls:
    """A built module gives what the module of the program gives, for right and wrong arguments."""

    @pytest.mark.parametrize("kind", ["one", "tuple", "list", "table"])
    @pytest.mark.parametrize("is_dynamic", [False, True])
    def test_results(self, kind: str, is_dynamic: bool) -> None:
        def arguments(rows: int) -> Any:
            x, y = torch.rand(rows, 3), torch.rand(rows, 3)
            return ({"a": x}, y) if kind == "table" else (x, y)

        batch = {0: torch.export.Dim("batch", max=8)} if is_dynamic else None
        shapes = ({"a": batch} if kind == "table" else batch, batch)
        program = torch.export.export(Sums(kind), arguments(2), dynamic_shapes=shapes)
        # files lose the export's guards, so those are left out of what is right, too
        expected, built = program.module(check_guards=False), build(TorchOptions(), saved(program))
        for rows in (2, 5, 2) if is_dynamic else (2, 2):
            given = arguments(rows)
            found, right = built(*given), expected(*given)
            assert type(found) is type(right)
            torch.testing.assert_close(found, right)
        torch.testing.assert_close(dict(built.state_dict()), dict(expected.state_dict()))
        for wrong in (arguments(9), arguments(2)[:1], (3, arguments(2)[1]), (torch.rand(2), torch.rand(2))):
            self.same_refusal(expected, built, wrong)
        self.same_refusal(expected, built, (arguments(2)[0],), y=torch.rand(2, 3))
        torch.testing.assert_close(copy.deepcopy(built)(*given), built(*given))

    def same_refusal(self, expected: Any, built: Any, given: tuple[Any, ...], **named: Any) -> None:
        refusals = []
        for module in (expected, built, built):
            with pytest.raises(Exception) as caught:  # noqa: PT011  # whatever PyTorch raises
                module(*given, **named)
            refusals.append((type(caught.value), str(caught.value)))
        assert len({*refusals}) == 1

    def test_nothing_of_pytorchs_own_work_is_left(self) -> None:
        module = build(TorchOptions(), exported())
        assert "pytree" not in module.code
        assert "return linear_1" in module.code

    def test_it_moves_trains_and_loads_weights(self) -> None:
        program = exported()
        module, x = build(TorchOptions(), program), torch.randn(2, 8)
        weights = {name: torch.zeros_like(each) for name, each in program.state_dict.items()}
        module(x).sum().backward()
        assert all(each.grad is not None for each in module.parameters())
        module.load_state_dict(weights)
        assert not module(x).any()
        assert module.double()(x.double()).dtype == torch.float64


class TestSettings:
    """Settings of the process are in force, and are read back."""

    def test_threads(self) -> None:
        module = build(TorchOptions(num_threads=1), exported())
        assert torch.get_num_threads() == 1
        view = effective(module)
        assert (view["num_threads"].value, view["num_threads"].source.value) == (1, "read back")

    @pytest.mark.parametrize("precision", ["highest", "high", "medium"])
    def test_precision_of_matrix_products(self, precision: str) -> None:
        module = build(TorchOptions(float32_matmul_precision=MatmulPrecision(precision)), exported())
        assert torch.get_float32_matmul_precision() == precision
        assert effective(module)["float32_matmul_precision"].value == precision

    @pytest.mark.parametrize(
        "name",
        ["onednn", "cudnn", "cudnn_benchmark", "cudnn_deterministic", "cudnn_allow_tf32"],
    )
    @pytest.mark.parametrize("value", [True, False])
    def test_flags(self, name: str, value: bool) -> None:
        module = build(TorchOptions(**{name: value}), exported())
        owner = torch.backends.mkldnn if name == "onednn" else torch.backends.cudnn
        attribute = "enabled" if name in ("onednn", "cudnn") else name.removeprefix("cudnn_")
        assert getattr(owner, attribute) is value
        assert effective(module)[name].value is value

    def test_deterministic_algorithms(self) -> None:
        build(TorchOptions(deterministic_algorithms=True), exported())
        assert torch.are_deterministic_algorithms_enabled()

    def test_every_option_has_a_view(self) -> None:
        view = effective(build(TorchOptions(), exported()))
        assert view.keys() == TorchOptions.option_infos().keys()

    def test_a_value_that_another_library_changed_is_seen(self) -> None:
        module = build(TorchOptions(num_threads=2), exported())
        torch.set_num_threads(1)
        assert effective(module)["num_threads"].value == 1

    def test_a_value_that_pytorch_ignores_is_an_error(self) -> None:
        from etconfig_torch.process_settings import SETTINGS

        with pytest.raises(
            SettingRefusedError, match=r"PyTorch ignored .* 'hihg', and 'highest' is in force"
        ):
            SETTINGS["float32_matmul_precision"].bring_into_force("float32_matmul_precision", "hihg")

    def test_interop_threads_are_taken_once(self) -> None:
        code = """
import torch
from etconfig_torch.plugin import build
from etconfig_torch.options import TorchOptions
first = build(TorchOptions(num_interop_threads=3), torch.nn.ReLU())
again = build(TorchOptions(num_interop_threads=3), torch.nn.ReLU())
print(torch.get_num_interop_threads())
del first, again
try:
    build(TorchOptions(num_interop_threads=2, num_threads=1), torch.nn.ReLU())
except Exception as error:
    print(type(error).__name__, error)
print(torch.get_num_threads() > 0)
"""
        count, error, _ = in_process(code).splitlines()
        assert count == "3"
        assert error.startswith(
            "SettingRefusedError PyTorch refuses num_interop_threads = 2, 3 stays in force"
        )
        assert error.endswith("; load this method first, or start the process again")


class TestConflicts:
    """Two modules cannot need different settings of one process."""

    def test_a_module_that_only_refers_to_itself_needs_nothing(self) -> None:
        first = build(TorchOptions(num_threads=1), torch.nn.ReLU())
        first.itself = [first]
        del first
        build(TorchOptions(num_threads=2), exported())
        assert torch.get_num_threads() == 2

    def test_another_value_is_refused_while_the_first_lives(self) -> None:
        first = build(TorchOptions(num_threads=1), exported())
        with pytest.raises(
            SettingRefusedError, match="num_threads is one setting for the whole process: 1 is in"
        ):
            build(TorchOptions(num_threads=2), exported())
        assert torch.get_num_threads() == 1
        same = build(TorchOptions(num_threads=1, float32_matmul_precision=MatmulPrecision.HIGH), exported())
        del first, same
        gc.collect()
        build(TorchOptions(num_threads=2), exported())
        assert torch.get_num_threads() == 2

    def test_a_refused_module_changes_nothing(self) -> None:
        first = build(
            TorchOptions(float32_matmul_precision=MatmulPrecision.HIGHEST, num_threads=1), exported()
        )
        with pytest.raises(SettingRefusedError):
            build(TorchOptions(float32_matmul_precision=MatmulPrecision.HIGH, onednn=False), exported())
        assert torch.backends.mkldnn.enabled
        assert effective(first)["float32_matmul_precision"].value == "highest"

    def test_what_may_change_while_loaded(self) -> None:
        before = TorchOptions(num_threads=1)
        module = build(before, exported())
        after = TorchOptions(num_threads=2)
        update(module, after, before, frozenset({"num_threads"}))
        assert torch.get_num_threads() == 2
        other = build(after, exported())
        with pytest.raises(SettingRefusedError):
            update(module, before, after, frozenset({"num_threads"}))
        assert torch.get_num_threads() == 2
        del other


class NoTensors(torch.nn.Module):  # type: ignore[misc]  # torch may be absent
    """A module without weights."""

    def forward(self, x: Any) -> Any:
        """Return memory that nothing was written to."""
        return torch.empty_like(x)


def kernels(module: Any) -> set[str]:
    """Return the names of the operators that a convolution runs."""
    with torch.profiler.profile() as profile:
        module(torch.zeros(16, 3, 8, 8))
    return {event.key for event in profile.key_averages()}


def refused(options: TorchOptions) -> bool:
    try:
        build(options, torch.nn.ReLU())
    except BackendUnavailableError:
        return True
    return False


def autocast_error(options: TorchOptions) -> float:
    torch.manual_seed(0)
    model, x = torch.nn.Linear(64, 64), torch.randn(8, 64)
    expected = model(x)
    return float((build(options, model)(x).float() - expected).abs().max().detach())


def compiled_frames(options: TorchOptions) -> int:
    """Return how often PyTorch compiles a module when it runs."""
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    build(options, torch.nn.ReLU())(torch.ones(2))
    return int(torch._dynamo.utils.counters["frames"]["ok"])


_CONVOLUTION = {"onednn": "aten::mkldnn_convolution"}
_EAGER = {"compile_backend": "eager"}
EFFECTS: dict[str, tuple[Any, dict[str, Any], list[tuple[Any, Any]]]] = {
    "device": (refused, {}, [("cpu", False), ("xpu:9", True)]),
    "autocast": (
        lambda options: autocast_error(options) > 1e-4,
        {},
        [(Autocast.NONE, False), (Autocast.BFLOAT16, True)],
    ),
    "compile_mode": (compiled_frames, _EAGER, [(CompileMode.DEFAULT, 1)]),
    "compile_backend": (refused, {"compile_mode": CompileMode.DEFAULT}, [("eager", False), ("eagre", True)]),
    "onednn": (
        lambda options: _CONVOLUTION["onednn"] in kernels(build(options, torch.nn.Conv2d(3, 3, 3))),
        {},
        [(True, True), (False, False)],
    ),
    "deterministic_algorithms": (
        lambda options: bool(build(options, NoTensors())(torch.zeros(99)).isnan().all()),
        {},
        [(True, True)],
    ),
}
"""For each option: what to measure, what is set beside it, and what each value of it leads to."""

THREADS = """
import os, torch
from etconfig_torch.plugin import build, effective
from etconfig_torch.options import TorchOptions
tasks = lambda: len(os.listdir("/proc/self/task"))
before = tasks()
for number in (1, 3):
    module = build(TorchOptions(num_threads=number), torch.nn.ReLU())
    module(torch.ones(1000, 1000))
    print(tasks() - before, effective(module)["num_threads"].value)
    del module
"""


class TestInForce:
    """An option has the effect that `effective` says."""

    TABLE = table_of(HERE.parent / "README.md")

    def test_the_readme_names_every_option(self) -> None:
        check_names(self.TABLE, TorchOptions.option_infos(), EFFECTS.keys() | {"num_threads"})

    def test_each(self) -> None:
        wrong = []
        for name, (measure, beside, cases) in EFFECTS.items():
            for value, expected in cases:
                options = TorchOptions(**{**beside, name: value})
                seen = measure(options)
                if seen != expected:
                    wrong.append((name, value, f"{seen!r} was seen, not {expected!r}"))
                gc.collect()  # the claims of modules
        for name, row in self.TABLE.items():
            sources = {effective(build(TorchOptions(), each))[name] for each in (exported(), NoTensors())}
            if not {each.source.value for each in sources} <= {*row.sources}:
                wrong.append((name, row, sources))
        assert wrong == [], "\n".join(map(str, wrong))

    @pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="counts the threads of Linux")
    def test_threads_are_those_of_the_system(self) -> None:
        assert in_process(THREADS).splitlines() == ["0 1", "2 3"]

    def test_a_module_without_tensors_shows_no_device(self) -> None:
        found = effective(build(TorchOptions(), NoTensors()))["device"]
        assert (found.value, found.source.value) == ("cpu", "assumed")

    def test_a_variable_that_the_option_replaces_is_logged(
        self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        monkeypatch.setenv("OMP_NUM_THREADS", "7")
        build(TorchOptions(num_threads=3), torch.nn.ReLU())
        assert caplog.messages == ["num_threads is 3, so OMP_NUM_THREADS=7 has no effect"]


PROFILE = """
[profile]
name = "acme/board"

[options.TorchBackend]
num_threads = {{ expr = "cpu.available_cores * {factor}" }}
"""


def cores(count: int) -> etconfig.FactSheet:
    origin = Origin(OriginKind.SHEET, "test")
    return etconfig.FactSheet.empty().with_overrides({"cpu.available_cores": Sourced(count, origin)})


def live_on(place: Path, factor: int = 1) -> etconfig.LiveArguments:
    path = place / f"board{factor}.toml"
    path.write_text(PROFILE.format(factor=factor))
    installation = etconfig.Installation(place).with_backends({SPEC.id: SPEC})
    models = {"detector": SPEC.id, "encoder": SPEC.id}
    return etconfig.LiveArguments(models=models, profile=path, facts=cores(1), installation=installation)


class TestRefresh:
    """Modules that follow the facts take a new value of one setting together."""

    def test_all_move_together(self, tmp_path: Path) -> None:
        live = live_on(tmp_path)
        modules = [live.build(name, exported()) for name in ("detector", "encoder")]
        report = live.refresh(cores(2))
        assert [str(change.path) for change in report.applied] == [
            "detector:TorchBackend.num_threads",
            "encoder:TorchBackend.num_threads",
        ]
        assert (report.refused, report.postponed, torch.get_num_threads()) == ((), (), 2)
        assert [effective(module)["num_threads"].value for module in modules] == [2, 2]
        assert not live.refresh(cores(2))

    def test_two_values_at_once_name_both(self, tmp_path: Path) -> None:
        one, two = live_on(tmp_path), live_on(tmp_path, factor=2)
        modules = [one.build(name, exported()) for name in ("detector", "encoder")]
        two.refresh(cores(1))
        report = one.refresh(cores(2))
        assert len(report.applied) == 2
        modules.append(two.build("detector", exported()))
        report = one.refresh(cores(3))
        assert (report.applied, len(report.refused)) == ((), 2)
        assert str(report.refused[0].error) == (
            "backend 'TorchBackend' failed in update of model 'detector': SettingRefusedError: num_threads "
            "is one setting for the whole process: 2 is in use by another method or module, so 3 cannot be; "
            "give both the same value, or close the method, or `del` all references to the module"
        )
        assert torch.get_num_threads() == 2
        assert [effective(module)["num_threads"].value for module in modules] == [2, 2, 2]
        modules.pop()
        gc.collect()
        assert len(one.refresh(cores(3)).applied) == 2
        assert torch.get_num_threads() == 3

    def test_other_threads_take_it_with_their_next_call(self, tmp_path: Path) -> None:
        live = live_on(tmp_path, factor=2)
        form = {
            "plain": torch.nn.Linear(8, 4),
            "exported": exported(),
            "compiled": torch.compile(torch.nn.Linear(8, 4), backend="eager"),
        }
        modules = [live.build("detector", model) for model in form.values()]

        def threads_after(module: Any) -> int:
            module(torch.zeros(2, 8))
            return int(torch.get_num_threads())

        for module in modules:
            with ThreadPoolExecutor(max_workers=1) as worker:
                live.refresh(cores(1))
                assert worker.submit(threads_after, module).result() == 2
                live.refresh(cores(2))
                assert worker.submit(threads_after, module).result() == 4
                worker.submit(torch.set_num_threads, 3).result()
                assert worker.submit(threads_after, module).result() == 3  # its own wish
                assert torch.get_num_threads() == 4
        assert torch.equal(copy.deepcopy(modules[0])(torch.ones(8)), modules[0](torch.ones(8)))
        assert len(modules[0]._forward_pre_hooks) == 1

    def test_the_value_in_use_is_the_one_that_stays(self, tmp_path: Path) -> None:
        live = live_on(tmp_path)
        modules = [live.build(name, exported()) for name in ("detector", "encoder")]
        live.refresh(cores(2))
        modules.append(build(TorchOptions(num_threads=2), exported()))
        report = live.refresh(cores(7))
        assert "2 is in use by another method or module, so 7 cannot be" in str(report.refused[0].error)

    def test_one_that_is_new_meanwhile_is_not_forgotten(self, tmp_path: Path) -> None:
        live = live_on(tmp_path)
        modules = [live.build(name, exported()) for name in ("detector", "encoder")]
        live.refresh(cores(2))
        del modules[0]
        gc.collect()
        with pytest.raises(SettingRefusedError, match="num_threads"):
            build(TorchOptions(num_threads=1), exported())


class TestDevices:
    """A device that is not here is an error with the fix."""

    @pytest.mark.parametrize(
        ("device", "reason"),
        [
            ("cuda:7", "cannot use the device 'cuda:7'"),
            ("npv", "has no device 'npv'"),
            ("mps", "no operators for it"),
            ("cpu:9", "cpu:9"),
        ],
    )
    def test_a_missing_device(self, device: str, reason: str) -> None:
        if device.startswith("cuda") and torch.cuda.device_count() > 7:
            pytest.skip("it has eight of them")
        if device == "mps" and torch.backends.mps.is_available():
            pytest.skip("it is here")
        with pytest.raises(BackendUnavailableError, match=reason) as caught:
            build(TorchOptions(device=device), exported())
        assert "choose one that is here (cpu" in (caught.value.help or "")
        assert len(str(caught.value)) < 400

    def test_a_module_that_cannot_be_imported(self) -> None:
        with pytest.raises(
            BackendUnavailableError, match="'torch_nothing' cannot be imported: ModuleNotFoundError"
        ):
            build(TorchOptions(device="npu", device_module="torch_nothing"), exported())

    def test_a_device_of_another_package(self) -> None:
        code = """
import torch, numpy as np
from etconfig_torch.plugin import build, effective
from etconfig_torch.options import TorchOptions
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU()).eval()
program = torch.export.export(model, (torch.zeros(2, 8),))
x = torch.randn(2, 8)
expected = model(x).detach().numpy()
module = build(TorchOptions(device="npu:0", device_module="npu_device"), program)
import npu_device
npu_device.CALLS.clear()
with torch.inference_mode():
    y = module(x.to("npu:0"))
print(y.device, np.abs(y.cpu().numpy() - expected).max() < 1e-6)
print(*[name for name in npu_device.CALLS if "copy" not in name and "empty" not in name])
print(effective(module)["device"].value, effective(module)["device"].source.value)
try:
    build(TorchOptions(device="npu:3", device_module="npu_device"), program)
except Exception as error:
    print(type(error).__name__, error)
"""
        lines = in_process(code).splitlines()
        assert lines[0] == "npu:0 True"
        assert lines[1].split()[-2:] == ["aten::linear", "aten::relu"]
        assert lines[2] == "npu:0 read back"
        assert "there are 1 of them, numbered from 0" in lines[3]


class TestEffects:
    """Options have the effect that they name."""

    def test_autocast_rounds_two_instances_differently(self) -> None:
        program = exported()
        x = torch.randn(2, 8)
        expected = program.module()(x)
        exact = build(TorchOptions(), program)
        rough = build(TorchOptions(autocast=Autocast.BFLOAT16), program)
        assert (exact(x) - expected).abs().max() < 1e-6
        assert 1e-4 < (rough(x).float() - expected).abs().max() < 0.1

    @pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
    def test_compiled_modules(self, backend: str) -> None:
        if backend == "inductor" and shutil.which("g++") is None:
            pytest.skip("inductor needs g++")
        program = exported()
        x = torch.randn(2, 8)
        module = build(TorchOptions(compile_mode=CompileMode.DEFAULT, compile_backend=backend), program)
        assert type(module).__name__ == "OptimizedModule"
        with torch.inference_mode():
            assert torch.allclose(module(x), program.module()(x), atol=1e-6)

    def test_a_misspelt_compile_backend(self) -> None:
        options = TorchOptions(compile_mode=CompileMode.DEFAULT, compile_backend="inducter")
        with pytest.raises(
            BackendUnavailableError, match=r"torch.compile has no backend 'inducter'"
        ) as caught:
            build(options, exported())
        assert caught.value.help == "did you mean 'inductor'?"

    def test_remarks_on_values_that_help_nobody(self) -> None:
        view = effective(build(TorchOptions(num_threads=64, cudnn_benchmark=True), exported()))
        assert (view["num_threads"].value, view["cudnn_benchmark"].value) == (64, True)
        assert "share the" in view["num_threads"].reason or (os.cpu_count() or 1) >= 64
        assert "cuDNN is for CUDA, so it changes nothing on cpu" in view["cudnn_benchmark"].reason


class Harm:
    """Pickles to a call that writes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


def changed(data: bytes, part: str, change: Any) -> bytes:
    """Return an archive with one part changed, or added."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w") as new:
        for info in old.infolist():
            content = old.read(info)
            if info.filename.endswith(part):
                content, part = change(content), "\0"
            new.writestr(info.filename, content)
        if part != "\0":
            new.writestr(f"archive/{part}", change(b""))
    return buffer.getvalue()


def edited(data: bytes, part: str, old: str, new: str) -> bytes:
    def edit(content: bytes) -> bytes:
        assert old.encode() in content
        return content.replace(old.encode(), new.encode(), 1)

    return changed(data, part, edit)


class TestHostileFiles:
    """No code of a file runs while it is read."""

    def test_sample_inputs_that_run_code(self, tmp_path: Path) -> None:
        victim = tmp_path / "harmed"
        data = changed(saved(), "sample_inputs/model.pt", lambda _: self.pickled(victim))
        with pytest.raises(UnsafeArchiveError, match=r"sample inputs .* are not plain tensors"):
            build(TorchOptions(), data)
        assert not victim.exists()

    def pickled(self, victim: Path) -> bytes:
        buffer = io.BytesIO()
        torch.save(Harm(victim), buffer)
        return buffer.getvalue()

    def test_pytorch_itself_would_run_it(self, tmp_path: Path) -> None:
        """The reason for the checks: torch.export.load falls back to unpickling anything."""
        victim = tmp_path / "harmed"
        data = changed(saved(), "sample_inputs/model.pt", lambda _: self.pickled(victim))
        with pytest.raises(Exception):  # noqa: B017, PT011  # whatever happens after the harm
            torch.export.load(io.BytesIO(data))
        assert victim.exists()

    def test_weights_that_run_code(self, tmp_path: Path) -> None:
        data = edited(saved(), "model_weights_config.json", '"use_pickle": false', '"use_pickle": true')
        with pytest.raises(UnsafeArchiveError, match=r"stores '0.weight' as a pickle"):
            build(TorchOptions(), data)

    @pytest.mark.parametrize(
        "part",
        ["data/weights/model.pt", "data/constants/custom_obj_0", "data/constants/opaque_obj_0", "extra/a.txt",
         "data/aotinductor/model/a.so", "serialized_exported_program.json", "models/other.json"],
    )  # fmt: skip
    def test_other_parts(self, part: str, tmp_path: Path) -> None:
        data = changed(saved(), part, lambda _: pickle.dumps(Harm(tmp_path / "harmed")))
        with pytest.raises(UnsafeArchiveError, match="is not data of a model"):
            build(TorchOptions(), data)

    @pytest.mark.parametrize(
        "target",
        ["torch.serialization.os.system", "torch.hub.load", "_operator.methodcaller", "math.__loader__.load",
         "torch.ops.aten.from_file.default", "torch.ops.load_library", "#triton:x",
         "torch.ops.higher_order.x",
         "torch.ops.acme.spike.default"],
    )  # fmt: skip
    def test_calls_of_something_else_than_operators(self, target: str) -> None:
        data = edited(saved(), "model.json", "torch.ops.aten.relu.default", target)
        with pytest.raises(UnsafeArchiveError, match=r"calls|reads a file"):
            build(TorchOptions(), data)

    def test_names_that_are_code(self) -> None:
        data = edited(saved(), "model.json", '"name": "input"', '"name": "x=__import__(\'os\')"')
        with pytest.raises(UnsafeArchiveError, match="which is not a name"):
            build(TorchOptions(), data)

    @pytest.mark.parametrize(
        "text",
        ["__import__('os').mkdir('harmed')", "(lambda: 1)()", "Symbol('s0').__class__", "open('x')",
         "[1 for _ in s0]",
         "Integer(1); 2", "s0 if s0 else s0", "f'{s0}'", "", "Symbol(*s0)", "Symbol('os')", "eval('1')"],
    )  # fmt: skip
    def test_expressions_that_are_code(self, text: str) -> None:
        shapes = ({0: torch.export.Dim("batch", min=2, max=64)},)
        program = torch.export.export(torch.nn.Linear(8, 4), (torch.zeros(4, 8),), dynamic_shapes=shapes)
        model = json.loads(zipfile.ZipFile(io.BytesIO(saved(program))).read("archive/models/model.json"))
        sizes = model["graph_module"]["graph"]["tensor_values"]["input"]["sizes"]
        sizes[0]["as_expr"]["expr_str"] = text
        data = changed(saved(program), "model.json", lambda _: json.dumps(model).encode())
        with pytest.raises(UnsafeArchiveError, match="which is not arithmetic of sizes"):
            build(TorchOptions(), data)

    @pytest.mark.parametrize(
        "target",
        ["torch.ops.aten.save.default", "torch.ops.aten.manual_seed.default", "torch.ops.aten.relu.__class__",
         "torch.ops.aten.relu.op", "torch.ops.aten.relu.nothing", "torch.ops.aten._print.default",
         "torch.ops.aten._sparse_coo_tensor_unsafe.default"],
    )  # fmt: skip
    def test_operators_that_pytorch_does_not_dispatch_or_that_have_effects(self, target: str) -> None:
        data = edited(saved(), "model.json", "torch.ops.aten.relu.default", target)
        with pytest.raises(UnsafeArchiveError, match=r"is not an operator of this PyTorch|may access files"):
            build(TorchOptions(), data)

    def test_weights_whose_names_are_code(self, tmp_path: Path) -> None:
        """PyTorch writes the names of weights into the code of the module, between quotes."""
        command = f"import os; os.mkdir({str(tmp_path / 'harmed')!r})".replace(".", "\\x2e")
        name = f'a");exec("{command}");("'
        data = saved()
        for part in ("model.json", "model_weights_config.json"):
            old, new = (json.dumps(text) for text in ("0.weight", name))
            data = edited(edited(data, part, old, new), part, '"0.bias"', '"a"')
        module = torch.export.load(io.BytesIO(data)).module(check_guards=False)
        assert "exec(" in module.code
        with contextlib.suppress(RuntimeError):  # afterwards, the weights do not fit
            module(torch.zeros(2, 8))
        assert (tmp_path / "harmed").exists()  # the reason for the check
        (tmp_path / "harmed").rmdir()
        with pytest.raises(UnsafeArchiveError, match="which is not a name"):
            build(TorchOptions(), data)
        assert not (tmp_path / "harmed").exists()

    @pytest.mark.parametrize("name", ["__class__.forward", "0.__init__.weight", "a\\nb", "a'b"])
    def test_other_names_of_weights(self, name: str) -> None:
        data = edited(saved(), "model.json", '"parameter_name": "0.weight"', f'"parameter_name": "{name}"')
        with pytest.raises(UnsafeArchiveError, match="which is not a name"):
            build(TorchOptions(), data)

    @pytest.mark.parametrize(
        ("kind", "context"),
        [
            ("collections.defaultdict", {"default_factory_module": "harmful", "default_factory_name": "x"}),
            ("builtins.dict", [{"__enum__": True, "fqn": "harmful:X", "name": "a"}]),
            ("collections.namedtuple", "harmful"),
        ],
    )
    def test_structures_that_import_modules(
        self, kind: str, context: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "harmful.py").write_text("X = x = {}\n")
        monkeypatch.syspath_prepend(tmp_path)
        leaf = {"type": None, "context": None, "children_spec": []}
        structure = {"type": kind, "context": json.dumps(context), "children_spec": [leaf]}
        model = json.loads(zipfile.ZipFile(io.BytesIO(saved())).read("archive/models/model.json"))
        call = model["graph_module"]["module_call_graph"][0]["signature"]
        call["out_spec"] = json.dumps([1, structure])
        data = changed(saved(), "model.json", lambda _: json.dumps(model).encode())
        with pytest.raises(UnsafeArchiveError, match=r"has the container|is not the structure"):
            build(TorchOptions(), data)
        assert "harmful" not in sys.modules

    @pytest.mark.parametrize(
        "text", ["9**9**9**9", "Pow(9, Pow(9, 99))", "(9**64)**64", "s0**s0", "1 << 999999999", "Pow(9, 1e9)"]
    )
    def test_numbers_that_fill_the_memory(self, text: str) -> None:
        from etconfig_torch.graph_check import checked_model

        with pytest.raises(UnsafeArchiveError, match="which is not arithmetic of sizes"):
            checked_model({"expr_str": text})
        checked_model({"expr_str": "2*s0**2 + Pow(s1, 2)"})

    def test_deep_nesting(self) -> None:
        for depth in (500, 100_000):
            data = changed(saved(), "model.json", lambda _, n=depth: b'{"a":' * n + b"1" + b"}" * n)
            with pytest.raises(UnreadableModelError, match=r"is not JSON|is nested over 200 times"):
                build(TorchOptions(), data)

    def test_other_encodings(self) -> None:
        data = changed(saved(), "model.json", lambda text: text.decode().encode("utf-16"))
        with pytest.raises(UnreadableModelError, match="is not JSON"):
            build(TorchOptions(), data)

    def test_weights_that_are_larger_than_what_is_stored(self) -> None:
        data = edited(saved(), "model_weights_config.json", '"as_int": 16', '"as_int": 16000000')
        with pytest.raises(UnreadableModelError, match="cannot read the exported program"):
            build(TorchOptions(), data)

    def test_parts_that_overlap(self) -> None:
        """Many entries over the same bytes would take their number times the memory of the file."""
        data = bytearray(saved())
        start = zipfile.ZipFile(io.BytesIO(data)).start_dir
        for field in (20, 24):  # the compressed and the plain size of the first entry
            data[start + field : start + field + 4] = (len(data) + 1).to_bytes(4, "little")
        with pytest.raises(UnsafeArchiveError, match="overlap, or are larger than the file"):
            build(TorchOptions(), bytes(data))

    def test_parts_in_two_directories(self) -> None:
        data = io.BytesIO(saved())
        with zipfile.ZipFile(data, "a") as archive:
            archive.writestr("../../models/model.json", "{}")
        with pytest.raises(UnsafeArchiveError, match="is not data of a model"):
            build(TorchOptions(), data.getvalue())
        with zipfile.ZipFile(data := io.BytesIO(saved()), "a") as archive:
            archive.writestr("other/models/model.json", "{}")
        with pytest.raises(UnsafeArchiveError, match="appears twice"):
            build(TorchOptions(), data.getvalue())

    def test_encrypted_and_compressed_parts(self) -> None:
        data = bytearray(saved())
        data[6] |= 1
        data[zipfile.ZipFile(io.BytesIO(data)).start_dir + 8] |= 1
        with pytest.raises(UnreadableModelError, match="damaged"):
            build(TorchOptions(), bytes(data))
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("archive/models/model.json", b" " * 10_000_000)
        with pytest.raises(UnsafeArchiveError, match="larger than the file"):
            build(TorchOptions(), packed.getvalue())

    def test_damaged_files_raise_one_kind_of_error(self) -> None:
        """Whatever bytes change, the file is read, or refused as a file."""
        random.seed(1)
        good = saved()
        for _ in range(150):
            data = bytearray(good)
            for _ in range(random.choice([1, 1, 4])):
                data[random.randrange(len(data))] ^= 1 << random.randrange(8)
            with contextlib.suppress(UnreadableModelError):
                build(TorchOptions(), bytes(data))

    def test_guards_are_dropped(self) -> None:
        data = edited(saved(), "model.json", '"guards_code": []', '"guards_code": ["__import__(1)"]')
        build(TorchOptions(), data)(torch.zeros(2, 8))

    @pytest.mark.posix
    def test_a_pipe_or_a_device(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        for path in (tmp_path / "pipe", Path("/dev/zero")):
            with pytest.raises(UnreadableModelError, match=f"{path}: it is neither a file nor a link to one"):
                build(TorchOptions(), path)

    def test_the_message_names_the_file_and_what_to_call_instead(self, tmp_path: Path) -> None:
        path = tmp_path / "model.pt2"
        path.write_bytes(changed(saved(), "extra/a.txt", lambda _: b""))
        with pytest.raises(UnsafeArchiveError, match=r"model\.pt2: .* If you trust the file") as caught:
            build(TorchOptions(), path)
        assert "pass build the result of torch.export.load" in str(caught.value)
        path.write_bytes(saved()[:2000])
        with pytest.raises(
            UnreadableModelError, match=r"model\.pt2: .* damaged: .*; copy it again"
        ) as caught:
            build(TorchOptions(), path)
        assert "If you trust" not in str(caught.value)
        path.unlink()
        with pytest.raises(UnreadableModelError, match=r"cannot read the model .*model\.pt2: No such file"):
            build(TorchOptions(), path)

    @pytest.mark.parametrize(
        ("data", "problem"),
        [(b"", "the file is empty"), (b"PK\x03\x04", "damaged"), (b"nothing", "damaged"),
         (b"\x00\x00\x00\x00ET12", "program of ExecuTorch"), (b"\x80\x02x", "it is a pickle")],
    )  # fmt: skip
    def test_something_else(self, data: bytes, problem: str) -> None:
        with pytest.raises(UnreadableModelError, match=problem):
            build(TorchOptions(), data)

    def test_other_files_of_pytorch(self) -> None:
        torch.save(torch.nn.Linear(2, 2).state_dict(), weights := io.BytesIO())
        torch.jit.save(torch.jit.script(torch.nn.Linear(2, 2)), script := io.BytesIO())
        for buffer, kind in ((weights, "a state_dict"), (script, "TorchScript")):
            with pytest.raises(UnreadableModelError, match=rf"{kind}.*torch\.export\.export"):
                build(TorchOptions(), buffer.getvalue())


def test_a_module_that_build_did_not_return() -> None:
    for other in (object(), torch.nn.ReLU(), copy.deepcopy(build(TorchOptions(), torch.nn.ReLU()))):
        with pytest.raises(TypeError, match="expected a module that build returned"):
            effective(other)
        with pytest.raises(TypeError, match="expected a module that build returned"):
            update(other, TorchOptions(), TorchOptions(), frozenset())


def test_the_spec_updates_and_reports() -> None:
    assert (SPEC.build, SPEC.effective, SPEC.update) == (build, effective, update)
