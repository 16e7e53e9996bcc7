"""`etconfig facts --adb --etdevice`: a stand-in for adb runs the real `etdevice` in a directory."""

from __future__ import annotations

import json
import os
import platform
import shutil
import stat
from pathlib import Path
from typing import NamedTuple

import pytest
from compilers import compiled, system_compiler
from device_programs import STRICT
from doc_pages import ROOT

from etconfig.cli.startup.group import run
from etconfig.device import device_include_dir
from etconfig.facts import adb_program

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(platform.system() != "Linux", reason="the stand-in runs programs for Linux"),
]
ETDEVICE = device_include_dir().parent / "etdevice"
ADB = r"""#!/bin/sh
echo "$*" >>"$PHONE/calls"
if [ "$1" = -s ]; then shift 2; fi
mode=$(cat "$PHONE/mode")
remote=/data/local/tmp
case "$mode" in
  nothing) echo "error: no devices/emulators found" >&2; exit 1;;
  offline) echo "error: device offline" >&2; exit 1;;
  unauthorized) echo "error: device unauthorized." >&2; exit 1;;
  two) echo "error: more than one device/emulator" >&2; exit 1;;
esac
case "$1" in
  get-state) echo device;;
  push)
    if [ "$mode" = full ]; then echo "adb: error: failed to copy: No space left on device" >&2; exit 1; fi
    cp "$2" "$PHONE/$(basename "$3")"; echo "$2: 1 file pushed";;
  exec-out)
    command=$(echo "$2" | sed "s#$remote#$PHONE#g")
    case "$mode:$command" in
      qemu:*) command=$(echo "$command" | sed 's#&& #\&\& qemu-aarch64 #');;
      answer:*" facts --json"*) command=$(echo "$command" | sed "s#&& [^)]*#\&\& cat $PHONE/answer#");;
      elf:*" facts --json"*)
        failing='{ echo "/system/bin/sh: not executable: 64-bit ELF file"; exit 126; }'
        command=$(echo "$command" | sed "s#&& [^)]*#\&\& $failing#");;
      hang:*" facts --json"*) sleep 60;;
      big:*" facts --json"*) yes | head -c 3000000;;
      cut:*" facts --json"*) sh -c "$command" | head -c 500; exit;;
    esac
    sh -c "$command" | sed "s#$PHONE#$remote#g";;
esac
"""
GETPROP = """#!/bin/sh
case "$1" in
  ro.build.version.sdk) echo 35;;
  ro.build.version.release) echo 15;;
  ro.soc.model) echo SM8650;;
esac
"""
Capture = pytest.CaptureFixture[str]


class Phone(NamedTuple):
    """A directory that stands for a phone."""

    directory: Path

    def becomes(self, mode: str, answer: str = "") -> None:
        (self.directory / "mode").write_text(mode)
        (self.directory / "answer").write_text(answer)

    @property
    def calls(self) -> list[str]:
        return (self.directory / "calls").read_text().splitlines()

    @property
    def files(self) -> set[str]:
        return {each.name for each in self.directory.iterdir()} - {"mode", "answer", "calls"}


def write_command(directory: Path, name: str, text: str) -> None:
    path = directory / name
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def phone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Phone:
    """A phone that runs what is pushed, reached by the stand-in on the PATH."""
    commands = tmp_path / "bin"
    commands.mkdir()
    write_command(commands, "adb", ADB)
    phone = Phone(tmp_path / "phone")
    phone.directory.mkdir()
    phone.becomes("runs")
    monkeypatch.setenv("PHONE", str(phone.directory))
    monkeypatch.setenv("PATH", f"{commands}{os.pathsep}{os.environ['PATH']}")
    return phone


def build(target: Path, compiler: str, *flags: str) -> Path:
    return compiled([compiler, *STRICT, *flags, f"-I{device_include_dir()}", ETDEVICE / "main.cpp"], target)


