"""docs/diagnostics: the examples are run as a reader would run them, and print what the pages show."""

from __future__ import annotations

import json
import os
import re
import runpy
import shlex
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path

import pytest
from delegating_programs import delegating_program
from every import every
from plugin_data import forget_plugin_modules, search_path, write_distribution

from etconfig.app.installation import Installation
from etconfig.cli.startup.group import run as run_etconfig
from etconfig.diagnostics import CODES, Diagnostic
from etconfig.diagnostics.render import FORMATS, Style, plain, render, render_text
from etconfig.facts.sheet import load_fact_sheet
from etconfig.plugin import discover_plugins

DOCS = Path(__file__).parents[2] / "docs" / "diagnostics"
DATA = Path(__file__).parents[1] / "data"
PAGES = {path.stem: path for path in sorted(DOCS.glob("*.md")) if path.name != "README.md"}
README = (DOCS / "README.md").read_text("utf-8")

SNAPSHOTS = DATA / "diagnostics"

GIVEN = {
    "pi5.json": DATA / "sheets/raspberry-pi-5.json",
    "digits.pte": DATA / "digits/digits.pte",
    "portable.pte": DATA / "digits/digits_portable.pte",
    "external.pte": DATA / "exports/external_constants.pte",
    "weights.ptd": DATA / "exports/external_constants.ptd",
}
"""Files that examples use without showing them. The facts of pi5.json are those of this device.

So is coreml.pte, a program that was compiled for the CPU alone.
"""

PLUGINS = {
    "broken-plugin": "broken-imports",
    "deprecated-option": "acme-dsp",
    "failing-option-check": "acme-dsp",
    "missing-option": "acme-dsp",
    "process-scope-conflict": "acme-dsp",
}
"""The fixture distribution that a page's example needs besides the reference backends."""

