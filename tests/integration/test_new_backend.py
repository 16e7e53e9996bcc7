"""`etconfig new-backend`: what it writes installs, passes its own tests and reaches its level unedited."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Outcome, error

NAMES = {"acme-npu": "AcmeNpuBackend", "example-npu-two": "ExampleNpuTwoBackend"}
"""A name like any, and one that holds the template's own."""


def python(*arguments: str | Path, directory: Path, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=directory,
        env={
            **os.environ,
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module", params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def package(name: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as it was written."""
    directory = tmp_path_factory.mktemp("written")
    python("-m", "etconfig", "new-backend", name, directory=directory)
    return directory / name


@pytest.fixture(scope="module")
def site(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory that the package is installed in."""
    target = tmp_path_factory.mktemp("site")
    options = ("--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--target", target)
    python("-m", "pip", "install", *options, package, directory=package)
    return target


class TestWrittenPackage:
    """It is complete."""

    def test_its_own_tests_pass_as_they_stand(self, package: Path, site: Path) -> None:
        shown = python("-m", "pytest", "-p", "no:cacheprovider", directory=package, PYTHONPATH=str(site))
        skipped = [line for line in shown.splitlines() if line.startswith("SKIPPED")]
        assert "passed" in shown
        assert all("test_aot.py" in line and "torch" in line for line in skipped), skipped

    def test_it_reaches_level_1_unedited(self, name: str, package: Path, site: Path) -> None:
        command = ("-m", "etconfig", "conformance", NAMES[name], "--level", "1", "--report", "badge.svg")
        python(*command, directory=package, PYTHONPATH=str(site))
        badge = (package / "badge.svg").read_text()
        assert "L1" in badge
        assert "xfail" not in badge

    def test_its_linter_has_nothing_to_say(self, package: Path) -> None:
        python("-m", "ruff", "check", "--no-cache", ".", directory=package)

    def test_the_installed_backend_and_profile_are_found(self, name: str, package: Path, site: Path) -> None:
        listed = python("-m", "etconfig", "backends", directory=package, PYTHONPATH=str(site))
        assert [NAMES[name], name, "0.1.0"] in [line.split() for line in listed.splitlines()]
        profiles = python("-m", "etconfig", "profiles", "list", directory=package, PYTHONPATH=str(site))
        assert f"{name}/board" in profiles

    def test_its_profile_has_no_findings(self, package: Path, site: Path) -> None:
        python("-m", "etconfig", "validate", "src", directory=package, PYTHONPATH=str(site))

    def test_the_runtime_half_needs_neither_torch_nor_executorch(self, name: str, site: Path) -> None:
        module = name.replace("-", "_")
        code = (
            f"import sys, {module}.runtime, {module}.conformance, {module}.plugin\n"
            "assert not {'torch', 'executorch'} & set(sys.modules)"
        )
        python("-c", code, directory=site)


class TestCommand:
    """It says what it wrote and what is next, or why it wrote nothing."""

    def test_it_tells_the_next_steps(self, cli: Callable[..., Outcome], place: Path) -> None:
        done = cli("new-backend", "acme-npu", "--directory", "backends/acme", "--license", "proprietary")
        count = sum(path.is_file() for path in (place / "backends" / "acme").rglob("*"))
        assert (done.status, done.stderr) == (0, "")
        assert done.stdout == (
            f"{count} files written to backends/acme; next:\n"
            "  cd backends/acme\n"
            "  pip install -e '.[test]'\n"
            "  pytest\n"
            "  etconfig conformance AcmeNpuBackend --level 1\n"
            "then replace src/acme_npu/device.py by calls of your driver; see README.md there\n"
        )
        assert "All rights reserved" in (place / "backends" / "acme" / "LICENSE").read_text()

    def test_the_id_of_an_installed_backend_is_refused(
        self, cli: Callable[..., Outcome], place: Path
    ) -> None:
        done = cli("new-backend", "reference-cpu")
        assert (done.status, done.stdout) == (2, "")
        assert done.stderr == error(
            "backend ReferenceCpuBackend is installed already, by etconfig-reference 0.1.0",
            "choose another --id, or uninstall that",
        )
        assert not (place / "reference-cpu").exists()

    @pytest.mark.parametrize("arguments", [("json",), ("acme", "--id", "acme"), ("acme", "--author", "\\")])
    def test_nothing_is_written_under_a_bad_name(
        self, cli: Callable[..., Outcome], place: Path, arguments: tuple[str, ...]
    ) -> None:
        before = sorted(place.iterdir())
        done = cli("new-backend", *arguments)
        assert (done.status, done.stdout) == (2, "")
        assert done.stderr.startswith("error: ")
        assert sorted(place.iterdir()) == before
