"""Builds the library with the system's C++ compiler when a wheel is made, also for `pip install -e`."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FLAGS = ("-std=c++17", "-O2", "-Wall", "-Wextra", "-fPIC", "-fvisibility=hidden", "-shared")


class LibraryBuildHook(BuildHookInterface[Any]):
    """Compiles `native` into `src/example_cpp/libexample_cpp.so`."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and tag the wheel for this platform and any Python: the library uses none."""
        if self.target_name != "wheel":
            return
        root = Path(self.root)
        library = root / "src" / "example_cpp" / "libexample_cpp.so"
        compiler = shlex.split(os.environ.get("CXX", "c++"))
        if shutil.which(compiler[0]) is None:
            raise RuntimeError(f"no C++ compiler ({compiler[0]}); install one, or set CXX")
        sources = sorted(map(str, (root / "native").glob("*.cpp")))
        more_flags = shlex.split(os.environ.get("CXXFLAGS", ""))
        command = [*compiler, *FLAGS, *more_flags, f"-I{root / 'native'}", *sources]
        subprocess.run([*command, "-o", str(library)], check=True)  # noqa: S603
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{platform}"
        build_data["pure_python"] = False
        build_data["artifacts"].append(f"src/example_cpp/{library.name}")
