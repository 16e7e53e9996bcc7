from __future__ import annotations

from pathlib import Path

from etconfig.conformance import BackendConformance


class TestExampleCppBackend(BackendConformance):
    """The checks of the conformance kit; those in xfails.txt are known to fail."""

    backend = "ExampleCppBackend"
    level = 1
    xfails = Path(__file__).with_name("xfails.txt")
