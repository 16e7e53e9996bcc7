"""`BundleTables`: the content of a bundle as plain data, and its layout: the vectors of `bundle.fbs`.

A row refers to other rows by index; `NONE` is an index that refers to nothing. The type of a field says what
a reader verifies: see `row_fields.py`. `bundle.fbs` explains the fields. Its `count` is called `length` here,
since a tuple has a method of that name.
"""

import enum
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Annotated, Any, Final, NamedTuple, NewType, get_args

from etconfig.base.records import record
from etconfig.base.written_files import FileKind, head_of
from etconfig.device.bundle.row_fields import RowField, fields_of, items_of, one_of, range_of
from etconfig.expression.operations import Op
from etconfig.expression.types import ExpressionType
from etconfig.facts.registry import FactType, Volatility
from etconfig.flatbuffer.layout import BOOLEAN, F64, REFERENCE, U8, U16, U32, U64, Layout, StructLayout
from etconfig.profile.library import Provider
from etconfig.schema.declaration import Applies, Scope
from etconfig.schema.option_type import OptionKind

BUNDLE_IDENTIFIER: Final = b"ETCB"
BUNDLE_VERSION: Final = 2
"""The format that is written, and the latest one that is read."""

BUNDLE: Final = FileKind("a device bundle", lambda path: head_of(path, 8)[4:] == BUNDLE_IDENTIFIER)
"""The kind of file, which `DeviceBundle.save` and `etconfig pack` replace."""

MAX_BYTES: Final = 16 << 20
"""The largest bundle."""

MAX_REVISION: Final = (1 << 53) - 1
"""The largest integer that all readers of JSON keep."""
MAX_NOT_AFTER: Final = 253_402_300_799
"""The last second of the year 9999, since 1970."""

MAX_FACTS: Final = 256
MAX_PROFILES: Final = 1024
MAX_STACK: Final = 128
"""The deepest stack that an expression may need."""
MAX_DEPTH: Final = 4
"""The deepest nesting of arrays and tables."""
MAX_FACT_TEXT_BYTES: Final = 1024
"""The longest text of a fact that a device accepts."""
MAX_FACT_ITEMS: Final = 1024
MAX_FACT_LIST_BYTES: Final = 16384
"""The longest list of a fact that a device accepts: its items, and the bytes of their texts in all."""


class StoredKind(enum.IntEnum):
    """The type of a value."""

    NONE = 0
    BOOLEAN = 1
    INTEGER = 2
    NUMBER = 3
    TEXT = 4
    ARRAY = 5
    TABLE = 6


class CandidateSource(enum.IntEnum):
    """The vector that contains the value of a candidate, if any."""

    LITERAL = 0
    EXPRESSION = 1
    UNSET = 2


class CandidateLayer(enum.IntEnum):
    """The kind of document or command that made a candidate.

    The first three occur in configurations that were resolved when packing.
    """

    DEFAULT = 0
    PROGRAM = 1
    RECOMMENDATION = 2
    BUNDLED_PROFILE = 3
    PROFILE = 4
    PROJECT = 5
    ENVIRONMENT = 6
    OVERRIDE = 7


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

Long = NewType("Long", int)
"""A number of 64 bits in the root."""

_Number = Annotated[int, RowField()]
_Short = Annotated[int, RowField(U16)]
_Flag = Annotated[int, RowField(U8, meanings=(False, True), problem="a flag is wrong")]
_Bound = Annotated[float, RowField(F64)]
_Text = Annotated[int, RowField(to="texts")]
_TextOrNone = Annotated[int, RowField(to="texts", may_be_none=True)]
_Name = Annotated[int, RowField(to="texts", is_name=True)]
_NameOrNone = Annotated[int, RowField(to="texts", is_name=True, may_be_none=True)]
_Condition = Annotated[int, RowField(to="conditions", may_be_none=True)]


class ValueRow(NamedTuple):
    """A literal value."""

    bits: Annotated[int, RowField(U64)]
    length: _Number
    kind: Annotated[int, one_of(tuple(StoredKind), "its kind")]
    depth: Annotated[int, RowField(U8)]
    steps: _Short = 0


