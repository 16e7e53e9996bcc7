from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest
from flatbuffer_reader import Reader
from flatbuffers import number_types
from packages import EVERYTHING, configuration, packed

from etconfig.errors import OptionError, SavedResultError
from etconfig.flatbuffer.layout import Layout
from etconfig.transport import (
    Package,
    PackedBackend,
    PackedMethod,
    PackedOption,
    PlainValue,
    load_package,
    read_package,
    write_package,
)
from etconfig.transport import etargs_format as layout

DATA = write_package(EVERYTHING)
SCHEMA = Path(layout.__file__).with_name("etargs.fbs").read_text("utf-8")


def fields_of(table: str) -> list[str]:
    """Return the fields of a table of the schema, in order."""
    fields = re.search(rf"^table {table} {{\n(.*?)^}}", SCHEMA, re.MULTILINE | re.DOTALL)
    assert fields is not None
    return re.findall(r"^  (\w+):", fields[1], re.MULTILINE)


def slot(table: str, field: str) -> int:
    return fields_of(table).index(field)


def package_of(*options: PackedOption) -> Package:
    method = PackedMethod("forward", None, (PackedBackend("Acme", options),))
    return Package("test", (configuration("one", method),))


def nested(depth: int) -> PlainValue:
    value: PlainValue = 1
    for _ in range(depth):
        value = (value,)
    return value


class TestRoundTrip:
    """Reading returns what was written, for all kinds of values."""

    def test_of_everything(self) -> None:
        assert read_package(DATA) == EVERYTHING

    def test_equal_packages_have_equal_bytes(self) -> None:
        assert write_package(read_package(DATA)) == DATA

    def test_true_is_not_one(self) -> None:
        package = package_of(packed("flag", True, sent=1), packed("one", 1.0, sent=1))
        options = read_package(write_package(package)).configurations[0].methods[0].backends[0].options
        assert [(type(each.value), type(each.sent)) for each in options] == [(bool, int), (float, int)]

    @pytest.mark.parametrize(
        ("value", "reason"),
        [
            (2**63, "its integers have 64 bits, and 9223372036854775808 needs more"),
            (nested(17), "its arrays and tables nest 16 deep at most"),
        ],
    )
    def test_a_value_that_does_not_fit_is_refused_by_name(self, value: PlainValue, reason: str) -> None:
        with pytest.raises(OptionError) as caught:
            write_package(package_of(packed("x", value)))
        assert caught.value.diagnostics[0].message == f"an .etargs file cannot carry Acme.x: {reason}"


class TestFormat:
    """The file is a FlatBuffer of the schema etargs.fbs."""

    def test_the_flatbuffers_package_reads_it(self) -> None:
        root = Reader.of_root(DATA, layout.IDENTIFIER)
        assert root.integer(slot("Package", "version"), number_types.Uint16Flags) == layout.VERSION
        assert root.string(slot("Package", "producer")) == "etconfig 1.2"
        first, second = root.tables(slot("Package", "configurations"))
        assert second.string(slot("Configuration", "name")) == "laptop"
        left, anything = first.tables(slot("Configuration", "methods"))
        assert left.string(slot("Method", "instance")) == "left"
        assert anything.string(slot("Method", "instance")) is None
        xnnpack, acme = left.tables(slot("Method", "backends"))
        mode = xnnpack.tables(slot("Backend", "options"))[0]
        assert mode.string(slot("Option", "key")) == "workspace_sharing_mode"
        assert mode.table(slot("Option", "value")).string(slot("Value", "text")) == "per_model"
        sent = mode.table(slot("Option", "sent"))
        assert sent.integer(slot("Value", "integer"), number_types.Int64Flags) == 1
        share = acme.tables(slot("Backend", "options"))[1].table(slot("Option", "value"))
        assert share.integer(slot("Value", "kind"), number_types.Uint8Flags) == layout.ValueKind.NUMBER
        assert share.integer(slot("Value", "number"), number_types.Float64Flags) == -0.25

    @pytest.mark.parametrize("name", ["Value", "Option", "Backend", "Method", "Configuration", "Package"])
    def test_the_layouts_have_the_fields_of_the_schema(self, name: str) -> None:
        table: Layout = getattr(layout, f"{name.upper()}_TABLE")
        assert [field.name for field in table.fields] == fields_of(name)

    def test_the_kinds_are_those_of_the_schema(self) -> None:
        kinds = re.search(r"enum Kind : ubyte { (.*) }", SCHEMA)
        assert kinds is not None
        assert kinds[1].upper().split(", ") == [kind.name for kind in layout.ValueKind]


