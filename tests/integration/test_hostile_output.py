"""Nothing that a file, a plugin or an argument says reaches a terminal or the log of a CI service raw."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from command_line import Outcome
from hostile_texts import COMMAND, FORBIDDEN, code_points, hostile_texts, without_surrogates
from mutations import sharded
from packed_options import with_texts
from plugin_data import write_distribution
from program_writer import plan, write

import etconfig
from etconfig.device.device_bundle import DeviceBundle

Cli = Callable[..., Outcome]

_CODE_POINTS = [without_surrogates(text) for text in code_points(64)]
_HOSTILE = hostile_texts(1_000)
BATCHES = [
    *sharded([_CODE_POINTS[start : start + 128] for start in range(0, len(_CODE_POINTS), 128)]),
    *sharded([_HOSTILE[start : start + 100] for start in range(0, len(_HOSTILE), 100)]),
]
"""A quarter, in `make weekly` all, of the code points of the first plane and of 1,000 hostile texts.

As many are in one file as keep its time short.
"""


@pytest.fixture(params=BATCHES, ids=range(len(BATCHES)))
def texts(request: pytest.FixtureRequest) -> list[str]:
    batch: list[str] = request.param
    return batch


@pytest.fixture
def harmless(cli: Cli) -> Callable[..., None]:
    """Run a command, and check what it prints."""

    def run(*arguments: str | Path, may_command: bool = False) -> None:
        done = cli(*arguments)
        for printed in (done.stdout, done.stderr):
            assert not FORBIDDEN.search(printed), arguments
            lines = [line for line in printed.split("\n") if COMMAND.search(line)]
            if may_command:
                written = re.compile(r"::(error|warning|notice) (file=[^:]*,)?title=[a-z-]+::")
                own = [written.match(line) for line in lines]
                bodies = [
                    line[match.end() :] if match else line for line, match in zip(lines, own, strict=True)
                ]
                lines = [body for body in bodies if COMMAND.search(body.replace("%0A", "\n"))]
            assert not lines, arguments

    return run


def _profiles(texts: Iterable[str]) -> Iterator[str]:
    quoted = [json.dumps(text) for text in texts if text]
    yield '[profile]\nname = "a"\n' + "".join(f"[options.{text}]\n{text} = {text}\n" for text in quoted)
    yield f"[profile]\nname = {quoted[0]}\nextends = [{', '.join(quoted[:40])}]\nmatch = {quoted[1]}\n"
    yield '[profile]\nname = "b"\n[options.ReferenceNpuBackend]\n' + "".join(
        f"{text} = {text}\n" for text in quoted
    )
    yield '[profile]\nname = "c"\n' + "".join(
        f"[[when]]\nif = {text}\n[when.options.ReferenceNpuBackend]\ncore = {{ expr = {text} }}\n"
        f"[methods.{text}.options.ReferenceNpuBackend]\ncore = {text}\n[facts]\n{text} = {text}\n"
        for text in quoted[:1]
    )
    yield f'[profile]\nname = "d"\n[methods.{quoted[2]}.instances.{quoted[3]}]\n{quoted[4]} = 1\n'


def packed_program() -> DeviceBundle:
    """The options of the program in the current directory, on a device of no facts."""
    with etconfig.load_program("model.pte") as program:
        resolution = etconfig.resolve(program, profile="generic/any", facts=etconfig.FactSheet.empty())
        return etconfig.pack_resolutions({"board": resolution})


class TestFiles:
    """Keys, values and names in files."""

    def test_profiles(self, texts: list[str], place: Path, harmless: Callable[..., None]) -> None:
        for index, text in enumerate(_profiles(texts)):
            (place / f"p{index}.toml").write_text(text, newline="")
        files = sorted(place.glob("p?.toml"))
        for form in ("text", "concise", "json", "sarif"):
            harmless("validate", *files, "--format", form)
        harmless("validate", *files, "--format", "github", may_command=True)
        harmless("validate", *files, "--diff", "--unsafe-fixes")
        for file in files:
            harmless("resolve", "--profile", str(file), "--facts", "device.json")
        harmless("profiles", "show", "p2.toml")

    def test_comments(self, texts: list[str], place: Path, harmless: Callable[..., None]) -> None:
        allowed = ("".join(c for c in text if c >= " " and c != "\x7f") for text in texts)
        lines = "".join(f"# {text}\n" for text in allowed)
        text = f'[profile]\nname = "a"\n[options.ReferenceNpuBackend]\n{lines}power_mod = "low"\n{lines}'
        (place / "a.toml").write_text(text)
        harmless("profiles", "show", "a.toml")
        harmless("validate", "a.toml", "--diff", "--unsafe-fixes")

    def test_fact_sheets(self, texts: list[str], place: Path, harmless: Callable[..., None]) -> None:
        facts = {text: {"value": text, "origin": text, "unit": text} for text in texts[1:]}
        facts |= {"cpu.arch": {"value": "arm64", "origin": texts[0]}, "os.name": {"unknown": texts[0]}}
        for name, content in (("a.json", facts), ("b.json", {"cpu.arch": facts["cpu.arch"]})):
            (place / name).write_text(json.dumps({"etconfig_fact_sheet": 1, "facts": content}))
            harmless("facts", "--facts", name, "--all")
            harmless("facts", "--facts", name, "--json")
        harmless("facts", "diff", "b.json", "device.json")

    def test_saved_results_and_lock_files(
        self, texts: list[str], place: Path, harmless: Callable[..., None]
    ) -> None:
        def saved(value: str) -> str:
            rows = [
                {
                    "method": text,
                    "instance": text,
                    "backend": text,
                    "options": {text: {"value": value + text, "origin": {"kind": "sheet", "source": text}}},
                }
                for text in texts
            ]
            return json.dumps({"arguments": rows})

        (place / "a.json").write_text(saved("a"))
        (place / "b.json").write_text(saved("b"))
        harmless("diff", "a.json", "b.json")
        harmless("diff", "a.json", "b.json", "--json")
        parts = {
            part: {text: text for text in texts}
            for part in ("plugins", "profiles", "project", "facts", "options", "result")
        }
        (place / "etconfig.lock").write_text(json.dumps({"etconfig_lock": 1, **parts}))
        harmless("resolve", "model.pte", "--facts", "device.json", "--locked")

    def test_programs_and_packages(
        self, texts: list[str], place: Path, harmless: Callable[..., None]
    ) -> None:
        names = list(dict.fromkeys(without_surrogates(text) for text in texts[:20]))
        (place / "a.pte").write_bytes(write(*(plan(name=name) for name in names)))
        words = ("board", "embed", "forward", "ReferenceNpuBackend", "core", "balanced", "power_mode", "fp32")
        hostile = dict(zip(words, names[2:], strict=False))
        with_texts(packed_program(), hostile, names[1]).save("a.etbundle")
        for file in ("a.pte", "a.etbundle"):
            harmless("inspect", file)
            harmless("inspect", file, "--json")
        harmless("inspect", "a.pte", "--memory-plan", "-")
        harmless("resolve", "a.pte", "--facts", "device.json")

    def test_names_of_files(self, texts: list[str], place: Path, harmless: Callable[..., None]) -> None:
        for index, text in enumerate(texts[:8]):
            name = re.sub(r"[/\x00]", "", text)[:50].strip(".")
            directory = place / f"{index}" / name
            directory.mkdir(parents=True)
            (directory / f"{name}.toml").write_text("[profile]\nname = 1\n")
            harmless("validate", directory, "--format", "concise")
            harmless("validate", directory, "--format", "github", may_command=True)
            harmless("profiles", "--profile-path", str(directory))
            harmless("profiles", "list", "--profile-path", str(directory), "--json")
            harmless("resolve", "--profile", str(directory / f"{name}.toml"))


class TestArguments:
    """Words of the command line come back in messages."""

    def test_words(self, texts: list[str], harmless: Callable[..., None]) -> None:
        for text in (texts[1], texts[-1]):
            harmless(text)
            harmless("profiles", text)
            harmless("run", "model.pte", f"--{text}")
            harmless("run", "model.pte", text, text)
            harmless("run", text.replace("\0", ""), "--method", text)
            harmless("explain", text, "model.pte")
            harmless("resolve", "model.pte", "--profile", text.replace("\0", ""))
            harmless("resolve", "model.pte", "--set", text)
            harmless("resolve", "model.pte", "--set", f"ReferenceNpuBackend.power_mode={text}")
            harmless("facts", "--fact", text)
            harmless("facts", "--fact", f"power.source={text}")
            harmless("backends", text)
            harmless("schema", text)
            harmless("profiles", "match", text)


class TestTerminal:
    """On a terminal there are colors, and nothing else that controls it."""

    def test_only_colors_and_the_layout_control_it(self, place: Path, terminal: Callable[..., str]) -> None:
        quoted = "\n".join(f"{json.dumps(text)} = {json.dumps(text)}" for text in hostile_texts(60))
        (place / "a.toml").write_text(f'[profile]\nname = "a"\n[options.ReferenceNpuBackend]\n{quoted}\n')
        texts = {"board": "\x1b[2J", "embed": "\x1b[2J\x07"}
        with_texts(packed_program(), texts, "\x1b[31mred\n::error::x").save("a.etbundle")
        for command in (
            ("validate", "a.toml"),
            ("inspect", "a.etbundle"),
            ("resolve", "--profile", "a.toml"),
        ):
            shown = re.sub(r"\x1b\[[0-9;]*m|\r\n", "\n", terminal(*command))
            assert not FORBIDDEN.search(shown)
            assert not COMMAND.search(shown)


class TestBugs:
    """A traceback shows texts of others, too."""

    def test_a_traceback_is_escaped(self, shell: Callable[..., Outcome], place: Path) -> None:
        (place / "bug.py").write_text(
            "import etconfig.cli.startup.main as m\n"
            "def fail(*arguments, **values): raise RuntimeError('a\\n::error::b\\x1b[2J')\n"
            "m._run = fail\nm.main([])\n"
        )
        done = shell(f"{sys.executable} bug.py 2>&1 | tail -n 2")
        assert done.stdout == "RuntimeError: a\n\\u003a:error::b\\u001b[2J\n"


class TestPlugins:
    """Metadata, documentation and exceptions of plugins."""

    def test_metadata_and_exceptions(
        self, texts: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harmless: Callable[..., None]
    ) -> None:
        everything = "".join(map(without_surrogates, texts[:30]))
        line = re.sub(r"[\r\n\x0b\x0c\x1c-\x1e\x85\u2028\u2029=\[\]]", "", everything)
        site = tmp_path / "site"
        write_distribution(
            site,
            "vendor-2.0.dist-info",
            f"[etconfig.backends]\nRaises = vendor_raises\nSays = vendor_says\n{line} = {line}\n",
            f"Name: ven{line}\nVersion: 2{line}\n",
        )
        (site / "vendor_raises.py").write_text(f"raise RuntimeError({everything!a})\n")
        (site / "vendor_says.py").write_text(_SAYS.format(doc=everything))
        monkeypatch.syspath_prepend(str(site))
        try:
            for command in ("doctor", "backends", "schema"):
                for arguments in ((), ("Raises",), ("Says",), (line,)):
                    harmless(command, *arguments)
            harmless("schema", "Says", "--format", "markdown")
            for json_command in ("doctor", "backends"):
                harmless(json_command, "--json")
            harmless("resolve", "--set", "Says.text=a", "--facts", "device.json")
            harmless("explain", "Says.text", "--set", "forward:Says.text=a", "--facts", "device.json")
        finally:
            sys.modules.pop("vendor_says", None)


_SAYS = """\
from etconfig.plugin.v1 import ApiRange, BackendOptions, BackendSpec, hookimpl, option

class SaysOptions(BackendOptions):
    text: str = option({doc!a}, applies="load", doc={doc!a})

@hookimpl
def etconfig_backend(request):
    return BackendSpec(id=request.name, doc={doc!a}, options=SaysOptions, api=ApiRange(1, 1))
"""
