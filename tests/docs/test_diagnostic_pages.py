"""docs/diagnostics: each example gives its diagnostic as the page shows it, and the fixed one none."""

from __future__ import annotations

import json
import os
import re
import runpy
import shlex
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest
from delegating_programs import delegating_program
from diagnostic_pages import CASES, PAGES, case, catalog
from doc_pages import Page
from every import every
from plugin_data import forget_plugin_modules, search_path, write_distribution

from etconfig.app.installation.installation import Installation
from etconfig.cli.startup.command_group import run as run_etconfig
from etconfig.diagnostics import CODES, Diagnostic
from etconfig.diagnostics.render import FORMATS, Style, plain, render, render_text
from etconfig.diagnostics.rules import ALWAYS_ERRORS, LEVELS
from etconfig.facts.sheet import load_fact_sheet
from etconfig.plugin import discover_plugins

DATA = Path(__file__).parents[1] / "data"
README = (PAGES / "README.md").read_text("utf-8")

SNAPSHOTS = DATA / "diagnostics"
UPDATE = bool(os.environ.get("UPDATE_SNAPSHOTS"))

GIVEN = {
    "pi5.json": DATA / "sheets/raspberry-pi-5.json",
    "digits.pte": DATA / "digits/digits.pte",
    "portable.pte": DATA / "digits/digits_portable.pte",
    "external.pte": DATA / "exports/external_constants.pte",
    "weights.ptd": DATA / "exports/external_constants.ptd",
}
"""Files that examples use without showing them. The facts of pi5.json are those of this device.

So are coreml.pte, a program that was compiled for the CPU alone, and qnn.pte, one for the chip SM8650.
"""

PLUGINS = {
    "broken-plugin": "broken-imports",
    "deprecated-option": "acme-dsp",
    "failing-option-check": "acme-dsp",
    "missing-option": "acme-dsp",
    "process-scope-conflict": "acme-dsp",
}
"""The fixture distribution that an example needs besides the reference backends."""

