"""The schemas of documents with the linters of editors: taplo, of Even Better TOML, and tombi.

Their packages come from npm: `make test-editors`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import profile_documents as documents
import pytest

pytestmark = pytest.mark.editors

COMMANDS = Path(sys.prefix) / "editors" / "node_modules" / ".bin"
ROOT = Path(__file__).parents[2]
KINDS = ("profile", "project", "models")

DOCUMENTS = [
    (kind, name, text, is_good)
    for kind, plural in zip(KINDS, ("PROFILES", "PROJECTS", "MODELS"), strict=True)
    for is_good, quality in ((True, "GOOD"), (False, "BAD"))
    for name, text in getattr(documents, f"{quality}_{plural}").items()
] + [("profile", name, text, True) for name, text in documents.ONLY_VALIDATE_SEES.items()]
"""Documents by kind and name, and whether a schema accepts them."""


@pytest.fixture(scope="module")
def schemas(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with profile.json, project.json and models.json."""
    directory = tmp_path_factory.mktemp("schemas")
    for kind in KINDS:
        command = [sys.executable, "-m", "etconfig", "schema", f"--{kind}"]
        printed = subprocess.run(command, capture_output=True, check=True, cwd=directory)
        (directory / f"{kind}.json").write_bytes(printed.stdout)
    return directory


def refused(linter: str, schema: Path | None, files: Sequence[Path]) -> set[str]:
    """Return the stems of the files that a linter refuses; None means the schema that each file names."""
    directory = files[0].parent
    names = [file.name for file in files]
    if linter == "taplo":
        options = [] if schema is None else ["--schema", schema.as_uri()]
        command = [COMMANDS / "taplo", "lint", "--colors", "never", *options, *names]
        pattern = r'invalid file .*path="(?:.*/)?(\w+)\.toml"'
    else:
        settings = "" if schema is None else f'[[schemas]]\npath = "{schema}"\ninclude = ["*.toml"]\n'
        (directory / "tombi.toml").write_text(settings)
        command = [COMMANDS / "tombi", "lint", "--offline", *names]
        pattern = r"at (\w+)\.toml:"
    environ = {**os.environ, "NO_COLOR": "1"}
    done = subprocess.run(command, cwd=directory, env=environ, capture_output=True, text=True, check=False)
    found = set(re.findall(pattern, done.stdout + done.stderr))
    assert done.returncode == (1 if found else 0), done.stderr
    return found


def differing(
    linter: str, schema: Path, directory: Path, texts: Sequence[tuple[str, str, bool]]
) -> list[str]:
    """Return the names of the documents about which a linter does not agree with the list."""
    files = [directory / f"d{number}.toml" for number in range(len(texts))]
    for file, (_, text, _) in zip(files, texts, strict=True):
        file.write_text(text)
    bad = refused(linter, schema, files)
    pairs = zip(files, texts, strict=True)
    return [name for file, (name, _, is_good) in pairs if is_good == (file.stem in bad)]


KNOWN = {"taplo": ["TOML 1.1"], "tombi": []}
"""The documents that a linter refuses though etconfig accepts them: taplo reads TOML 1.0."""


def test_there_are_enough_documents() -> None:
    assert len(DOCUMENTS) >= 80


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("linter", KNOWN)
def test_linters_agree(schemas: Path, tmp_path: Path, linter: str, kind: str) -> None:
    texts = [(name, text, is_good) for of, name, text, is_good in DOCUMENTS if of == kind]
    expected = KNOWN[linter] if kind == "profile" else []
    assert differing(linter, schemas / f"{kind}.json", tmp_path, texts) == expected


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("linter", KNOWN)
def test_published_schemas_accept_good_documents(tmp_path: Path, linter: str, kind: str) -> None:
    texts = [(name, text, True) for of, name, text, is_good in DOCUMENTS if is_good and of == kind]
    expected = KNOWN[linter] if kind == "profile" else []
    assert differing(linter, ROOT / f"docs/schemas/etconfig-{kind}.json", tmp_path, texts) == expected


@pytest.mark.parametrize("linter", KNOWN)
def test_a_file_may_name_its_schema(schemas: Path, linter: str) -> None:
    good, bad = schemas / "good.toml", schemas / "bad.toml"
    good.write_text("#:schema ./profile.json\n" + documents.GOOD_PROFILES["options"])
    bad.write_text("#:schema ./profile.json\n" + documents.BAD_PROFILES["option"])
    assert refused(linter, None, [good, bad]) == {"bad"}
