"""Compile specs by their declaration: values become bytes, and bytes become the same values."""

from __future__ import annotations

from typing import Any

import pytest

from etconfig.aot import decode_compile_specs, encode_compile_specs
from etconfig.plugin.v1 import CompileSpecEncoding, CompileSpecInfo, CompileSpecs

INFOS = {each.name.lower(): CompileSpecInfo(doc="A value.", encoding=each) for each in CompileSpecEncoding}


@pytest.mark.parametrize(
    ("key", "value", "encoded"),
    [
        ("bytes", b"\0\1", b"\0\1"),
        ("utf8", "é", "é".encode()),
        ("bool", True, b"\1"),
        ("bool", False, b"\0"),
        ("int32", -2, b"\xfe\xff\xff\xff"),
        ("uint32", 2**32 - 1, b"\xff" * 4),
        ("int64", -1, b"\xff" * 8),
        ("uint64", 1, b"\1" + b"\0" * 7),
    ],
)
def test_values_and_bytes(key: str, value: Any, encoded: bytes) -> None:
    assert encode_compile_specs(INFOS, {key: value}) == {key: encoded}
    (decoded,) = decode_compile_specs(INFOS, CompileSpecs([(key, encoded)])).values()
    assert (decoded, type(decoded)) == (value, type(value))


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("int32", 2**31, "compile spec 'int32': 2147483648 is outside of int32"),
        ("uint32", -1, "compile spec 'uint32': -1 is outside of uint32"),
        ("int32", True, r"compile spec 'int32': expected int \(int32\), given True"),
        ("bool", 1, r"compile spec 'bool': expected bool \(bool\), given 1"),
        ("utf8", b"x", r"compile spec 'utf8': expected str \(utf-8\), given b'x'"),
        ("bytes", "x", r"compile spec 'bytes': expected bytes \(bytes\), given 'x'"),
        ("int3", 1, "compile spec 'int3': it is not known; did you mean 'int32'"),
        ("other", 1, "compile spec 'other': it is not known; there is bytes, utf8"),
    ],
)
def test_values_that_do_not_suit(key: str, value: object, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        encode_compile_specs(INFOS, {key: value})


@pytest.mark.parametrize(
    ("specs", "problem"),
    [
        ([("int32", b"\0")], "compile spec 'int32': expected 4 bytes"),
        ([("bool", b"\2")], "compile spec 'bool': expected 0 or 1"),
        ([("utf8", b"\xff")], "compile spec 'utf8': .*can't decode"),
        ([("nothing", b"")], "compile spec 'nothing': it is not known"),
        ([("bool", b"\0"), ("bool", b"\1")], "compile spec 'bool': .*appears 2 times"),
    ],
)
def test_bytes_that_do_not_follow_their_encoding(specs: list[tuple[str, bytes]], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        decode_compile_specs(INFOS, CompileSpecs(specs))


def test_a_backend_without_compile_specs() -> None:
    with pytest.raises(ValueError, match="compile spec 'mode': it is not known; the backend has none"):
        decode_compile_specs({}, {"mode": b""})
