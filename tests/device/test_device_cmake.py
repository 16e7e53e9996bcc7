"""The CMake package: found in each way that people use, with gcc, clang, and for arm64 under an emulator."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from compilers import cmake
from device_programs import SOURCES, Toolchain
from doc_pages import ROOT, Page
from doc_shell import Shell
from reader_commands import write_commands

import etconfig
from etconfig.device import cmake_dir, device_include_dir

PROJECT = cmake_dir().parent
PAGE = Page(ROOT / "docs" / "cmake.md")
CLANG = Toolchain("clang++", "clang")
ARM64 = Toolchain("aarch64-linux-gnu-g++", "g++-aarch64-linux-gnu", "qemu-aarch64")
USER = "cmake_minimum_required(VERSION 3.18)\nproject(user LANGUAGES C CXX)\n"
HEADERS = "add_executable(user user.cpp)\ntarget_link_libraries(user PRIVATE etconfig::device)\n"
LIBRARY = "add_executable(old old.c)\ntarget_link_libraries(old PRIVATE etconfig::device_c)\n"
USER_CPP = """
#include <etconfig/device.h>
#include <cstdio>
int main() {
  std::printf("%d.%d.%d\\n", ETCONFIG_VERSION_MAJOR, ETCONFIG_VERSION_MINOR, ETCONFIG_VERSION_PATCH);
}
"""
VERSIONS = """
cmake_minimum_required(VERSION 3.18)
project(user LANGUAGES CXX)
foreach(WANTED 0.0 0.2 0.1.9 1.0 1 0.1 0.1.0)
  unset(etconfig_DIR CACHE)  # a refused one is remembered
  find_package(etconfig ${WANTED} QUIET NO_DEFAULT_PATH PATHS "${PLACE}")
  message(STATUS "asked for ${WANTED}: ${etconfig_FOUND}")
endforeach()
"""
FROZEN = SOURCES / "abi1"


def run(*command: object, expected: int = 0, environment: Mapping[str, str] | None = None) -> str:
    """Run a command, and return its output and messages."""
    done = subprocess.run(
        [*map(str, command)], capture_output=True, text=True, env={**os.environ, **(environment or {})}
    )
    assert (done.returncode == 0) == (expected == 0), done.stdout + done.stderr
    return done.stdout + done.stderr


def build(directory: Path, lists: str, *flags: str, expected: int = 0) -> str:
    """Write a project of a user, build it in `DIRECTORY/build`, and return CMake's messages."""
    directory.mkdir(exist_ok=True)
    (directory / "CMakeLists.txt").write_text(USER + lists)
    (directory / "user.cpp").write_text(USER_CPP)
    shutil.copytree(FROZEN, directory, dirs_exist_ok=True)
    said = run(cmake(), "-S", directory, "-B", directory / "build", *flags, expected=expected)
    if expected == 0:
        run(cmake(), "--build", directory / "build")
    return said


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle that the program of an application from before reads."""
    target = tmp_path_factory.mktemp("bundle") / "app.etbundle"
    etconfig.pack_bundle(profiles=["generic/any"]).save(target)
    return target


@pytest.fixture(scope="module", params=["shared", "static"])
def installed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory where CMake has installed the package, with a library of one kind."""
    root = tmp_path_factory.mktemp(request.param)
    kind = f"-DBUILD_SHARED_LIBS={'ON' if request.param == 'shared' else 'OFF'}"
    run(cmake(), "-S", PROJECT, "-B", root / "build", kind)
    run(cmake(), "--build", root / "build")
    run(cmake(), "--install", root / "build", "--prefix", root / "to")
    return root / "to"


