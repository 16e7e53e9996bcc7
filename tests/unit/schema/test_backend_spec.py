"""`BackendSpec` and its parts."""

from __future__ import annotations

from typing import Any

import pytest
from npu import NpuOptions

from etconfig.schema.spec import ApiRange, BackendSpec, CompileSpecEncoding, CompileSpecInfo


def spec(**changed: Any) -> BackendSpec:
    fields = {"id": "NpuBackend", "doc": "An NPU.", "options": NpuOptions, "api": ApiRange(1, 1)}
    return BackendSpec(**{**fields, **changed})


class TestBackendSpec:
    """The id is exactly the one in the .pte; no factory makes a schema-only backend."""

    @pytest.mark.parametrize("backend_id", ["XnnpackBackend", "_x", "a-b", "N" * 63])
    def test_ids_that_programs_use_are_accepted(self, backend_id):
        assert spec(id=backend_id).id == backend_id

    @pytest.mark.parametrize("backend_id", ["", "1x", "-a", "a b", "a.b", "ä", "N" * 64])
    def test_other_ids_are_refused(self, backend_id):
        with pytest.raises(
            ValueError, match="is not a backend id; expected at most 63 letters, digits, _ and -"
        ):
            spec(id=backend_id)

    def test_a_doc_is_required(self):
        with pytest.raises(ValueError, match=r"^backend NpuBackend needs a doc: say what the backend is$"):
            spec(doc=" ")

    @pytest.mark.parametrize("options", [dict, NpuOptions(core=0, threads=1)])
    def test_options_are_a_class_of_options(self, options):
        with pytest.raises(
            TypeError, match=r"^backend NpuBackend: options must be a subclass of BackendOptions$"
        ):
            spec(options=options)

    def test_it_is_schema_only_unless_it_has_a_factory(self):
        assert spec().factory is None


class TestApiRange:
    """A plugin declares the range of plugin API versions it was built for."""

    def test_it_has_the_oldest_and_the_built_version(self):
        assert (ApiRange(1, 2).min, ApiRange(1, 2).built) == (1, 2)

    @pytest.mark.parametrize(("oldest", "built"), [(0, 1), (2, 1), (0, 0)])
    def test_an_empty_range_is_refused(self, oldest, built):
        with pytest.raises(ValueError, match=r"is not a range: expected 1 <= min <= built$"):
            ApiRange(oldest, built)


class TestCompileSpecInfo:
    """A key and bytes, fixed ahead of time."""

    @pytest.mark.parametrize(
        ("encoding", "data", "value"),
        [
            ("bytes", b"\xff", b"\xff"),
            ("utf-8", "µ".encode(), "µ"),
            ("bool", b"\1", True),
            ("bool", b"\0", False),
            ("int32", b"\xff\xff\xff\xff", -1),
            ("uint32", b"\xff\xff\xff\xff", 2**32 - 1),
            ("int64", b"\2" + bytes(7), 2),
            ("uint64", b"\xff" * 8, 2**64 - 1),
        ],
    )
    def test_bytes_are_read_as_declared(self, encoding, data, value):
        decoded = CompileSpecInfo(doc="A spec.", encoding=CompileSpecEncoding(encoding)).decode(data)
        assert decoded == value
        assert type(decoded) is type(value)

    @pytest.mark.parametrize(
        ("encoding", "data", "problem"),
        [
            ("utf-8", b"\xff", "'utf-8' codec can't decode byte 0xff"),
            ("bool", b"", r"^expected 1 bytes \(bool\), given 0$"),
            ("bool", b"\2", r"^expected 0 or 1 \(bool\), given 2$"),
            ("int32", b"\0", r"^expected 4 bytes \(int32\), given 1$"),
            ("uint64", bytes(9), r"^expected 8 bytes \(uint64\), given 9$"),
        ],
    )
    def test_other_bytes_are_refused(self, encoding, data, problem):
        with pytest.raises(ValueError, match=problem):
            CompileSpecInfo(doc="A spec.", encoding=CompileSpecEncoding(encoding)).decode(data)
