"""`etconfig new-backend`: the package installs, passes its tests and reaches its level unedited."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from c_libraries import compile_with
from command_line import Outcome, error

from etconfig.c_interface.headers import include_dir
from etconfig.conformance.checks.check_catalog import all_checks

_NEEDS_TORCH = re.compile(r"test_aot\.py.*torch")


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


def write(name: str, directory: Path, *options: str) -> Path:
    """Write a new package with the command."""
    python("-m", "etconfig", "new-backend", name, *options, directory=directory)
    return directory / name


def install(package: Path, target: Path) -> Path:
    options = ("--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--target", target)
    python("-m", "pip", "install", *options, package, directory=package)
    return target


def run_its_tests(package: Path, site: Path, reached: str = "L1-reinit") -> None:
    """Check that they pass, with the check `reached` of the conformance kit; only tests that need torch are
    skipped, and checks that do not apply to the backend.

    The kit's checks that start processes of their own take ten seconds; tests/peers runs them all.
    """
    quick = " and ".join(f"not L{check.level}-{check.id}" for check in all_checks() if check.is_isolated)
    options = ("-v", "-p", "no:cacheprovider", "-k", quick)
    shown = python("-m", "pytest", *options, directory=package, PYTHONPATH=str(site))
    skipped = [line for line in shown.splitlines() if line.startswith("SKIPPED")]
    assert f"test_conformance[{reached}] PASSED" in shown
    assert "XFAIL" not in shown
    unexpected = [line for line in skipped if not _NEEDS_TORCH.search(line) and "not-applicable:" not in line]
    assert unexpected == []


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write("acme-npu", tmp_path_factory.mktemp("written"))


@pytest.fixture(scope="module")
def site(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the package into a directory."""
    return install(package, tmp_path_factory.mktemp("site"))


class TestWrittenPackage:
    """The package is complete."""

    def test_its_own_tests_pass(self, package: Path, site: Path) -> None:
        run_its_tests(package, site)

    @pytest.mark.weekly
    def test_the_tests_pass_if_the_name_contains_that_of_the_template(self, tmp_path: Path) -> None:
        package = write("example-npu-two", tmp_path)
        run_its_tests(package, install(package, tmp_path / "site"))

    def test_its_linter_finds_nothing(self, package: Path) -> None:
        python("-m", "ruff", "check", "--no-cache", ".", directory=package)

    def test_the_installed_backend_and_profile_are_found(self, package: Path, site: Path) -> None:
        listed = python("-m", "etconfig", "backends", directory=package, PYTHONPATH=str(site))
        assert ["AcmeNpuBackend", "acme-npu", "0.1.0"] in [line.split() for line in listed.splitlines()]
        profiles = python("-m", "etconfig", "profiles", "list", directory=package, PYTHONPATH=str(site))
        assert "acme-npu/board" in profiles

    def test_its_profile_has_no_findings(self, package: Path, site: Path) -> None:
        python("-m", "etconfig", "validate", "src", directory=package, PYTHONPATH=str(site))

    def test_it_loads_neither_torch_nor_executorch(self, site: Path) -> None:
        code = (
            "import sys, acme_npu.runtime, acme_npu.conformance, acme_npu.plugin\n"
            "assert not {'torch', 'executorch'} & set(sys.modules)"
        )
        python("-c", code, directory=site)


@pytest.fixture(scope="module")
def schema_package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write("acme-dsp", tmp_path_factory.mktemp("written"), "--schema-only")


