"""`make device TARGET=...`: static programs for other devices, run under emulators."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
from pathlib import Path

import pytest
from device_programs import compile_device_program, run_device_program
from doc_pages import ROOT

from etconfig.device import device_include_dir

pytestmark = [pytest.mark.device, pytest.mark.timeout(300)]
COMPILERS = {"arm64": "aarch64-linux-gnu-g++", "arm32": "arm-linux-gnueabihf-g++"}
EMULATORS = {"arm64": "qemu-aarch64", "arm32": "qemu-arm"}


@pytest.mark.parametrize("system", ["linux", "android"])
@pytest.mark.parametrize("processor", ["arm64", "arm32"])
def test_etdevice_is_built_for_a_target(processor: str, system: str, tmp_path: Path) -> None:
    for command in ("make", COMPILERS[processor], EMULATORS[processor]):
        if shutil.which(command) is None:
            pytest.skip(f"no {command} on the PATH; `make test-device` installs the compilers and emulators")
    target = processor if system == "linux" else f"{system}-{processor}"
    for name in ("Makefile", "etconfig"):
        (tmp_path / name).symlink_to(ROOT / name)
    subprocess.run(["make", "-s", "device", f"TARGET={target}"], cwd=tmp_path, check=True)
    program = tmp_path / "build" / f"etdevice-{target}"
    done = subprocess.run([EMULATORS[processor], program, "facts", "--json"], capture_output=True, check=True)
    facts = json.loads(done.stdout)["facts"]
    assert facts["os.name"]["value"] == system


@pytest.mark.skipif(platform.system() != "Linux", reason="popen runs a shell script there")
def test_a_program_for_android_asks_getprop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    getprop = tmp_path / "getprop"
    getprop.write_text(
        "#!/bin/sh\ncase $1 in\n  ro.build.version.release) echo 15;;\n  ro.soc.model) echo SM8650;;\nesac\n"
    )
    getprop.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    source = device_include_dir().parent / "etdevice"
    flags = ("-D__ANDROID__", f"-I{source / 'android'}", "-static")
    program = compile_device_program(str(source / "main.cpp"), tmp_path / "etdevice", *flags)
    facts = json.loads(run_device_program(program, "facts", "--json"))["facts"]
    found = [facts[name]["value"] for name in ("os.name", "os.version", "soc.model")]
    assert found == ["android", "15", "SM8650"]


def test_an_unknown_target_is_refused(tmp_path: Path) -> None:
    for name in ("Makefile", "etconfig"):
        (tmp_path / name).symlink_to(ROOT / name)
    done = subprocess.run(
        ["make", "device", "TARGET=mips"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "No rule to make target 'build/etdevice-mips'" in done.stderr
