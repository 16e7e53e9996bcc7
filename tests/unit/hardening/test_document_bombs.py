"""Small texts that cost a parser much: each is refused in a fresh process, with little memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

MAX_PEAK_BYTES = 32 << 20
PROBE = """\
import sys, tracemalloc
from pathlib import Path
from etconfig.errors import ConfigError
from etconfig.profile.document import load_document

tracemalloc.start()
try:
    load_document(Path(sys.argv[1]))
except ConfigError as error:
    print(error.diagnostics[0].code, tracemalloc.get_traced_memory()[1])
"""
BOMBS = {
    "dotted key of 40 KB": ".".join("a" * 20_000) + " = 1",
    "dotted key of 1 MB": ".".join("a" * 500_000) + " = 1",
    "header of 40 KB": "[" + ".".join("a" * 20_000) + "]",
    "quoted parts": ".".join(["''"] * 20_000) + " = 1",
    "spaced parts": " . ".join("a" * 20_000) + " = 1",
    "parts in an inline table": "x = {" + ".".join("a" * 20_000) + " = 1}",
    "hexadecimal integer of 1 MB": "a = 0x" + "f" * 1_000_000,
    "decimal integer of 1 MB": "a = " + "9" * 1_000_000,
    "integer with underscores": "a = " + "9_" * 500_000 + "9",
    "float of 1 MB": "a = 1." + "9" * 1_000_000,
    "100,000 arrays": "a = " + "[" * 100_000 + "]" * 100_000,
    "100,000 arrays never closed": "a = " + "[" * 100_000,
    "100,000 inline tables": "a = " + "{a=" * 100_000,
    "arrays over many lines": "a = " + "[\n" * 100_000,
    "a byte more than 1 MiB": "#" * ((1 << 20) + 1),
    "a bomb behind strings": "a = '''['''\nb = \"\\\"\"\nc = " + "[" * 100_000,
}


@pytest.mark.parametrize("text", BOMBS.values(), ids=BOMBS.keys())
def test_a_bomb_is_refused_with_little_memory(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bomb.toml"
    path.write_text(text)
    done = subprocess.run(
        [sys.executable, "-c", PROBE, str(path)], capture_output=True, text=True, timeout=60
    )
    assert done.stderr == ""
    code, peak_bytes = done.stdout.split()
    assert code == "document-too-large"
    assert int(peak_bytes) < MAX_PEAK_BYTES
