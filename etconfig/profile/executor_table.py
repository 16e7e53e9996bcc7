"""The executor of a project file, and `[executor.NAME]`, the options of an executor."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from etconfig.base.records import record
from etconfig.diagnostics import Span
from etconfig.profile.profile import Reference
from etconfig.profile.table import TomlTable

_HELP = 'a project file names an executor: executor = "numpy", or [executor] with name = "numpy"'
_TABLE_HELP = "write the options of an executor in a table of their own, such as [{table}.executorch]"
_NAME = "name"


@record(frozen=True)
class ExecutorTable:
    """`[executor.NAME]` of a project file: the options of one executor, not yet checked.

    Attributes:
        executor: The executor's name, with its place.
        table: The table.
    """

    executor: Reference
    table: TomlTable

    @property
    def values(self) -> Mapping[str, object]:
        """The values of the options, by name."""
        return self.table.data

    def key_span(self, option: str) -> Span:
        """Return the place of an option's name."""
        return self.table.key_span(option)

    def value_span(self, option: str, *path: str | int) -> Span:
        """Return the place of an option's value, or of an item in it."""
        return self.table.value_span(option, *path)


def read_executor(section: TomlTable) -> Reference | None:
    """Read the name of the executor: `executor = "NAME"`, or `name` in `[executor]`."""
    table = _table(section)
    if table is None:
        name = section.string("executor", _HELP)
        return None if name is None else Reference(name, partial(section.value_span, "executor"))
    name = table.string(_NAME, _HELP)
    return None if name is None else Reference(name, partial(table.value_span, _NAME))


def read_executor_tables(section: TomlTable) -> tuple[ExecutorTable, ...]:
    """Read the options of executors, in the order of the file."""
    executors = _table(section)
    if executors is None:
        return ()
    data = {key: value for key, value in executors.data.items() if key != _NAME}
    tables = TomlTable(section.document, executors.path, data, section.problems).tables(_TABLE_HELP)
    return tuple(
        ExecutorTable(Reference(name, partial(executors.key_span, name)), table) for name, table in tables
    )


def _table(section: TomlTable) -> TomlTable | None:
    is_table = isinstance(section.data.get("executor"), dict)
    return section.table("executor") if is_table else None
