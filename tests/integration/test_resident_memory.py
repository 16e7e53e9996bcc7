"""The resident memory of a process that loads a program with 128 MiB of data, and frees them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import program_writer as pte
import pytest
from command_line import DATA

from etconfig.program.editing.replacing import replace_payloads

PAYLOAD_BYTES = 128 << 20
BEGIN = """
import gc, os, sys
import numpy as np
import etconfig
from etconfig.plugin.v1 import Availability, Backend

path, what, *data = sys.argv[1:]

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

class Packing(Backend):
    '''Keeps a copy of its data, as backends that pack weights do.'''

    def availability(self):
        return Availability.yes()

    def init(self, context, processed, compile_specs):
        source = context.named_data["weights"] if data else processed.data
        packed = np.frombuffer(source, np.uint8).copy()
        if what == "free":
            source.release() if data else processed.free()
        return packed

    def execute(self, context, handle, args):
        args[-1][...] = handle[-1]

    def destroy(self, handle):
        pass
"""
MEASURE = """
before = resident()
with etconfig.load_program(path, data=data) as program:
    opened = resident()
    with program.load_method("forward", backends={"AcmeVectorBackend": Packing()}) as method:
        loaded = resident()
    del method
    gc.collect()
    print(opened - before, loaded - before, resident() - before)
"""


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Has a program with a large payload, alone and bundled, and a small one with a large .ptd."""
    directory = tmp_path_factory.mktemp("large")
    small = (DATA / "tutorial" / "model.pte").read_bytes()
    large = replace_payloads(small, "AcmeVectorBackend", lambda *_: b"\x01" * PAYLOAD_BYTES)
    (directory / "large.pte").write_bytes(large)
    (directory / "large.bpte").write_bytes(pte.write_bundle(program=large))
    (directory / "small.pte").write_bytes(small)
    data = pte.write_data_file(pte.named("weights"), payloads=[b"\x01" * PAYLOAD_BYTES])
    (directory / "weights.ptd").write_bytes(data)
    return directory


def growth(directory: Path, what: str, *files: str) -> list[float]:
    """Return the growth of the memory, in payloads, after opening, loading and closing the method."""
    paths = [directory / file for file in files]
    command = [sys.executable, "-c", BEGIN + MEASURE, paths[0], what, *paths[1:]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [int(each) / PAYLOAD_BYTES for each in done.stdout.split()]


PROGRAMS = pytest.mark.parametrize(
    "files",
    [("large.pte",), ("large.bpte",), ("small.pte", "weights.ptd")],
    ids=["program", "bundled", "named-data"],
)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
class TestPayload:
    """`Processed.free` releases the memory of a payload, `memoryview.release` that of named data."""

    @PROGRAMS
    def test_freed_data_take_no_memory(self, directory: Path, files: tuple[str, ...]) -> None:
        opened, loaded, _ = growth(directory, "free", *files)
        assert opened < 0.25
        assert 1 < loaded < 1.5

    @PROGRAMS
    def test_data_that_are_kept_do_until_the_method_is_closed(
        self, directory: Path, files: tuple[str, ...]
    ) -> None:
        _, loaded, closed = growth(directory, "keep", *files)
        assert loaded > 1.9
        assert closed < 0.25
