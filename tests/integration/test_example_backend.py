"""examples/acme_vector: a backend by hand, which is listed, resolved, run and tested."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest
from doc_pages import ROOT, Page, Walkthrough
from plugin_data import forget_modules_below

import etconfig

EXAMPLE = ROOT / "examples" / "acme_vector"


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Walkthrough:
    """A reader who has installed the example."""
    walkthrough = Walkthrough(Page(EXAMPLE / "README.md"), tmp_path, monkeypatch)
    walkthrough.install("examples/acme_vector")
    yield walkthrough
    forget_modules_below(tmp_path)


class TestCommands:
    """The commands see the plugin."""

    def test_its_options_are_resolved_with_its_advice(self, reader: Walkthrough) -> None:
        printed = reader.run(
            "etconfig resolve --set AcmeVectorBackend.saturate=2.5 "
            "--facts tests/data/sheets/raspberry-pi-5.json --profile generic/linux-arm64"
        )
        assert "AcmeVectorBackend  tile_bytes   262144  recommendation AcmeVectorBackend" in printed
        assert "AcmeVectorBackend  saturate     2.5     override --set" in printed

    def test_options_that_contradict_each_other_are_refused(self, reader: Walkthrough) -> None:
        printed = reader.run(
            "etconfig resolve --set AcmeVectorBackend.precision=fp16 --set AcmeVectorBackend.saturate=1e6"
        )
        assert reader.status == 2
        assert "saturate must be at most 65504.0 when precision is fp16" in printed

    def test_inspect_lists_its_delegate(self, reader: Walkthrough) -> None:
        printed = reader.run("etconfig inspect tests/data/tutorial/model.pte")
        assert "  AcmeVectorBackend  1      27 bytes  segment  yes\n" in printed


class TestRuns:
    """Programs and the test of the example run."""

    @pytest.mark.usefixtures("reader")
    def test_a_program_runs_and_follows_an_update(self) -> None:
        program = etconfig.load_program("tests/data/tutorial/model.pte")
        config = etconfig.resolve(program, overrides=["AcmeVectorBackend.saturate=2.5"])
        x = np.arange(-12, 12, dtype=np.float32).reshape(4, 6)
        with program.load_method("forward", config.arguments("forward")) as method:
            assert method.execute([x])[0][0].tolist() == [5] * 6
            method.update({"AcmeVectorBackend.saturate": 1.0})
            assert method.execute([x])[0][0].tolist() == [2] * 6
            assert method.effective_options()["AcmeVectorBackend"]["saturate"] == 1.0

    @pytest.mark.usefixtures("reader")
    def test_its_own_test_passes(self) -> None:
        runpy.run_path(str(EXAMPLE / "test_backend.py"))["test_results_are_rounded"]()