HEADINGS = ["Why", "Example", "What it looks like", "Fix"]
HEADING = re.compile(r"^## (.+)\n", re.MULTILINE)
FENCE = re.compile(r"^(?:`([^`\n]+)`:\n\n)?```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

Run = Callable[[str], "subprocess.CompletedProcess[str]"]


@dataclass(frozen=True)
class Example:
    """The fences of a part of a page.

    Attributes:
        files: Texts by name: the fences below a line that is only the name, in backticks, and a colon.
        commands: The lines of the fences called `console`.
        outputs: All other fences: what commands print.
    """

    files: Mapping[str, str]
    commands: Sequence[str]
    outputs: Sequence[str]

    @classmethod
    def parse(cls, markdown: str) -> Example:
        fences = FENCE.findall(markdown)
        consoles = [text for name, language, text in fences if language == "console"]
        return cls(
            files={name: text for name, _, text in fences if name},
            commands=re.findall(r"^\$ (.+)$", "".join(consoles), re.MULTILINE),
            outputs=[text for name, language, text in fences if not name and language != "console"],
        )

    def write(self, directory: Path) -> None:
        """Write the files into a directory."""
        for name, text in self.files.items():
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")


def sections(code: str) -> dict[str, str]:
    """Return the parts of a page by heading; the name of the first part is the code."""
    parts = HEADING.split(PAGES[code].read_text("utf-8"))
    return dict(zip([code, *parts[1::2]], parts[::2], strict=True))


@pytest.fixture
def code(request: pytest.FixtureRequest) -> str:
    """The code whose page is tested, for tests that have one."""
    return getattr(request, "param", "")


@pytest.fixture
def run(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Run]:
    """Runs a command in an empty directory, on a device and with plugins that are the same everywhere."""
    reference = distribution("etconfig-reference")
    metadata = f"etconfig_reference-{reference.version}.dist-info"
    write_distribution(tmp_path / "installed", metadata, reference.read_text("entry_points.txt"))
    fixtures = search_path(PLUGINS[code]) if code in PLUGINS else []
    for path in fixtures:
        monkeypatch.syspath_prepend(path)
    if code == "ignored-kernel-choice":
        entry_points = "[etconfig.executors]\nexecutorch = etconfig_executorch.plugin\n"
        write_distribution(tmp_path / "installed", "etconfig_executorch-1.0.dist-info", entry_points)
    if code == "program-conflict":
        entry_points = "[etconfig.backends]\nCoreMLBackend = etconfig_upstream.plugin\n"
        write_distribution(tmp_path / "installed", "etconfig_upstream-1.0.dist-info", entry_points)
    installed = [str(tmp_path / "installed"), *fixtures]
    monkeypatch.setattr(
        "etconfig.app.installation.discover_plugins",
        lambda _, policy: discover_plugins(installed, policy=policy),
    )
    monkeypatch.setattr(
        Installation, "detect_facts", lambda self: load_fact_sheet(GIVEN["pi5.json"], self.fact_registry)
    )
    for variable in ("ETCONFIG_SET", "ETCONFIG_PROJECT", "ETCONFIG_PROFILE_PATH", "ETCONFIG_DISABLE_PLUGINS"):
        monkeypatch.delenv(variable, raising=False)
    directory = tmp_path / "here"
    directory.mkdir()
    for name, path in GIVEN.items():
        (directory / name).symlink_to(path)
    specs = {"compute_units": b"cpu_only"}
    (directory / "coreml.pte").write_bytes(delegating_program("CoreMLBackend", specs=specs))
    monkeypatch.chdir(directory)

    def run_command(command: str) -> subprocess.CompletedProcess[str]:
        program, *arguments = shlex.split(command)
        status = run_etconfig(arguments) if program == "etconfig" else 0
        if program == "python":
            runpy.run_path(arguments[0])
        if program == "chmod":
            subprocess.run([program, *arguments], check=True)
        return subprocess.CompletedProcess(command, status, *capsys.readouterr())

    yield run_command
    forget_plugin_modules()


def printed(done: subprocess.CompletedProcess[str]) -> str:
    """Return the output that a page shows: stdout of `validate`, stderr of other commands."""
    return done.stdout or done.stderr


class TestPages:
    """Every code has a page: what, why, an example that a test runs, the fix."""

    def test_every_code_has_a_page_and_every_page_a_code(self) -> None:
        assert PAGES.keys() == CODES.keys()

    @every("code", PAGES)
    def test_a_page_has_the_common_form(self, code: str) -> None:
        head, *rest = sections(code).items()
        assert head == (code, f"# {code}\n\n{CODES[code].summary}\n\n")
        assert [heading for heading, _ in rest] == HEADINGS

    @pytest.mark.parametrize("code", PAGES, indirect=True)
    def test_the_example_prints_what_the_page_shows(self, code: str, run: Run) -> None:
        parts = sections(code)
        example = Example.parse(parts["Example"])
        example.write(Path())
        output = [printed(run(command)) for command in example.commands][-1]
        assert [output] == Example.parse(parts["What it looks like"]).outputs
        assert f"[{code}]: " in output

    @pytest.mark.parametrize("code", PAGES, indirect=True)
    def test_the_fixed_example_is_clean(self, code: str, run: Run) -> None:
        parts = sections(code)
        example, fix = (Example.parse(parts[heading]) for heading in ("Example", "Fix"))
        assert fix.files or fix.commands
        for part in (example, fix):
            part.write(Path())
        for command in fix.commands or example.commands:
            done = run(command)
            assert done.returncode == 0, done.stderr
            assert not re.search(r"^(error|warning)", done.stdout + done.stderr, re.MULTILINE)


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Sequence[Diagnostic]:
    """The diagnostics that were shown as text so far."""
    diagnostics: list[Diagnostic] = []

    def recorded(diagnostic: Diagnostic, style: Style = plain) -> str:
        diagnostics.append(diagnostic)
        return render_text(diagnostic, style)

    monkeypatch.setattr("etconfig.diagnostics.render.render_text", recorded)
    return diagnostics


def snapshot(diagnostics: Sequence[Diagnostic]) -> str:
    """The diagnostics in every format but text, which the pages show; of SARIF, all but the version."""
    forms = {form: render(diagnostics, form) for form in FORMATS if form != "text"}
    log = json.loads(forms["sarif"])["runs"][0]
    log["tool"]["driver"].pop("semanticVersion")
    forms["sarif"] = json.dumps(log, indent=2, ensure_ascii=False) + "\n"
    return "\n".join(f"--- {form}\n{text}" for form, text in forms.items())


class TestSnapshots:
    """Every renderer shows every code as it did; UPDATE_SNAPSHOTS=1 accepts what it shows now."""

    @pytest.mark.parametrize("code", PAGES, indirect=True)
    def test_the_example_is_rendered_as_before(
        self, code: str, run: Run, shown: Sequence[Diagnostic]
    ) -> None:
        example = Example.parse(sections(code)["Example"])
        example.write(Path())
        for command in example.commands:
            run(command)
        path = SNAPSHOTS / f"{code}.txt"
        if os.environ.get("UPDATE_SNAPSHOTS"):
            path.write_text(snapshot(shown), "utf-8")
        assert path.is_file(), "UPDATE_SNAPSHOTS=1 writes it"
        assert snapshot(shown) == path.read_text("utf-8")
        assert code in [diagnostic.code for diagnostic in shown]

    def test_there_is_none_too_many(self) -> None:
        assert {path.stem for path in SNAPSHOTS.iterdir()} == PAGES.keys()


class TestReadme:
    """The index lists every code, and shows each output format."""

    def test_the_index_has_every_code_and_its_summary(self) -> None:
        index = [f"| [{code}]({code}.md) | {info.summary} |" for code, info in CODES.items()]
        assert [line for line in README.splitlines() if line.startswith("| [")] == index

    def test_each_format_prints_what_the_page_shows(self, run: Run) -> None:
        example = Example.parse(README)
        example.write(Path())
        shown = [form for form in FORMATS if form != "sarif"]  # which is long, and holds the version
        assert example.commands == [f"etconfig validate board.toml --format {form}" for form in shown]
        assert [printed(run(command)) for command in example.commands] == example.outputs
