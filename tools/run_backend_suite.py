"""Run the operator tests of ExecuTorch's backend test suite (executorch.backends.test.suite) on etconfig.

The suite has a fixed list of flows. This tool replaces it by one flow, which lowers to portable operators,
as the suite's own portable flow does, and runs the program in etconfig instead of in ExecuTorch's runtime.
The suite allows outputs to differ from PyTorch's by 0.1 and 4 %; this tool allows only TOLERANCE.

    python tools/run_backend_suite.py                        # all, some 15 minutes
    python tools/run_backend_suite.py --every 12             # a sample
    python tools/run_backend_suite.py -- -k conv2d -x        # arguments after -- are for pytest

The suite skips tests that PyTorch refuses to run or to export, and tests without a portable kernel in
ExecuTorch; of the latter, this tool skips only WITHOUT_A_KERNEL. It does not run the suite's models, which
need torchvision and torchaudio.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from executorch.backends.test import suite
from executorch.backends.test.harness import Tester
from executorch.backends.test.harness.stages import Serialize, StageType
from executorch.backends.test.suite import flow, runner
from torch.utils._pytree import tree_leaves

import etconfig

TOLERANCE = 1e-5
"""Largest difference from PyTorch, absolute for values up to 1 and relative above; all cases are float32."""


class RunInEtconfig(Serialize):
    """The stage that has the serialized program and runs it."""

    def run_artifact(self, inputs: Any) -> tuple[Any, ...]:
        with etconfig.load_program(self.buffer) as program, program.load_method("forward") as method:
            outputs = method.execute(tree_leaves(inputs))
        return tuple(torch.from_numpy(each) for each in outputs)


class EtconfigTester(Tester):
    """Lowers to portable operators, and compares more strictly than the suite requires."""

    def __init__(self, module: torch.nn.Module, example_inputs: tuple[Any, ...]) -> None:
        stages = {**Tester.default_stage_classes(), StageType.SERIALIZE: RunInEtconfig}
        super().__init__(module, example_inputs, stages)

    def run_method_and_compare_outputs(self, *args: Any, **options: Any) -> EtconfigTester:
        super().run_method_and_compare_outputs(*args, **{**options, "atol": TOLERANCE, "rtol": TOLERANCE})
        return self


FLOW = flow.TestFlow(
    "etconfig",
    backend="etconfig",
    tester_factory=EtconfigTester,
    is_delegated=False,
)

WITHOUT_A_KERNEL = {"aten::_embedding_bag", "aten::median", "aten::median.dim", "aten::round.decimals"}
"""The operators to skip, by the suite's names. ExecuTorch's portable kernels lack more of them."""


class Sample:
    """A pytest plugin that keeps every n-th test, and reports how many there were."""

    def __init__(self, every: int) -> None:
        self.every = every

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        kept = items[:: self.every]
        config.hook.pytest_deselected(items=[each for each in items if each not in kept])
        items[:] = kept


def main(argv: Sequence[str] | None = None) -> int:
    """Run the suite, or a sample of it; return the exit status of pytest."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--every", type=int, default=1, metavar="N", help="run every N-th test only")
    parser.add_argument("pytest_arguments", nargs="*", metavar="ARGUMENT", help="for pytest, after --")
    arguments = parser.parse_args(argv)
    flow.all_flows = lambda: {FLOW.name: FLOW}  # before pytest imports the suite's conftest
    runner.UNSUPPORTED_PORTABLE_OPS = WITHOUT_A_KERNEL
    runner._graph_has_unsupported_patterns = lambda program: False  # convolutions in three dimensions
    folder = Path(suite.__file__).parent
    # without --confcutdir, pytest also runs the conftest.py of a checkout around the environment
    options = ["-c", "/dev/null", "--rootdir", str(folder), "--confcutdir", str(folder)]
    options += ["-p", "no:cacheprovider", "-p", "no:logging"]
    options += ["-q", "-W", "ignore", "-p", "no:timeout"]  # the suite's 120 s are too few on a busy machine
    tests = str(folder / "operators")
    return pytest.main([*options, tests, *arguments.pytest_arguments], plugins=[Sample(arguments.every)])


if __name__ == "__main__":
    raise SystemExit(main())
