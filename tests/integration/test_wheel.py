"""The published wheel: it contains the package and its profiles, and works where it is installed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from command_line import ROOT

import etconfig

NAME = f"etconfig-{etconfig.__version__}"


def python(*arguments: str | Path, directory: Path, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=directory,
        env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", **environment},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution, and the wheel that is built from it."""
    directory = tmp_path_factory.mktemp("dist")
    python("-m", "build", "--no-isolation", "--outdir", directory, ROOT, directory=directory)
    return directory


DEVICE = ROOT / "etconfig" / "device"


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    return built / f"{NAME}-py3-none-any.whl"


def names_in(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_the_wheel_holds_every_module_profile_sheet_and_header_and_the_marker_of_types(wheel: Path) -> None:
    modules = {p.relative_to(ROOT).as_posix() for p in (ROOT / "etconfig").rglob("*.py")}
    profiles = {f"etconfig/{p.relative_to(ROOT).as_posix()}" for p in (ROOT / "profiles").rglob("*.toml")}
    assert "etconfig/profiles/generic/any.toml" in profiles
    headers = {p.relative_to(ROOT).as_posix() for p in (ROOT / "etconfig").rglob("*.h")}
    assert "etconfig/device/include/etconfig/device.h" in headers
    sources = {p.relative_to(ROOT).as_posix() for p in DEVICE.rglob("*.cpp")}
    assert {"etconfig/device/etconfig_device.cpp", "etconfig/device/etdevice/main.cpp"} <= sources
    bindings = {p.relative_to(ROOT).as_posix() for p in (DEVICE / "bindings").rglob("*") if p.is_file()}
    assert len(bindings) == 14
    cmake = {p.relative_to(ROOT).as_posix() for p in (DEVICE / "cmake").iterdir()}
    assert len(cmake) == 3
    bindings |= {
        f"etconfig/device/{name}" for name in ("CMakeLists.txt", "EtconfigDevice.podspec", "Package.swift")
    }
    bindings |= {*cmake, "etconfig/device/include/module.modulemap"}
    sheets = {f"etconfig/{p.relative_to(ROOT).as_posix()}" for p in (ROOT / "sheets").rglob("*.json")}
    assert "etconfig/sheets/google/pixel-8.json" in sheets
    page = ROOT / "etconfig" / "report" / "page"
    pages = {p.relative_to(ROOT).as_posix() for p in page.iterdir() if p.suffix in (".css", ".jinja", ".js")}
    pages |= {f"etconfig/pages/{p.name}" for p in (ROOT / "docs" / "diagnostics").iterdir()}
    assert "etconfig/pages/unusual-value.md" in pages
    shipped = pages | modules | profiles | sheets | headers | sources | bindings
    assert shipped | {"etconfig/py.typed"} <= names_in(wheel)


def test_the_wheel_holds_every_file_of_the_templates(wheel: Path) -> None:
    templates = ROOT / "etconfig" / "templates"
    listed = subprocess.run(["git", "ls-files", "-z", templates], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a checkout")
    held = {name for name in names_in(wheel) if name.startswith("etconfig/templates/")}
    assert held == set(listed.stdout.rstrip("\0").split("\0"))


def test_the_wheel_holds_nothing_else(wheel: Path) -> None:
    others = {name.partition("/")[0] for name in names_in(wheel)} - {"etconfig", f"{NAME}.dist-info"}
    assert others == set()
    ours = (name for name in names_in(wheel) if name.startswith("etconfig/"))
    others = ("etconfig/templates/", "etconfig/pages/")
    assert {Path(name).suffix for name in ours if not name.startswith(others)} == {
        ".cmake",
        ".cpp",
        ".css",
        ".fbs",
        ".gradle",
        ".h",
        ".in",
        ".java",
        ".jinja",
        ".js",
        ".json",
        ".kt",
        ".modulemap",
        ".npz",
        ".podspec",
        ".py",
        ".swift",
        ".toml",
        ".txt",  # CMakeLists.txt
        ".typed",
    }


def test_the_license_is_in_both(built: Path, wheel: Path) -> None:
    assert f"{NAME}.dist-info/licenses/LICENSE" in names_in(wheel)
    with tarfile.open(built / f"{NAME}.tar.gz") as archive:
        names = archive.getnames()
    assert f"{NAME}/LICENSE" in names
    assert not [name for name in names if name.startswith((f"{NAME}/tests", f"{NAME}/plugins"))]


def test_an_installed_wheel_finds_its_own_profiles_and_devices(wheel: Path, tmp_path: Path) -> None:
    site, elsewhere = tmp_path / "site", tmp_path / "elsewhere"
    elsewhere.mkdir()
    install = ("-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", site, wheel)
    python(*install, directory=elsewhere)
    shown = python("-m", "etconfig", "profiles", "list", "--json", directory=elsewhere, PYTHONPATH=str(site))
    devices = python("-m", "etconfig", "devices", "list", "--json", directory=elsewhere, PYTHONPATH=str(site))
    assert len(json.loads(devices)) == len(list((ROOT / "sheets").rglob("*.json")))
    paths = {entry["name"]: Path(entry["path"]) for entry in json.loads(shown)}
    assert paths["generic/any"] == site / "etconfig" / "profiles" / "generic" / "any.toml"
    assert {path.relative_to(site / "etconfig" / "profiles") for path in paths.values()} == {
        path.relative_to(ROOT / "profiles") for path in (ROOT / "profiles").rglob("*.toml")
    }
