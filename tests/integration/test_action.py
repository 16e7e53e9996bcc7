"""The script of the GitHub action: which checks it runs, and how it fails."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import ROOT

SCRIPT = ROOT / ".github" / "validate.sh"
BASH = shutil.which("bash")
pytestmark = pytest.mark.skipif(BASH is None or sys.platform == "win32", reason="needs bash")

UNMATCHED = "[options.ReferenceCpuBackend]\nnum_threads = 1\n"
UNRESOLVED = '[options.ReferenceCpuBackend]\nnum_threads = { expr = "cpu.available_cores - 400" }\n'
BROKEN = "[options.ReferenceCpuBackend]\nnum_thread = 2\n"
RAISED = '[options.ReferenceCpuBackend]\nnum_threads = { expr = "cpu.available_cores" }\n'


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a project file, a profile for another device, and two fact sheets in `sheets/`."""
    (tmp_path / "etconfig.toml").write_text(RAISED)
    (tmp_path / "board.toml").write_text('[profile]\nname = "board"\nmatch = \'device.model == "board"\'\n')
    sheets = tmp_path / "sheets"
    sheets.mkdir()
    for name in ("raspberry-pi-5", "laptop-on-battery"):
        shutil.copy(ROOT / "tests" / "data" / "sheets" / f"{name}.json", sheets)
    return tmp_path


