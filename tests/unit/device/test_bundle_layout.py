"""`bundle.fbs` and the C++ header say what `tables.py` does."""

from __future__ import annotations

import re
from pathlib import Path

from write_bundle_layout import ENUMERATIONS, HEADER, PUBLIC, camel, header, struct_of

from etconfig.device.bundle.tables import BUNDLE_TABLE, FACT_TYPES, ROWS, VOLATILITIES

SCHEMA = re.sub("//.*", "", (Path(HEADER).parents[3] / "bundle.fbs").read_text("utf-8"))
NAMES = {"Type": "ExpressionType"}
WIDTHS = {"ulong": 8, "double": 8, "uint": 4, "ushort": 2, "ubyte": 1, "bool": 1}


def declared(kind: str) -> dict[str, str]:
    """Return the text of each declaration of a kind by its name."""
    return dict(re.findall(rf"{kind} (\w+)(?: : ubyte)? \{{(.*?)\}}", SCHEMA, re.S))


def fields(body: str) -> list[tuple[str, str]]:
    return re.findall(r"(\w+):([\w\[\]]+)", body)


def test_the_header_is_generated() -> None:
    assert HEADER.read_text("utf-8") == header(), "run tools/write_bundle_layout.py"


def test_the_schema_has_the_same_enumerations() -> None:
    wanted = {**ENUMERATIONS, **PUBLIC, "FactType": FACT_TYPES, "Volatility": VOLATILITIES}
    found = {name: [each.strip() for each in body.split(",")] for name, body in declared("enum").items()}
    assert found == {NAMES.get(name, name): [*map(camel, members)] for name, members in wanted.items()}


def test_the_schema_has_the_same_rows() -> None:
    found = {
        name: [(field, WIDTHS.get(type_, 1)) for field, type_ in fields(body)]
        for name, body in declared("struct").items()
    }
    assert found == {
        struct_of(rows): [
            ("count" if name == "length" else name, field.kind.size_bytes)
            for name, field in rows.fields.items()
        ]
        for rows in ROWS.values()
    }


def test_the_schema_has_the_same_vectors() -> None:
    root = fields(declared("table")["Bundle"])
    assert [name for name, _ in root] == [field.name for field in BUNDLE_TABLE.fields]
    vectors = {name: type_.strip("[]") for name, type_ in root if type_.startswith("[")}
    assert vectors == {"texts": "string", "items": "uint"} | {n: struct_of(rows) for n, rows in ROWS.items()}
