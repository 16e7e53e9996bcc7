"""`etconfig new-backend`: the ahead-of-time half of a new package, with real ExecuTorch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import tomli
from plugin_data import write_distribution

from etconfig.program import open_program

pytestmark = pytest.mark.peers

NAMES = {"example-npu": "ExampleNpuBackend", "acme-npu": "AcmeNpuBackend"}
"""The template's own names, and others."""


def python(*arguments: str | Path, directory: Path) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(["src", os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def content_of(path: Path) -> list[object]:
    """All that a program says, apart from where it lies in the file."""
    program = open_program(path)
    plans = [program.plan(name) for name in program.method_names]
    return [plans, [bytes(program.delegate_data(each)) for plan in plans for each in plan.delegates]]


@pytest.fixture(scope="module", params=NAMES)
def package(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new package whose metadata is found when `src` is on Python's path."""
    directory = tmp_path_factory.mktemp("written")
    python("-m", "etconfig", "new-backend", request.param, directory=directory)
    package = directory / request.param
    project = tomli.loads((package / "pyproject.toml").read_text())["project"]
    groups = project["entry-points"]
    lines = [f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in groups[group].items()) for group in groups]
    headers = f"Name: {project['name']}\nVersion: {project['version']}\n"
    write_distribution(package / "src", "written-0.1.0.dist-info", "".join(lines), headers)
    return package


class TestExport:
    """What ExecuTorch exports with it is what the package holds."""

    def test_golden_programs_are_what_the_package_makes(self, package: Path) -> None:
        command = ("-m", "etconfig", "conformance", NAMES[package.name], "--lower", "made")
        python(*command, directory=package)
        golden = package / "src" / package.name.replace("-", "_") / "golden"
        made = {path.name: path for path in (package / "made").iterdir()}
        assert sorted(made) == sorted(path.name for path in golden.iterdir())
        for name, path in made.items():
            assert content_of(path) == content_of(golden / name), f"write the golden programs again: {name}"

    def test_its_own_tests_pass_none_skipped(self, package: Path) -> None:
        shown = python("-m", "pytest", "-p", "no:cacheprovider", "tests", directory=package)
        assert "skipped" not in shown
        assert "test_aot.py .." in shown
