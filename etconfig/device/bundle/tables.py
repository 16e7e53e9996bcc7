"""`BundleTables`: the content of a bundle as plain data, the vectors of `bundle.fbs` one by one.

A row refers to other rows by index; `NONE` is an index that refers to nothing. `bundle.fbs`, beside this
module, explains the fields. Its `count` is called `length` here, since a tuple has a method of that name.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Final, NamedTuple

from etconfig.base.records import record

NONE: Final = 0xFFFFFFFF
"""The index of nothing."""

MAX_BYTES: Final = 16 << 20
"""The largest bundle."""

MAX_NAME_BYTES: Final = 256
"""The longest name of a method, instance, backend, option, fact, profile or model, in UTF-8."""
MAX_FACTS: Final = 256
MAX_PROFILES: Final = 1024
MAX_STACK: Final = 128
"""The deepest stack that an expression may need."""
MAX_DEPTH: Final = 4
"""The deepest nesting of arrays and tables."""


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


class ValueRow(NamedTuple):
    """A literal value."""

    bits: int
    length: int
    kind: int
    depth: int
    steps: int = 0


class InstructionRow(NamedTuple):
    """One step of an expression."""

    op: int
    operand: int


class ExpressionRow(NamedTuple):
    """An expression: its instructions, its text, and its type."""

    first: int
    length: int
    text: int
    type: int
    stack: int
    steps: int = 0


class ConditionRow(NamedTuple):
    """A condition: its clauses, which are expressions, and its text."""

    first: int
    length: int
    text: int
    steps: int = 0


class FactRow(NamedTuple):
    """A fact that is read; one that identifies the device is not shown in reports."""

    minimum: float
    maximum: float
    name: int
    unit: int
    first_choice: int
    choice_count: int
    type: int
    volatility: int
    is_identifying: int = 0


class HandSetFactRow(NamedTuple):
    """A fact that a document sets."""

    fact: int
    value: int
    origin: int


class OptionRow(NamedTuple):
    """An option of a backend."""

    minimum: float
    maximum: float
    multiple_of: float
    name: int
    unit: int
    doc: int
    default_value: int
    from_fact: int
    default_origin: int
    fact_origin: int
    key: int
    separator: int
    first_choice: int
    choice_count: int
    min_length: int
    max_length: int
    kind: int
    item_kind: int
    scope: int
    applies: int
    is_minimum_exclusive: int
    is_maximum_exclusive: int
    is_optional: int
    choice_steps: int = 0


class ChoiceRow(NamedTuple):
    """A value that an option accepts, and what is sent for it."""

    value: int
    sent: int


class AdviceRow(NamedTuple):
    """A value that a vendor recommends."""

    option: int
    condition: int
    expression: int
    origin: int


class BackendRow(NamedTuple):
    """A backend."""

    id: int
    first_option: int
    option_count: int
    first_advice: int
    advice_count: int
    program_beats_recommendation: int
    steps: int = 0


class CandidateRow(NamedTuple):
    """One assignment, as one option sees it."""

    value: int
    condition: int
    origin: int
    source: int
    layer: int


class OptionSettingsRow(NamedTuple):
    """The candidates of one option."""

    option: int
    first: int
    length: int
    program_value: int
    program_origin: int
    steps: int = 0


class BackendSettingsRow(NamedTuple):
    """The options of one backend that are set."""

    backend: int
    first: int
    length: int
    steps: int = 0


class SlotRow(NamedTuple):
    """A method instance, and the settings of its backends."""

    method: int
    instance: int
    first: int
    length: int
    steps: int = 0


class ProfileRow(NamedTuple):
    """A profile."""

    name: int
    condition: int
    first_base: int
    base_count: int
    first_fact: int
    fact_count: int
    first_slot: int
    slot_count: int
    fingerprint: int
    provider: int
    is_fallback: int


class ModelRow(NamedTuple):
    """A model, of which one variant is chosen."""

    name: int
    first: int
    length: int
    fallback: int


class VariantRow(NamedTuple):
    """A variant of a model."""

    file: int
    condition: int
    first_need: int
    need_count: int


@record(frozen=True, kw_only=True)
class BundleTables:
    """The content of a bundle.

    Attributes:
        producer: The program that wrote it, such as `etconfig 0.1.0`.
        fingerprint: The fingerprint of everything else.
        project_fact_count: The number of `hand_set_facts` that the project sets, which come first.
        named_profile: The profile to use; `NONE` to select one.
        require_match: True if a fallback may not be selected.
    """

    producer: str
    fingerprint: str
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
