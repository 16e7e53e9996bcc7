"""`CBackendError`: a function of a library that did not return ETCONFIG_OK."""

from __future__ import annotations

from collections.abc import Mapping
from ctypes import addressof, create_string_buffer

from etconfig.c_interface.structs import CMessage

OK = 0
INTERNAL = 0x01
INVALID_ARGUMENT = 0x12
NOT_FOUND = 0x20

STATUS_NAMES: Mapping[int, str] = {
    INTERNAL: "Internal",
    0x02: "InvalidState",
    0x10: "NotSupported",
    0x11: "NotImplemented",
    INVALID_ARGUMENT: "InvalidArgument",
    0x13: "InvalidType",
    0x14: "OperatorMissing",
    NOT_FOUND: "NotFound",
    0x21: "MemoryAllocationFailed",
    0x22: "AccessFailed",
    0x23: "InvalidProgram",
    0x24: "InvalidExternalData",
    0x25: "OutOfResources",
    0x30: "DelegateInvalidCompatibility",
    0x31: "DelegateMemoryAllocationFailed",
    0x32: "DelegateInvalidHandle",
}
"""ExecuTorch's names of its error codes. Source: runtime/core/error.h."""

MESSAGE_BYTES = 1024
"""The room for an error text; the header promises none, so a library must respect `capacity`."""


class CBackendError(Exception):
    """A function of a backend in C failed.

    Attributes:
        function: The function, such as `run`.
        code: ExecuTorch's error code, which it returned.
        code_name: The name of that code, or the number if ExecuTorch has none.
        text: The text that it wrote, or an empty one.
    """

    def __init__(self, function: str, code: int, text: str) -> None:
        super().__init__(function, code, text)
        self.function = function
        self.code = code
        self.code_name = STATUS_NAMES.get(code, f"code {code:#x}")
        self.text = text

    def __str__(self) -> str:
        detail = self.text or "the library gives no reason"
        number = f" ({self.code:#04x})" if self.code in STATUS_NAMES else ", unknown to ExecuTorch"
        return f"{self.function} failed with {self.code_name}{number}: {detail}"


class MessageBuffer:
    """Room for a text that a library writes; it is bounded, whatever the library does with it.

    Attributes:
        address: The address of the `CMessage` to pass on.
    """

    def __init__(self) -> None:
        self._buffer = create_string_buffer(MESSAGE_BYTES)
        self._struct = CMessage(addressof(self._buffer), MESSAGE_BYTES)
        self.address = addressof(self._struct)

    def clear(self) -> None:
        """Forget the last text."""
        self._buffer[0] = b"\0"

    @property
    def text(self) -> str:
        """The text that was written last; bytes that are not UTF-8 are shown as escapes."""
        written: bytes = self._buffer.raw.split(b"\0", 1)[0]
        return written.decode(errors="backslashreplace")
