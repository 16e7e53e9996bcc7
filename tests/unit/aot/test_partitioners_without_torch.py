"""Partitioners where torch or executorch is not installed: the error names what to install."""

from __future__ import annotations

import sys

import pytest

import etconfig.aot


@pytest.mark.parametrize("missing", ["torch", "executorch"])
def test_the_error_names_what_to_install(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "etconfig.aot.executorch_partitioner", raising=False)
    for name in [name for name in sys.modules if name.partition(".")[0] == missing]:
        monkeypatch.delitem(sys.modules, name)
    if missing == "executorch":
        pytest.importorskip("torch")
    monkeypatch.setitem(sys.modules, missing, None)
    for make in (
        lambda: etconfig.aot.whole_graph_partitioner("AcmeBackend", lambda program, specs: b""),
        lambda: etconfig.aot.operator_partitioner(
            "AcmeBackend", lambda program, specs: b"", supported=["aten::relu"]
        ),
    ):
        with pytest.raises(ModuleNotFoundError, match=f"and {missing} is not installed: install the extra"):
            make()
