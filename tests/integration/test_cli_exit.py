"""The ends of commands: exit statuses, closed pipes, full disks and Ctrl-C."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from command_line import TWO_CAMERAS, Outcome
from plugin_data import write_distribution

import etconfig
from etconfig.cli.startup.command_list import COMMAND_SUMMARIES

VALID = TWO_CAMERAS / "profiles" / "demo" / "two-cameras.toml"
FINDINGS = TWO_CAMERAS / "typo.toml"


class TestStatus:
    """Exit codes: 0 clean, 1 findings, 2 usage or I/O."""

    def test_success_is_0(self, cli: Callable[..., Outcome]) -> None:
        assert cli("validate", VALID) == Outcome(0, "", "1 file checked: 0 errors, 0 warnings\n")

    def test_findings_are_1(self, cli: Callable[..., Outcome]) -> None:
        done = cli("validate", VALID, FINDINGS, "--format", "concise")
        assert done == Outcome(
            1,
            f"{FINDINGS}:6:1: unknown-option ReferenceNpuBackend has no option 'power_mod'; "
            "did you mean 'power_mode'?\n",
            "2 files checked: 1 error, 0 warnings; 1 fixable with --fix --unsafe-fixes\n",
        )

    def test_no_profile_for_a_device_is_a_finding_of_match(
        self, cli: Callable[..., Outcome], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "twins").mkdir()
        for name in ("a", "b"):
            text = f'[profile]\nname = "{name}"\nextends = ["generic/linux-x86_64"]\nmatch = "true"\n'
            (tmp_path / "twins" / f"{name}.toml").write_text(text)
        done = cli("profiles", "match", "--profile-path", "twins", "--facts", "device.json")
        assert done.status == 1
        assert "auto selects none: " in done.stdout
        assert "profiles 'a' and 'b' match this device, and none extends the others" in done.stdout

    def test_a_broken_plugin_is_a_finding_of_doctor(
        self, cli: Callable[..., Outcome], installed: Callable[..., None]
    ) -> None:
        installed("broken-backends")
        done = cli("doctor")
        assert done.status == 1
        assert "     ok  backend ReferenceNpuBackend: can run here\n" in done.stdout
        assert "  error  backend FactoryRaises: plugin 'FactoryRaises' (etconfig.backends)" in done.stdout

    def test_doctor_names_the_kind_of_each_plugin(
        self, cli: Callable[..., Outcome], installed: Callable[..., None]
    ) -> None:
        installed("acme-npu")
        printed = cli("doctor").stdout
        assert "     ok  executor acme: acme-npu 2.1\n" in printed
        assert "     ok  backend AcmeDsp: declared without an implementation by acme-npu 2.1\n" in printed
        assert "warning  backend AcmeOffline: cannot run here: no /dev/acme0\n" in printed
        assert "         help: load the acme kernel module\n" in printed

    @pytest.mark.parametrize("arguments", [["run", "model.pte", "--repeat", "0"], ["run", "missing.pte"]])
    def test_usage_and_io_are_2(self, cli: Callable[..., Outcome], arguments: list[str]) -> None:
        assert cli(*arguments).status == 2


class TestCommandLine:
    """A mistyped command line gets one sentence, and a pointer to the help."""

    @pytest.mark.parametrize(
        ("arguments", "message", "see"),
        [
            (["bakends"], "no command 'bakends'; did you mean 'backends'?", "etconfig"),
            (
                ["frobnicate"],
                f"no command 'frobnicate'; commands are {', '.join(sorted(COMMAND_SUMMARIES))}",
                "etconfig",
            ),
            (["profiles", "lst"], "no command 'lst'; did you mean 'list'?", "etconfig profiles"),
            (["--vresion"], "no option '--vresion'; did you mean '--version'?", "etconfig"),
            (["run", "--profle", "x"], "no option '--profle'; did you mean '--profile'?", "etconfig run"),
            (["run", "--frobnicate"], "no option '--frobnicate'", "etconfig run"),
            (["run"], "missing argument 'PROGRAM'", "etconfig run"),
            (["run", "model.pte", "a"], "got unexpected extra argument (a)", "etconfig run"),
            (
                ["run", "model.pte", "--repeat", "two"],
                "invalid value for '--repeat': 'two' is not a valid integer",
                "etconfig run",
            ),
            (
                ["run", "model.pte", "--repeat", "0"],
                "invalid value for '--repeat': 0 is not in the range x>=1",
                "etconfig run",
            ),
            (
                ["schema", "ReferenceNpuBackend", "--format", "xml"],
                "invalid value for '--format': 'xml' is not one of 'json', 'markdown'",
                "etconfig schema",
            ),
            (
                ["validate", "missing.toml"],
                "invalid value for '[FILES]...': File 'missing.toml' does not exist",
                "etconfig validate",
            ),
            (
                ["resolve", "--profile-path", "missing"],
                "invalid value for '--profile-path': Directory 'missing' does not exist",
                "etconfig resolve",
            ),
        ],
        ids=lambda value: " ".join(value) if isinstance(value, list) else None,
    )
    def test_the_mistake_is_named(
        self, cli: Callable[..., Outcome], arguments: list[str], message: str, see: str
    ) -> None:
        assert cli(*arguments) == Outcome(2, "", f"error: {message}\n  = help: see `{see} --help`\n")

    def test_an_option_without_its_value_is_named(self, cli: Callable[..., Outcome]) -> None:
        done = cli("run", "model.pte", "--set")
        assert done == Outcome(2, "", "error: option '--set' requires an argument\n")


class TestVersion:
    """--version prints one line."""

    @pytest.mark.parametrize("line", ["etconfig --version", f"{sys.executable} -m etconfig --version"])
    def test_it_is_the_version_of_the_package(self, shell: Callable[..., Outcome], line: str) -> None:
        assert shell(line) == Outcome(0, f"etconfig {etconfig.__version__}\n", "")

    def test_it_is_the_same_with_other_arguments(self, cli: Callable[..., Outcome]) -> None:
        assert cli("--version", "facts") == cli("--version")


def start(*arguments: str, **streams: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "etconfig", *arguments]
    return subprocess.Popen(command, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, **streams)


class TestPipes:
    """`| head` is not an error."""

    @pytest.mark.parametrize(
        ("arguments", "status"),
        [
            (["--version"], 0),
            (["--help"], 0),
            (["facts"], 0),
            (["facts", "--json"], 0),
            (["validate", str(FINDINGS)], 1),
            (["validate", str(FINDINGS), "--format", "json"], 1),
        ],
    )
    def test_a_closed_pipe_changes_no_status(self, place: Path, arguments: list[str], status: int) -> None:
        reading, writing = os.pipe()
        os.close(reading)
        process = start(*arguments, stdout=writing)
        os.close(writing)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == status
        assert "error" not in errors.replace("1 error", "")  # its summary

    def test_a_closed_pipe_of_errors_changes_no_status(self, place: Path) -> None:
        reading, writing = os.pipe()
        os.close(reading)
        command = [sys.executable, "-m", "etconfig", "validate", str(FINDINGS)]
        done = subprocess.run(command, stdout=writing, stderr=writing, stdin=subprocess.DEVNULL, timeout=60)
        os.close(writing)
        assert done.returncode == 1

    def test_head_gets_its_line(self, shell: Callable[..., Outcome]) -> None:
        assert shell("etconfig facts | head -n 1").stdout.split() == ["FACT", "VALUE", "FROM"]

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
    @pytest.mark.parametrize("command", ["--version", "facts"])
    def test_a_full_disk_is_an_error(self, shell: Callable[..., Outcome], command: str) -> None:
        assert shell(f"etconfig {command} > /dev/full") == Outcome(
            2, "", "error: cannot write to stdout: No space left on device\n"
        )

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
    @pytest.mark.parametrize(
        "command",
        [f"validate {FINDINGS}", "explain B.o none.pte", "facts --fact x.y=1", "no-command", "doctor"],
    )
    def test_messages_that_find_no_place_change_neither_result_nor_status(
        self, shell: Callable[..., Outcome], command: str
    ) -> None:
        expected = shell(f"etconfig {command}")
        assert shell(f"etconfig {command} 2> /dev/full") == Outcome(expected.status, expected.stdout, "")
        assert shell(f"etconfig {command} > /dev/full 2> /dev/full").status == 2

    @pytest.mark.parametrize("command", ["--version", "facts"])
    def test_a_closed_stdout_is_not_an_error(self, shell: Callable[..., Outcome], command: str) -> None:
        assert shell(f"etconfig {command} >&-") == Outcome(0, "", "")

    def test_a_current_directory_that_is_gone_is_an_error(self, shell: Callable[..., Outcome]) -> None:
        done = shell("mkdir gone && cd gone && rmdir ../gone && etconfig resolve")
        assert done.status == 2
        assert done.stderr.endswith("error: cannot read the current directory: No such file or directory\n")


def open_when_read(path: Path, reader: subprocess.Popen[str]) -> int:
    """Open a named pipe for writing as soon as `reader` has it open for reading."""
    while reader.poll() is None:
        with contextlib.suppress(OSError):  # ENXIO: nobody reads it yet
            return os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        os.sched_yield()
    pytest.fail(f"it ended before it read {path.name}")


@pytest.fixture
def in_foreground() -> Iterator[None]:
    """Background processes of a shell ignore Ctrl-C, and so do their children."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class TestInterrupt:
    """Ctrl-C ends a command with 130, as shells expect it."""

    @pytest.mark.posix
    @pytest.mark.usefixtures("in_foreground")
    def test_there_is_no_traceback(self, place: Path) -> None:
        os.mkfifo(place / "inputs.npy")
        process = start("run", "model.pte", "--input", "inputs.npy", stdout=subprocess.PIPE)
        ours = open_when_read(place / "inputs.npy", process)
        process.send_signal(signal.SIGINT)
        os.close(ours)  # a read that begins only after the signal came would wait for ever
        printed, errors = process.communicate(timeout=60)
        assert (process.returncode, printed, errors) == (130, "", "\n")


