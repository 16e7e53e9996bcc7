"""The schemas of documents with taplo, which Even Better TOML uses."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from profile_documents import BAD_PROFILES, BAD_PROJECTS, GOOD_PROFILES, GOOD_PROJECTS

pytestmark = pytest.mark.peers

TAPLO = shutil.which("taplo", path=str(Path(sys.executable).parent))

DOCUMENTS = [
    *(("profile", name, text, True) for name, text in GOOD_PROFILES.items()),
    *(("profile", name, text, False) for name, text in BAD_PROFILES.items()),
    *(("project", name, text, True) for name, text in GOOD_PROJECTS.items()),
    *(("project", name, text, False) for name, text in BAD_PROJECTS.items()),
]


@pytest.fixture(scope="module")
def schemas(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with profile.json and project.json."""
    directory = tmp_path_factory.mktemp("schemas")
    for kind in ("profile", "project"):
        command = [sys.executable, "-m", "etconfig", "schema", f"--{kind}"]
        printed = subprocess.run(command, capture_output=True, check=True, cwd=directory)
        (directory / f"{kind}.json").write_bytes(printed.stdout)
    return directory


def lint(file: Path, *options: str) -> int:
    assert TAPLO is not None, "pip install taplo"
    return subprocess.run([TAPLO, "lint", *options, str(file)], cwd=file.parent, check=False).returncode


@pytest.mark.parametrize(("kind", "text", "is_good"), [(k, t, g) for k, _, t, g in DOCUMENTS],
                         ids=[f"{kind}: {name}" for kind, name, _, _ in DOCUMENTS])  # fmt: skip
def test_taplo_agrees(schemas: Path, tmp_path: Path, kind: str, text: str, is_good: bool) -> None:
    file = tmp_path / "document.toml"
    file.write_text(text)
    status = lint(file, "--schema", (schemas / f"{kind}.json").as_uri())
    assert status == (0 if is_good else 1)


@pytest.mark.parametrize(("name", "status"), [("options", 0), ("option", 1)])
def test_a_file_may_name_its_schema(schemas: Path, name: str, status: int) -> None:
    file = schemas / "document.toml"
    file.write_text("#:schema ./profile.json\n" + (GOOD_PROFILES | BAD_PROFILES)[name])
    assert lint(file) == status
