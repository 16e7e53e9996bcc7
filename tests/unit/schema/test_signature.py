"""`schema_signature`: what counts of a schema, and nothing else."""

from __future__ import annotations

import enum
import json
from dataclasses import replace
from typing import Annotated, Any

import pytest

from etconfig.schema.constraints import Ge, Le
from etconfig.schema.declaration import Wire, option
from etconfig.schema.options import BackendOptions
from etconfig.schema.signature import schema_signature
from etconfig.schema.spec import Advice, ApiRange, BackendSpec, CompileSpecEncoding, CompileSpecInfo


class Mode(enum.Enum):
    """Modes."""

    SLOW = "slow"
    FAST = "fast"


class FewerModes(enum.Enum):
    """One mode."""

    SLOW = "slow"


class ReorderedModes(enum.Enum):
    """The same in another order, with other names."""

    QUICK = "fast"
    SLOW = "slow"


def spec_of(annotation: Any, default: object = 1, doc: str = "Threads.", **declared: Any) -> BackendSpec:
    """A backend with one option."""
    namespace = {
        "__annotations__": {"value": annotation},
        "__doc__": doc,
        "__module__": __name__,
        "value": option(default, doc=doc, **{"applies": "load", **declared}),
    }
    options = type("Options", (BackendOptions,), namespace)
    specs = {"key": CompileSpecInfo(doc=doc, encoding=CompileSpecEncoding.INT32)}
    return BackendSpec(
        id="SomeBackend", doc=doc, options=options, api=ApiRange(min=1, built=1), compile_specs=specs
    )


BASE = Annotated[int, Ge(1), Le(8)]


@pytest.mark.parametrize(
    "changed",
    [
        spec_of(Annotated[int, Ge(1), Le(9)]),
        spec_of(Annotated[int, Ge(1)]),
        spec_of(Annotated[float, Ge(1), Le(8)], 1.0),
        spec_of(BASE | None),
        spec_of(list[BASE], []),
        spec_of(BASE, 2),
        spec_of(BASE, applies="execute"),
        spec_of(BASE, scope="process"),
        spec_of(BASE, unit="threads"),
        spec_of(BASE, from_fact="cpu.available_cores"),
        spec_of(BASE, renamed_from="old"),
        spec_of(BASE, wire="other"),
        spec_of(BASE, wire=Wire(key=None)),
    ],
)
def test_what_decides_about_a_value_counts(changed: BackendSpec) -> None:
    assert schema_signature(changed) != schema_signature(spec_of(BASE))


@pytest.mark.parametrize(
    "changed",
    [
        spec_of(BASE, doc="How many threads."),
        spec_of(BASE, since="1.2"),
        spec_of(BASE, deprecated="use cores"),
        spec_of(Annotated[int, Le(8), Ge(1)]),
    ],
)
def test_descriptions_history_and_order_do_not_count(changed: BackendSpec) -> None:
    assert schema_signature(changed) == schema_signature(spec_of(BASE))


def test_choices_count_by_value() -> None:
    modes, reordered, fewer = (
        schema_signature(spec_of(kind, kind.SLOW)) for kind in (Mode, ReorderedModes, FewerModes)
    )
    assert modes == reordered
    assert modes != fewer


def test_compile_specs_count_by_key_and_encoding() -> None:
    assert schema_signature(spec_of(BASE))["compile_specs"] == {"key": "int32"}


def test_advice_counts_with_its_order_and_without_its_reasons() -> None:
    first, second = Advice("value", expr="1", when="true", reason="A."), Advice("value", expr="2")
    spec = spec_of(BASE)
    signature = schema_signature(replace(spec, advice=[first, second]))
    assert signature["advice"] == [
        {"option": "value", "expr": "1", "when": "true"},
        {"option": "value", "expr": "2", "when": None},
    ]
    assert signature != schema_signature(replace(spec, advice=[second, first]))
    assert signature == schema_signature(replace(spec, advice=[replace(first, reason="B."), second]))


def test_it_is_plain_data() -> None:
    signature = schema_signature(spec_of(dict[str, list[BASE]], {"a": [1]}))
    assert json.loads(json.dumps(signature)) == signature
    assert signature["options"]["value"]["items"]["items"]["bounds"] == ["<= 8", ">= 1"]
