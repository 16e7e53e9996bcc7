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

BROKEN = "[options.ReferenceCpuBackend]\nnum_thread = 2\n"
RAISED = '[options.ReferenceCpuBackend]\nnum_threads = { expr = "cpu.available_cores" }\n'


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a project file, and two fact sheets in `sheets/`."""
    (tmp_path / "etconfig.toml").write_text(RAISED)
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
    ("facts", "checks"),
    [
        ("sheets/raspberry-pi-5.json", 1),
        ("sheets/*.json", 2),
        (" sheets/l*.json\nsheets/r*.json ", 2),
        ("", 1),
    ],
)
def test_files_are_checked_on_every_sheet(repository: Path, facts: str, checks: int) -> None:
    status, output = run(repository, FACTS=facts)
    assert (status, output.count("1 file checked")) == (0, checks)


@pytest.mark.parametrize(
    ("devices", "checks"), [("pi-5", 1), ("pi-5\ngoogle/pixel-8", 2), ("google/* pi-5", 2), ("acme/*", 0)]
)
def test_files_are_checked_on_every_known_device(repository: Path, devices: str, checks: int) -> None:
    (repository / "google").mkdir()
    (repository / "google" / "file").touch()  # patterns of devices are not those of files
    status, output = run(repository, DEVICES=devices)
    assert (status == 2, output.count("1 file checked")) == (not checks, checks)
    _, both = run(repository, DEVICES=devices, FACTS="sheets/*.json")
    assert both.count("1 file checked") == checks + 2


def test_all_sheets_are_checked_if_the_first_fails(repository: Path) -> None:
    (repository / "etconfig.toml").write_text(BROKEN)
    status, output = run(repository, FACTS="sheets/*.json")
    assert (status, output.count("1 file checked")) == (1, 2)


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
