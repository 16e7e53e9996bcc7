"""docs/native-backend.md, "Run it": options of a package without code reach a backend in a user's library."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from doc_pages import Fence, Page, check_shown

pytestmark = pytest.mark.peers

ROOT = Path(__file__).parents[3]
PAGE = Page(ROOT / "docs" / "native-backend.md")


def fences() -> list[Fence]:
    """Return the blocks of the part of the page."""
    first = PAGE.text.count("\n", 0, PAGE.text.index("### Run it"))
    return [fence for fence in PAGE.fences() if fence.line > first]


def sh(directory: Path, script: str) -> subprocess.CompletedProcess[str]:
    """Run a script in a process that has the package `acme-dsp` on its path, and our Python."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, (str(directory / "site"), os.environ.get("PYTHONPATH")))),
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])),
    }
    return subprocess.run(
        ["sh", "-ec", script], cwd=directory, env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the package, in which the blocks of the page were followed."""
    directory = tmp_path_factory.mktemp("schema-only")
    for name in ("tests", "examples"):
        (directory / name).symlink_to(ROOT / name)
    written = sh(directory, "etconfig new-backend acme-dsp --schema-only")
    assert written.returncode == 0, written.stderr
    metadata = directory / "acme-dsp" / "src" / "acme_dsp-0.1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Name: acme-dsp\nVersion: 0.1.0\n")
    (metadata / "entry_points.txt").write_text("[etconfig.backends]\nAcmeDspBackend = acme_dsp.plugin\n")
    metadata.parent.rename(directory / "site")
    compared = 0
    for fence in fences():
        if fence.file is not None:
            (directory / fence.file).write_text(fence.text)
        elif fence.language in ("python", "sh") and not fence.text.startswith("pip install"):
            script = fence.text if fence.language == "sh" else f"python - <<'END'\n{fence.text}END"
            done = sh(directory, script)
            assert done.returncode == 0, done.stdout + done.stderr
            if fence.output is not None:
                check_shown(fence.output, done.stdout, f"{PAGE.path}:{fence.line}")
                compared += 1
    assert compared == 1
    return directory


class TestRunIt:
    """The C++ code receives what the page says."""

    def test_the_tables_can_be_options_of_the_command_line(self, project: Path) -> None:
        (project / "options").mkdir()
        (project / "options" / "etconfig.toml").write_text("")
        options = re.findall(r"`(--executor executorch --executor-option [^`]+)`", PAGE.text)
        assert len(options) == 1
        libraries = options[0].replace("libacme", "../libacme")
        ran = sh(project / "options", f"etconfig run ../model.pte --input ../x.npy {libraries}")
        assert ran.returncode == 0, ran.stdout + ran.stderr

    def test_doctor_lists_the_backend(self, project: Path) -> None:
        assert (
            "executor executorch, backend AcmeDspBackend: can run here"
            in sh(project, "etconfig doctor").stdout
        )

    def test_a_misspelled_option_never_reaches_it(self, project: Path) -> None:
        ran = sh(project, "etconfig run model.pte --input x.npy --set AcmeDspBackend.power_mod=high")
        assert ran.returncode != 0
        assert "did you mean 'power_mode'?" in ran.stdout + ran.stderr
        assert "init:" not in ran.stdout + ran.stderr
