"""`etconfig::executorch`: the CMake package with the package of ExecuTorch's wheel."""

from __future__ import annotations

import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest
from compilers import cmake

from etconfig.device import cmake_dir

pytestmark = pytest.mark.peers

LISTS = """
cmake_minimum_required(VERSION 3.28)
project(user LANGUAGES CXX)
find_package(executorch CONFIG REQUIRED)
find_package(etconfig REQUIRED)
add_executable(user user.cpp)
target_link_libraries(user PRIVATE etconfig::executorch executorch::backend_xnnpack)
"""
USER = """
#include <etconfig/device_executorch.h>
#include <cstdio>
int main() {
  static etconfig::device::FactStore<8> facts;
  (void)etconfig::device::set_runtime_backends(&facts);
  for (const std::string_view id : facts.find("runtime.backends").list()) {
    std::printf("%.*s\\n", static_cast<int>(id.size()), id.data());
  }
#ifdef ETCONFIG_WITHOUT_THREADPOOL
  std::puts("no threadpool");
#endif
}
"""


def test_a_program_builds_and_sees_the_backends_of_the_runtime(tmp_path: Path) -> None:
    spec = find_spec("executorch")
    assert spec is not None
    assert spec.submodule_search_locations
    wheel = Path(spec.submodule_search_locations[0])
    (tmp_path / "CMakeLists.txt").write_text(LISTS)
    (tmp_path / "user.cpp").write_text(USER)
    build = tmp_path / "build"
    for command in (
        ("-S", tmp_path, "-B", build, f"-Detconfig_DIR={cmake_dir()}", f"-Dexecutorch_ROOT={wheel}"),
        ("--build", build),
    ):
        done = subprocess.run([cmake(), *map(str, command)], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    said = subprocess.run([build / "user"], check=True, capture_output=True, text=True).stdout
    assert said.split() == ["XnnpackBackend"]
