"""A plugin whose facts or executor are wrong is left out and listed; the facts of others stay."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from plugin_data import write_distribution

from etconfig.app.installation.installation import Installation
from etconfig.errors import PluginLoadError
from etconfig.plugin import PluginFailure
from etconfig.plugin.contributions import EXECUTOR_HOOK

SOURCE = """
from etconfig.plugin.v1 import *

class Named:
    name, provides = "named", ("acme.cores",)

class Short(Named):
    def detect(self): ...

class Hostile(Named):
    @property
    def detect(self):
        raise OSError("driver is gone")

class Narrow(Executor):
    def open_program(self): ...

def fact(name):
    return FactInfo(name=name, type=FactType.INT, doc="Cores.", volatility=Volatility.STATIC)

def gives(system):
    yield Reading("acme.cores", 4, "driver")

async def waits(system): ...

@hookimpl
def etconfig_facts(request):
    return FactsContribution(api=ApiRange(1, 1), {parts})

@hookimpl
def etconfig_executor(request):
    return ExecutorContribution(api=ApiRange(1, 1), executor=Narrow())
"""
DETECTOR_HELP = (
    "give objects with name, provides and detect(system), such as an etconfig.plugin.v1.FunctionDetector"
)


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Installation]]:
    """Install a plugin for each argument, which is the text of its arguments of FactsContribution."""

    def write(*parts: str) -> Installation:
        monkeypatch.syspath_prepend(str(tmp_path))
        for number, part in enumerate(parts, 1):
            groups = f"[etconfig.facts]\nacme = acme_{number}\n[etconfig.executors]\nacme = acme_{number}\n"
            headers = f"Name: acme-{number}\nVersion: 1.0\n"
            write_distribution(tmp_path, f"acme_{number}-1.0.dist-info", groups, headers)
            (tmp_path / f"acme_{number}.py").write_text(SOURCE.format(parts=part))
        return Installation(search_path=[str(tmp_path)])

    yield write
    for name in [name for name in sys.modules if re.fullmatch(r"acme_\d", name)]:
        del sys.modules[name]


def only_failure(installation: Installation) -> PluginFailure:
    """Detect all facts, and return the only failure."""
    installation.detect_facts()
    (failure,) = installation.plugins.failures
    return failure


class TestFacts:
    """Contributions that are not facts or detectors never reach the core."""

    @pytest.mark.parametrize(
        ("parts", "cause", "help_text"),
        [
            ("facts=('x',)", "its facts contain a str", "give an etconfig.plugin.v1.FactInfo for each"),
            (
                "facts=3",
                "looking at its facts and detectors raised TypeError: 'int' object is not iterable",
                "upgrade or uninstall acme-1, or report it to its author",
            ),
            ("detectors=('x',)", "its detectors contain a str without name", DETECTOR_HELP),
            ("detectors=(Named(),)", "its detectors contain a Named without detect", DETECTOR_HELP),
            (
                "detectors=(Short(),)",
                r"acme_1\.py:\d+: Short\.detect cannot take the call detect\(system\): "
                "too many positional arguments",
                "let it take the argument (system) and give readings",
            ),
            (
                "detectors=(FunctionDetector('slow', ('acme.cores',), waits),)",
                r"acme_1\.py:\d+: waits is async, "
                "but the core calls it and uses its result at once",
                "let it take the argument (system) and give readings",
            ),
            (
                "detectors=(FunctionDetector('none', (), lambda: ()),)",
                r"acme_1\.py:\d+: etconfig_facts\.<locals>\.<lambda> cannot take the call "
                r"<lambda>\(system\): too many positional arguments",
                "let it take the argument (system) and give readings",
            ),
            (
                "detectors=(FunctionDetector('made', (), __import__('functools').partial(gives, 1)),)",
                r"partial cannot take the call partial\(system\): too many positional arguments",
                "let it take the argument (system) and give readings",
            ),
            (
                "detectors=(Hostile(),)",
                r"acme_1\.py:\d+: looking at its facts and detectors raised OSError: driver is gone",
                "upgrade or uninstall acme-1, or report it to its author",
            ),
            (
                "facts=(fact('acme.cores'),), detectors=(FunctionDetector('acme', 'acme.cores', gives),)",
                "detector 'acme' provides the text 'acme.cores'",
                "write provides=('acme.cores',)",
            ),
            (
                "facts=(fact('acme.cores'),), detectors=(FunctionDetector('acme', ('acme.core',), gives),)",
                "detector 'acme' provides 'acme.core', which no plugin declares",
                "declare each in facts, with this name",
            ),
            (
                "detectors=(FunctionDetector('acme', ('device.id',), gives),)",
                "detector 'acme' provides 'device.id', which is never detected",
                "declare a fact of its own: only the user sets what identifies them",
            ),
            (
                "facts=(FactInfo(name='acme.cores', type='int', doc='Cores.', volatility=Volatility.BOOT),)",
                "the type of fact 'acme.cores' is 'int'",
                "give one of FactType.BOOL, FactType.INT, FactType.FLOAT, FactType.STRING, "
                "FactType.STRING_LIST",
            ),
            (
                "facts=(FactInfo(name='acme.cores', type=FactType.INT, doc='Cores.', volatility='boot'),)",
                "the volatility of fact 'acme.cores' is 'boot'",
                "give one of Volatility.STATIC, Volatility.BOOT, Volatility.LIVE",
            ),
            (
                "facts=(fact('cpu.acme'),)",
                "fact 'cpu.acme' lies in the namespace 'cpu', which is taken",
                "choose one of your own, such as your plugin's name",
            ),
            (
                "facts=(fact('acme.cores'), fact('acme.cores'))",
                "fact 'acme.cores' is declared twice",
                "declare each fact once",
            ),
        ],
    )
    def test_a_wrong_plugin_is_left_out_and_listed(self, install, parts, cause, help_text):
        failure = only_failure(install(parts))
        assert re.fullmatch(cause, failure.cause), failure.cause
        assert (failure.help, failure.group, failure.distribution) == (help_text, "etconfig.facts", "acme-1")

    def test_of_two_that_claim_a_namespace_the_second_is_left_out(self, install):
        installation = install("facts=(fact('acme.cores'),)", "facts=(fact('acme.name'),)")
        assert only_failure(installation).distribution == "acme-2"
        assert "acme.cores" in installation.fact_registry
        assert "acme.name" not in installation.fact_registry

    def test_a_detector_may_yield_its_readings(self, install):
        detector = "FunctionDetector('quick', ('acme.cores',), gives)"
        installation = install(f"facts=(fact('acme.cores'),), detectors=({detector},)")
        assert installation.detect_facts()["acme.cores"].value == 4
        assert installation.plugins.failures == ()


class TestExecutor:
    """The call that opens a program is bound when the executor is found."""

    def test_one_that_cannot_take_it_is_refused(self, install):
        with pytest.raises(PluginLoadError) as caught:
            install("").plugins.contribution(EXECUTOR_HOOK, "acme")
        assert re.fullmatch(
            r"acme_1\.py:\d+: Narrow\.open_program cannot take the call open_program\(request\): "
            "too many positional arguments",
            caught.value.cause,
        )
        assert caught.value.help == "write: def open_program(self, request)"


class TestImports:
    """A plugin of facts that hangs or ends its import is left out and named; others keep their facts."""

    def failure_of(self, directory: Path, source: str) -> str:
        write_distribution(
            directory, "wild-1.0.dist-info", "[etconfig.facts]\nwild = wild_facts\n", "Name: wild\n"
        )
        (directory / "wild_facts.py").write_text(source)
        installation = Installation(search_path=[str(directory)])
        assert "cpu.arch" in installation.fact_registry.names
        sys.modules.pop("wild_facts", None)
        (failure,) = installation.plugins.failures
        return failure.cause

    @pytest.mark.parametrize("error", ["KeyboardInterrupt", "GeneratorExit", "SystemExit(0)"])
    def test_what_an_import_raises_is_its_own(
        self, error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.syspath_prepend(str(tmp_path))
        assert error.partition("(")[0] in self.failure_of(tmp_path, f"raise {error}")

    def test_an_import_that_hangs_is_abandoned(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.setattr("etconfig.plugin.loader.IMPORT_LIMIT_S", 0.05)
        cause = self.failure_of(tmp_path, "import time\ntime.sleep(30)\n")
        assert cause == "its import did not finish within 0.05 s"
