"""Columns of inventories: the facts that they are named after, and their values in the types of facts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic, Span
from etconfig.facts.problems import unknown_fact
from etconfig.facts.registry import INT_FACT_MAX, FactInfo, FactRegistry, FactType
from etconfig.fleet.inventory.sql_names import fact_of_column, quoted_name, quoted_text, shell_word

DEVICE_COLUMN = "device_id"
"""The column that names devices, unless another one is given."""

ID_COLUMNS = (DEVICE_COLUMN, "device.id", "device__id")
"""The columns that may name devices, the first one that is there."""

SHEET_KEYS = ("etconfig_fact_sheet", "facts")
"""The keys of a fact sheet in JSON."""

NOT_AN_OBJECT = "the line is not a JSON object"
"""The problem of a line that has no facts at all."""

NOT_A_SHEET = "the sheet is not a JSON object"
"""The same problem of a file in a directory of sheets."""

DEVICE_FACT = "device.id"
"""The fact that the names of devices are, if no other column is."""

PROBLEM_COLUMN = "etconfig_problem"
"""The column of a converted inventory with what was wrong in a row."""

LINE_COLUMN = "etconfig_line"
"""The column of a converted inventory with the line of a row."""

MAX_COLUMNS = 2000
"""The most columns of an inventory, and the most different keys of its lines; facts are far fewer."""

_OWN = (PROBLEM_COLUMN, LINE_COLUMN)

_INTEGERS = frozenset(f"{sign}{size}INT" for sign in ("", "U") for size in ("TINY", "SMALL", "BIG")) | {
    "INTEGER",
    "UINTEGER",
}
_NUMBERS = _INTEGERS | {"FLOAT", "DOUBLE"}
_NAMES = _NUMBERS | {"VARCHAR", "BOOLEAN", "UUID", "HUGEINT", "UHUGEINT"}

NAME_VALUES = "a text, a number or a truth value"
"""The values that name a device."""

_EXPECTED = {
    FactType.BOOL: "BOOLEAN",
    FactType.INT: "BIGINT or another type of integers",
    FactType.FLOAT: "DOUBLE or another type of numbers",
    FactType.STRING: "VARCHAR",
    FactType.STRING_LIST: "VARCHAR[]",
}


class UnusableInventoryError(Exception):
    """An inventory that cannot be used, although its file is whole and can be read.

    Attributes:
        help: An instruction.
    """

    def __init__(self, reason: str, help: str) -> None:
        super().__init__(reason)
        self.help = help


def check_count(count: int, noun: str) -> None:
    """Check the number of the columns of an inventory, or of the keys of its lines, before any is looked at.

    Raises:
        UnusableInventoryError: there are too many.
    """
    if count > MAX_COLUMNS:
        raise UnusableInventoryError(
            f"it has {count:,} {noun}, expected at most {MAX_COLUMNS:,}",
            "write the facts that profiles read, and the name of the device",
        )


@record(frozen=True, kw_only=True)
class FactColumn:
    """A column with the values of a fact.

    Attributes:
        name: The name of the column.
        fact: The name of the fact.
        info: The declaration of the fact.
        type: The type of the column in DuckDB.
    """

    name: str
    fact: str
    info: FactInfo
    type: str

    @property
    def sql(self) -> str:
        """The value in the type of the fact. A float -0.0 is 0.0, since grouping takes the two for equal."""
        column = quoted_name(self.name)
        if self.info.type is FactType.INT:
            return column if self.type == "BIGINT" else f"TRY_CAST({column} AS BIGINT)"
        if self.info.type is FactType.FLOAT:
            return f"(CAST({column} AS DOUBLE) + 0.0::DOUBLE)"
        if self.info.type is FactType.STRING and self.type != "VARCHAR":
            return f"CAST({column} AS VARCHAR)"
        return column

    def checks(self) -> Iterator[tuple[str, str]]:
        """Yield the SQL of each way in which a value may be wrong, with what a value must be."""
        column, info = quoted_name(self.name), self.info
        # for DuckDB, NaN is the greatest number
        finite = f"isfinite({column}) AND " if self.type in ("FLOAT", "DOUBLE") else ""
        if info.type is FactType.INT and self.type == "UBIGINT":
            yield f"{column} > {INT_FACT_MAX}", "an int of at most 64 bits"
        if info.type is FactType.FLOAT:
            yield f"NOT isfinite(CAST({column} AS DOUBLE))", "a finite number"
        if info.minimum is not None:
            yield f"{finite}{column} < {info.minimum!r}", f"at least {info.minimum:g}"
        if info.maximum is not None:
            yield f"{finite}{column} > {info.maximum!r}", f"at most {info.maximum:g}"
        if info.choices:
            words = ", ".join(map(quoted_text, info.choices))
            yield f"{column} NOT IN ({words})", " or ".join(map(repr, info.choices))
        if info.type is FactType.STRING:
            yield _unprintable(self.sql), "a string of printable characters"
        if info.type is FactType.STRING_LIST:
            joined = f"array_to_string({column}, '')"
            wrong = f"(list_count({column}) <> len({column}) OR {_unprintable(joined)})"
            yield wrong, "a list of strings of printable characters"


def _unprintable(text: str) -> str:
    """Return the SQL of whether a text has characters that Python does not print, as its categories say."""
    return rf"regexp_matches(replace({text}, ' ', ''), '[\pC\pZ]')"


def find_id_column(columns: Collection[str], given: str | None) -> str | None:
    """Return the column that names the devices, or None if it is missing."""
    names = ID_COLUMNS if given is None else (given,)
    return next((name for name in names if name in columns), None)


def fact_columns(
    columns: Mapping[str, str],
    id_column: str | None,
    registry: FactRegistry,
    label: str,
    ignored: Collection[str],
) -> tuple[dict[str, FactColumn], list[Diagnostic]]:
    """Return the columns of facts, by fact, and the problems of the others.

    Args:
        columns: The columns with their types.
        id_column: The column that names the devices.
        registry: The facts.
        label: The inventory, for problems.
        ignored: Columns to leave out.
    """
    found: dict[str, FactColumn] = {}
    problems: list[Diagnostic] = []
    span = Span(file=label)
    for name, type_ in columns.items():
        if name == id_column and not _can_name(type_):
            message = (
                f"column {name!r}, which names the devices, has the type {type_}, expected {NAME_VALUES}"
            )
            help = "write the column as VARCHAR, or name another one with --id"
            problems.append(_problem("invalid-fact-sheet", message, span, help))
            continue
        if (
            name in _OWN
            or name in ignored
            or (name == id_column and registry.get(fact_of_column(name)) is None)
        ):
            continue
        fact = fact_of_column(name)
        info = registry.get(fact)
        if info is None:
            problems.append(_unknown(fact, registry, span, name))
        elif fact in found:
            message = f"columns {found[fact].name!r} and {name!r} both name the fact {fact!r}"
            help = f"leave one of them out, or ignore it: --ignore {shell_word(name)}"
            problems.append(_problem("invalid-fact-sheet", message, span, help))
        elif not _fits(info.type, type_):
            message = f"column {name!r} has the type {type_}, expected {_EXPECTED[info.type]}"
            help = _type_help(info, type_)
            problems.append(_problem("invalid-fact-value", message, span, help))
        else:
            found[fact] = FactColumn(name=name, fact=fact, info=info, type=type_)
    named = registry.get(DEVICE_FACT)
    if id_column is None or id_column not in columns:
        return found, problems
    if named is not None and DEVICE_FACT not in found:
        found[DEVICE_FACT] = FactColumn(name=id_column, fact=DEVICE_FACT, info=named, type=columns[id_column])
    return found, problems


def _unknown(fact: str, registry: FactRegistry, span: Span, column: str) -> Diagnostic:
    problem = unknown_fact(fact, registry, span)
    help = unknown_help(problem, column)
    return Diagnostic(code=problem.code, message=problem.message, spans=problem.spans, help=help)


def unknown_help(problem: Diagnostic, column: str) -> str:
    """Return what to do about a column that is not a fact."""
    guess = f"{problem.help} " if str(problem.help).endswith("?") else ""
    return f"{guess}To leave out a column that is not a fact, give --ignore {shell_word(column)}"


def _problem(code: str, message: str, span: Span, help: str) -> Diagnostic:
    return Diagnostic(code=code, message=message, spans=(span,), help=help)


def _fits(type_: FactType, sql_type: str) -> bool:
    if type_ is FactType.BOOL:
        return sql_type == "BOOLEAN"
    if type_ is FactType.INT:
        return sql_type in _INTEGERS
    if type_ is FactType.FLOAT:
        return sql_type in _NUMBERS or sql_type.startswith("DECIMAL")
    if type_ is FactType.STRING:
        return sql_type == "VARCHAR" or sql_type.startswith("ENUM")
    return sql_type == "VARCHAR[]"


def _can_name(sql_type: str) -> bool:
    return sql_type in _NAMES or sql_type.startswith(("DECIMAL", "ENUM"))


def _type_help(info: FactInfo, sql_type: str) -> str:
    unit = f", in {info.unit}" if info.unit else ""
    if info.type is FactType.INT and sql_type in _NUMBERS:
        return "write whole numbers; in pandas, convert_dtypes() keeps integers with missing values"
    return f"write the column as {_EXPECTED[info.type].partition(' ')[0]}{unit}; NULL is unknown"


def is_mistyped(column: str, sql_type: str, registry: FactRegistry) -> bool:
    """Return True for the column of a fact that has another type."""
    info = registry.get(fact_of_column(column))
    return info is not None and not _fits(info.type, sql_type)
