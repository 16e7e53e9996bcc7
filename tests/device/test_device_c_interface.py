"""`etconfig_device.h`: the C interface, called through ctypes."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bundle_tables import TEXTS, small_tables
from device_programs import STRICT, system_compiler

from etconfig.device import device_include_dir
from etconfig.device.bundle_writer import write_tables

HEADER = device_include_dir() / "etconfig" / "etconfig_device.h"
SOURCE = device_include_dir().parent / "etconfig_device.cpp"
NAMES = sorted(set(re.findall(r"\b(etconfig_device_[a-z_]+)\(", HEADER.read_text())))
STATUSES = re.findall(
    r"ETCONFIG_DEVICE_(\w+)", HEADER.read_text().partition("typedef enum {")[2].partition("}")[0]
)
TABLES = replace(small_tables(), texts=("cpu.cores", "cpu.model", *TEXTS[2:]))
_RETURNS_TEXT = ("status_name", "fact_name", "profile", "profile_name")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The library, built as its header says."""
    target = tmp_path_factory.mktemp("library") / "libetconfig_device.so"
    flags = [*STRICT, "-Os", "-shared", "-fPIC", f"-I{device_include_dir()}"]
    done = subprocess.run(
        [system_compiler(), *flags, str(SOURCE), "-o", str(target)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    library = ctypes.CDLL(str(target))
    for name in NAMES:
        is_text = name.removeprefix("etconfig_device_") in _RETURNS_TEXT
        is_size = name.endswith(("_size", "_explain", "_explain_match", "_text")) and "set_text" not in name
        function = getattr(library, name)
        function.restype = ctypes.c_char_p if is_text else ctypes.c_size_t if is_size else ctypes.c_int
    library.etconfig_device_create.restype = ctypes.c_void_p
    library.etconfig_device_forget.restype = None
    return library


class Device:
    """One object of the library; statuses are their names."""

    def __init__(self, library: ctypes.CDLL, data: bytes) -> None:
        self._library = library
        size = library.etconfig_device_size()
        self._memory = ctypes.create_string_buffer(size)
        self._device = ctypes.c_void_p(library.etconfig_device_create(self._memory, ctypes.c_size_t(size)))
        self._data = data
        self.opened = self.status("open", data, ctypes.c_size_t(len(data)))

    def call(self, name: str, *arguments: object) -> Any:
        function: Callable[..., Any] = getattr(self._library, f"etconfig_device_{name}")
        return function(self._device, *arguments)

    def status(self, name: str, *arguments: object) -> str:
        return STATUSES[self.call(name, *arguments)]

    def written(self, name: str, *arguments: object) -> str:
        buffer = ctypes.create_string_buffer(500)
        needed = self.call(name, *arguments, buffer, ctypes.c_size_t(len(buffer)))
        assert needed == len(buffer.value)
        return buffer.value.decode()

    def integer(self, backend: bytes, option: bytes) -> int | str:
        value = ctypes.c_int64()
        status = self.status("integer", backend, option, ctypes.byref(value))
        return value.value if status == "OK" else status

    def update(self) -> tuple[str, int, int]:
        changed, at_execute = ctypes.c_uint32(), ctypes.c_uint32()
        status = self.status("update", ctypes.byref(changed), ctypes.byref(at_execute))
        return status, changed.value, at_execute.value

    def model(self, name: str, argument: bytes) -> tuple[str, bytes | None]:
        file = ctypes.c_char_p()
        return self.status(name, argument, ctypes.byref(file)), file.value


@pytest.fixture
def device(library: ctypes.CDLL) -> Device:
    """An object with the small bundle."""
    return Device(library, write_tables(TABLES))


class TestCInterface:
    """The C functions do what the C++ classes do."""

    def test_a_compiler_for_c_accepts_the_header(self, tmp_path: Path) -> None:
        compiler = shutil.which("cc") or shutil.which("gcc")
        if compiler is None:
            pytest.skip("no C compiler")
        (tmp_path / "use.c").write_text(
            "#include <etconfig/etconfig_device.h>\nint main(void) { return (int)sizeof(size_t) - 8; }\n"
        )
        command = [compiler, "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
        subprocess.run([*command, f"-I{device_include_dir()}", "-c", "use.c"], cwd=tmp_path, check=True)

    def test_every_function_of_the_header_is_in_the_library(self, library: ctypes.CDLL) -> None:
        assert len(NAMES) == 27
        assert all(hasattr(library, name) for name in NAMES)

    def test_a_profile_is_selected_and_resolved(self, device: Device) -> None:
        assert device.opened == "OK"
        assert device.status("select") == "NO_MATCH"
        assert device.status("set_integer", b"cpu.cores", ctypes.c_int64(6)) == "OK"
        assert device.status("select") == "OK"
        assert device.call("profile") == b"phone"
        assert device.written("explain_match", 0) == "cores > 4 holds: cpu.cores is 6"
        assert device.status("resolve", b"forward", None) == "OK"
        assert device.integer(b"B", b"threads") == 6
        assert device.written("explain", b"forward:B.threads") == "forward:B.threads = 6 from a.toml:3:1"
        assert device.written("text", b"B", b"threads") == "6"
        assert device.integer(b"B", b"fast") == device.integer(b"B", b"nothing") == "NO_SUCH_OPTION"

    def test_only_an_accepted_bundle_replaces_the_one_before(self, device: Device) -> None:
        device.call("set_integer", b"cpu.cores", ctypes.c_int64(6))
        device.call("select")
        assert device.status("resolve", b"forward", None) == "OK"
        assert device.status("open", b"x", ctypes.c_size_t(1)) == "NOT_A_BUNDLE"
        assert device.call("profile") == b"phone"
        assert device.integer(b"B", b"threads") == 6
        again = write_tables(TABLES)
        assert device.status("open", again, ctypes.c_size_t(len(again))) == "OK"
        assert device.call("profile") is None
        assert device.integer(b"B", b"threads") == "NO_SUCH_OPTION"

    def test_an_update_counts_the_options_that_changed(self, device: Device) -> None:
        device.call("set_integer", b"cpu.cores", ctypes.c_int64(6))
        device.call("select")
        assert device.status("resolve", b"forward", b"left") == "OK"
        assert device.update() == ("OK", 0, 0)
        device.call("set_integer", b"cpu.cores", ctypes.c_int64(64))
        assert device.update() == ("OK", 1, 1)
        assert device.call("is_changed", b"B", b"threads") == 1
        device.call("set_integer", b"cpu.cores", ctypes.c_int64(65))
        assert device.update() == ("INVALID_VALUE", 0, 0)
        assert device.integer(b"B", b"threads") == 64

    def test_wrong_facts_and_names_have_a_status(self, device: Device) -> None:
        assert device.status("set_integer", b"cpu.cores", ctypes.c_int64(0)) == "WRONG_FACT"
        assert device.status("set_text", b"cpu.cores", b"6") == "WRONG_FACT"
        assert device.status("set_text", b"cpu.nothing", b"6") == "NO_SUCH_FACT"
        assert device.status("use_profile", b"tablet") == "NO_SUCH_PROFILE"
        assert device.status("resolve", b"forward", None) == "NO_SUCH_PROFILE"
        assert device.status("use_profile", b"phone") == "OK"
        assert device.status("resolve", b"forward", b"right") == "NO_SUCH_INSTANCE"
        assert device.status("resolve", b"decode", None) == "NO_SUCH_METHOD"
        assert device.call("fact_name", 1) == b"cpu.model"
        assert device.call("fact_name", 2) is None

    def test_damaged_bytes_are_refused(self, library: ctypes.CDLL) -> None:
        assert Device(library, b"text").opened == "NOT_A_BUNDLE"
        assert Device(library, write_tables(TABLES)[:-4]).opened == "DAMAGED"

    def test_a_model_is_selected_with_the_facts(self, device: Device) -> None:
        assert device.model("select_model", b"nothing") == ("NO_SUCH_MODEL", None)
        assert device.model("select_model", b"cpu.model") == ("NO_VARIANT", None)
        assert device.model("next_variant", b"code 0x12") == ("NO_VARIANT", None)
