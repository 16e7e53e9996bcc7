"""A replaced file is the old one or the new one, also if writers are killed or compete."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

WRITES = int(os.environ.get("ETCONFIG_WRITES", "150"))
"""The number of writes of each of four writers; 25,000 take about a minute."""

KILLED_AT_EVERY_STEP = """\
import itertools, os, signal, sys
from pathlib import Path
from etconfig.base.written_files import replace_file

OLD, NEW = b"old" * 5000, b"new" * 9000

def write_and_die(path, step):
    left = step
    def count(frame, event, argument):
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
    sys.setprofile(count)  # a step is the begin or the end of a call, also of one of the system
    replace_file(path, NEW)
    sys.setprofile(None)
    os._exit(0)

path = Path(sys.argv[1])
for step in itertools.count(1):
    path.write_bytes(OLD)
    child = os.fork()
    if child == 0:
        write_and_die(path, step)
    _, status = os.waitpid(child, 0)
    print({OLD: "old", NEW: "new"}.get(path.read_bytes(), "torn"))
    if status == 0:
        break
"""

WRITER = """\
import os, sys
from pathlib import Path
from etconfig.base.written_files import replace_file

path, name, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
for generation in range(count):
    line = f"{name} {generation}\\n"
    replace_file(path, (line * 2000).encode())
    os.write(1, b".")
"""


def start_writer(path: Path, name: str, count: int) -> subprocess.Popen[bytes]:
    arguments = [sys.executable, "-c", WRITER, str(path), name, str(count)]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE)


def read_whole(path: Path) -> tuple[str, int]:
    """Return the name and the generation of the writer of this file, which must be whole."""
    first, *others = lines = path.read_text().splitlines()
    assert len(lines) == 2000
    assert set(others) == {first}
    match = re.fullmatch(r"(\w+) (\d+)", first)
    assert match
    return match[1], int(match[2])


@pytest.mark.skipif(sys.platform == "win32", reason="nothing is killed by a signal there")
class TestKilled:
    """Whenever a writer is killed, the file is the old one or the new one, whole."""

    def test_a_writer_can_be_killed_at_every_step(self, tmp_path: Path) -> None:
        done = subprocess.run(
            [sys.executable, "-c", KILLED_AT_EVERY_STEP, str(tmp_path / "file")],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        found = done.stdout.split()
        assert len(found) > 200
        assert set(found) == {"old", "new"}
        assert sorted(found, reverse=True) == found, "once it is new it stays so"

    def test_a_writer_can_be_killed_at_any_moment(self, tmp_path: Path) -> None:
        """Between two reports, the writer can be anywhere in its loop."""
        path = tmp_path / "file"
        for reports in range(1, 21):
            with start_writer(path, "writer", 10_000) as writer:
                assert writer.stdout
                writer.stdout.read(reports)
                writer.kill()
            name, generation = read_whole(path)
            assert name == "writer"
            assert generation >= reports - 1


class TestWriters:
    """Each read is whole, and never older than an earlier read of the same writer."""

    def test_four_writers_and_a_reader(self, tmp_path: Path) -> None:
        path = tmp_path / "file"
        writers = [start_writer(path, f"w{number}", WRITES) for number in range(4)]
        newest: dict[str, int] = {}
        try:
            for writer in writers:
                assert writer.stdout
                writer.stdout.read(1)
            while any(writer.poll() is None for writer in writers):
                name, generation = read_whole(path)
                assert generation >= newest.get(name, 0)
                newest[name] = generation
        finally:
            for writer in writers:
                writer.kill()
                writer.communicate()
        assert [writer.returncode for writer in writers] == [0] * 4
        assert [file.name for file in tmp_path.iterdir()] == ["file"]
        assert read_whole(path)[1] == WRITES - 1
