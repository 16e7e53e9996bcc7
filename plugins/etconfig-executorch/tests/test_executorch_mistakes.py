"""ExecuTorch accepts mistyped options and ignores them: the claims of the front page, on the real runtime."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.peers

ROOT = Path(__file__).parents[3]

LOAD = """
import sys
from pathlib import Path
from etconfig_executorch.native import native

backend, key, value = sys.argv[2], sys.argv[3], eval(sys.argv[4])
program = native.Program(Path(sys.argv[1]).read_bytes(), [])
options = [(key, value), ("packed_cache_path", "packed.bin")]
native.Method(program, "forward", [(backend, options)], False)
print("Ok, with a cache" if Path("packed.bin").exists() else "Ok, without a cache")
"""
"""Loads a method with options that nobody checked. XNNPACK writes the file when it uses its weight cache."""


@pytest.mark.parametrize(
    ("backend", "key", "value", "outcome"),
    [
        ("XnnpackBackend", "weight_cache_enabled", True, "Ok, with a cache"),
        ("XnnpackBackend", "weight_cache_enable", True, "Ok, without a cache"),
        ("XnnpackBackend", "weight_cache_enabled", 1, "Ok, without a cache"),
        ("XNNPackBackend", "weight_cache_enabled", True, "Ok, without a cache"),
    ],
)
def test_a_mistake_loads_as_if_nothing_had_been_set(
    in_process: Callable[..., str], backend: str, key: str, value: object, outcome: str
) -> None:
    program = ROOT / "examples" / "phone_and_pi" / "digits.pte"
    assert in_process(LOAD, program, backend, key, repr(value)) == outcome


def test_the_front_page_lists_these_mistakes() -> None:
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    for mistake in ("weight_cache_enable = true", "weight_cache_enabled = 1", "XNNPackBackend"):
        assert f"`{mistake}` | `Ok`, and no weight cache |" in page
