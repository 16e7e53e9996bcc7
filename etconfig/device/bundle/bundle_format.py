"""The layout of bundles: the structs and the table of `bundle.fbs`, and the numbers of its enumerations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from etconfig.base.written_files import FileKind, head_of
from etconfig.device.bundle.tables import (
    AdviceRow,
    BackendRow,
    BackendSettingsRow,
    CandidateRow,
    ChoiceRow,
    ConditionRow,
    ExpressionRow,
    FactRow,
    HandSetFactRow,
    InstructionRow,
    ModelRow,
    OptionRow,
    OptionSettingsRow,
    ProfileRow,
    SlotRow,
    ValueRow,
    VariantRow,
)
from etconfig.expression.types import ExpressionType
from etconfig.facts.registry import FactType, Volatility
from etconfig.flatbuffer.layout import BOOLEAN, F64, REFERENCE, U8, U16, U32, U64, Layout, StructLayout
from etconfig.profile.library import Provider
from etconfig.schema.declaration import Applies, Scope
from etconfig.schema.option_type import OptionKind

BUNDLE_IDENTIFIER: Final = b"ETCB"
BUNDLE_VERSION: Final = 1

BUNDLE: Final = FileKind("a device bundle", lambda path: head_of(path, 8)[4:] == BUNDLE_IDENTIFIER)
"""The kind of file, which `DeviceBundle.save` and `etconfig pack` replace."""

_CODES = {
    **dict.fromkeys(("minimum", "maximum", "multiple_of"), F64),
    **dict.fromkeys(("kind", "item_kind", "depth", "type", "volatility", "scope", "applies", "op"), U8),
    **dict.fromkeys(("is_minimum_exclusive", "is_maximum_exclusive", "is_optional", "is_identifying"), U8),
    **dict.fromkeys(("source", "layer", "provider", "is_fallback", "fallback"), U8),
    **dict.fromkeys(("program_beats_recommendation",), U8),
    **dict.fromkeys(("operand", "stack"), U16),
    "bits": U64,
}
"""The types of the fields that are not 32-bit indices; a name has one type wherever it occurs."""

_ROW_CODES = {("values", "steps"): U16}
"""The types of the fields of one vector only."""

_ROWS: tuple[tuple[str, Any], ...] = (
    ("values", ValueRow),
    ("instructions", InstructionRow),
    ("expressions", ExpressionRow),
    ("conditions", ConditionRow),
    ("facts", FactRow),
    ("hand_set_facts", HandSetFactRow),
    ("backends", BackendRow),
    ("options", OptionRow),
    ("choices", ChoiceRow),
    ("advice", AdviceRow),
    ("candidates", CandidateRow),
    ("option_settings", OptionSettingsRow),
    ("backend_settings", BackendSettingsRow),
    ("slots", SlotRow),
    ("profiles", ProfileRow),
    ("models", ModelRow),
    ("variants", VariantRow),
)

ROWS: Mapping[str, tuple[Any, StructLayout]] = {
    name: (
        row,
        StructLayout(
            **{field: _ROW_CODES.get((name, field), _CODES.get(field, U32)) for field in row._fields}
        ),
    )
    for name, row in _ROWS
}
"""The class and the layout of the rows of each vector of structs, in the order of the schema."""

BUNDLE_TABLE = Layout(
    version=U16,
    producer=REFERENCE,
    fingerprint=REFERENCE,
    texts=REFERENCE,
    values=REFERENCE,
    items=REFERENCE,
    instructions=REFERENCE,
    expressions=REFERENCE,
    conditions=REFERENCE,
    facts=REFERENCE,
    hand_set_facts=REFERENCE,
    project_fact_count=U32,
    backends=REFERENCE,
    options=REFERENCE,
    choices=REFERENCE,
    advice=REFERENCE,
    candidates=REFERENCE,
    option_settings=REFERENCE,
    backend_settings=REFERENCE,
    slots=REFERENCE,
    profiles=REFERENCE,
    named_profile=U32,
    require_match=BOOLEAN,
    models=REFERENCE,
    variants=REFERENCE,
)
"""The root."""

EXPRESSION_TYPES = (
    ExpressionType.BOOL,
    ExpressionType.INT,
    ExpressionType.FLOAT,
    ExpressionType.STRING,
    ExpressionType.BOOL_LIST,
    ExpressionType.INT_LIST,
    ExpressionType.FLOAT_LIST,
    ExpressionType.STRING_LIST,
    ExpressionType.EMPTY_LIST,
)
"""The types of expressions by their numbers, as are the following enumerations."""

FACT_TYPES = (FactType.BOOL, FactType.INT, FactType.FLOAT, FactType.STRING, FactType.STRING_LIST)
VOLATILITIES = (Volatility.STATIC, Volatility.BOOT, Volatility.LIVE)
OPTION_KINDS = (
    OptionKind.BOOLEAN,
    OptionKind.INTEGER,
    OptionKind.FLOAT,
    OptionKind.STRING,
    OptionKind.CHOICE,
    OptionKind.ARRAY,
    OptionKind.TABLE,
    OptionKind.RECORD,
)
SCOPES = (Scope.METHOD, Scope.PROCESS)
APPLIES = (Applies.LOAD, Applies.EXECUTE)
PROVIDERS = (Provider.BUNDLED, Provider.PACKAGE, Provider.USER)