@pytest.fixture(scope="module")
def schema_site(schema_package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(schema_package, tmp_path_factory.mktemp("site"))


class TestSchemaOnlyPackage:
    """A package of options alone is complete, too; its backend is part of an ExecuTorch build."""

    def test_its_own_tests_pass(self, schema_package: Path, schema_site: Path) -> None:
        run_its_tests(schema_package, schema_site, "L0-recommend-valid")

    def test_its_linter_finds_nothing(self, schema_package: Path) -> None:
        python("-m", "ruff", "check", "--no-cache", ".", directory=schema_package)

    def test_its_options_and_its_profile_are_found(self, schema_package: Path, schema_site: Path) -> None:
        shown = python(
            *("-m", "etconfig", "schema", "AcmeDspBackend", "--format", "markdown"),
            directory=schema_package,
            PYTHONPATH=str(schema_site),
        )
        assert "| `power_mode` | choice:" in shown
        python("-m", "etconfig", "validate", "src", directory=schema_package, PYTHONPATH=str(schema_site))

    def test_the_kit_says_that_nothing_runs_and_where_it_would(
        self, schema_package: Path, schema_site: Path
    ) -> None:
        command = (sys.executable, "-m", "etconfig", "conformance", "AcmeDspBackend")
        environment = {**os.environ, "PYTHONPATH": str(schema_site)}
        done = subprocess.run(command, cwd=schema_package, env=environment, capture_output=True, text=True)
        assert done.returncode == 1
        assert "\n  failed " not in done.stdout
        assert "acme-dsp 0.1.0 only declares the options of AcmeDspBackend" in done.stdout
        assert "AcmeDspBackend of acme-dsp 0.1.0: L0 · kit " in done.stdout


needs_compiler = pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler (c++) on the PATH")


@pytest.fixture(scope="module")
def cpp_package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write("acme-gpu", tmp_path_factory.mktemp("written"), "--cpp")


@pytest.fixture(scope="module")
def cpp_site(cpp_package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(cpp_package, tmp_path_factory.mktemp("site"))


class TestCppPackage:
    """A package in C++ builds with the system's compiler, and is complete."""

    @pytest.mark.device
    @needs_compiler
    def test_its_own_tests_pass(self, cpp_package: Path, cpp_site: Path) -> None:
        run_its_tests(cpp_package, cpp_site)

    def test_its_linter_finds_nothing(self, cpp_package: Path) -> None:
        python("-m", "ruff", "check", "--no-cache", ".", directory=cpp_package)

    @pytest.mark.device
    @needs_compiler
    def test_its_sources_compile_without_a_warning(self, cpp_package: Path, tmp_path: Path) -> None:
        for language, sources in {"c++": sorted((cpp_package / "native").glob("*.cpp"))}.items():
            assert len(sources) == 3
            flags = (f"-I{cpp_package / 'native'}", "-fPIC", "-shared")
            compile_with(language, *flags, *sources, target=tmp_path / "l")

    def test_its_header_is_that_of_etconfig(self, cpp_package: Path) -> None:
        header = Path("etconfig", "backend.h")
        assert (cpp_package / "native" / header).read_bytes() == (include_dir() / header).read_bytes()

    @pytest.mark.device
    @needs_compiler
    def test_its_wheel_is_for_this_platform_and_any_python(self, cpp_package: Path, tmp_path: Path) -> None:
        options = ("--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", tmp_path)
        python("-m", "pip", "wheel", *options, cpp_package, directory=cpp_package)
        (wheel,) = tmp_path.iterdir()
        assert re.fullmatch(r"acme_gpu-0\.1\.0-py3-none-(linux|macosx)_\w+\.whl", wheel.name)

    def test_without_a_compiler_the_reason_is_given(self, cpp_package: Path, tmp_path: Path) -> None:
        command = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--no-build-isolation"]
        done = subprocess.run(
            [*command, "--target", tmp_path, cpp_package],
            env={**os.environ, "CXX": "no-such-compiler"},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 1
        assert "no C++ compiler (no-such-compiler); install one, or set CXX" in done.stdout + done.stderr


class TestCommand:
    """The command prints the next steps, or why it wrote nothing."""

    def test_the_next_steps_are_printed(self, cli: Callable[..., Outcome], place: Path) -> None:
        done = cli("new-backend", "acme-npu", "--directory", "backends/acme", "--license", "proprietary")
        count = sum(path.is_file() for path in (place / "backends" / "acme").rglob("*"))
        assert (done.status, done.stderr) == (0, "")
        assert done.stdout == (
            f"{count} files written to backends/acme; next:\n"
            "  cd backends/acme\n"
            "  pip install -e '.[test]'\n"
            "  pytest\n"
            "  etconfig conformance AcmeNpuBackend --level 1\n"
            "then replace src/acme_npu/device.py with calls to your driver; see its README.md\n"
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

    def test_the_name_of_an_installed_package_is_refused(self, cli: Callable[..., Outcome]) -> None:
        import click

        done = cli("new-backend", "click")
        assert (done.status, done.stdout) == (2, "")
        assert done.stderr == error(
            f"a package click is installed already, in {click.__file__}",
            "choose another name, or uninstall that",
        )

    def test_the_two_kinds_exclude_each_other(self, cli: Callable[..., Outcome]) -> None:
        done = cli("new-backend", "acme", "--cpp", "--schema-only")
        assert (done.status, done.stdout) == (2, "")
        assert "--cpp and --schema-only exclude each other" in done.stderr

    @pytest.mark.parametrize("arguments", [("json",), ("acme", "--id", "acme"), ("acme", "--author", "\\")])
    def test_nothing_is_written_under_a_bad_name(
        self, cli: Callable[..., Outcome], place: Path, arguments: tuple[str, ...]
    ) -> None:
        before = sorted(place.iterdir())
        done = cli("new-backend", *arguments)
        assert (done.status, done.stdout) == (2, "")
        assert done.stderr.startswith("error: ")
        assert sorted(place.iterdir()) == before
