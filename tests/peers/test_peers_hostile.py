"""Damaged programs that ExecuTorch refuses are refused here, too, or listed with a reason."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from effort import scaled
from mutations import DATA, VERIFIER

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("default"), pytest.mark.timeout(7200)]

COMPARISON = Path(__file__).parents[1] / "support" / "compare_mutants.py"
LEFT_OUT = ("xnnpack", "delegate", "external", "linear_inline_constants", "unbounded")
"""One of the two does not even load the intact program: see NOT_RUN in test_peers_runtime.py.

ExecuTorch 1.5 does not load tensors without bounds.
"""
PROGRAMS = [
    path
    for folder in ("programs", "exports")
    for path in sorted((DATA / folder).glob("*.pte"))
    if not any(word in path.stem for word in LEFT_OUT)
]
MUTANTS = scaled(1_000)
ACCEPTED = {
    VERIFIER: "damage in fields that neither runtime reads (container_meta_type, a chain's own inputs): "
    "without its verifier, ExecuTorch loads the program as etconfig does",
}
"""Damage that ExecuTorch refuses and etconfig loads, and why that is acceptable."""


def test_programs_that_executorch_refuses_are_refused() -> None:
    count = -(-MUTANTS // len(PROGRAMS))
    done = subprocess.run(
        [sys.executable, str(COMPARISON), str(count), *map(str, PROGRAMS)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert found["tally"]["tried"] >= MUTANTS
    assert found["tally"]["loaded here"] > MUTANTS // 20
    others = [refusal for refusal in found["refusals"] if refusal[2] not in ACCEPTED]
    assert others == [], Counter(verdict for *_, verdict in others)