@pytest.mark.parametrize("compiler", ["system", "clang", "arm64"])
def test_the_example_of_the_page_prints_what_it_shows(compiler: str, tmp_path: Path) -> None:
    toolchain = {"clang": CLANG, "arm64": ARM64}.get(compiler)
    environment = write_commands(tmp_path / "bin")
    environment = {**environment, "PATH": f"{environment['PATH']}{os.pathsep}{Path(cmake()).parent}"}
    if toolchain is not None:
        for program in (toolchain.compiler, toolchain.emulator):
            if program is not None and shutil.which(program) is None:
                pytest.skip(f"no {program}; Debian's package {toolchain.package} has it")
        environment |= {"CXX": toolchain.compiler, "LDFLAGS": "-static" if toolchain.emulator else ""}
    emulator = toolchain.emulator if toolchain is not None else None
    home = tmp_path / "home"
    home.mkdir()
    shell = Shell(home, environment)
    first = PAGE.text.partition("\n## ")[0].count("\n")
    followed = 0
    for fence in PAGE.fences():
        if fence.line < first and not fence.is_included and "pip install" not in fence.text:
            text = fence.text.replace("build/app <", f"{emulator} build/app <") if emulator else fence.text
            shell.do(PAGE, replace(fence, text=text))
            followed += 1
    assert followed == 7, "profile, pack, two files, build, run, output"
    if emulator:
        assert b"\xb7\x00" in (home / "build" / "app").read_bytes()[18:20], "not a program for arm64"


def test_the_first_example_has_fifteen_lines() -> None:
    files = [each for each in PAGE.fences() if each.file in ("CMakeLists.txt", "app.cpp")]
    assert sum(line != "}" for each in files for line in each.text.splitlines()) == 15


class TestInstalled:
    """`find_package` and pkg-config find what CMake has installed, wherever that is."""

    def test_a_project_finds_headers_and_library(self, installed: Path, bundle: Path, tmp_path: Path) -> None:
        version = etconfig.__version__
        lists = f"find_package(etconfig {version} EXACT REQUIRED)\n"
        build(tmp_path / "user", lists + HEADERS + LIBRARY, f"-DCMAKE_PREFIX_PATH={installed}")
        assert run(tmp_path / "user" / "build" / "user") == f"{version}\n"
        assert run(tmp_path / "user" / "build" / "old", bundle) == "generic/any\n"

    def test_another_version_is_refused(self, installed: Path, tmp_path: Path) -> None:
        for number, directory in enumerate((installed, cmake_dir())):
            project = tmp_path / str(number)
            project.mkdir()
            (project / "CMakeLists.txt").write_text(VERSIONS)
            said = run(cmake(), "-S", project, "-B", project / "build", f"-DPLACE={directory}")
            found = dict(re.findall(r"^-- asked for ([\d.]+): (\w+)$", said, re.MULTILINE))
            refused = {"0.0": "0", "0.2": "0", "0.1.9": "0", "1.0": "0", "1": "0"}
            assert found == {**refused, "0.1": "1", etconfig.__version__: "1"}

    def test_pkg_config_finds_them_also_after_a_move(
        self, installed: Path, bundle: Path, tmp_path: Path
    ) -> None:
        if shutil.which("pkg-config") is None:
            pytest.skip("no pkg-config on the PATH")
        moved = tmp_path / "moved"
        shutil.copytree(installed, moved, symlinks=True)
        (directory,) = (each.parent for each in moved.rglob("etconfig.pc"))
        environment = {"PKG_CONFIG_PATH": str(directory)}
        flags = run("pkg-config", "--cflags", "--libs", "etconfig", environment=environment).split()
        assert run("pkg-config", "--modversion", "etconfig", environment=environment).strip() == (
            etconfig.__version__
        )
        library = next(moved.rglob("libetconfig_device.*")).parent
        program = tmp_path / "old"
        run("cc", FROZEN / "old.c", *flags, f"-Wl,-rpath,{library}", "-o", program)
        assert run(program, bundle) == "generic/any\n"

    def test_a_shared_library_has_its_abi_in_its_name_and_exports_the_header_only(
        self, installed: Path
    ) -> None:
        (target,) = {each.resolve() for each in installed.rglob("libetconfig_device.*")}
        if ".so" not in target.name:
            pytest.skip("a static library")
        assert "libetconfig_device.so.1]" in run("readelf", "-d", target)
        names = {line.split()[-1] for line in run("nm", "-D", "--defined-only", target).splitlines()}
        assert [name for name in names if not name.startswith("etconfig_device_")] == []
        assert len(names) > 50


