"""A prepared directory, and `etconfig` run in it: in this process (fast), or as users do (real)."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import DEVICE, DIGITS, ON_DEVICE, SCRIPT, Outcome, run_command
from plugin_data import forget_plugin_modules, search_path, write_distribution
from plugin_wheels import install_wheels

from etconfig.app.installation.installation import Installation


@pytest.fixture(scope="session")
def recorded() -> Mapping[str, Any]:
    """The digits: images, labels, and PyTorch's answers."""
    with np.load(DIGITS / "digits.npz") as archive:
        return dict(archive)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recorded: Mapping[str, Any]) -> Path:
    """The current directory: model.pte, one image x.npy, the sheet device.json. No variable is set."""
    for name in list(os.environ):
        if name.startswith("ETCONFIG_") or name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
            monkeypatch.delenv(name)
    shutil.copy(DIGITS / "digits.pte", tmp_path / "model.pte")
    np.save(tmp_path / "x.npy", recorded["images"][:1])
    facts = {name: {"value": value} for name, value in DEVICE.items()}
    (tmp_path / "device.json").write_text(json.dumps({"etconfig_fact_sheet": 1, "facts": facts}))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def cli(place: Path, capfd: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Run one command in this process. Whatever happens, it must not show a traceback."""

    def run(*arguments: str | Path) -> Outcome:
        return run_command(capfd, *arguments)

    return run


@pytest.fixture
def refused(cli: Callable[..., Outcome], place: Path) -> Callable[..., str]:
    """`etconfig run`, which must fail: the error. Nothing is printed, and no file appears."""

    def run(*arguments: str | Path, program: str | Path = "model.pte", inputs: str = "x.npy") -> str:
        before = sorted(place.iterdir())
        done = cli("run", program, "--input", inputs, "--output", "y.npz", *ON_DEVICE, *arguments)
        assert (done.status, done.stdout) == (2, "")
        assert sorted(place.iterdir()) == before
        return done.stderr

    return run


@pytest.fixture
def shell(place: Path) -> Callable[..., Outcome]:
    """Run a line in a shell, where `etconfig` is the installed command."""
    if sys.platform == "win32":
        pytest.skip("Windows has another shell")

    def run(line: str, **environment: str) -> Outcome:
        path = f"{SCRIPT.parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["sh", "-c", line],
            env={**os.environ, "PATH": path, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert "Traceback" not in done.stderr
        return Outcome(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def terminal(place: Path) -> Callable[..., str]:
    """Run a command on a pseudo-terminal; what it shows there, as the terminal receives it."""
    pty = pytest.importorskip("pty", reason="Windows has no such terminals", exc_type=ImportError)

    def run(*arguments: str, **environment: str) -> str:
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "etconfig", *arguments],
            env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "200", **environment},
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):  # Linux's way to say that the other side was closed
            while piece := os.read(ours, 65536):
                shown += piece
        os.close(ours)
        process.wait(timeout=60)
        return shown.decode()

    return run


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Install fixture distributions of tests/data/plugins beside the real ones."""

    def install(*distributions: str) -> None:
        for path in search_path(*distributions):
            monkeypatch.syspath_prepend(path)

    yield install
    forget_plugin_modules()


NPU_PLUGIN = """
from etconfig.plugin.v1 import ApiRange, BackendSpec, hookimpl
from npu import NpuOptions

@hookimpl
def etconfig_backend(request):
    return BackendSpec(id=request.name, doc="An NPU.", options=NpuOptions, api=ApiRange(1, 1))
"""


@pytest.fixture
def npu_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install `NpuBackend`, whose options are of every type."""
    site = tmp_path / "site"
    write_distribution(site, "acme_npu-1.0.dist-info", "[etconfig.backends]\nNpuBackend = npu_plugin\n")
    (site / "npu_plugin.py").write_text(NPU_PLUGIN)
    monkeypatch.syspath_prepend(str(site))
    yield
    sys.modules.pop("npu_plugin", None)


@pytest.fixture(scope="session")
def api1_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory in which pip installed the wheels of the plugins that were built for plugin API 1."""
    directory = tmp_path_factory.mktemp("api1")
    install_wheels(directory)
    return directory


@pytest.fixture
def api1_site(api1_directory: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The same directory, on the path of modules; what a test imports from it is forgotten."""
    monkeypatch.syspath_prepend(str(api1_directory))
    yield api1_directory
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(api1_directory)):
            del sys.modules[name]


@pytest.fixture
def install_vendor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str], Installation]]:
    """Install the distribution vendor 2.0, whose backend Vendor is the module given as source."""

    def install(source: str) -> Installation:
        write_distribution(
            tmp_path,
            "vendor-2.0.dist-info",
            "[etconfig.backends]\nVendor = vendor_plugin\n",
            "Name: vendor\nVersion: 2.0\n",
        )
        (tmp_path / "vendor_plugin.py").write_text(source)
        monkeypatch.syspath_prepend(str(tmp_path))
        return Installation(search_path=[str(tmp_path)])

    yield install
    sys.modules.pop("vendor_plugin", None)
