"""The cases of the conformance kit, rebuilt, and run without delegates by both executors."""

from __future__ import annotations

from pathlib import Path

import pytest

import etconfig
from etconfig.conformance.cases import stored_cases
from etconfig.conformance.subject.output_comparison import check_outputs

# torch and executorch warn when they are imported
pytestmark = [pytest.mark.peers, pytest.mark.timeout(600), pytest.mark.filterwarnings("default")]

NAMES = tuple(stored_cases.load_cases())


@pytest.fixture(scope="module")
def programs() -> dict[str, bytes]:
    """The program of each case without a delegate."""
    from executorch.exir import to_edge_transform_and_lower

    from etconfig.conformance.cases.models import models

    def lower(methods: dict[str, object]) -> bytes:
        return bytes(to_edge_transform_and_lower(methods).to_executorch().buffer)

    return {
        model.name: lower({name: method.export() for name, method in model.methods.items()})
        for model in models()
    }


class TestCases:
    """The committed cases are those that the tool writes, and both executors give their answers."""

    def test_the_tool_writes_the_same_bytes(self, tmp_path: Path):
        import build_conformance_cases

        build_conformance_cases.write_cases(tmp_path / "cases.json", tmp_path / "cases.npz")
        assert (tmp_path / "cases.json").read_bytes() == stored_cases.CASES.read_bytes()
        assert (tmp_path / "cases.npz").read_bytes() == stored_cases.ARRAYS.read_bytes()

    @pytest.mark.parametrize("executor", ["numpy", "executorch"])
    @pytest.mark.parametrize("name", NAMES)
    def test_without_delegates_the_answers_are_right(
        self, programs: dict[str, bytes], name: str, executor: str
    ):
        with etconfig.load_program(programs[name], executor=executor) as program:
            for method_name, runs in stored_cases.load_cases()[name].runs.items():
                with program.load_method(method_name) as method:
                    for run in runs:
                        check_outputs(name, method.execute(list(run.inputs)), run.outputs)
