"""`etconfig_device.h`, called through ctypes: its prototypes are read from the header."""

from __future__ import annotations

import ctypes
import json
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from compilers import compiled, system_compiler
from device_programs import STRICT

from etconfig.device import device_include_dir

HEADER = device_include_dir() / "etconfig" / "etconfig_device.h"
SOURCE = device_include_dir().parent / "etconfig_device.cpp"
_TEXT = re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.DOTALL)
PROTOTYPES = {
    name: (result.strip(), re.sub(r"\s+", " ", arguments))
    for result, name, arguments in re.findall(
        r"^((?:const )?\w+\*?) etconfig_device_(\w+)\(([^)]*)\);", _TEXT, re.MULTILINE
    )
}
"""By name without the prefix: the type of the result, and the parameters."""

_STATUS_LINES = re.findall(
    r"ETCONFIG_DEVICE_(\w+)(?: = (\d+))?", _TEXT.partition("typedef enum {")[2].partition("}")[0]
)
STATUSES = {int(value or number): name for number, (name, value) in enumerate(_STATUS_LINES)}
KINDS = ("NONE", "BOOLEAN", "INTEGER", "NUMBER", "TEXT", "ARRAY", "TABLE")
_TYPES = {
    "int": ctypes.c_int,
    "size_t": ctypes.c_size_t,
    "uint32_t": ctypes.c_uint32,
    "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64,
    "double": ctypes.c_double,
    "const char*": ctypes.c_char_p,
    "etconfig_device*": ctypes.c_void_p,
}


def _type_of(parameter: str) -> Any:
    type_name = parameter.rpartition(" ")[0]
    if type_name in _TYPES:
        return _TYPES[type_name]
    assert type_name.endswith("*"), parameter
    return ctypes.c_void_p


def build_library(target: Path) -> ctypes.CDLL:
    """Build the library as its header says, and load it."""
    flags = [*STRICT, "-Os", "-shared", "-fPIC", "-fvisibility-inlines-hidden", f"-I{device_include_dir()}"]
    library = ctypes.CDLL(str(compiled([system_compiler(), *flags, SOURCE], target)))
    for name, (result, parameters) in PROTOTYPES.items():
        function = getattr(library, f"etconfig_device_{name}")
        function.restype = _TYPES[result]
        function.argtypes = (
            [] if parameters == "void" else [_type_of(each) for each in parameters.split(", ")]
        )
    return library


class Usage(ctypes.Structure):
    """`etconfig_usage`, as `ETCONFIG_USAGE_INIT` leaves it, but for the fields that are given."""

    _fields_ = (
        *(("size", ctypes.c_size_t), ("device", ctypes.c_char_p), ("at_ms", ctypes.c_int64)),
        *(("load_us", ctypes.c_double), ("first_run_us", ctypes.c_double), ("p50_us", ctypes.c_double)),
        *(("p95_us", ctypes.c_double), ("runs", ctypes.c_int64), ("failure", ctypes.c_char_p)),
    )

    def __init__(self, **given: object) -> None:
        numbers = dict.fromkeys(("at_ms", "load_us", "first_run_us", "p50_us", "p95_us", "runs"), -1)
        super().__init__(**{"size": ctypes.sizeof(Usage), **numbers, **given})


class Device:
    """One object of the library; statuses are their names, and texts are `str`."""

    def __init__(self, library: ctypes.CDLL, data: bytes | None = None) -> None:
        self._library = library
        size = library.etconfig_device_size()
        self._memory = ctypes.create_string_buffer(size)
        self._device = library.etconfig_device_create(self._memory, size)
        self._data = data
        self.opened = None if data is None else self.status("open", data, len(data))

    def call(self, name: str, *arguments: object) -> Any:
        """Call a function with the object; texts are encoded."""
        function: Callable[..., Any] = getattr(self._library, f"etconfig_device_{name}")
        encoded = [each.encode() if isinstance(each, str) else each for each in arguments]
        result = function(self._device, *encoded)
        return result.decode() if isinstance(result, bytes) else result

    def status(self, name: str, *arguments: object) -> str:
        return STATUSES[self.call(name, *arguments)]

    def written(self, name: str, *arguments: object) -> str:
        """The text that a function writes to a buffer."""
        needed = self.call(name, *arguments, None, 0)
        buffer = ctypes.create_string_buffer(needed + 1)
        assert self.call(name, *arguments, buffer, len(buffer)) == needed == len(buffer.value)
        return buffer.value.decode()

    def listed(self, name: str) -> list[str]:
        """The texts of a function with an index."""
        return list(self._until_none(name))

    def _until_none(self, name: str) -> Iterator[str]:
        for index in count():
            text = self.call(name, index)
            if text is None:
                return
            yield text

    def integer(self, backend: str, option: str) -> int | str:
        value = ctypes.c_int64()
        status = self.status("integer", backend, option, ctypes.byref(value))
        return value.value if status == "OK" else status

    def value(self, backend: str, option: str) -> object:
        """The value by the function of its kind; a list or table from its JSON."""
        kind = KINDS[self.call("value_kind", backend, option)]
        types = {"BOOLEAN": ctypes.c_int, "INTEGER": ctypes.c_int64, "NUMBER": ctypes.c_double}
        if kind in types:
            value = types[kind]()
            assert self.status(kind.lower(), backend, option, ctypes.byref(value)) == "OK"
            return bool(value.value) if kind == "BOOLEAN" else value.value
        if kind == "TEXT":
            return self.written("text", backend, option)
        return json.loads(self.written("json", backend, option))

    def update(self) -> tuple[str, int, int]:
        changed, at_execute = ctypes.c_uint32(9), ctypes.c_uint32(9)
        status = self.status("update", ctypes.byref(changed), ctypes.byref(at_execute))
        return status, changed.value, at_execute.value

    def model(self, name: str, argument: str) -> tuple[str, str | None]:
        file = ctypes.c_char_p(b"before")
        status = self.status(name, argument, ctypes.byref(file))
        return status, None if file.value is None else file.value.decode()

    def usage(self, size: int = 2049, **given: object) -> bytes | str:
        """The record with what the application knows, or the status."""
        buffer = ctypes.create_string_buffer(b"." * size)
        status = self.status("usage", ctypes.byref(Usage(**given)), buffer, size)
        assert (status == "OK") == (buffer.value != b"")
        return buffer.value if status == "OK" else status

    def set(self, fact: str, value: object) -> str:
        """Set a fact by the function of its type."""
        if isinstance(value, bool):
            return self.status("set_boolean", fact, value)
        if isinstance(value, int):
            return self.status("set_integer", fact, value)
        if isinstance(value, float):
            return self.status("set_number", fact, value)
        if isinstance(value, str):
            return self.status("set_text", fact, value)
        assert isinstance(value, Sequence)
        return self.status("set_texts", fact, text_array(value), len(value))


def text_array(texts: Sequence[str | None]) -> Any:
    """Return texts as an array of pointers."""
    return (ctypes.c_char_p * len(texts))(*(None if each is None else each.encode() for each in texts))
