from __future__ import annotations

from collections.abc import Sequence

import pytest

from etconfig.errors import FactError
from etconfig.facts.detecting.adb import attached_device
from etconfig.facts.detecting.detection import detect

LINES = b"""/proc/cpuinfo:processor\t: 0
/proc/cpuinfo:Features\t: fp asimd asimddp
/proc/cpuinfo:CPU implementer\t: 0x41
/proc/cpuinfo:CPU part\t: 0xd4d
/proc/cpuinfo:
/proc/meminfo:MemTotal:        8000 kB
/proc/self/status:Name:\tgrep
/proc/self/status:Cpus_allowed_list:\t0-3
/sys/devices/system/cpu/online:0-7
/sys/devices/system/cpu/present:0-7
/sys/class/kgsl/kgsl-3d0/gpu_model:Adreno750v1
a line of another kind
"""


class Phone:
    """A stand-in for adb."""

    def __init__(self, **answers: bytes) -> None:
        self.asked: list[tuple[str, ...]] = []
        self.answers = {
            "get-state": b"device\n",
            "grep": LINES,
            "uname": b"6.1.57-android14 aarch64\n",
        } | answers

    def __call__(self, command: Sequence[str]) -> bytes | None:
        self.asked.append(tuple(command))
        return self.answers.get(command[-1].split()[0].rpartition("/")[2])


class TestAttachedDevice:
    """A phone on a cable is read over adb, all at once."""

    def test_its_facts_are_detected(self):
        getprop = b"[ro.build.version.release]: [14]\n[ro.soc.model]: [SM8650]\n"
        values = detect(attached_device(run=Phone(getprop=getprop))).values
        assert (values["os.name"], values["os.version"], values["os.kernel"]) == (
            "android",
            "14",
            "6.1.57-android14",
        )
        assert (values["cpu.arch"], values["cpu.model"]) == ("arm64", "Cortex-A715")
        assert (values["cpu.logical_cores"], values["cpu.available_cores"]) == (8, 4)
        assert (values["soc.model"], values["gpu.0.name"]) == ("SM8650", "Adreno 750")
        assert values["memory.total"] == 8000 * 1024
        assert "runtime.python" not in values

    def test_a_few_calls_are_made_and_none_for_each_file(self):
        phone = Phone()
        detect(attached_device(run=phone))
        assert [command[1] for command in phone.asked] == ["get-state", *["exec-out"] * 5]

    def test_the_serial_names_one_of_several(self):
        phone = Phone()
        attached_device("R5CT", run=phone)
        assert {command[:3] for command in phone.asked} == {("adb", "-s", "R5CT")}

    def test_a_phone_that_says_little_has_few_facts(self):
        sheet = detect(attached_device(run=Phone(grep=b"", uname=b"")))
        assert sheet.values == {"os.name": "android"}

    @pytest.mark.parametrize("state", [b"offline\n", b"unauthorized\n", b"", None])
    def test_without_a_device_it_says_what_to_do(self, state):
        phone = Phone()
        phone.answers = {} if state is None else {"get-state": state}
        with pytest.raises(FactError) as caught:
            attached_device(run=phone)
        (problem,) = caught.value.diagnostics
        assert (problem.code, problem.message) == ("unreachable-device", "adb reaches no device")
        assert problem.help == (
            "install adb (of Android's platform tools), allow debugging on the device, and check that "
            "`adb devices` lists it; of several devices, name one: --adb SERIAL"
        )

    def test_the_serial_is_named_in_the_message(self):
        with pytest.raises(FactError, match="adb reaches no device 'R5CT'"):
            attached_device("R5CT", run=lambda command: None)

    @pytest.mark.posix
    def test_the_error_that_adb_prints_is_the_reason(self, monkeypatch: pytest.MonkeyPatch, tmp_path):
        (tmp_path / "adb").write_text(
            "#!/bin/sh\necho '* daemon started'\necho 'error: device offline' >&2\nexit 1\n"
        )
        (tmp_path / "adb").chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(FactError) as caught:
            attached_device("R5CT")
        assert caught.value.diagnostics[0].notes == ("adb says: error: device offline",)

    def test_without_adb_there_is_no_device(self, monkeypatch: pytest.MonkeyPatch, tmp_path):
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(FactError, match="adb reaches no device"):
            attached_device()
