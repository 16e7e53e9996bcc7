"""A small bundle, written by hand, that uses every vector."""

from __future__ import annotations

import struct
from dataclasses import replace

import etconfig
from etconfig.device.bundle.row_fields import NONE
from etconfig.device.bundle.step_counter import counted
from etconfig.device.bundle.tables import (
    AdviceRow,
    BackendRow,
    BackendSettingsRow,
    BundleTables,
    CandidateLayer,
    CandidateRow,
    CandidateSource,
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
    StoredKind,
    ValueRow,
    VariantRow,
)
from etconfig.expression.operations import Op

TEXTS = (
    "cores",  # 0
    "model",
    "B",
    "threads",
    "forward",
    "left",  # 5
    "phone",
    "cores > 4",
    "cores",
    "a.toml:3:1",
    "schema default",  # 10
    "fast",
    "a.pte",
    "sheet",
)
FINGERPRINT = "0123456789abcdef" * 4
INF = float("inf")


def small_tables() -> BundleTables:
    """A bundle with one profile, one backend with two options, and one model."""
    return counted(_small_tables())


def _small_tables() -> BundleTables:
    return BundleTables(
        producer="etconfig 0.1.0",
        fingerprint=FINGERPRINT,
        texts=TEXTS,
        values=(
            ValueRow(4, 0, StoredKind.INTEGER, 0),
            ValueRow(11, 0, StoredKind.TEXT, 0),
            ValueRow(0, 2, StoredKind.ARRAY, 1),
            ValueRow(int.from_bytes(struct.pack("<d", 0.5), "little"), 0, StoredKind.NUMBER, 0),
            ValueRow(2, 1, StoredKind.TABLE, 1),
            ValueRow(1, 0, StoredKind.BOOLEAN, 0),
            ValueRow(0, 0, StoredKind.NONE, 0),
        ),
        #      array  table  settings  needs
        items=(0, 1, 11, 0, 0, 2, 11),
        instructions=(
            InstructionRow(Op.FACT, 0),
            InstructionRow(Op.CONSTANT, 0),
            InstructionRow(Op.GREATER, 0),
            InstructionRow(Op.FACT, 0),
        ),
        expressions=(ExpressionRow(0, 3, 7, 0, 2), ExpressionRow(3, 1, 8, 1, 1)),
        conditions=(ConditionRow(0, 1, 7),),
        facts=(
            FactRow(1.0, INF, 0, NONE, 0, 0, 1, 0),
            FactRow(-INF, INF, 1, NONE, 6, 1, 3, 2),
        ),
        hand_set_facts=(HandSetFactRow(1, 1, 13),),
        project_fact_count=0,
        backends=(BackendRow(2, 0, 2, 0, 1, 0),),
        options=(
            OptionRow(
                *(1.0, 64.0, 0.0, 3, NONE, NONE, 0, 0, 10, 10, 3, NONE),
                *(0, 0, 0, NONE, 1, 0, 0, 1, 0, 0, 0),
            ),
            OptionRow(
                *(-INF, INF, 0.0, 11, NONE, NONE, 6, NONE, 10, NONE, NONE, NONE),
                *(0, 1, 0, NONE, 4, 0, 1, 0, 0, 0, 1),
            ),
        ),
        choices=(ChoiceRow(1, 1),),
        advice=(AdviceRow(0, 0, 1, 9),),
        candidates=(
            CandidateRow(0, NONE, 9, CandidateSource.LITERAL, CandidateLayer.BUNDLED_PROFILE),
            CandidateRow(1, 0, 9, CandidateSource.EXPRESSION, CandidateLayer.PROFILE),
            CandidateRow(0, 0, 9, CandidateSource.UNSET, CandidateLayer.PROJECT),
            CandidateRow(1, 0, 9, CandidateSource.LITERAL, CandidateLayer.OVERRIDE),
        ),
        option_settings=(OptionSettingsRow(0, 0, 3, 0, 9), OptionSettingsRow(1, 3, 1, NONE, NONE)),
        backend_settings=(BackendSettingsRow(0, 0, 2),),
        slots=(SlotRow(4, NONE, 4, 1), SlotRow(4, 5, 4, 1)),
        profiles=(ProfileRow(6, 0, 0, 0, 0, 1, 0, 2, NONE, 2, 0),),
        named_profile=NONE,
        require_match=False,
        models=(ModelRow(1, 0, 1, 1),),
        variants=(VariantRow(12, 0, 6, 1, NONE),),
    )