def reason(data: bytes) -> str:
    with pytest.raises(SavedResultError) as caught:
        read_package(data)
    (problem,) = caught.value.diagnostics
    assert problem.code == "invalid-etargs"
    return problem.message.removeprefix("package.etargs is not an .etargs file: ")


def with_bytes(old: bytes, new: bytes) -> bytes:
    assert DATA.count(old) == 1
    assert len(old) == len(new)
    return DATA.replace(old, new)


class TestDamage:
    """A damaged file is refused with the reason."""

    def test_something_else(self) -> None:
        assert reason(b"") == "its identifier is not ETAR"
        assert reason(DATA[:4] + b"ET12" + DATA[8:]) == "its identifier is not ETAR"

    def test_a_piece_of_a_file(self) -> None:
        reasons = {reason(DATA[:size]) for size in range(8, len(DATA.rstrip(b"\0")) + 1)}
        assert "it ends too early" in reasons

    def test_another_version(self) -> None:
        root = struct.unpack_from("<I", DATA)[0]
        data = bytearray(DATA)
        vtable = root - struct.unpack_from("<i", DATA, root)[0]
        struct.pack_into("<H", data, root + struct.unpack_from("<H", DATA, vtable + 4)[0], 7)
        assert reason(bytes(data)) == "its version is 7, and this etconfig reads version 1"

    def test_changed_values(self) -> None:
        wrong = "the values of configuration 'pi5' do not have its fingerprint"
        assert reason(with_bytes(b"per_model", b"per_modem")) == wrong
        number = 0x0123456789ABCDEF  # these bytes occur nowhere else
        data = write_package(package_of(packed("budget", number)))
        assert data.count(struct.pack("<q", number)) == 1
        changed = data.replace(struct.pack("<q", number), struct.pack("<q", number + 1))
        assert reason(changed) == wrong.replace("pi5", "one")

    def test_damaged_texts(self) -> None:
        assert reason(with_bytes(b"per_model\0", b"per_model!")) == "a text does not end where it should"
        assert reason(with_bytes(b"per_model\0", b"per_mod\xffl\0")) == "a text is not UTF-8"

    def test_numbers_that_are_not_finite(self) -> None:
        nan = struct.pack("<d", float("nan"))
        assert reason(with_bytes(struct.pack("<d", -0.25), nan)) == "a number is not finite"

    def test_names_that_are_not_distinct(self) -> None:
        twice = Package("test", (configuration("one"), configuration("one")))
        assert reason(write_package(twice)) == "two configurations have the same name"
        method = PackedMethod("forward", None, ())
        assert reason(write_package(Package("test", (configuration("one", method, method),)))) == (
            "two methods have the same name"
        )
        assert (
            reason(write_package(package_of(packed("x", 1), packed("x", 2))))
            == "two options have the same name"
        )

    def test_too_large(self) -> None:
        assert reason(bytes((16 << 20) + 1)) == "it is larger than 16 MiB"

    def test_tables_that_overlap_cost_no_more_than_others(self) -> None:
        count = 2000
        one = package_of(*(packed(f"o{index}", index) for index in range(count)))
        data = bytearray(write_package(one))
        vector = data.index(struct.pack("<I", count)) + 4
        target = vector + struct.unpack_from("<I", data, vector)[0]
        for index in range(count):
            struct.pack_into("<I", data, vector + 4 * index, target - vector - 4 * index)
        assert reason(bytes(data)) == "two options have the same name"


class TestLoad:
    """An error of loading names the file."""

    def test_a_file(self, tmp_path: Path) -> None:
        path = tmp_path / "x.etargs"
        path.write_bytes(DATA)
        assert load_package(path) == EVERYTHING

    def test_a_missing_file(self, tmp_path: Path) -> None:
        with pytest.raises(SavedResultError) as caught:
            load_package(tmp_path / "x.etargs")
        (problem,) = caught.value.diagnostics
        assert problem.code == "unreadable-file"
        assert problem.message == f"cannot read {tmp_path / 'x.etargs'}: No such file or directory"

    def test_another_file(self, tmp_path: Path) -> None:
        path = tmp_path / "x.etargs"
        path.write_bytes(b"something else")
        with pytest.raises(SavedResultError) as caught:
            load_package(path)
        (problem,) = caught.value.diagnostics
        assert (problem.code, problem.message) == (
            "invalid-etargs",
            f"{path} is not an .etargs file: its identifier is not ETAR",
        )
        assert problem.help == "write it with `etconfig pack --output`"