class InstructionRow(NamedTuple):
    """One step of an expression."""

    op: Annotated[int, one_of(tuple(Op), "an instruction")]
    operand: _Short


class ExpressionRow(NamedTuple):
    """An expression: its instructions, its text, and its type."""

    first: Annotated[int, range_of("instructions")]
    length: _Number
    text: _Text
    type: Annotated[int, one_of(EXPRESSION_TYPES, "its type")]
    stack: _Short
    steps: _Number = 0


class ConditionRow(NamedTuple):
    """A condition: its clauses, which are expressions, and its text."""

    first: Annotated[int, range_of("expressions", "clauses")]
    length: _Number
    text: _Text
    steps: _Number = 0


class FactRow(NamedTuple):
    """A fact that is read; one that identifies the device is not shown in reports."""

    minimum: _Bound
    maximum: _Bound
    name: _Name
    unit: _TextOrNone
    first_choice: Annotated[int, items_of("texts", "choices")]
    choice_count: _Number
    type: Annotated[int, one_of(FACT_TYPES, "its type")]
    volatility: Annotated[int, one_of(VOLATILITIES, "its volatility")]
    is_identifying: _Flag = 0


class HandSetFactRow(NamedTuple):
    """A fact that a document sets."""

    fact: Annotated[int, RowField(to="facts")]
    value: Annotated[int, RowField(to="values")]
    origin: _Text


class OptionRow(NamedTuple):
    """An option of a backend."""

    minimum: _Bound
    maximum: _Bound
    multiple_of: Annotated[float, RowField(F64, is_step=True)]
    name: _Name
    unit: _TextOrNone
    doc: _TextOrNone
    default_value: Annotated[int, RowField(to="values", may_be_none=True)]
    from_fact: Annotated[int, RowField(to="facts", may_be_none=True)]
    default_origin: Annotated[int, RowField(to="texts", needed_by="default_value")]
    fact_origin: Annotated[int, RowField(to="texts", needed_by="from_fact")]
    key: _TextOrNone
    separator: _TextOrNone
    first_choice: Annotated[int, range_of("choices")]
    choice_count: _Number
    min_length: _Number
    max_length: _Number
    kind: Annotated[int, one_of(OPTION_KINDS, "its kind")]
    item_kind: Annotated[int, one_of(OPTION_KINDS, "its kind")]
    scope: Annotated[int, one_of(SCOPES, "its scope")]
    applies: Annotated[int, one_of(APPLIES, "when it applies")]
    is_minimum_exclusive: _Flag
    is_maximum_exclusive: _Flag
    is_optional: _Flag
    choice_steps: _Number = 0


class ChoiceRow(NamedTuple):
    """A value that an option accepts, and what is sent for it."""

    value: Annotated[int, RowField(to="values")]
    sent: Annotated[int, RowField(to="values")]


class AdviceRow(NamedTuple):
    """A value that a vendor recommends."""

    option: Annotated[int, RowField(to="options")]
    condition: _Condition
    expression: Annotated[int, RowField(to="expressions")]
    origin: _Text


class BackendRow(NamedTuple):
    """A backend."""

    id: _Name
    first_option: Annotated[int, range_of("options")]
    option_count: _Number
    first_advice: Annotated[int, range_of("advice")]
    advice_count: _Number
    program_beats_recommendation: _Flag
    steps: _Number = 0


class CandidateRow(NamedTuple):
    """One assignment, as one option sees it."""

    value: _Number
    condition: _Condition
    origin: _Text
    source: Annotated[int, one_of(tuple(CandidateSource), "its source")]
    layer: Annotated[int, one_of(tuple(CandidateLayer), "its layer")]


class OptionSettingsRow(NamedTuple):
    """The candidates of one option."""

    option: Annotated[int, RowField(to="options")]
    first: Annotated[int, range_of("candidates")]
    length: _Number
    program_value: Annotated[int, RowField(to="values", may_be_none=True)]
    program_origin: Annotated[int, RowField(to="texts", needed_by="program_value")]
    steps: _Number = 0


