"""`--on ssh://...`: the same measurements on another device, over one connection of the `ssh` command."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import Outcome, error

import etconfig
from etconfig.errors import RemoteDeviceError
from etconfig.measuring.remote import RemoteDevice, device_command
from etconfig.tuning import contest, tuning

pytestmark = pytest.mark.posix

Cli = Callable[..., Outcome]
ON = f"ssh://me@board:2222{sys.executable}"
BENCH = ("bench", "model.pte", "--pairs", "6", "--on", ON)
FAKE_SSH = """\
#!{python}
import os, subprocess, sys
if "FAKE_SSH_SAYS" in os.environ:
    sys.exit(print(os.environ["FAKE_SSH_SAYS"], file=sys.stderr) or 255)
assert sys.argv[1:7] == ["-T", "-o", "BatchMode=yes", "-p", "2222", "--"], sys.argv
assert sys.argv[7] == "me@board", sys.argv
environ = {{**os.environ, "TMPDIR": {directory!r}, "PYTHONPATH": os.environ.get("THERE", "")}}
there = subprocess.Popen(["sh", "-c", sys.argv[8]], stdout=subprocess.PIPE, env=environ)
print("Welcome to board", flush=True)
for number, line in enumerate(there.stdout):
    study = os.environ.get("FAKE_SSH_STUDY", "absent")
    if os.path.exists(study) and open(study).read().count("\\n") > 2:
        print("client_loop: send disconnect: Broken pipe", file=sys.stderr, flush=True)
        os._exit(255)
    old, _, new = os.environ.get("FAKE_SSH_REPLACES", "a=a").partition("=")
    sys.stdout.buffer.write(line.replace(old.encode(), new.encode()))
    sys.stdout.buffer.flush()
sys.exit(there.wait())
"""


@pytest.fixture
def there(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory for temporary files of a device, which a fake `ssh` runs on this machine."""
    directory, programs = tmp_path / "there", tmp_path / "programs"
    directory.mkdir()
    programs.mkdir()
    fake = programs / "ssh"
    fake.write_text(FAKE_SSH.format(python=sys.executable, directory=str(directory)))
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    for module in (contest, tuning):
        monkeypatch.setattr(module, "FRESH_LOADS", 3)
    return directory


def is_left(directory: Path) -> bool:
    """Return True if something is left in a directory after some seconds."""
    for _ in range(100):
        if not any(directory.iterdir()):
            return False
        time.sleep(0.1)
    return True


def test_configurations_are_compared_there(cli: Cli, there: Path, place: Path) -> None:
    (place / "etconfig.toml").write_text("[options.ReferenceCpuBackend]\nnum_threads = 1\n")
    done = cli(*BENCH, "--sweep", "ReferenceCpuBackend.num_threads=2", "--json")
    assert (done.status, done.stderr) == (0, "")
    report = done.json
    assert report["model"]["path"] == "model.pte"
    assert report["in_own_processes"]
    assert report["incumbent"]["options"]["ReferenceCpuBackend.num_threads"] == 1
    assert [(each["label"], each["failure"], each["error"]) for each in report["rows"]] == [
        ("num_threads=2", None, 0.0)
    ]
    assert f"measured on {ON}" in report["notes"]
    assert not is_left(there)


def test_a_search_takes_place_there(cli: Cli, there: Path, place: Path) -> None:
    done = cli(
        "tune", "model.pte", "--on", ON, "--only", "accumulate", "--budget", "1s", "--output", "t.toml"
    )
    assert (done.status, done.stderr) == (0, "")
    assert "1 of 1 configuration measured" in done.stdout
    assert f"measured on {ON}" in done.stdout
    assert not is_left(there)


def test_python_measures_there(there: Path, place: Path) -> None:
    given: Any = {"on": ON, "installation": etconfig.Installation(place)}
    sweep = {"ReferenceCpuBackend.num_threads": [2]}
    compared = etconfig.compare("model.pte", sweep=sweep, pairs=6, **given)
    assert f"measured on {ON}" in compared.notes
    assert [each.failure for each in compared.rows] == [None]
    only = ["ReferenceCpuBackend.accumulate"]
    assert f"measured on {ON}" in etconfig.tune("model.pte", only=only, budget_s=0.5, **given).notes
    assert not is_left(there)
    with pytest.raises(ValueError, match="on and facts name two devices; give one of them"):
        etconfig.compare("model.pte", facts=etconfig.detect_facts(), **given)
    with pytest.raises(ValueError, match=r"expected ssh://\[user@\]host"):
        etconfig.tune("model.pte", **{**given, "on": "ssh://-oProxyCommand=x"})