def run(repository: Path, **inputs: str) -> tuple[int, str]:
    """Run the script as the action does; return its status and output."""
    variables = {
        "FILES": "etconfig.toml",
        "PROGRAM": "",
        "FACTS": "",
        "DEVICES": "",
        "EXPECT": "",
        "PROFILE_PATH": "",
        **inputs,
    }
    assert BASH is not None
    done = subprocess.run(
        [BASH, SCRIPT],
        cwd=repository,
        env={
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            **variables,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_good_files_pass(repository: Path) -> None:
    status, output = run(repository)
    assert (status, "1 file checked: 0 errors" in output) == (0, True)


def test_a_finding_is_an_annotation_and_a_failure(repository: Path) -> None:
    (repository / "etconfig.toml").write_text(BROKEN)
    status, output = run(repository)
    assert status == 1
    assert re.search(r"^::error file=etconfig.toml,line=2,.*no option 'num_thread'", output, re.MULTILINE)


@pytest.mark.parametrize(
    ("facts", "devices"),
    [
        ("sheets/raspberry-pi-5.json", ["raspberry-pi-5"]),
        ("sheets/*.json", ["laptop-on-battery", "raspberry-pi-5"]),
        (" sheets/l*.json\nsheets/r*.json ", ["laptop-on-battery", "raspberry-pi-5"]),
    ],
)
def test_files_are_checked_on_every_sheet(repository: Path, facts: str, devices: list[str]) -> None:
    (repository / "etconfig.toml").write_text(UNMATCHED)
    status, output = run(repository, FACTS=facts, FILES="etconfig.toml board.toml")
    assert (status, output.count("2 files checked")) == (0, 1)
    assert f"board.toml: not resolved on {', '.join(devices)}," in output


@pytest.mark.parametrize(
    ("devices", "checked"),
    [
        ("pi-5", ["raspberry-pi/pi-5"]),
        ("pi-5\ngoogle/pixel-8", ["raspberry-pi/pi-5", "google/pixel-8"]),
        ("*/pixel-8 pi-5", ["google/pixel-8", "raspberry-pi/pi-5"]),
        ("acme/*", []),
    ],
)
def test_files_are_checked_on_every_known_device(repository: Path, devices: str, checked: list[str]) -> None:
    (repository / "google").mkdir()
    (repository / "google" / "file").touch()  # patterns of devices are not those of files
    for facts, further in (("", []), ("sheets/*.json", ["laptop-on-battery", "raspberry-pi-5"])):
        status, output = run(repository, DEVICES=devices, FACTS=facts, FILES="board.toml")
        assert status == (0 if checked else 2)
        assert not checked or f"not resolved on {', '.join([*further, *checked])}," in output


def test_one_mistake_on_many_devices_is_one_annotation(repository: Path) -> None:
    (repository / "devices.toml").write_text("")
    for text in (BROKEN, UNRESOLVED):
        (repository / "etconfig.toml").write_text(text)
        for expect, devices in (("", ""), ("devices.toml", "google/* pi-5" if text == BROKEN else "")):
            status, output = run(repository, FACTS="sheets/*.json", DEVICES=devices, EXPECT=expect)
            assert (status, len(re.findall(r"^::error", output, re.MULTILINE))) == (1, 1), output


def test_a_sheet_that_is_missing_is_a_failure(repository: Path) -> None:
    status, output = run(repository, FACTS="sheets/phone*.json")
    assert (status, output) == (2, "::error::the input 'facts' names no file: sheets/phone*.json\n")


def test_several_files_and_a_program(repository: Path) -> None:
    shutil.copy(ROOT / "tests" / "data" / "digits" / "digits.pte", repository / "the digits.pte")
    (repository / "profiles").mkdir()
    (repository / "profiles" / "board.toml").write_text(f'[profile]\nname = "board"\n{RAISED}')
    status, output = run(
        repository, FILES="etconfig.toml\nprofiles", PROGRAM="the digits.pte", PROFILE_PATH="profiles"
    )
    assert (status, "2 files checked" in output) == (0, True)


@pytest.mark.parametrize(
    "programs",
    ["a.pte b.pte", "a.pte\n b.pte\n", "[ab].pte", "?.pte the\ndigits.pte", "b.pte\nthe digits.pte"],
)
def test_several_programs(repository: Path, programs: str) -> None:
    for name in ("a", "b", "the digits", "the", "digits"):
        shutil.copy(ROOT / "tests" / "data" / "digits" / "digits.pte", repository / f"{name}.pte")
    (repository / "the").touch()
    (repository / "etconfig.toml").write_text(
        "[methods.decode.options.ReferenceCpuBackend]\nnum_threads = 1\n"
    )
    status, output = run(repository, PROGRAM=programs.replace("the\ndigits", "digits"))
    assert (status, output.count("1 file checked")) == (1, 1)
    assert re.search(r"^::error file=etconfig.toml,line=1,.*decode", output, re.MULTILINE)


def test_a_program_that_is_missing_is_a_failure(repository: Path) -> None:
    assert run(repository, PROGRAM="*.pte") == (2, "::error::the input 'program' names no file: *.pte\n")
    assert run(repository, PROGRAM="gone.pte")[0] == 2


def test_every_device_must_get_what_is_expected(repository: Path) -> None:
    shutil.copy(ROOT / "tests" / "data" / "digits" / "digits.pte", repository / "digits.pte")
    etconfig = [sys.executable, "-m", "etconfig", "matrix", "digits.pte", "--facts", "sheets"]
    subprocess.run([*etconfig, "--write-expect", "devices.toml"], cwd=repository, check=True)
    summary = repository / "summary.md"
    inputs = {
        "PROGRAM": "digits.pte",
        "FACTS": "sheets/*.json",
        "EXPECT": "devices.toml",
        "GITHUB_STEP_SUMMARY": str(summary),
    }
    status, output = run(repository, **inputs)
    assert (status, "devices.toml: 2 devices as expected" in output) == (0, True)
    (repository / "etconfig.toml").write_text(RAISED.replace('"cpu.available_cores"', '"2"'))
    status, output = run(repository, **inputs)
    assert status == 1
    moved = r"^::error file=devices.toml,line=\d+,.*raspberry-pi-5: forward:ReferenceCpuBackend.num_threads: "
    assert re.search(f"{moved}expected 4, got 2", output, re.MULTILINE)
    assert (
        "| `raspberry-pi-5` | `forward:ReferenceCpuBackend.num_threads` | `4` | `2` |" in summary.read_text()
    )


def test_expected_options_need_devices(repository: Path) -> None:
    status, output = run(repository, EXPECT="devices.toml")
    assert (status, "the input 'expect' needs devices" in output) == (2, True)


def test_every_input_reaches_the_script() -> None:
    action = (ROOT / "action.yml").read_text(encoding="utf-8")
    names = {*re.findall(r"\$\{?([A-Z_]+)\b", SCRIPT.read_text(encoding="utf-8"))}
    for name in names - {"GITHUB_STEP_SUMMARY"}:  # set by the runner
        assert f"{name}: ${{{{ inputs.{name.lower().replace('_', '-')} }}}}" in action


def test_the_documented_inputs_are_those_of_the_action() -> None:
    action = (ROOT / "action.yml").read_text(encoding="utf-8")
    inputs = re.findall(r"^  ([a-z-]+):\n    description", action, re.MULTILINE)
    page = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    table = page.split("| input |")[1].split("\n\n")[0]
    assert re.findall(r"^\| `([a-z-]+)` \|", table, re.MULTILINE) == inputs