class BackendSettingsRow(NamedTuple):
    """The options of one backend that are set."""

    backend: Annotated[int, RowField(to="backends")]
    first: Annotated[int, range_of("option_settings", "options")]
    length: _Number
    steps: _Number = 0


class SlotRow(NamedTuple):
    """A method instance, and the settings of its backends."""

    method: _Name
    instance: _NameOrNone
    first: Annotated[int, items_of("backend_settings", "settings")]
    length: _Number
    steps: _Number = 0


class ProfileRow(NamedTuple):
    """A profile."""

    name: _Name
    condition: _Condition
    first_base: Annotated[int, items_of("profiles", "bases")]
    base_count: _Number
    first_fact: Annotated[int, range_of("hand_set_facts", "facts")]
    fact_count: _Number
    first_slot: Annotated[int, range_of("slots")]
    slot_count: _Number
    fingerprint: _TextOrNone
    provider: Annotated[int, one_of(PROVIDERS, "its provider")]
    is_fallback: _Flag


class ModelRow(NamedTuple):
    """A model, of which one variant is chosen."""

    name: _Name
    first: Annotated[int, range_of("variants")]
    length: _Number
    fallback: _Flag


class VariantRow(NamedTuple):
    """A variant of a model."""

    file: _Text
    condition: _Condition
    first_need: Annotated[int, items_of("texts", "needs")]
    need_count: _Number
    backend: _NameOrNone


@record(frozen=True, kw_only=True)
class BundleTables:
    """The content of a bundle.

    Attributes:
        producer: The program that wrote it, such as `etconfig 0.1.0`.
        fingerprint: The fingerprint of everything that decides: not of the producer and the next four.
        sources: The fingerprint of the files that it was packed from; empty if they are unknown.
        revision: The number of this release; 0 if it has none.
        not_after: The last second in which it is valid, since 1970 in UTC; 0 if it does not expire.
        least_reader: The earliest format that a reader must know to decide it.
        project_fact_count: The number of `hand_set_facts` that the project sets, which come first.
        named_profile: The profile to use; `NONE` to select one.
        require_match: True if a fallback may not be selected.
    """

    producer: str
    fingerprint: str
    sources: str = ""
    revision: Long = Long(0)
    not_after: Long = Long(0)
    least_reader: int = BUNDLE_VERSION
    texts: Sequence[str]
    values: Sequence[ValueRow]
    items: Sequence[int]
    instructions: Sequence[InstructionRow]
    expressions: Sequence[ExpressionRow]
    conditions: Sequence[ConditionRow]
    facts: Sequence[FactRow]
    hand_set_facts: Sequence[HandSetFactRow]
    project_fact_count: int
    backends: Sequence[BackendRow]
    options: Sequence[OptionRow]
    choices: Sequence[ChoiceRow]
    advice: Sequence[AdviceRow]
    candidates: Sequence[CandidateRow]
    option_settings: Sequence[OptionSettingsRow]
    backend_settings: Sequence[BackendSettingsRow]
    slots: Sequence[SlotRow]
    profiles: Sequence[ProfileRow]
    named_profile: int
    require_match: bool
    models: Sequence[ModelRow]
    variants: Sequence[VariantRow]


class Rows(NamedTuple):
    """The rows of a vector: their class, their fields, and how they lie in the file."""

    row: Any
    fields: Mapping[str, RowField]
    layout: StructLayout


FIELD_TYPES: Mapping[str, Any] = {part.name: part.type for part in fields(BundleTables)}
"""The types of the fields of the root, in the order of the schema, but without the version."""


def _rows(row: Any) -> Rows:
    named = fields_of(row)
    return Rows(row, named, StructLayout(**{name: field.kind for name, field in named.items()}))


ROWS: Mapping[str, Rows] = {
    name: _rows(row)
    for name, type_ in FIELD_TYPES.items()
    for row in get_args(type_)
    if hasattr(row, "_fields")
}
"""The vectors of structs, in the order of the schema."""

BUNDLE_TABLE = Layout(
    version=U16,
    **{
        name: {int: U32, Long: U64, bool: BOOLEAN}.get(type_, REFERENCE)
        for name, type_ in FIELD_TYPES.items()
    },
)
"""The root."""
