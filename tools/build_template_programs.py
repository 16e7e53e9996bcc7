"""Writes the golden programs of the packages that `etconfig new-backend` copies. Needs torch and executorch.

.venv-peers/bin/python tools/build_template_programs.py
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import tomli

from etconfig.scaffold import (
    CPP,
    LICENSES,
    PYTHON,
    PackageNames,
    Template,
    render_package,
    write_package_files,
)

TEMPLATES = Path(__file__).parents[1] / "etconfig" / "templates"


def golden(names: PackageNames) -> Path:
    """Return the directory of the golden programs of a template."""
    return TEMPLATES / names.distribution / "src" / names.package / "golden"


def install_template(template: Template, scratch: Path) -> Path:
    """Write the package of a template under its own names, and install it; return where it is installed."""
    files = render_package(template.names, LICENSES["mit"], author=None, year=2026, template=template)
    write_package_files(scratch / "package", files)
    install_from(scratch / "package", scratch / "site")
    return scratch / "site"


def install_from(package: Path, site: Path) -> None:
    """Copy a package into `site`, as an installer without a build backend would."""
    shutil.copytree(package / "src", site, dirs_exist_ok=True)
    project = tomli.loads((package / "pyproject.toml").read_text())["project"]
    metadata = site / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Name: {project['name']}\nVersion: {project['version']}\n")
    groups = project["entry-points"].items()
    lines = [
        f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in entries.items()) for group, entries in groups
    ]
    (metadata / "entry_points.txt").write_text("".join(lines))


def lower(backend_id: str, site: Path, directory: Path) -> None:
    """Write the golden programs of a backend that is installed in `site`. Raises CalledProcessError."""
    path = os.pathsep.join(filter(None, (str(site), os.environ.get("PYTHONPATH"))))
    command = [sys.executable, "-W", "ignore", "-m", "etconfig", "conformance", backend_id]
    subprocess.run([*command, "--lower", directory], env={**os.environ, "PYTHONPATH": path}, check=True)


if __name__ == "__main__":
    for template in (PYTHON, CPP):
        with tempfile.TemporaryDirectory() as scratch:
            site = install_template(template, Path(scratch))
            lower(template.names.backend_id, site, golden(template.names))