def named_tables() -> BundleTables:
    """The small bundle, with names of facts that a store accepts."""
    return counted(replace(small_tables(), texts=("cpu.cores", "cpu.model", *TEXTS[2:])))


def resolved_tables() -> BundleTables:
    """A bundle of two configurations that were resolved when packing."""
    overrides = {"ReferenceCpuBackend.num_threads": 3, "ReferenceNpuBackend.core": 1}
    resolutions = {
        name: etconfig.resolve(
            profile="generic/any", facts=etconfig.FactSheet.empty(), overrides={**overrides, path: value}
        )
        for name, path, value in (
            ("board", "ReferenceNpuBackend.power_mode", "low"),
            ("camera", "ReferenceCpuBackend.scratch_bytes", 2**33),
        )
    }
    return etconfig.pack_resolutions(resolutions).tables


def list_tables() -> BundleTables:
    """A bundle whose one option takes at most two of the texts of `cpu.features`, or else has no value."""
    tables = small_tables()
    empty = {name: () for name, rows in vars(tables).items() if isinstance(rows, tuple)}
    option = OptionRow(
        *(-INF, INF, 0.0, 3, NONE, NONE, NONE, 0, 4, 4, NONE, NONE),
        *(0, 0, 0, 2, 5, 3, 0, 0, 0, 0, 0),
    )
    found = replace(
        BundleTables(**{**vars(tables), **empty}),
        texts=("cpu.features", "p", "B", "list", "fact", "*"),
        items=(0,),
        facts=(FactRow(-INF, INF, 0, NONE, 0, 0, 4, 0),),
        backends=(BackendRow(2, 0, 1, 0, 0, 0),),
        options=(option,),
        backend_settings=(BackendSettingsRow(0, 0, 0),),
        slots=(SlotRow(5, NONE, 0, 1),),
        profiles=(ProfileRow(1, NONE, 0, 0, 0, 0, 0, 1, NONE, 0, 0),),
    )
    return counted(found)


def text_tables() -> BundleTables:
    """A bundle with 200 literal texts of 44 bytes, and one that is a fact: the first advice that is known."""
    literals = tuple(f"{at:044}" for at in range(200))
    texts = (
        "cpu.model",
        "p",
        "B",
        "default",
        "cpu.vendor",
        *(f"o{at:03}" for at in range(201)),
        *literals,
        "*",
    )

    def option(at: int, default: int, fact: int) -> OptionRow:
        return OptionRow(
            *(-INF, INF, 0.0, 5 + at, NONE, NONE, default, fact, 3, 3, NONE, NONE),
            *(0, 0, 0, NONE, 3, 0, 0, 0, 0, 0, 0),
        )

    found = replace(
        list_tables(),
        texts=texts,
        values=tuple(ValueRow(206 + at, 0, StoredKind.TEXT, 0) for at in range(200)),
        facts=(FactRow(-INF, INF, 0, NONE, 0, 0, 3, 0), FactRow(-INF, INF, 4, NONE, 0, 0, 3, 0)),
        instructions=(InstructionRow(Op.FACT, 1), InstructionRow(Op.FACT, 0)),
        expressions=(ExpressionRow(0, 1, 4, 3, 1), ExpressionRow(1, 1, 0, 3, 1)),
        advice=(AdviceRow(0, NONE, 0, 3), AdviceRow(0, NONE, 1, 3)),
        backends=(BackendRow(2, 0, 201, 0, 2, 0),),
        options=(option(0, NONE, NONE), *(option(1 + at, at, NONE) for at in range(200))),
        slots=(SlotRow(406, NONE, 0, 1),),
    )
    return counted(found)


def changed(vector: str, index: int, **fields: float) -> BundleTables:
    """The small bundle with some fields of one row changed."""
    tables = small_tables()
    rows = list(getattr(tables, vector))
    rows[index] = rows[index]._replace(**fields)
    return replace(tables, **{vector: tuple(rows)})
