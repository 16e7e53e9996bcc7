"""examples/tensorrt_schema: its own tests, and the reader for the delegate."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest
from doc_pages import ROOT, Page, Walkthrough
from plugin_data import forget_modules_below

EXAMPLE = ROOT / "examples" / "tensorrt_schema"


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Walkthrough]:
    """A reader who has installed the example."""
    walkthrough = Walkthrough(Page(EXAMPLE / "README.md"), tmp_path, monkeypatch)
    walkthrough.install("examples/tensorrt_schema")
    yield walkthrough
    forget_modules_below(tmp_path)


@pytest.mark.usefixtures("reader")
def test_its_tests_pass() -> None:
    functions = runpy.run_path(str(EXAMPLE / "tests" / "test_schema.py"))
    called = 0
    for name, function in functions.items():
        if name.startswith("test_"):
            marks = getattr(function, "pytestmark", [])
            for value in marks[0].args[1] if marks else [None]:
                function(value) if marks else function()
                called += 1
    assert called == 10


def test_the_reader_takes_digits_and_small_integers(reader: Walkthrough) -> None:
    printed = reader.run("etconfig schema TensorRTBackend --emit cpp")
    assert "namespace etconfig_tensor_rt_backend {" in printed
    assert "  std::optional<std::int64_t> weight_streaming_budget;\n" in printed
    assert (
        "INT64_C(0), INT64_C(9223372036854775807), INT64_C(1), true, &found.weight_streaming_budget);"
        in printed
    )


def test_androids_binding_cannot_carry_it(reader: Walkthrough) -> None:
    printed = reader.run("etconfig schema TensorRTBackend --emit kotlin")
    assert "cannot carry TensorRTBackend.weight_streaming_budget: it carries int, not str" in printed
