"""Libraries that do not keep to the interface are refused, or fail, each with an error that says so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from c_libraries import Payload, compile_library, execute_context, init_context

from etconfig.base.compile_specs import CompileSpecs
from etconfig.c_interface.backend import CBackend
from etconfig.c_interface.backend_error import CBackendError
from etconfig.c_interface.foreign_memory import WrongAddressError, read_c_text, read_memory
from etconfig.plugin.v1 import BackendOptions, option


class TextOptions(BackendOptions):
    """An option."""

    word: str = option("", applies="execute", doc="A word for the test.")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_library("hostile", tmp_path_factory.mktemp("hostile"))


class TestRefused:
    """A library that does not fit makes its backend unavailable, with the reason and the fix."""

    @pytest.mark.parametrize(
        ("backend_id", "reason", "fix"),
        [
            (
                "older-major",
                "was built for version 0.0 of the interface, and this etconfig has 1.0",
                "compile it",
            ),
            (
                "newer-major",
                "was built for version 2.0 of the interface, and this etconfig has 1.0",
                "update etconfig",
            ),
            (
                "newer-minor",
                "needs version 1.1 of the interface, and this etconfig has 1.0",
                "update etconfig",
            ),
            ("short-table", "has 24 bytes, expected 64 or more", "struct_size"),
            ("huge-table", "has 18446744073709551615 bytes, expected 64 or more", "struct_size"),
            ("no-run", "has no function run", "set run in its EtconfigBackend"),
            ("garbage-run", "returns a table that is not in memory", "static struct"),
            ("garbage-table", "returns a table that is not in memory", "static struct"),
            ("null-table", "it gives no reason; this etconfig has version 1.0", "versions of both"),
            ("refuses-host", "it needs a newer etconfig", "versions of both"),
        ],
    )
    def test_a_table_that_does_not_fit(self, hostile: Path, backend_id: str, reason: str, fix: str) -> None:
        availability = CBackend(hostile, backend_id).availability()
        assert not availability.is_available
        assert reason in str(availability.reason)
        assert str(hostile) in str(availability.reason)
        assert fix in str(availability.fix)

    def test_a_library_without_the_function(self, tmp_path: Path) -> None:
        availability = CBackend(compile_library("entryless", tmp_path), "AnyBackend").availability()
        assert "does not export etconfig_backend" in str(availability.reason)

    @pytest.mark.parametrize("content", [None, b"", b"no library"])
    def test_a_file_that_is_not_a_library(self, tmp_path: Path, content: bytes | None) -> None:
        path = tmp_path / "any.so"
        if content is not None:
            path.write_bytes(content)
        availability = CBackend(path, "AnyBackend").availability()
        assert "its library cannot be loaded" in str(availability.reason)
        assert availability.fix is not None


class TestBadBehavior:
    """Texts, values and handles of a library are bounded and checked."""

    def load(self, hostile: Path, backend_id: str) -> tuple[CBackend, object]:
        backend = CBackend(hostile, backend_id)
        return backend, backend.init(init_context(TextOptions()), Payload(), CompileSpecs())

    @pytest.mark.parametrize(
        ("backend_id", "code_name", "text"),
        [
            ("no-handle", "DelegateInvalidHandle", "it returned no handle; set *resource_handle"),
            ("endless-message", "InvalidProgram", "x" * 1024),
            ("not-utf8", "code 0x7777", "bad \\xff"),
            ("replaced-message", "Internal", ""),
        ],
    )
    def test_init_fails_with_what_can_be_read(
        self, hostile: Path, backend_id: str, code_name: str, text: str
    ) -> None:
        with pytest.raises(CBackendError) as caught:
            self.load(hostile, backend_id)
        assert (caught.value.code_name, caught.value.text) == (code_name, text)
        number = r", unknown to ExecuTorch: " if "0x" in code_name else r" \(0x"
        assert re.match(f"init failed with {code_name}{number}", str(caught.value))

    @pytest.mark.parametrize(
        ("backend_id", "problem"),
        [
            ("bad-text", "bytes at address 0x8 cannot be read"),
            ("bad-kind", "1234 is not a kind of value"),
            ("bad-count", "it has too many items, or is nested too deeply"),
            ("cyclic", "it has too many items, or is nested too deeply"),
        ],
    )
    def test_a_reported_option_that_cannot_be_read(
        self, hostile: Path, backend_id: str, problem: str
    ) -> None:
        backend, handle = self.load(hostile, backend_id)
        with pytest.raises(ValueError, match=f"the value of word cannot be read: .*{problem}"):
            backend.effective_options(handle)

    def test_services_with_wrong_arguments(self, hostile: Path) -> None:
        """A line at a wrong address is not logged, and no output gets sizes from one."""
        backend, handle = self.load(hostile, "usual")
        with pytest.raises(WrongAddressError, match="at address 0x8 cannot be read"):
            backend.execute(execute_context(TextOptions()), handle, [])

    def test_a_loop_without_a_task_is_an_error(self, hostile: Path) -> None:
        backend, handle = self.load(hostile, "null-task")
        with pytest.raises(CBackendError, match=r"run failed with InvalidArgument \(0x12\)"):
            backend.execute(execute_context(TextOptions()), handle, [])

    def test_a_destroyed_handle_does_not_reach_the_library(self, hostile: Path) -> None:
        backend, handle = self.load(hostile, "usual")
        backend.destroy(handle)
        with pytest.raises(ValueError, match="the handle was destroyed"):
            backend.execute(execute_context(TextOptions()), handle, [])


class TestForeignMemory:
    """Memory is read as it is, or refused."""

    @pytest.mark.parametrize("size", [0, 1, 4096, 100_000])
    def test_what_is_there_is_read(self, size: int) -> None:
        import numpy as np

        data = np.arange(size, dtype=np.uint64).astype(np.uint8)
        assert read_memory(data.ctypes.data, size) == data.tobytes()

    @pytest.mark.parametrize("address", [None, 0, 8, 2**47 + 5])
    def test_what_is_not_there_is_refused(self, address: int | None) -> None:
        with pytest.raises(WrongAddressError):
            read_memory(address, 4)
        with pytest.raises(WrongAddressError):
            read_c_text(address, 100)

    def test_a_text_ends_at_its_nul_or_at_the_limit(self) -> None:
        import ctypes

        text = ctypes.create_string_buffer(b"abc" * 3000)
        assert read_c_text(ctypes.addressof(text), 1 << 16) == "abc" * 3000
        assert read_c_text(ctypes.addressof(text), 4) == "abca"