@pytest.fixture(scope="module")
def etdevice(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`etdevice` for this machine."""
    return build(tmp_path_factory.mktemp("etdevice") / "etdevice", system_compiler())


def failure(capsys: Capture, *arguments: object) -> str:
    """Run a command that fails, and return its message."""
    assert run(["facts", *map(str, arguments)]) == 2
    return capsys.readouterr().err


class TestFactsByEtdevice:
    """The facts of the answer are those that `etdevice` detects on the device."""

    def test_the_sheet_is_what_the_device_detects(
        self, phone: Phone, etdevice: Path, capsys: Capture
    ) -> None:
        assert (
            run(["facts", "--adb", "--etdevice", str(etdevice), "--json", "--fact", "power.source=battery"])
            == 0
        )
        found = json.loads(capsys.readouterr().out)["facts"]
        assert run(["facts", "--json"]) == 0
        here = json.loads(capsys.readouterr().out)["facts"]
        names = ("os.name", "cpu.arch", "cpu.model", "memory.total")
        assert {name: found[name]["value"] for name in names} == {name: here[name]["value"] for name in names}
        assert found["power.source"]["value"] == "battery"

    def test_nothing_is_left_on_the_device(self, phone: Phone, etdevice: Path) -> None:
        assert run(["facts", "--adb", "--etdevice", str(etdevice), "--json"]) == 0
        assert phone.files == set()
        phone.becomes("cut")
        assert run(["facts", "--adb", "--etdevice", str(etdevice), "--json"]) == 2
        assert phone.files == set()

    def test_with_a_bundle_only_its_facts_are_detected(
        self, phone: Phone, etdevice: Path, tmp_path: Path, capsys: Capture
    ) -> None:
        bundle = tmp_path / "app.etbundle"
        assert run(["pack", "--profile", "generic/linux", "-o", str(bundle)]) == 0
        capsys.readouterr()
        assert run(["facts", "--adb", "--etdevice", str(etdevice), "--bundle", str(bundle), "--json"]) == 0
        facts = json.loads(capsys.readouterr().out)["facts"]
        assert "value" not in facts["memory.total"]
        assert phone.files == set()

    def test_the_serial_names_one_of_several(self, phone: Phone, etdevice: Path, tmp_path: Path) -> None:
        sheet = tmp_path / "phone.json"
        assert run(["facts", "--adb", "R5CT", "--etdevice", str(etdevice), "--save", str(sheet)]) == 0
        assert {call.split()[1] for call in phone.calls} == {"R5CT"}
        assert run(["facts", "--facts", str(sheet)]) == 0

    def test_a_program_for_arm64_runs_under_the_emulator(
        self, phone: Phone, tmp_path: Path, capsys: Capture
    ) -> None:
        compiler = "aarch64-linux-gnu-g++"
        if shutil.which(compiler) is None or shutil.which("qemu-aarch64") is None:
            pytest.skip("no aarch64-linux-gnu-g++ or qemu-aarch64; `make test-device` installs them")
        program = build(tmp_path / "etdevice-arm64", compiler, "-static", "-O2")
        phone.becomes("qemu")
        assert run(["facts", "--adb", "--etdevice", str(program), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["facts"]["cpu.arch"]["value"] == "arm64"

    def test_a_program_for_android_asks_getprop(self, phone: Phone, tmp_path: Path, capsys: Capture) -> None:
        write_command(tmp_path / "bin", "getprop", GETPROP)
        android = ("-D__ANDROID__", f"-I{ETDEVICE / 'android'}", "-static", "-O2")
        program = build(tmp_path / "etdevice-android", system_compiler(), *android)
        assert run(["facts", "--adb", "--etdevice", str(program), "--json"]) == 0
        facts = json.loads(capsys.readouterr().out)["facts"]
        assert (facts["os.name"]["value"], facts["os.version"]["value"]) == ("android", "15")
        assert facts["soc.model"]["value"] == "SM8650"

    def test_a_program_for_linux_is_refused_on_android(
        self, phone: Phone, etdevice: Path, tmp_path: Path, capsys: Capture
    ) -> None:
        write_command(tmp_path / "bin", "getprop", GETPROP)
        message = failure(capsys, "--adb", "--etdevice", etdevice)
        assert "etdevice was built for Linux, but the device runs Android" in message
        assert "TARGET=android-arm64" in message


class TestHostileAnswers:
    """Whatever adb answers, the command says what is wrong, and no fact is made up."""

    @pytest.mark.parametrize(
        ("mode", "reason"),
        [
            ("nothing", "error: no devices/emulators found"),
            ("offline", "error: device offline"),
            ("unauthorized", "error: device unauthorized."),
            ("two", "error: more than one device/emulator"),
        ],
    )
    @pytest.mark.parametrize("with_program", [True, False])
    def test_a_device_that_is_not_reached(
        self, phone: Phone, etdevice: Path, capsys: Capture, mode: str, reason: str, with_program: bool
    ) -> None:
        phone.becomes(mode)
        program = ("--etdevice", etdevice) if with_program else ()
        message = failure(capsys, "--adb", *program)
        assert "unreachable-device" in message
        assert f"adb says: {reason}" in message

    @pytest.mark.parametrize(
        ("mode", "reason"),
        [
            (
                "full",
                "adb did not copy {} to the device: adb: error: failed to copy: No space left on device",
            ),
            ("cut", "the answer of the device was cut off after 500 bytes: {{"),
            ("elf", "failed on the device with status 126: /system/bin/sh: not executable: 64-bit ELF file"),
            ("hang", "etdevice did not answer within 1 s, or printed more than 1 MiB"),
            ("big", "etdevice did not answer within 30 s, or printed more than 1 MiB"),
        ],
    )
    def test_a_program_that_does_not_run(
        self,
        phone: Phone,
        etdevice: Path,
        capsys: Capture,
        monkeypatch: pytest.MonkeyPatch,
        mode: str,
        reason: str,
    ) -> None:
        if mode == "hang":
            monkeypatch.setattr(adb_program, "_RUN_LIMIT_S", 1.0)
        phone.becomes(mode)
        message = failure(capsys, "--adb", "--etdevice", etdevice)
        assert "failed-device-program" in message
        assert reason.format(etdevice) in message

    @pytest.mark.parametrize(
        ("answer", "code"),
        [
            ("Segmentation fault", "failed-device-program"),
            ("", "failed-device-program"),
            ("{", "invalid-fact-sheet"),
            ("[1]", "failed-device-program"),
            ('{"etconfig_fact_sheet": 2, "facts": {}}', "unsupported-fact-sheet"),
            ('{"etconfig_fact_sheet": 1, "facts": {"os.name": {"value": 4}}}', "invalid-fact-value"),
            (
                '{"etconfig_fact_sheet": 1, "facts": {"cpu.model": {"value": "\\u001b[31m"}}}',
                "invalid-fact-value",
            ),
            ('{"etconfig_fact_sheet": 1, "facts": {"os.nothing": {"value": 4}}}', "unknown-fact"),
            ("{" * 100_000, "invalid-fact-sheet"),
        ],
    )
    def test_an_answer_that_is_no_fact_sheet(
        self, phone: Phone, etdevice: Path, capsys: Capture, answer: str, code: str
    ) -> None:
        phone.becomes("answer", answer)
        message = failure(capsys, "--adb", "--etdevice", etdevice)
        assert f"error[{code}]" in message
        assert "\x1b" not in message

    def test_escape_codes_of_the_device_are_not_printed(
        self, phone: Phone, etdevice: Path, capsys: Capture
    ) -> None:
        phone.becomes("answer", "\x1b[31mred" + "x" * 9000)
        message = failure(capsys, "--adb", "--etdevice", etdevice)
        assert "\x1b" not in message
        assert len(message) < 1500

    def test_a_file_that_is_no_program_is_refused_before_adb_is_asked(
        self, phone: Phone, tmp_path: Path, capsys: Capture
    ) -> None:
        (tmp_path / "text").write_text("text")
        assert "is not a program for Linux or Android" in failure(
            capsys, "--adb", "--etdevice", tmp_path / "text"
        )
        assert "cannot read" in failure(capsys, "--adb", "--etdevice", tmp_path)
        assert not (phone.directory / "calls").exists()

    @pytest.mark.parametrize("option", ["--etdevice", "--bundle"])
    def test_options_of_adb_need_adb(self, capsys: Capture, option: str) -> None:
        assert run(["facts", option, str(ROOT / "README.md")]) == 2
        assert option in capsys.readouterr().err
