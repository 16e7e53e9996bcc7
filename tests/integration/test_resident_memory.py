"""The resident memory of a process that loads a program with a payload of 128 MiB, and frees the payload."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from command_line import DATA

from etconfig.program.editing.replacing import replace_payloads

PAYLOAD_BYTES = 128 << 20
MEASURE = """
import gc, os, sys
import numpy as np
import etconfig
from etconfig.plugin.v1 import Availability, Backend

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

class Packing(Backend):
    '''Keeps a copy of its payload, as backends that pack weights do.'''

    def availability(self):
        return Availability.yes()

    def init(self, context, processed, compile_specs):
        packed = np.frombuffer(processed.data, np.uint8).copy()
        if sys.argv[2] == "free":
            processed.free()
        return packed if sys.argv[2] == "free" else (packed, processed)

    def execute(self, context, handle, args):
        args[-1][...] = handle[-1]

    def destroy(self, handle):
        pass

before = resident()
with etconfig.load_program(sys.argv[1]) as program:
    opened = resident()
    with program.load_method("forward", backends={"AcmeVectorBackend": Packing()}) as method:
        print(opened - before, resident() - before)
        del method
    gc.collect()
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("large") / "large.pte"
    small = (DATA / "tutorial" / "model.pte").read_bytes()
    path.write_bytes(replace_payloads(small, "AcmeVectorBackend", lambda *_: b"\x01" * PAYLOAD_BYTES))
    return path


def growth(program: Path, what: str) -> list[int]:
    """Return by how much the memory has grown after opening, and after loading."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, program, what], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return [*map(int, done.stdout.split())]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
class TestPayload:
    """`Processed.free` releases the memory of the payload."""

    def test_a_freed_payload_takes_no_memory(self, program: Path) -> None:
        opened, loaded = growth(program, "free")
        assert opened < 0.25 * PAYLOAD_BYTES
        assert PAYLOAD_BYTES < loaded < 1.5 * PAYLOAD_BYTES

    def test_a_payload_that_is_kept_does(self, program: Path) -> None:
        assert growth(program, "keep")[1] > 1.9 * PAYLOAD_BYTES
