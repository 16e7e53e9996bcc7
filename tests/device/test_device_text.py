"""`device/text.h`: numbers as Python writes them."""

from __future__ import annotations

import random
import struct
import subprocess
from pathlib import Path

from device_programs import SANITIZED, compile_device_program

COUNT = 5_000


class TestNumbers:
    """A number is the shortest text that reads as the same number, as `repr` writes it."""

    def test_they_are_written_as_python_writes_them(self, tmp_path: Path) -> None:
        program = compile_device_program("shown_numbers.cpp", tmp_path / "numbers", *SANITIZED)
        rng = random.Random(1)
        patterns = [rng.getrandbits(64) for _ in range(COUNT)]
        numbers = [struct.unpack("<d", struct.pack("<Q", bits))[0] for bits in patterns]
        numbers += [rng.randrange(10**6) / 10 ** rng.randrange(8) for _ in range(COUNT)]
        numbers += [sign * 2.0**exponent for exponent in range(-1074, 1024) for sign in (1, -1)]
        numbers += [0.0, -0.0, 1e16, 9999999999999998.0, 1e15, 1e-4, 9.999e-5, 5e-324, 1.7976931348623157e308]
        numbers += [float("inf"), float("-inf"), float("nan")]
        done = subprocess.run(
            [str(program)], input=struct.pack(f"<{len(numbers)}d", *numbers), capture_output=True, check=True
        )
        wanted = ["nan" if number != number else repr(number) for number in numbers]
        assert done.stdout.decode().splitlines() == wanted