def test_a_connection_that_is_cut_keeps_what_was_measured(
    cli: Cli, there: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_SSH_STUDY", "t.study.jsonl")
    only = ("--only", "accumulate", "--only", "num_threads", "--also", "num_threads=1,2,3,4")
    tune = ("tune", "model.pte", "--on", ON, *only, "--budget", "1min", "--output", "t.toml")
    done = cli(*tune)
    assert done.status == 2
    assert done.stderr == error(
        f"{ON}: the connection is cut: client_loop: send disconnect: Broken pipe",
        "run it again: a study goes on",
    )
    kept = [json.loads(line) for line in (place / "t.study.jsonl").read_text().splitlines()]
    assert len(kept) == 3
    assert not [each for each in kept if "failure" in each]
    assert not is_left(there)


@pytest.mark.parametrize(
    ("environ", "on", "message"),
    [
        (
            {"FAKE_SSH_SAYS": "ssh: connect to host board port 2222: Connection refused"},
            ON,
            "ssh cannot reach it: ssh: connect to host board port 2222: Connection refused",
        ),
        ({}, "ssh://me@board:2222/no/python", "it has no /no/python: "),
        ({"PYTHONNOUSERSITE": "1", "THERE": "{empty}"}, ON, "has no etconfig: "),
        ({"FAKE_SSH_REPLACES": 'agent": "0=agent": "9'}, ON, "it has etconfig 9.1.0, and here is 0.1.0"),
        ({"FAKE_SSH_REPLACES": '"etconfig-reference"="x"'}, ON, "it has no etconfig-reference, and here is"),
        (
            {"ETCONFIG_SET": "ReferenceCpuBackend.accumulate=fp64"},
            ON,
            "accumulate is 'fp64' on the device, and",
        ),
    ],
)
def test_a_device_that_cannot_be_used_is_an_error(
    cli: Cli,
    there: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    environ: dict[str, str],
    on: str,
    message: str,
) -> None:
    (tmp_path / "empty" / "etconfig").mkdir(parents=True)  # a package without the module that is started
    (tmp_path / "empty" / "etconfig" / "__init__.py").touch()
    for name, value in environ.items():
        if name == "ETCONFIG_SET":  # a variable of the device alone
            fake = tmp_path / "programs" / "ssh"
            fake.write_text(fake.read_text().replace('"TMPDIR"', f'"{name}": {value!r}, "TMPDIR"'))
        else:
            monkeypatch.setenv(name, value.format(empty=tmp_path / "empty") if "{" in value else value)
    done = cli("bench", "model.pte", "--pairs", "6", "--on", on)
    assert (done.status, message in done.stderr) == (2, True), done.stderr
    assert not is_left(there)


@pytest.mark.parametrize(
    "script",
    [
        "exec cat /dev/zero",
        "exec yes",
        "exec yes x | tr -d '\\n'",
        """echo '0 {"etconfig_agent": '""",
        """echo '0 {"etconfig_agent": "0.1.0"}'""",
        """echo '0 {"etconfig_agent": '; exec sleep 100""",
    ],
)
def test_a_device_that_answers_with_something_else_is_an_error(
    cli: Cli, there: Path, tmp_path: Path, script: str
) -> None:
    (tmp_path / "programs" / "ssh").write_text(f"#!/bin/sh\n{script}\n")
    done = cli("bench", "model.pte", "--pairs", "6", "--on", ON)
    assert (done.status, "it does not answer as etconfig does" in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize(
    "address",
    [
        "ssh://-oProxyCommand=touch pwned",
        "ssh://-l@board",
        "ssh://me@-board",
        "ssh://board:-p",
        "ssh://board:22;true",
        "ssh://board$(true)",
        "ssh:// board",
        "ssh://",
        "board",
        "adb://serial",
        "adb:///",
        "adb://-s/etrunner",
        "adb://a b/etrunner",
        "adb://a;true/etrunner",
        "adb://$(true)/etrunner",
        "adb://me@phone/etrunner",
    ],
)
def test_no_part_of_an_address_is_an_option(cli: Cli, there: Path, address: str) -> None:
    done = cli("bench", "model.pte", "--on", address)
    assert done.status == 2
    assert "--on: expected ssh://[user@]host[:port][/path] or adb://[serial]/path, given" in done.stderr


def test_parts_of_an_address_are_arguments() -> None:
    assert device_command("ssh://board/opt/my python;x")[1] == "/opt/my python;x"  # quoted where it is run
    assert device_command("ssh://[fe80::1%eth0]:22/") == (
        ["ssh", "-T", "-o", "BatchMode=yes", "-p", "22", "--", "fe80::1%eth0"],
        "python3",
    )
    assert device_command("adb://[fe80::1%eth0]:5555/x") == (
        ["adb", "-s", "[fe80::1%eth0]:5555", "shell", "-T"],
        "/x",
    )
    assert device_command("adb:///data/my etrunner;x")[0] == ["adb", "shell", "-T"]


def test_a_sheet_names_another_device(cli: Cli, there: Path) -> None:
    done = cli(*BENCH, "--facts", "device.json")
    assert "--on and --facts name two devices; give one of them" in done.stderr


def test_the_weights_of_a_model_go_with_it(there: Path, tmp_path: Path) -> None:
    for name in ("net.xml", "net.bin", "net.onnx", "net.onnx.data", "net.txt"):
        (tmp_path / name).write_text(name)
    device = RemoteDevice(ON)
    try:
        sent = [Path(device.send(tmp_path / name)) for name in ("net.xml", "net.onnx", "net.xml")]
        device.open_channel().ask("[]")  # what was sent before it has arrived
        assert [sorted(each.name for each in path.parent.iterdir()) for path in sent[:2]] == [
            ["net.bin", "net.xml"],
            ["net.onnx", "net.onnx.data"],
        ]
        assert sent[0] == sent[2]
        with pytest.raises(RemoteDeviceError, match="is a directory, and only files can be sent"):
            device.send(tmp_path)
    finally:
        device.close()
    assert not is_left(there)


@pytest.fixture
def sshd(tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a real server on this machine, with keys and a configuration that are made here."""
    server = shutil.which("sshd") or shutil.which("sshd", path="/usr/sbin:/usr/local/sbin")
    if server is None or shutil.which("ssh") is None:
        pytest.skip("OpenSSH's server and client are not installed")
    directory = tmp_path / "ssh"
    directory.mkdir(mode=0o700)
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", directory / name], check=True)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    (directory / "sshd_config").write_text(
        textwrap.dedent(f"""\
            Port {port}
            ListenAddress 127.0.0.1
            HostKey {directory}/host
            AuthorizedKeysFile {directory}/user.pub
            PidFile none
            StrictModes no
            UsePAM no
            """)
    )
    command = [server, "-D", "-e", "-f", str(directory / "sshd_config")]
    if os.geteuid() == 0 and not Path("/run/sshd").is_dir():  # which root needs: in a namespace of its own
        made = 'mount -t tmpfs tmpfs /run && mkdir /run/sshd && exec "$0" "$@"'
        command = ["unshare", "--mount", "sh", "-c", made, *command]
    log = directory / "log"
    with log.open("wb") as written:
        process = subprocess.Popen(command, stderr=written)
    try:
        for _ in range(100):
            if "listening" in log.read_text() or process.poll() is not None:
                break
            time.sleep(0.1)
        if "listening" not in log.read_text():
            pytest.skip(f"the server does not start here: {log.read_text().strip()[-200:]}")
        known = directory / "known_hosts"
        known.write_text(f"[127.0.0.1]:{port} {(directory / 'host.pub').read_text()}")
        programs = directory / "bin"
        programs.mkdir()
        options = f"-F none -i {directory}/user -o UserKnownHostsFile={known}"
        (programs / "ssh").write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} {options} "$@"\n')
        (programs / "ssh").chmod(0o755)
        monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
        yield f"ssh://127.0.0.1:{port}{sys.executable}"
    finally:
        process.terminate()
        process.wait()


@pytest.mark.host
def test_a_real_server_measures(cli: Cli, sshd: str, place: Path) -> None:
    bench = ("bench", "model.pte", "--pairs", "6", "--on", sshd, "--json")
    done = cli(*bench, "--sweep", "ReferenceCpuBackend.num_threads=1,2")
    assert (done.status, done.stderr) == (0, "")
    assert [each["failure"] for each in done.json["rows"]] == [None, None]
    refused = cli("bench", "model.pte", "--on", sshd.replace("ssh://", "ssh://nobody-here@"))
    assert "ssh cannot reach it: " in refused.stderr
    assert "Permission denied" in refused.stderr
