"""A backend that ends the process, or raises what only Python itself raises, fails checks of the kit."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from plugin_data import write_distribution

PLUGIN = """
import os, sys
from dataclasses import replace
from etconfig_reference.cpu import ReferenceCpuBackend
from etconfig_reference.conformance import etconfig_conformance
from etconfig_reference.plugin import SPECS
from etconfig.plugin.v1 import hookimpl

{at_import}

class Hostile(ReferenceCpuBackend):
    def execute(self, context, handle, args):
        {at_execute}
        super().execute(context, handle, args)

@hookimpl
def etconfig_backend(request):
    {at_hook}
    return replace(SPECS[request.name], factory=Hostile)
"""

ENDS = {
    "os._exit(0)": "its process ended with exit status 0",
    "raise KeyboardInterrupt": "KeyboardInterrupt",
    "raise GeneratorExit('done')": "GeneratorExit",
}
"""Each way to end, and what the kit says about it."""


KIT = """
import json, sys
from etconfig.conformance.kit.kit_settings import Settings
from etconfig.conformance.runner.runner import run_conformance
settings = Settings(backend="ReferenceCpuBackend", search_path=(sys.argv[1],), checks=tuple(sys.argv[2:]))
print(json.dumps(run_conformance(settings).to_jsonable()))
"""


def conformance(directory: Path, *checks: str, **places: str) -> dict[str, tuple[str, str]]:
    """Run checks in a process, as the command does, on a backend with these lines; return their results."""
    groups = "".join(
        f"[etconfig.{each}]\nReferenceCpuBackend = hostile\n" for each in ("backends", "conformance")
    )
    write_distribution(directory, "hostile-1.0.dist-info", groups, "Name: hostile\nVersion: 1.0\n")
    lines = {"at_import": "pass", "at_hook": "pass", "at_execute": "pass", **places}
    (directory / "hostile.py").write_text(PLUGIN.format(**lines))
    command = [sys.executable, "-c", KIT, str(directory), *checks]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert done.stderr == ""
    report = json.loads(done.stdout)
    return {each["check"]: (each["outcome"], each["message"]) for each in report["results"]}


@pytest.mark.parametrize("end", ENDS)
def test_a_backend_that_ends_while_it_runs_fails_a_check_and_the_kit_goes_on(
    end: str, tmp_path: Path
) -> None:
    found = conformance(tmp_path, "answers", at_execute=end)
    causes = [message for outcome, message in found.values() if outcome in ("crashed", "failed")]
    assert causes
    assert ENDS[end] in causes[0]
    assert found["answers"][0] != "passed"


@pytest.mark.parametrize("place", ["at_import", "at_hook"])
def test_a_plugin_that_ends_while_it_is_loaded_crashes_a_check(place: str, tmp_path: Path) -> None:
    found = conformance(tmp_path, "import-pure", **{place: "os._exit(0)"})
    assert found["loads"] == ("crashed", "its process ended with exit status 0")
    assert found["import-pure"][0] == "not-judged"


def test_a_backend_that_prints_fails_one_check_and_the_report_stays_json(tmp_path: Path) -> None:
    found = conformance(tmp_path, "prints-nothing", at_execute="print('running')")
    assert found["answers"][0] == "passed"
    outcome, message = found["prints-nothing"]
    assert outcome == "failed"
    assert "the backend prints 'running" in message