@pytest.mark.parametrize(
    "raised",
    [
        "MemoryError",
        "OSError(12, 'Cannot allocate memory')",
        "SystemError('<function f> returned NULL without setting an exception')",
        'RuntimeError("can\'t start new thread")',
        "ImportError('libx.so: failed to map segment from shared object')",
    ],
)
def test_a_lack_of_memory_is_an_error_and_no_bug(
    raised: str, cli: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        exec(f"raise {raised}")

    monkeypatch.setattr("etconfig.cli.startup.main.quick_text", fail)
    message = "error: the system gives this process too little memory, or too few threads\n"
    assert cli("backends") == Outcome(2, "", message)


def test_another_runtime_error_is_a_bug(
    place: Path, monkeypatch: pytest.MonkeyPatch, cli: Callable[..., Outcome]
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("etconfig.cli.startup.main.quick_text", fail)
    with pytest.raises(RuntimeError, match="a bug"):
        cli("backends")


def test_a_thread_that_is_abandoned_inside_a_library_does_not_abort_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ending the interpreter would unwind it: here, its handler shows that it was tried."""
    write_distribution(tmp_path, "slow-1.0.dist-info", "[etconfig.facts]\nslow = slow\n", "Name: slow\n")
    (tmp_path / "slow.py").write_text(
        "import atexit, os, time\natexit.register(os.write, 2, b'finalized')\ntime.sleep(60)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    script = (
        "import sys, etconfig.plugin.loader as loader\n"
        "loader.IMPORT_LIMIT_S = 0.05; sys.argv[1:] = ['facts', '--json']\n"
        "from etconfig.cli.startup.main import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["facts"]