FENCE = re.compile(r"^(?:`([^`\n]+)`:\n\n)?```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

Run = Callable[[str], "subprocess.CompletedProcess[str]"]


@dataclass(frozen=True)
class Example:
    """The fences of a case or a page.

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


@pytest.fixture
def directories(tmp_path: Path) -> Iterator[Path]:
    """Directories, each for one example."""
    return (tmp_path / str(number) for number in range(1000))


@contextmanager
def place(
    code: str, root: Path, capsys: pytest.CaptureFixture[str], shown: list[Diagnostic]
) -> Iterator[Run]:
    """Run commands in an empty directory, on a device and with plugins that are the same everywhere.

    Diagnostics that are shown as text are added to `shown`.
    """
    reference = distribution("etconfig-reference")
    metadata = f"etconfig_reference-{reference.version}.dist-info"
    write_distribution(root / "installed", metadata, reference.read_text("entry_points.txt"))
    fixtures = search_path(PLUGINS[code]) if code in PLUGINS else []
    if code == "ignored-kernel-choice":
        entry_points = "[etconfig.executors]\nexecutorch = etconfig_executorch.plugin\n"
        write_distribution(root / "installed", "etconfig_executorch-1.0.dist-info", entry_points)
    if code in ("program-conflict", "payload-mismatch"):
        backend = {"program-conflict": "CoreMLBackend"}.get(code, "QnnBackend")
        entry_points = f"[etconfig.backends]\n{backend} = etconfig_upstream.plugin\n"
        write_distribution(root / "installed", "etconfig_upstream-1.0.dist-info", entry_points)
    if code == "known-quirk":
        entry_points = "[etconfig.backends]\nXnnpackBackend = etconfig_upstream.plugin\n"
        write_distribution(root / "installed", "etconfig_upstream-1.0.dist-info", entry_points)
    installed = [str(root / "installed"), *fixtures]
    directory = root / "here"
    directory.mkdir()
    for name, path in GIVEN.items():
        (directory / name).symlink_to(path)
    specs = {"compute_units": b"cpu_only"}
    (directory / "coreml.pte").write_bytes(delegating_program("CoreMLBackend", specs=specs))
    chips = json.loads((DATA / "payloads" / "qnn.json").read_text("utf-8"))
    specs = {"qnn_compile_spec": bytes.fromhex(chips["SM8650"]["qnn_compile_spec"])}
    (directory / "qnn.pte").write_bytes(delegating_program("QnnBackend", specs=specs))

    def recorded(diagnostic: Diagnostic, style: Style = plain) -> str:
        shown.append(diagnostic)
        return render_text(diagnostic, style)

    def run_command(command: str) -> subprocess.CompletedProcess[str]:
        program, *arguments = shlex.split(command)
        status = run_etconfig(arguments) if program == "etconfig" else 0
        if program == "python":
            runpy.run_path(arguments[0])
        if program == "chmod":
            subprocess.run([program, *arguments], check=True)
        return subprocess.CompletedProcess(command, status, *capsys.readouterr())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("etconfig.facts.detecting.adb._reason", lambda command: None)  # adb may be installed
        for path in fixtures:
            patch.syspath_prepend(path)
        patch.setattr(
            "etconfig.app.installation.installation.discover_plugins",
            lambda _, policy: discover_plugins(installed, policy=policy),
        )
        patch.setattr(
            Installation, "detect_facts", lambda self: load_fact_sheet(GIVEN["pi5.json"], self.fact_registry)
        )
        patch.setattr("etconfig.diagnostics.render.render_text", recorded)
        for variable in ("SET", "PROJECT", "PROFILE_PATH", "DISABLE_PLUGINS"):
            patch.delenv(f"ETCONFIG_{variable}", raising=False)
        patch.chdir(directory)
        try:
            yield run_command
        finally:
            forget_plugin_modules()


def printed(done: subprocess.CompletedProcess[str]) -> str:
    """Return the output that a page shows: stdout of `validate`, stderr of other commands."""
    return done.stdout or done.stderr


class TestPages:
    """Every code has a text and a case; `tools/generate_docs.py` makes the page of them."""

    def test_every_code_has_a_page_a_text_and_a_case(self) -> None:
        names = {path.stem for path in PAGES.glob("*.md")} - {"README"}
        assert names == CODES.keys() == catalog().keys() == {path.stem for path in CASES.glob("*.md")}
        assert all(texts.keys() == {"why", "fix"} for texts in catalog().values())

    def test_the_texts_stay_short(self) -> None:
        words = {
            code: len(f"{CODES[code].summary} {texts['why']} {texts['fix']}".split())
            for code, texts in catalog().items()
        }
        assert {code: count for code, count in words.items() if count > 80} == {}
        assert sum(words.values()) <= 53 * len(words)

    @every("code", CODES)
    def test_links_lead_to_pages_and_headings(self, code: str) -> None:
        text = (PAGES / f"{code}.md").read_text("utf-8")
        for target, anchor in re.findall(r"\]\(([^)#\s]+)#?([^)\s]*)\)", text):
            if not target.startswith("https://"):
                page = Page(PAGES / target)
                assert page.path.is_file(), target
                assert not anchor or anchor in page.anchors, f"{target}#{anchor}"


class TestCases:
    """Every renderer shows each code as it did, and the fix helps; UPDATE_SNAPSHOTS=1 accepts new outputs."""

    @every("code", CODES)
    def test_an_example_gives_its_diagnostic_and_the_fixed_one_is_clean(
        self, code: str, directories: Iterator[Path], capsys: pytest.CaptureFixture[str]
    ) -> None:
        wrong, _, fixed = map(Example.parse, case(code))
        shown: list[Diagnostic] = []
        with place(code, next(directories), capsys, shown) as run:
            wrong.write(Path())
            output = [printed(run(command)) for command in wrong.commands][-1]
            accept(code, output, snapshot(shown))
            assert [output] == Example.parse(case(code)[1]).outputs
            assert f"[{code}]: " in output
            assert code in [diagnostic.code for diagnostic in shown]
            assert snapshot(shown) == (SNAPSHOTS / f"{code}.txt").read_text("utf-8")
        assert fixed.files or fixed.commands
        with place(code, next(directories), capsys, []) as run:
            wrong.write(Path())
            fixed.write(Path())
            for command in fixed.commands or wrong.commands:
                done = run(command)
                assert done.returncode == 0, done.stderr
                assert not re.search(r"^(error|warning)", done.stdout + done.stderr, re.MULTILINE)

    def test_there_is_no_snapshot_too_many(self) -> None:
        assert {path.stem for path in SNAPSHOTS.iterdir()} == CODES.keys()


class TestRules:
    """Each code gets each level in each place, in the findings of `validate` and its exit status."""

    @every("code", CODES.keys() - {"invalid-rule"})  # whose example has rules
    def test_a_level_replaces_that_of_the_finding(
        self, code: str, directories: Iterator[Path], capsys: pytest.CaptureFixture[str]
    ) -> None:
        wrong, _, _ = map(Example.parse, case(code))
        command = wrong.commands[-1]
        if not command.startswith("etconfig validate") or "| " in command:
            return  # validate has no such finding

        def found(rules: str, comment_at: tuple[str, int] | None = None) -> tuple[int, list[dict[str, Any]]]:
            with place(code, next(directories), capsys, []) as run:
                wrong.write(Path())
                for each in wrong.commands[:-1]:
                    run(each)
                names = [name for name in ("etconfig.toml", "pyproject.toml") if Path(name).exists()]
                project = Path(names[0] if names else "etconfig.toml")
                if rules:
                    header = "[tool.etconfig.rules" if project.name == "pyproject.toml" else "[rules"
                    text = project.read_text("utf-8") if names else ""
                    project.write_text(f"{text}\n{rules.replace('[rules', header)}", "utf-8")
                if comment_at is not None:
                    file, line = Path(comment_at[0]), comment_at[1]
                    lines = file.read_text("utf-8").split("\n")
                    lines.insert(line - 1, f"# etconfig: allow {code} because of a test")
                    file.write_text("\n".join(lines), "utf-8")
                done = run(f"{command} --format json")
                return done.returncode, json.loads(done.stdout)

        status, before = found("")
        assert status == 0 or {each["severity"] for each in before} & {"error"}
        severities = {each["severity"] for each in before if each["code"] == code}
        assert severities <= {*CODES[code].levels.split(", ")}
        place_of = next(iter(each["spans"] for each in before if each["code"] == code))
        is_project = bool(place_of) and place_of[0]["file"] in ("etconfig.toml", "pyproject.toml")
        if code == "invalid-toml" and is_project:
            return  # such a file has no rules
        for level in LEVELS:
            status, after = found(f'[rules]\n{code} = "{level}"\n')
            assert_level(code, level, status, after)
        if place_of and code not in ALWAYS_ERRORS:
            file = place_of[0]["file"]
            status, after = found(f'[rules]\n[[rules.files]]\npaths = ["{file}"]\n{code} = "off"\n')
            assert [each for each in after if each["code"] == code and each["spans"][0]["file"] == file] == []
            if file.endswith(".toml") and code != "unused-allowance":
                status, after = found("", (file, place_of[0]["line"]))
                line = place_of[0]["line"] + 1
                assert (code, file, line) not in [
                    (each["code"], *(each["spans"][0][key] for key in ("file", "line")))
                    for each in after
                    if each["spans"]
                ]


def assert_level(code: str, level: str, status: int, findings: Sequence[Mapping[str, Any]]) -> None:
    severities = {each["severity"] for each in findings if each["code"] == code}
    if code in ALWAYS_ERRORS:
        assert severities == {"error"}
        assert level == "error" or "invalid-rule" in [each["code"] for each in findings]
    else:
        assert severities == ({level} - {"off"})
    assert (status != 0) == any(each["severity"] == "error" for each in findings)


def accept(code: str, output: str, recorded: str) -> None:
    """Write the output into the case and the other formats into their file, with UPDATE_SNAPSHOTS=1."""
    if UPDATE:
        wrong, _, fixed = case(code)
        text = f"{wrong}## Output\n\n```text\n{output}```\n\n## Fixed\n\n{fixed}"
        (CASES / f"{code}.md").write_text(text, "utf-8")
        (SNAPSHOTS / f"{code}.txt").write_text(recorded, "utf-8")


def snapshot(diagnostics: Sequence[Diagnostic]) -> str:
    """The diagnostics in every format but text, which the pages show; of SARIF, all but the version."""
    forms = {form: render(diagnostics, form) for form in FORMATS if form != "text"}
    log = json.loads(forms["sarif"])["runs"][0]
    log["tool"]["driver"].pop("semanticVersion")
    forms["sarif"] = json.dumps(log, indent=2, ensure_ascii=False) + "\n"
    return "\n".join(f"--- {form}\n{text}" for form, text in forms.items())


class TestReadme:
    """The index lists every code, and shows each output format."""

    def test_the_index_has_every_code_and_its_summary(self) -> None:
        index = [f"| [{code}]({code}.md) | {info.summary} |" for code, info in CODES.items()]
        assert [line for line in README.splitlines() if line.startswith("| [")] == index

    def test_each_format_prints_what_the_page_shows(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        example = Example.parse(README)
        shown = [form for form in FORMATS if form != "sarif"]  # which is long, and holds the version
        assert example.commands == [f"etconfig validate board.toml --format {form}" for form in shown]
        with place("", tmp_path, capsys, []) as run:
            example.write(Path())
            assert [printed(run(command)) for command in example.commands] == example.outputs
