"""Options of a package by `etconfig new-backend --schema-only`, in a backend of a user's own library."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.peers

HERE = Path(__file__).parent
XNNPACK = HERE.parents[2] / "tests" / "data" / "programs" / "xnnpack.pte"
PROJECT = """
[executor]
name = "executorch"

[executor.executorch]
libraries = ["libacme_dsp.so"]

[options.AcmeDspBackend]
power_mode = "high"
use_cache = true
cache_dir = "/var/cache/dsp"
"""
RECEIVED = [
    "set_option: text cache_dir = /var/cache/dsp",
    "init: int power_mode = 2",
    "init: int num_threads = 3",
    "init: bool use_cache = 1",
]


def etconfig(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a process that has the package `acme-dsp` on its path."""
    path = os.pathsep.join(filter(None, (str(directory / "site"), os.environ.get("PYTHONPATH"))))
    command = [sys.executable, "-m", "etconfig", *arguments]
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(
        command, cwd=directory, env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package, a library with its backend, a program that delegates to it, and a project file."""
    directory = tmp_path_factory.mktemp("schema-only")
    written = etconfig(directory, "new-backend", "acme-dsp", "--schema-only")
    assert written.returncode == 0, written.stderr
    metadata = directory / "acme-dsp" / "src" / "acme_dsp-0.1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Name: acme-dsp\nVersion: 0.1.0\n")
    (metadata / "entry_points.txt").write_text("[etconfig.backends]\nAcmeDspBackend = acme_dsp.plugin\n")
    metadata.parent.rename(directory / "site")
    spec = importlib.util.find_spec("executorch")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    wheel = Path(spec.submodule_search_locations[0])
    subprocess.run(
        [
            *("c++", "-shared", "-fPIC", "-std=c++17", "-DC10_USING_CUSTOM_GENERATED_MACROS"),
            *(f"-I{wheel}/include", f"-I{wheel}/include/executorch/runtime/core/portable_type/c10"),
            *(HERE / "options_library.cpp", f"-L{wheel}/lib", "-lexecutorch", f"-Wl,-rpath,{wheel}/lib"),
            *("-o", directory / "libacme_dsp.so"),
        ],
        check=True,
    )
    xnnpack = XNNPACK.read_bytes()
    assert xnnpack.count(b"XnnpackBackend") == 1
    (directory / "model.pte").write_bytes(xnnpack.replace(b"XnnpackBackend", b"AcmeDspBackend"))
    np.save(directory / "x.npy", np.ones((1, 8), np.float32))
    (directory / "etconfig.toml").write_text(PROJECT)
    return directory


class TestOptions:
    """The C++ code receives what the page says."""

    def test_they_arrive_with_their_keys_and_types(self, project: Path) -> None:
        ran = etconfig(
            project, "run", "model.pte", "--input", "x.npy", "--set", "AcmeDspBackend.num_threads=3"
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        received = [line for line in ran.stdout.splitlines() if line.startswith(("set_option:", "init:"))]
        assert received == RECEIVED

    def test_a_misspelled_one_never_reaches_it(self, project: Path) -> None:
        ran = etconfig(
            project, "run", "model.pte", "--input", "x.npy", "--set", "AcmeDspBackend.power_mod=high"
        )
        assert ran.returncode != 0
        assert "did you mean 'power_mode'?" in ran.stdout + ran.stderr
        assert "init:" not in ran.stdout