class TestSources:
    """A project can use the sources, too: of a Python installation or a checkout."""

    @pytest.mark.parametrize(
        ("way", "flags"),
        [
            ("find_package(etconfig REQUIRED)\n" * 2, [f"-Detconfig_DIR={cmake_dir()}"]),
            (f'add_subdirectory("{PROJECT}" etconfig)\n', []),
            (
                "include(FetchContent)\nFetchContent_Declare(etconfig GIT_REPOSITORY https://example.invalid "
                "SOURCE_SUBDIR etconfig/device)\nFetchContent_MakeAvailable(etconfig)\n",
                [f"-DFETCHCONTENT_SOURCE_DIR_ETCONFIG={ROOT}"],
            ),
        ],
        ids=["Python", "add_subdirectory", "FetchContent"],
    )
    def test_it_builds_in_a_project(self, way: str, flags: list[str], bundle: Path, tmp_path: Path) -> None:
        build(tmp_path / "user", way + HEADERS + LIBRARY, *flags)
        assert run(tmp_path / "user" / "build" / "user") == f"{etconfig.__version__}\n"
        assert run(tmp_path / "user" / "build" / "old", bundle) == "generic/any\n"
        install = (tmp_path / "user" / "build" / "cmake_install.cmake").read_text()
        assert "etconfigTargets" not in install, "a project that only uses it would install it"

    def test_the_library_is_not_built_unless_it_is_linked(self, tmp_path: Path) -> None:
        build(
            tmp_path / "user", "find_package(etconfig REQUIRED)\n" + HEADERS, f"-Detconfig_DIR={cmake_dir()}"
        )
        assert not list(tmp_path.rglob("libetconfig_device*"))

    def test_executorch_is_found_first(self, tmp_path: Path) -> None:
        found = "find_package(etconfig REQUIRED)\nadd_library(executorch INTERFACE)\n"
        linked = "add_library(both INTERFACE)\nadd_executable(user user.cpp)\n"
        linked += "target_link_libraries(user PRIVATE etconfig::executorch)\n"
        build(tmp_path / "found", found + linked, f"-Detconfig_DIR={cmake_dir()}")
        missing = "find_package(etconfig REQUIRED)\n"
        said = build(tmp_path / "missing", missing + linked, f"-Detconfig_DIR={cmake_dir()}", expected=1)
        assert "call::find_package_executorch_first" in said


class TestAbi:
    """A program that was compiled with the first header of ABI 1 runs with the library of today."""

    def test_every_declaration_of_the_frozen_header_is_there_unchanged(self) -> None:
        """Names, types and order of parameters, results, and numbers; new ones may follow."""
        old, new = (
            declarations((each / "etconfig" / "etconfig_device.h").read_text())
            for each in (FROZEN, device_include_dir())
        )
        assert len(old) > 85
        changed = {name: (text, new.get(name)) for name, text in old.items() if new.get(name) != text}
        assert changed == {}

    def test_the_program_calls_each_function_of_its_header(self) -> None:
        functions = {
            name
            for name, text in declarations((FROZEN / "etconfig" / "etconfig_device.h").read_text()).items()
            if "(" in text
        }
        called = set(re.findall(r"\b(etconfig_device_\w+)\(", (FROZEN / "old.c").read_text()))
        assert called == functions


def declarations(header: str) -> dict[str, str]:
    """Return the functions, structs and numbers of a header in C, by name."""
    text = re.sub(r"/\*.*?\*/", " ", header, flags=re.DOTALL)
    functions = re.findall(r"^((?:const )?\w+\*? (etconfig_device_\w+)\([^)]*\));", text, re.MULTILINE)
    found = {name: re.sub(r"\s+", " ", whole) for whole, name in functions}
    for body in re.findall(r"typedef enum \{(.*?)\}", text, re.DOTALL):
        number = -1
        for name, value in re.findall(r"(\w+)(?: = (\d+))?\s*(?:,|$)", body.strip()):
            number = int(value) if value else number + 1
            found[name] = str(number)
    return found
