"""`--on` with etrunner: ExecuTorch's own runtime measures on a device without Python."""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import DATA, DIGITS, ROOT, Outcome, run_command

from etconfig.app.installation.installation import Installation
from etconfig.base.version import __version__
from etconfig.facts.sheet import FactSheet
from etconfig.measuring.processes import ProcessSubject, make_subject
from etconfig.measuring.remote import RemoteDevice
from etconfig.measuring.workplace import SubjectRequest, Workplace
from etconfig.tuning import contest, tuning

CMAKE = Path(sys.executable).with_name("cmake")
pytestmark = [
    pytest.mark.peers,
    pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++"),
    pytest.mark.skipif(not CMAKE.exists(), reason="there is no cmake"),
]

Cli = Callable[..., Outcome]
THREADS = "XnnpackBackend.num_threads"
GOLDEN = ROOT / "plugins/etconfig-executorch/etconfig_executorch/golden/XnnpackBackend"
PROGRAMS = (
    *(
        GOLDEN / f"{name}.pte"
        for name in ("conv2d_channels_last", "dynamic_batch", "nan_inf", "several_outputs")
    ),
    *(GOLDEN / f"{name}.pte" for name in ("pass_through", "named_data", "relu_rank0", "same_input_twice")),
    *sorted((DATA / "programs").glob("[adm]*.pte")),
    *(DATA / "exports" / f"external_{name}.pte" for name in ("constants", "delegate", "two_files")),
)
FAKE = """\
#!/bin/sh
if [ -n "$FAKE_SAYS" ]; then echo "$FAKE_SAYS" >&2; exit 1; fi
printf '%s\\n' "$@" > {arguments}
for command; do :; done
export TMPDIR={directory}
[ -z "$FAKE_FILTER" ] && exec sh -c "$command"
pipe={directory}/../pipe.$$
mkfifo "$pipe"
exec 3<&0
sh -c "exec $command" <&3 >"$pipe" &
eval "$FAKE_FILTER" <"$pipe"
for second in 1 2; do kill -0 $! 2>/dev/null && sleep 1; done  # it may see the end, and say so
kill $! 2>/dev/null  # as a connection that is cut ends both sides
"""


