"""`facts.h` beside its values: memory, stack, tables, numbers, and systems that are not at hand."""

from __future__ import annotations

import json
import platform
import random
import struct
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from device_facts import detected_in_cpp, restored_tree
from device_programs import SANITIZED, SOURCES, compile_device_program, run_device_program
from write_device_tables import DIRECTORY, bound_text, tables

MAX_STACK_BYTES = 112_000
"""The number in facts.h, with gcc and `-Os` on a 64-bit processor."""

NEEDS_GLIBC = pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="only glibc's allocations are counted"
)
NEEDS_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="the stand-ins replace headers on Linux")


def writable_tree(directory: Path) -> Path:
    """Return a tree in which only the memory and one GPU are known."""
    device = directory / "sys" / "class" / "drm" / "renderD128" / "device"
    device.mkdir(parents=True)
    (device / "uevent").write_text("DRIVER=v3d\nOF_COMPATIBLE_0=brcm,2712-v3d\n")
    (directory / "proc").mkdir()
    return directory


class TestDetection:
    """Detection repeats, keeps to its limits, and leaves alone what the application set."""

    def test_again_and_beside_facts_of_the_application(self, tmp_path: Path) -> None:
        program = compile_device_program(
            "detection.cpp", tmp_path / "detection", "-O1", "-pthread", *SANITIZED
        )
        assert run_device_program(program, str(writable_tree(tmp_path / "tree"))).startswith("stack ")

    def test_on_a_small_stack(self, tmp_path: Path) -> None:
        program = compile_device_program("detection.cpp", tmp_path / "detection", "-Os", "-pthread")
        output = run_device_program(program, str(writable_tree(tmp_path / "tree")))
        assert int(output.removeprefix("stack ")) <= MAX_STACK_BYTES

    @NEEDS_GLIBC
    def test_without_a_heap(self, tmp_path: Path) -> None:
        program = compile_device_program("allocations.cpp", tmp_path / "allocations", "-O1")
        trees = [
            str(restored_tree(name, tmp_path))
            for name in (
                "core-ultra-laptop",
                "pixel-8",
                "container-cgroup-v2",
                "macbook-air-m2",
                "raspberry-pi-5",
            )
        ]
        assert run_device_program(program, *trees) == "0 counted\n"


class TestOtherSystems:
    """Code for Android and Apple systems compiles and works, with stand-ins for their headers."""

    @NEEDS_LINUX
    def test_properties_of_android(self, tmp_path: Path) -> None:
        flags = ("-D__ANDROID__", "-isystem", str(SOURCES / "android"))
        program = compile_device_program("facts.cpp", tmp_path / "facts", *flags)
        facts = json.loads(detected_in_cpp(program))["facts"]
        assert facts["os.name"] == {"value": "android", "origin": "detected uname"}
        assert facts["os.api_level"]["value"] == 35
        assert facts["device.model"] == {"value": "Pixel 8", "origin": "detected getprop ro.product.model"}
        # the platform comes closest before Android 12
        assert facts["soc.model"] == {"value": "zuma", "origin": "detected getprop ro.board.platform"}

    @NEEDS_LINUX
    def test_sysctl_of_apple(self, tmp_path: Path) -> None:
        flags = ("-DETCONFIG_FACTS_APPLE", "-isystem", str(SOURCES / "apple"))
        program = compile_device_program("facts.cpp", tmp_path / "facts", *flags)
        facts = json.loads(detected_in_cpp(program))["facts"]
        captured = json.loads(detected_in_cpp(program, str(restored_tree("macbook-air-m2", tmp_path))))[
            "facts"
        ]
        for name in (
            "os.name",
            "os.version",
            "cpu.model",
            "cpu.vendor",
            "cpu.logical_cores",
            "cpu.physical_cores",
        ):
            assert facts[name] == captured[name]
        for name in ("cpu.performance_cores", "cpu.efficiency_cores", "cpu.available_cores", "cpu.cache.l1d"):
            assert facts[name] == captured[name]
        for name in (
            "memory.swap_total",
            "device.model",
            "soc.model",
            "npu.count",
            "npu.0.name",
            "power.source",
        ):
            assert facts[name] == captured[name]
        assert facts["cpu.features"]["value"] == ["asimddp", "bf16"]
        assert facts["memory.total"]["value"] == 16 << 30


class TestTables:
    """The tables of the headers are those of Python."""

    @pytest.mark.parametrize("name", ["fact_table.h", "name_tables.h", "unicode.h"])
    def test_are_written_by_the_tool(self, name: str) -> None:
        text = (DIRECTORY / name).read_text("utf-8")
        if name == "unicode.h" and f'"{unicodedata.unidata_version}"' not in text:
            pytest.skip("this Python has another version of Unicode")
        assert text == tables()[name], "run tools/write_device_tables.py"

    def test_of_printable_characters(self, tmp_path: Path) -> None:
        output = run_device_program(compile_device_program("printable.cpp", tmp_path / "printable"))
        is_other_version = f'"{unicodedata.unidata_version}"' not in (DIRECTORY / "unicode.h").read_text(
            "utf-8"
        )
        for code_point in range(sys.maxunicode + 1):
            # characters that only one of two versions of Unicode knows
            if is_other_version and (output[code_point] == "0" or not chr(code_point).isprintable()):
                continue
            assert (output[code_point] == "1") == chr(code_point).isprintable(), hex(code_point)


class TestNumbers:
    """Numbers are written as Python writes them."""

    def test_doubles(self, tmp_path: Path) -> None:
        chance = random.Random(7)
        numbers = [
            *(struct.unpack("<d", chance.randbytes(8))[0] for _ in range(5000)),
            *(chance.randrange(-50_000, 200_000) / 1000 for _ in range(5000)),
            *(chance.randrange(1, 10**6) / chance.randrange(1, 10**6) for _ in range(5000)),
            *(2.0**exponent for exponent in range(-1074, 1024)),
            *(10.0**exponent for exponent in range(-323, 309)),
            *(0.0, -0.0, 5e-324, 1.7976931348623157e308, 1e16, 1e15, 123456.5, 0.0001, 0.00001),
        ]
        finite = [number for number in numbers if number - number == 0]
        lines = "".join(f"{struct.unpack('<Q', struct.pack('<d', number))[0]:x}\n" for number in finite)
        program = compile_device_program("decimals.cpp", tmp_path / "decimals", *SANITIZED)
        output = subprocess.run([program], input=lines, capture_output=True, text=True, check=True).stdout
        assert output.splitlines() == [f"{number!r} {number:g}" for number in finite]

    def test_bounds_that_the_header_cannot_keep_are_refused(self) -> None:
        texts = [bound_text("a.b", bound) for bound in (None, 0, 1.0, -127)]
        assert texts == ["kUnbounded", "0", "1", "-127"]
        for bound in (0.5, -0.1, 128, -128):
            with pytest.raises(ValueError, match=f"a.b: the bound {bound} is not a whole number"):
                bound_text("a.b", bound)
