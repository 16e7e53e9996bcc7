"""Recommendations as data, from the plugin to the commands."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import pytest
from delegating_programs import delegating_program

import etconfig
from etconfig.errors import PluginLoadError
from etconfig.plugin.v1 import Advice, ApiRange, BackendOptions, BackendSpec, Ge, option

SHEETS = Path(__file__).parents[1] / "data" / "sheets"


class AcmeOptions(BackendOptions):
    """Options of `AcmeBackend`."""

    threads: Annotated[int, Ge(1)] | None = option(None, applies="load", doc="Worker threads.")


SPEC = BackendSpec(
    id="AcmeBackend",
    doc="Acme's.",
    options=AcmeOptions,
    api=ApiRange(min=1, built=1),
    advice=[
        Advice("threads", expr="1", when='power.source == "battery"'),
        Advice("threads", expr="max(1, min(cpu.available_cores, cpu.performance_cores))"),
    ],
)


def resolve(spec: BackendSpec = SPEC, **facts: object) -> etconfig.Resolution:
    installation = etconfig.Installation().with_backends({"AcmeBackend": spec})
    program = etconfig.load_program(delegating_program("AcmeBackend"), installation=installation)
    return etconfig.resolve(
        program,
        profile="generic/any",
        facts=etconfig.load_fact_sheet(SHEETS / "pixel-8.json"),
        fact_overrides={name.replace("__", "."): value for name, value in facts.items()},  # type: ignore[misc]
    )


class TestResolving:
    """The recommended value follows the device."""

    def test_it_is_explained_with_the_entry_and_its_facts(self) -> None:
        text = str(resolve().explain("forward:AcmeBackend.threads"))
        assert text.startswith("forward:AcmeBackend.threads = 5\n")
        assert "from recommendation AcmeBackend (expr max(1, min(cpu.available" in text
        assert "depends on cpu.performance_cores = 5, from sheet" in text
        assert "depends on power.source = 'mains', from sheet" in text

    def test_what_if_tries_another_entry(self) -> None:
        answer = resolve(power__source="mains").what_if({"power.source": "battery"})
        assert [str(change) for change in answer.changes] == ["forward:AcmeBackend.threads: 5 → 1"]

    def test_the_json_has_the_entry(self) -> None:
        (row,) = resolve().to_jsonable()["arguments"]
        assert row["options"]["threads"]["origin"] == {
            "kind": "recommendation",
            "source": "AcmeBackend",
            "detail": "expr max(1, min(cpu.available_cores, cpu.performance_cores))",
        }


class TestBrokenAdvice:
    """A wrong entry makes the plugin a broken one, which says what to correct."""

    @pytest.mark.parametrize(
        ("entry", "cause", "help"),
        [
            (
                Advice("thread", expr="1"),
                "its advice on AcmeBackend.thread:1:1: AcmeBackend has no option 'thread'",
                "did you mean 'threads'?",
            ),
            (
                Advice("threads", expr="cpu.cores_online"),
                "its advice on AcmeBackend.threads:1:1: no fact is called 'cpu.cores_online'",
                "",
            ),
        ],
    )
    def test_it_is_refused_when_it_is_loaded(self, entry: Advice, cause: str, help: str) -> None:
        with pytest.raises(PluginLoadError) as caught:
            resolve(replace(SPEC, advice=[entry]))
        assert cause in caught.value.cause
        assert help in (caught.value.author_help or "")


class TestDoctor:
    """The examination of an installation reports advice that is wrong on some devices."""

    @pytest.mark.parametrize(
        ("expr", "status"), [("cpu.available_cores - 1", "warning"), ("0", "error"), ("1", None)]
    )
    def test_it_reports_values_out_of_range(self, expr: str, status: str | None) -> None:
        spec = replace(SPEC, advice=[Advice("threads", expr=expr)])
        installation = etconfig.Installation().with_backends({"AcmeBackend": spec})
        report = etconfig.examine_installation(installation)
        found = [each for each in report.findings if each.subject == "advice of backend AcmeBackend"]
        assert [each.status for each in found] == [status] * (status is not None)
        if status == "warning":
            assert found[0].help == "write max(cpu.available_cores - 1, 1)"
