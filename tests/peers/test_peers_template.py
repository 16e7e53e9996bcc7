"""`etconfig new-backend`: the ahead-of-time half of a new package, with real ExecuTorch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from build_template_programs import golden, install_from, install_template, lower

from etconfig.program.program import open_program
from etconfig.scaffold import CPP, PYTHON, Template

pytestmark = pytest.mark.peers


def content_of(path: Path) -> list[object]:
    """Return the contents of a program, apart from their places in the file."""
    program = open_program(path)
    plans = [program.plan(name) for name in program.method_names]
    return [plans, [bytes(program.delegate_data(each)) for plan in plans for each in plan.delegates]]


@pytest.mark.weekly
@pytest.mark.parametrize("template", [PYTHON, CPP], ids=lambda each: each.names.distribution)
def test_the_template_contains_the_programs_that_it_makes(template: Template, tmp_path: Path) -> None:
    made = tmp_path / "made"
    lower(template.names.backend_id, install_template(template, tmp_path), made)
    programs = {path.name: path.read_bytes() for path in made.iterdir()}
    held = {path.name: path.read_bytes() for path in golden(template.names).iterdir()}
    assert programs == held, "to accept them: .venv-peers/bin/python tools/build_template_programs.py"


class Written(NamedTuple):
    package: Path
    site: Path


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """A package with other names, and the directory in which it is installed."""
    package, site = tmp_path_factory.mktemp("written") / "acme-npu", tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "etconfig", "new-backend", "acme-npu", "--directory", package]
    subprocess.run(command, check=True)
    install_from(package, site)
    return Written(package, site)


@pytest.fixture(scope="module")
def exported(written: Written, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs that ExecuTorch makes with it."""
    directory = tmp_path_factory.mktemp("exported")
    lower("AcmeNpuBackend", written.site, directory)
    return directory


def python(*arguments: str | Path, written: Written) -> str:
    path = os.pathsep.join(filter(None, (str(written.site), os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=written.package,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.weekly
class TestExport:
    """ExecuTorch exports with a new package the programs that the package contains."""

    def test_its_golden_programs_are_those_that_it_makes(self, written: Written, exported: Path) -> None:
        golden = written.site / "acme_npu" / "golden"
        for path in exported.iterdir():
            assert content_of(path) == content_of(golden / path.name), path.name

    def test_its_tests_of_that_half_pass_without_skips(self, written: Written) -> None:
        """tests/integration runs its other tests, test_peers_first_backend.py all of an edited package."""
        shown = python("-m", "pytest", "-p", "no:cacheprovider", "tests/test_aot.py", written=written)
        assert "skipped" not in shown

    def test_its_exports_reach_every_level_unedited(self, written: Written, exported: Path) -> None:
        """Its own tests require level 1; its other declarations are true, too."""
        command = ("-m", "etconfig", "conformance", "AcmeNpuBackend", "--level", "3")
        shown = python(*command, "--programs", exported, written=written)
        assert "AcmeNpuBackend of acme-npu 0.1.0: L3 · kit 1." in shown
