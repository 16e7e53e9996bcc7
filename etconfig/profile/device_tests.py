"""`[[test]]` of a project file: conditions on options and facts that must hold on each device."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial

from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic
from etconfig.errors import ProfileError
from etconfig.expression import Expression, ExpressionParser, ExpressionType
from etconfig.profile.profile import Reference
from etconfig.profile.table import TomlTable

_WHERE_HELP = "`where` selects devices by facts; read options in `assert`"
RESOLVES = "resolves"
"""The name of the test that every device has: its options resolve."""
EXPECTED = "expected options"
"""The name of the test that a device gets the options in the file that `expect` names."""
_HELP = 'such as assert = "XnnpackBackend.num_threads <= cpu.available_cores"'


@record(frozen=True, kw_only=True)
class DeviceTest:
    """A test of a project.

    Attributes:
        name: Its name, which no other test has.
        where: The devices that it is for, as a condition on facts; None for every device.
        assertion: The condition on options and facts, not yet checked: that needs the schemas.
        methods: The names of the methods that it is for, or patterns of them; None for all.
    """

    name: str
    where: Expression | None = None
    assertion: Reference
    methods: tuple[Reference, ...] | None = None

    def is_for(self, method: str) -> bool:
        """Return True if it is for this method."""
        return self.methods is None or any(fnmatchcase(method, each.target) for each in self.methods)


def read_tests(section: TomlTable, expressions: ExpressionParser) -> tuple[DeviceTest, ...]:
    """Read the tests; their problems are added to the problems of the table.

    A test whose name is wrong is returned, too, so that the rest of it is checked in the same run.
    """
    found: list[DeviceTest] = []
    names = {RESOLVES, EXPECTED}
    for table in section.array_of_tables("test"):
        table.check_keys(("name", "where", "assert", "methods"), "test")
        table.require("name", "a report calls the test by it")
        table.require("assert", _HELP)
        name, assertion = table.string("name"), table.string("assert", _HELP)
        where = _condition(table, expressions)
        if name == "":
            table.report("invalid-name", "a test needs a name", table.value_span("name"))
        elif name in names:
            message = f"two tests are called {name!r}"
            message += ", of which etconfig adds one" if name in (RESOLVES, EXPECTED) else ""
            table.report("invalid-name", message, table.value_span("name"), "give each a name")
        names.add(name or "")
        if assertion is not None:
            condition = Reference(assertion, partial(table.value_span, "assert"))
            methods = read_names(table, "methods") if "methods" in table.data else None
            found.append(DeviceTest(name=name or "", where=where, assertion=condition, methods=methods))
    return tuple(found)


def read_names(table: TomlTable, key: str) -> tuple[Reference, ...]:
    """Read an array of strings with their places; empty if it is missing or wrong."""
    names = enumerate(table.strings(key))
    return tuple(Reference(name, partial(table.value_span, key, index)) for index, name in names)


def _condition(table: TomlTable, expressions: ExpressionParser) -> Expression | None:
    text = table.string("where")
    if text is None:
        return None
    try:
        return expressions.parse(text, partial(table.value_span, "where"), ExpressionType.BOOL)
    except ProfileError as error:
        table.add(*map(_without_options, error.diagnostics))
        return None


def _without_options(problem: Diagnostic) -> Diagnostic:
    """Return a problem of `where` with a help for options, which only `assert` may read."""
    name = problem.spans[0].underlined or ""
    is_option = problem.code == "unknown-fact" and name[:1].isupper() and "." in name
    return replace(problem, help=_WHERE_HELP, fix=None) if is_option else problem
