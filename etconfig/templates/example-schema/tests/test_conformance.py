from __future__ import annotations

from pathlib import Path

from etconfig.conformance import BackendConformance


class TestExampleSchemaBackend(BackendConformance):
    """The checks of the conformance kit that apply to a schema; others need a program."""

    backend = "ExampleSchemaBackend"
    level = 0
    xfails = Path(__file__).with_name("xfails.txt")
