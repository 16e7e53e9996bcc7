"""Standard output belongs to the command alone: whatever plugins print goes to standard error."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Outcome
from plugin_data import write_distribution

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "tests" / "data" / "digits" / "digits.pte"

SHOUTING = """
import atexit, os, sys

def shout(where):
    print("NOISE of", where)
    sys.__stdout__.write("NOISE around sys.stdout\\n")
    os.write(1, b"NOISE of the descriptor\\n")
    os.system("echo NOISE of a child")
    if sys.platform != "win32":
        import ctypes
        ctypes.CDLL(None).printf(b"NOISE of C, buffered until the process ends\\n")
"""

BACKEND = """
from shouting import atexit, shout, sys
shout("an import")
atexit.register(shout, "the end")
sys.stdout = None  # some libraries do worse
from etconfig.plugin.v1 import ApiRange, BackendOptions, BackendSpec, hookimpl, option

class NoisyOptions(BackendOptions):
    level: int = option(1, applies="load", doc="The level, \\u2265 0.")

@hookimpl
def etconfig_backend(request):
    sys.stdout = sys.__stdout__
    shout("a hook")
    return BackendSpec(id=request.name, doc="Noisy, \\u2192 loud.", options=NoisyOptions, api=ApiRange(1, 1))
"""

FACTS = """
from shouting import shout
shout("an import of facts")
from etconfig.plugin.v1 import *

LEVEL = FactInfo(name="noisy.level", type=FactType.INT, doc="Noise.", volatility=Volatility.STATIC)

def detect(system):
    shout("a detector")
    yield Reading("noisy.level", 3, "the noise")

@hookimpl
def etconfig_facts(request):
    shout("a hook of facts")
    detector = FunctionDetector("noisy", ("noisy.level",), detect)
    return FactsContribution(api=ApiRange(1, 1), facts=(LEVEL,), detectors=(detector,))
"""

DATA = [
    "backends --json",
    "backends Noisy --json",
    "schema Noisy",
    "facts --json",
    "doctor --json",
    "validate noisy.toml --format json",
    "validate noisy.toml --format sarif",
    "resolve --profile noisy.toml --json",
    f"resolve {PROGRAM} --json",
    f"inspect {PROGRAM} --json",
    f"matrix {PROGRAM} --device apple/m1 --json",
    "explain Noisy.level --profile noisy.toml --json",
    "profiles list --json",
    "conformance Noisy --check loads --json",
]
"""Commands that print JSON."""

TEXTS = [
    "backends Noisy",
    "schema Noisy --format markdown",
    "facts",
    "doctor",
    "resolve --profile noisy.toml --toml",
]
"""Commands that print for people, with characters beyond Latin-1."""


@pytest.fixture
def noisy(tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A plugin that prints whenever it is called, for the processes of a test; a profile for its backend."""
    site = tmp_path / "site"
    site.mkdir()
    groups = "[etconfig.backends]\nNoisy = noisy\n[etconfig.facts]\nnoisy = noisy_facts\n"
    write_distribution(site, "noisy-1.0.dist-info", groups, "Name: noisy\nVersion: 1.0\n")
    for name, source in (("shouting", SHOUTING), ("noisy", BACKEND), ("noisy_facts", FACTS)):
        (site / f"{name}.py").write_text(source)
    profile = '[profile]\nname = "noisy"\ndescription = "\u2192"\n[options.Noisy]\nlevel = 2\n'
    (place / "noisy.toml").write_text(profile, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(site))
    return place


def etconfig(line: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "etconfig", *line.split()]
    environ = {**os.environ, **environment}
    return subprocess.run(command, capture_output=True, text=True, errors="replace", env=environ, timeout=60)


def in_one_process(commands: list[str], **environment: str) -> list[str]:
    """Run commands in one process, which starts faster than many; return the output of each."""
    script = f"""
from etconfig.cli.shared.standard_output import command_output
from etconfig.cli.startup.main import main
for line in {commands!r}:
    try:
        main(line.split())
    except SystemExit:
        pass
    command_output().write("<end>")
    command_output().flush()
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        env={**os.environ, **environment},
        timeout=120,
        check=False,
    )
    encoding = environment.get("PYTHONIOENCODING", "utf-8")
    assert b"Traceback" not in done.stderr, done.stderr.decode(errors="replace")
    return done.stdout.decode(encoding).replace("\r\n", "\n").split("<end>")


@pytest.mark.usefixtures("noisy")
class TestNoise:
    """A plugin that prints in Python, around it, in C, in children, and while the process ends."""

    def test_no_command_shows_it(self) -> None:
        shown = in_one_process([*DATA, *TEXTS])
        wrong = [line for line, text in zip([*DATA, *TEXTS], shown, strict=False) if "NOISE" in text]
        assert wrong == []
        assert shown[-1] == ""
        not_json = []
        for line, text in zip(DATA, shown, strict=False):
            try:
                json.loads(text)
            except ValueError:
                not_json.append((line, text))
        assert not_json == []

    def test_it_goes_to_standard_error(self) -> None:
        done = etconfig("facts --json")
        assert json.loads(done.stdout)["facts"]["noisy.level"]["value"] == 3
        for noise in ("a detector", "around sys.stdout", "the descriptor", "a child"):
            assert noise in done.stderr
        assert "C, buffered" in done.stderr or sys.platform == "win32"

    def test_completions_are_free_of_it(self) -> None:
        words = {
            "_ETCONFIG_COMPLETE": "bash_complete",
            "COMP_WORDS": "etconfig explain Noisy.",
            "COMP_CWORD": "2",
        }
        assert etconfig("", **words).stdout == "plain,Noisy.level\n"


def test_a_command_in_this_process_gives_standard_output_back(
    cli: Callable[..., Outcome], capfd: pytest.CaptureFixture[str]
) -> None:
    before = sys.stdout, sys.stderr
    assert cli("backends", "--json").json
    assert (sys.stdout, sys.stderr) == before


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "ascii"])
@pytest.mark.usefixtures("noisy")
def test_text_that_an_encoding_lacks_is_escaped_and_json_stays_equal(encoding: str) -> None:
    commands = ["validate wrong.toml --format json", "validate wrong.toml --format github", *TEXTS]
    Path("wrong.toml").write_text('[profile]\nname = "w"\n[options.Noisy]\n"l\u00e9\u2192" = 2\n', "utf-8")
    shown, *rest = in_one_process(commands, PYTHONIOENCODING=encoding)
    assert "l\u00e9\u2192" in json.loads(shown)[0]["message"]
    assert all(rest[:-1])