@pytest.fixture(scope="module")
def etrunner(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, built with the executorch that is installed, with all warnings as errors."""
    spec = find_spec("executorch")
    assert spec is not None
    assert spec.submodule_search_locations
    directory = tmp_path_factory.mktemp("etrunner")
    found = f"-Dexecutorch_ROOT={spec.submodule_search_locations[0]}"
    flags = "-DCMAKE_CXX_FLAGS=-O0 -Wall -Wextra -Werror"
    for command in (
        ["-S", ROOT / "etconfig/device/etrunner", "-B", directory, found, flags],
        ["--build", directory],
    ):
        done = subprocess.run([CMAKE, *command], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    return directory / "etrunner"


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The directory for temporary files of a device, which a fake `ssh` or `adb` runs on this machine."""
    directory, programs = tmp_path / "there", tmp_path / "programs"
    directory.mkdir()
    programs.mkdir()
    for name in ("ssh", "adb"):
        fake = programs / name
        fake.write_text(FAKE.format(directory=directory, arguments=tmp_path / "arguments"))
        fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    shutil.copy(DIGITS / "digits_xnnpack.pte", tmp_path / "model.pte")
    with np.load(DIGITS / "digits.npz") as recorded:
        np.save(tmp_path / "x.npy", recorded["images"][:1])
    monkeypatch.chdir(tmp_path)
    yield directory
    assert not [*directory.iterdir()]


@pytest.fixture
def cli(capfd: pytest.CaptureFixture[str]) -> Cli:
    """Run one command in this process, with the executor `executorch`."""

    def run(command: str, *arguments: str | Path) -> Outcome:
        executor = () if "--executor" in arguments else ("--executor", "executorch")
        return run_command(capfd, command, "model.pte", *executor, *arguments)

    return run


def ask(device: RemoteDevice, *requests: Any) -> list[Any]:
    """Return the answers of a new worker."""
    channel = device.open_channel()
    try:
        return [json.loads(channel.ask(json.dumps(each))) for each in requests]
    finally:
        channel.close()


def configuration(model: str, options: dict[str, Any] | None = None, **fields: Any) -> list[Any]:
    """Return the request to load a program."""
    request = {"model": model, "method": "forward", "backend": None, "executor": "executorch"}
    lists: dict[str, list[str]] = {"data": [], "shapes": [], "overrides": ["executor.libraries=[]"]}
    return ["load", {"facts": "{}", "request": {**request, **lists, **fields}, "options": options or {}}]


def test_the_rows_are_those_of_a_comparison_here(cli: Cli, there: Path, etrunner: Path) -> None:
    assert cli("run", "--input", "x.npy", "--output", "out.npz").status == 0
    bench = (
        "bench",
        "--pairs",
        "6",
        "--sweep",
        f"{THREADS}=1,2",
        "--input",
        "x.npy",
        "--reference",
        "out.npz",
    )
    reports = []
    for on in ((), ("--on", f"ssh://me@board:2222{etrunner}")):
        done = cli(*bench, "--json", *on)
        assert (done.status, done.stderr) == (0, "")
        reports.append(done.json)
        rows = [done.json["incumbent"], *done.json["rows"]]
        assert [(row["error"], row["failure"]) for row in rows] == [(0, None)] * 3
        assert all(row["load_s"] > 0 and row["peak_bytes"] is not None for row in rows)
    here, runner = reports
    for key in ("label", "options"):
        assert [row[key] for row in runner["rows"]] == [row[key] for row in here["rows"]]
    assert runner["environment"]["python"].startswith(f"etrunner with ExecuTorch {version('executorch')}")
    assert runner["environment"]["system"] == here["environment"]["system"]
    arguments = Path("arguments").read_text().splitlines()
    assert arguments == ["-T", "-o", "BatchMode=yes", "-p", "2222", "--", "me@board", str(etrunner)]


def test_a_runtime_that_crashes_ends_its_worker_alone(there: Path, etrunner: Path) -> None:
    device = RemoteDevice(f"adb://{etrunner}")
    try:
        program = DATA / "exports" / "external_delegate.pte"  # XNNPACK reads weights that are not there
        lone = configuration(device.send(Path(shutil.copy(program, "lone.pte"))))
        ended, still = ask(device, lone, ["time", 1])
        assert ended["ended"] < 0
        assert still == ended
        assert "result" in ask(device, configuration(device.send(Path("model.pte"))))[0]
    finally:
        device.close()


def test_a_value_that_is_out_of_range_is_a_row(cli: Cli, there: Path, etrunner: Path) -> None:
    done = cli("bench", "--pairs", "6", "--sweep", f"{THREADS}=5000", "--on", f"adb://{etrunner}")
    assert done.status == 0
    assert f"etrunner cannot bring {THREADS} = 5000 into force" in " ".join(done.stdout.split())
    assert "numpy" not in done.stdout.splitlines()[1]


def test_outputs_are_those_of_the_same_runtime_here(there: Path, etrunner: Path) -> None:
    device = RemoteDevice(f"adb://{etrunner}")
    try:
        here = Workplace(installation=Installation(), facts=FactSheet.empty(), fact_overrides={})
        for path in PROGRAMS:
            data = tuple(map(str, sorted(path.parent.glob(f"{path.stem}*.ptd"))))
            request = SubjectRequest(label=path.stem, model=str(path), executor="executorch", data=data)
            found = []
            for place in (here, replace(here, device=device)):
                with make_subject(place, request, in_own_process=False) as subject:
                    found.append(subject.run(subject.generate(1)))
                    assert len(subject.time_block(3)) == 3
            for mine, theirs in zip(*found, strict=True):
                assert type(mine) is type(theirs)
                np.testing.assert_array_equal(mine, theirs, strict=True)
    finally:
        device.close()


def test_a_search_takes_place_there(
    cli: Cli, there: Path, etrunner: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The times are made up, since other programs run on this machine: each thread takes 5 ms."""
    asked = ProcessSubject._ask

    def ask(self: Any, operation: str, data: object) -> Any:
        found = asked(self, operation, data)
        if operation == "load":
            self.threads = found["options"][THREADS]
        return [self.threads * 5_000_000 for _ in found] if operation == "time" else found

    monkeypatch.setattr(ProcessSubject, "_ask", ask)
    for module in (contest, tuning):
        monkeypatch.setattr(module, "FRESH_LOADS", 3)
    Path("slow.toml").write_text("[profile]\nname = 'slow'\n[options.XnnpackBackend]\nnum_threads = 4\n")
    on = ("--on", f"adb://emulator-5554{etrunner}", "--budget", "1s")
    tune = ("--profile", "slow.toml", "--only", "num_threads", "--also", "num_threads=1,3")
    done = cli("tune", *tune, *on, "--output", "tuned.toml")
    assert (done.status, done.stderr) == (0, "")
    tuned = Path("tuned.toml").read_text()
    assert "num_threads = 1\n" in tuned
    assert f'engine = "executorch {version("executorch")}"' in tuned
    done = cli("tune", "--verify", "tuned.toml", *on)
    assert (done.status, done.stderr) == (0, "")
    arguments = Path("arguments").read_text().splitlines()
    assert arguments == ["-s", "emulator-5554", "shell", "-T", str(etrunner)]


@pytest.mark.parametrize(
    ("environ", "on", "message", "advice"),
    [
        ({}, "adb:///no/etrunner", "it has no /no/etrunner: ", f"build etrunner of etconfig {__version__}, "),
        ({}, "ssh://board/no/etrunner-arm64", "it has no /no/etrunner-arm64: ", "build etrunner of etconfig"),
        (
            {"FAKE_FILTER": """sed -u 's/agent": "0/agent": "9/'"""},
            "adb://{etrunner}",
            f"it has etconfig 9.1.0, and here is {__version__}",
            "build etrunner of etconfig",
        ),
        (
            {"FAKE_SAYS": "adb: device 'x' not found"},
            "adb://x{etrunner}",
            "adb cannot reach it: adb: device 'x' not found",
            "try: adb -s x shell -T true",
        ),
        ({"FAKE_FILTER": "sed -u 4q"}, "adb://{etrunner}", "the connection is cut", "run it again"),
        ({"FAKE_FILTER": "true"}, "adb://{etrunner}", "etconfig does not start there: etrunner: the", ""),
    ],
)
def test_a_device_that_cannot_be_used_is_an_error(
    cli: Cli,
    there: Path,
    etrunner: Path,
    monkeypatch: pytest.MonkeyPatch,
    environ: dict[str, str],
    on: str,
    message: str,
    advice: str,
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    done = cli("bench", "--pairs", "6", "--on", on.format(etrunner=etrunner))
    assert (done.status, message in done.stderr, advice in done.stderr) == (2, True, True), done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--executor", "numpy"), "etrunner has the executor executorch only: give --executor executorch"),
        (
            ("--set", "executor.libraries=quantized"),
            'etrunner loads no libraries: executor.libraries=["quantized"]',
        ),
        (
            (
                "--set",
                "XnnpackBackend.packed_cache_path=p",
                "--set",
                "XnnpackBackend.weight_cache_enabled=true",
            ),
            'etrunner cannot bring XnnpackBackend.packed_cache_path = "p" into force',
        ),
    ],
)
def test_what_etrunner_cannot_do_is_refused(
    there: Path, etrunner: Path, arguments: tuple[str, ...], message: str
) -> None:
    if "numpy" in arguments:
        shutil.copy(DIGITS / "digits_portable.pte", "model.pte")
    # in a process of its own: a library that is loaded stays, and other tests register its operators
    command = [sys.executable, "-m", "etconfig", "bench", "model.pte", "--pairs", "6"]
    command += [] if "--executor" in arguments else ["--executor", "executorch"]
    command += ["--on", f"adb://{etrunner}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, message in done.stderr) == (2, True), done.stderr


def test_backends_of_other_plugins_are_refused(cli: Cli, there: Path, etrunner: Path) -> None:
    shutil.copy(DIGITS / "digits.pte", "model.pte")
    done = cli("bench", "--pairs", "6", "--on", f"adb://{etrunner}")
    assert "it has no etconfig-reference, and here is" in done.stderr
    assert "etrunner has the options of XnnpackBackend; others need a Python there" in done.stderr
    assert done.status == 2


def test_etrunner_knows_the_options_of_this_version(there: Path, etrunner: Path) -> None:
    options = {THREADS: 2, "XnnpackBackend.single_threaded": True, "XnnpackBackend.packed_cache_path": None}
    values = {
        "workspace_sharing_mode": ("disabled", "per_model", "global"),
        "weight_cache_enabled": (True, False),
    }
    device = RemoteDevice(f"adb://{etrunner}")
    try:
        assert device.packages == {"etconfig-upstream": version("etconfig-upstream")}
        model = device.send(Path("model.pte"))
        for name, choices in values.items():
            for choice in choices:
                given = {**options, f"XnnpackBackend.{name}": choice}
                (answer,) = ask(device, configuration(model, given))
                assert answer["result"]["options"] == given
    finally:
        device.close()


def test_requests_that_make_no_sense_are_answered(there: Path, etrunner: Path) -> None:
    device = RemoteDevice(f"adb://{etrunner}")
    try:
        model = device.send(Path("model.pte"))
        other = device.send(DIGITS / "digits.pte")
        Path("cut.pte").write_bytes(Path("model.pte").read_bytes()[:2000])
        image = {
            "dtype": "float32",
            "shape": [1, 1, 8, 8],
            "order": "C",
            "bytes": base64.b64encode(bytes(256)).decode(),
        }
        huge = {**image, "shape": [1 << 32, 1 << 32, 1, 64]}
        load = configuration(model)
        failures = [
            (ask(device, configuration(other))[0], "it delegates to Reference"),
            (ask(device, configuration(device.send(Path("cut.pte"))))[0], "open: InvalidProgram"),
            (ask(device, configuration("/no/such.pte"))[0], "open: AccessFailed"),
            (ask(device, configuration(model, method="decode"))[0], "load: InvalidArgument"),
            (
                ask(device, configuration(model, backend="OnnxRuntimeBackend"))[0],
                "no models of other engines",
            ),
            (ask(device, configuration(model, shapes=["x=1"]))[0], "says the shapes of its inputs itself"),
            (ask(device, configuration(model, {"QnnBackend.x": 1}))[0], "cannot bring QnnBackend.x = 1 into"),
            (ask(device, configuration(model, {THREADS: [1, 2]}))[0], f"cannot bring {THREADS} = null into"),
            (ask(device, configuration(model, {THREADS: 0}))[0], f"cannot bring {THREADS} = 0 into force"),
            (ask(device, configuration(model, {THREADS: "two"}))[0], f'cannot bring {THREADS} = "two" into'),
            (ask(device, ["load", {"request": {}}])[0], ""),
            (ask(device, ["load", 1])[0], "the request is not understood"),
            (ask(device, ["time", 1])[0], "load a configuration first"),
            (ask(device, 7)[0], "the request is not understood"),
            (ask(device, [[[[]]]])[0], "the request is not understood"),
            (ask(device, load, ["time", 1])[1], "run it once"),
            (ask(device, load, ["generate", 0])[1], "the request is not understood"),
            (ask(device, load, ["run", []])[1], "expected inputs: 1"),
            (ask(device, load, ["run", [image, image]])[1], "expected inputs: 1"),
            (ask(device, load, ["run", [{"value": 1}]])[1], "input 0 is not a tensor of float32"),
            (
                ask(device, load, ["run", [{**image, "dtype": "int32"}]])[1],
                "input 0 is not a tensor of float32",
            ),
            (ask(device, load, ["run", [{**image, "bytes": "AAA!"}]])[1], "bytes are not in base64"),
            (ask(device, load, ["run", [huge]])[1], "input 0 is not a tensor of float32"),
        ]
        for answer, message in failures:
            assert message in answer["failure"]
    finally:
        device.close()


@pytest.mark.parametrize("name", ["..", "", "../../pwned", "/pwned"])
def test_files_stay_in_the_directory(there: Path, etrunner: Path, name: str) -> None:
    device = RemoteDevice(f"adb://{etrunner}")
    device.tell(0, json.dumps({"folder": "files0", "name": name, "data": ""}))
    device.close()
    assert not [*there.parent.glob("**/pwned")]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_workers_end_with_their_parent(there: Path, etrunner: Path, number: signal.Signals) -> None:
    process = subprocess.Popen(
        [etrunner], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "TMPDIR": str(there)}
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdout.readline()
    process.stdin.write(b'1 ["time", 1]\n')
    process.stdin.flush()
    assert process.stdout.readline().startswith(b"1 {")
    (worker,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    process.send_signal(number)
    process.communicate()
    for _ in range(100):
        if not Path("/proc", worker).exists() or "Z" in Path("/proc", worker, "stat").read_text().split():
            break
        time.sleep(0.1)
    else:
        pytest.fail("the worker is still there")
    if number == signal.SIGKILL:
        shutil.rmtree(next(there.iterdir()))
