"""Failures of the real runtime are typed errors with its code, whatever bytes its log contains."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from unicodedata import category

import pytest

import etconfig
from etconfig.errors import (
    DelegateError,
    DelegateInvalidCompatibilityError,
    EtconfigError,
    MissingOperatorError,
    RuntimeFailedError,
)
from etconfig.program.program import open_program

pytestmark = pytest.mark.peers

PROGRAMS = Path(__file__).parents[3] / "tests" / "data" / "programs"
XNNPACK = (PROGRAMS / "xnnpack.pte").read_bytes()


def load(program: bytes) -> None:
    etconfig.load_program(program, executor="executorch").load_method("forward").close()


def identifier_changed(identifier: bytes) -> bytes:
    """Return a program whose first payload of XNNPACK has another identifier of its format."""
    with open_program(XNNPACK) as program:
        payload = bytes(program.delegate_data(program.plan("forward").delegates[0]))
    start = XNNPACK.index(payload)
    at = start + payload.index(b"XN0")
    return XNNPACK[:at] + identifier + XNNPACK[at + 4 :]


class TestCodes:
    """Errors have the runtime's code and its name."""

    def test_a_payload_of_another_version(self) -> None:
        with pytest.raises(
            DelegateInvalidCompatibilityError, match="'XN99' != expected XN00 or XN01"
        ) as caught:
            load(identifier_changed(b"XN99"))
        error = caught.value
        assert (error.code, error.code_name) == (0x30, "DelegateInvalidCompatibility")
        assert (error.backend, error.method, error.phase) == ("XnnpackBackend", "forward", "init")
        assert isinstance(error, DelegateError)

    def test_an_operator_that_the_runtime_lacks(self) -> None:
        program = (PROGRAMS / "add.pte").read_bytes().replace(b"aten::add", b"aten::xyz")
        with pytest.raises(MissingOperatorError) as caught:
            load(program)
        assert (caught.value.code, caught.value.code_name) == (0x14, "OperatorMissing")

    def test_any_other_failure(self) -> None:
        from etconfig_executorch.failures import blame
        from etconfig_executorch.native import native

        with pytest.raises(RuntimeFailedError) as caught, blame("load", "backward"):
            native.Method(native.Program(XNNPACK, []), "backward", [], False)
        assert (caught.value.code, caught.value.code_name) == (0x12, "InvalidArgument")

    def test_an_error_of_etconfig_has_none(self) -> None:
        with pytest.raises(DelegateError) as caught:
            raise DelegateError(backend="B", method="forward", phase="init", cause="no device")
        assert (caught.value.code, caught.value.code_name) == (None, None)

    def test_the_runtime_receives_the_code_of_a_python_backend(self, in_process: Callable[..., str]) -> None:
        code = """
import sys
from etconfig.plugin.v1 import DelegateInvalidCompatibilityError
from etconfig_executorch.native import native
from executorch.runtime import Runtime

class Callbacks:
    def is_available(self):
        return True
    def init(self, options):
        raise Callbacks.error

native.register_python_backend("CoreMLBackend", Callbacks())
data = open(sys.argv[1], "rb").read().replace(b"XnnpackBackend", b"CoreMLBackend\\0")
incompatible = DelegateInvalidCompatibilityError(cause="format version 9")
for Callbacks.error in incompatible, ValueError("no memory"), SystemExit(2):
    try:
        Runtime.get().load_program(data).load_method("forward")
    except RuntimeError as error:
        print(str(error))
"""
        lines = in_process(code, PROGRAMS / "xnnpack.pte").splitlines()
        assert [line.rpartition(":")[2] for line in lines[-3:]] == ["30", "1", "1"]


class TestLogLines:
    """Bytes of a damaged program in a log line are shown as escapes."""

    @pytest.mark.parametrize(
        ("identifier", "shown"),
        [
            (b"\x80N00", r"\x80N00"),
            (b"\xff\xfe\x1b\x07", r"\xff\xfe\x1b\x07"),
            (b"\xc2\x9b\xe2\x80", r"\x9b\xe2\x80"),
            (b"X\xe2\x80\xae", r"X\u202e"),
            ("é00".encode(), "é00"),
            ("🦊".encode(), "🦊"),
            (b"\xed\xa0\x80X", r"\xed\xa0\x80X"),
            (b"\xf4\x90\x80\x80", r"\xf4\x90\x80\x80"),
        ],
    )
    def test_bytes_that_are_not_printable_text(self, identifier: bytes, shown: str) -> None:
        with pytest.raises(DelegateInvalidCompatibilityError) as caught:
            load(identifier_changed(identifier))
        assert f"'{shown}' != expected" in caught.value.cause

    def test_random_bytes_as_python_decodes_them(self) -> None:
        """By another way: Python's own decoder and its table of characters."""
        generator = random.Random(0)
        for _ in range(150):
            identifier = bytes(generator.choice(_LIKELY) for _ in range(4))
            with pytest.raises(DelegateInvalidCompatibilityError) as caught:
                load(identifier_changed(identifier))
            text = identifier.decode(errors="backslashreplace")
            shown = "".join(_escape(each) if category(each) in _CONTROLS else each for each in text)
            assert f"'{shown}' != expected" in caught.value.cause

    def test_damaged_payloads_give_typed_errors_only(self) -> None:
        messages = []
        for program in damaged_programs():
            try:
                load(program)
            except EtconfigError as error:
                messages.append(str(error))
        assert len(messages) > 100
        assert all(map(str.isprintable, messages))


_CONTROLS = {"Cc", "Cf", "Zl", "Zp"}
_LIKELY = b"\x01\x1b\x41\x7f\x80\x82\x9f\xa9\xc2\xc3\xe2\xed\xf0\xf4\xff"


def _escape(character: str) -> str:
    number = ord(character)
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"


def damaged_programs() -> Iterator[bytes]:
    """Yield programs with damage in the header of a payload, from which XNNPACK quotes."""
    generator, start = random.Random(1), XNNPACK.index(b"XH00")
    for _ in range(300):
        damaged = bytearray(XNNPACK)
        for _ in range(generator.choice([1, 2, 5])):
            damaged[start + generator.randrange(40)] = generator.choice([0x80, 0xFF, 0x1B, 0x07, 0xC3])
        yield bytes(damaged)
