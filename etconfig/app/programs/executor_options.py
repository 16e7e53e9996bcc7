"""The options of an executor from the project file, the command line and the caller, checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from etconfig.app.installation.installation import Installation
from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic, Span
from etconfig.errors import OptionError

if TYPE_CHECKING:
    from etconfig.plugin.hookspecs import ExecutorContribution
    from etconfig.profile.project import ExecutorTable
    from etconfig.schema.declaration import OptionInfo
    from etconfig.schema.options import BackendOptions

_Place: TypeAlias = "Callable[[str, bool, tuple[str | int, ...]], tuple[Span, ...]]"
"""By an option, True for its value or False for its name, and a path in the value: the place, if any."""


@record(frozen=True)
class _Source:
    """Values from one place, and where relative paths among them start."""

    values: Mapping[str, object]
    directory: Path
    place: _Place


def executor_options(
    installation: Installation,
    executor: str,
    contribution: ExecutorContribution,
    given: Mapping[str, object] | None = None,
) -> BackendOptions | None:
    """Return the typed options of an executor, or None if it declares none.

    For each option, the caller's value wins over the command line's, which wins over the project file's.

    Args:
        installation: The project file and the texts of the command line.
        executor: The name of the executor.
        contribution: Its declaration.
        given: The values that the caller gives, by name.

    Raises:
        OptionError: with every problem.
        ProfileError: the project file is malformed.
    """
    problems: list[Diagnostic] = []
    typed: dict[str, object] = {}
    schema = contribution.options
    for source in _sources(installation, executor, schema, given):
        values, found = _check(executor, contribution, source)
        typed.update(values)
        problems += found
    if any(each.is_error for each in problems):
        raise OptionError(diagnostics=tuple(problems))
    if schema is None:
        return None
    from etconfig.schema.validate import build_options

    built = build_options(schema, typed)
    if built.options is None:
        raise OptionError(
            diagnostics=tuple(_named(executor, schema, each.to_diagnostic()) for each in built.problems)
        )
    return built.options


def table_problems(
    executor: str, contribution: ExecutorContribution, table: ExecutorTable
) -> tuple[Diagnostic, ...]:
    """Return what is wrong with the options of an executor in a project file, each with its place."""
    return tuple(_check(executor, contribution, _of_table(table))[1])


def without_options(executor: str, table: ExecutorTable) -> tuple[Diagnostic, ...]:
    """Return the problems of a table for an executor that has no options: each of its keys is unknown."""
    return tuple(_without_options(executor, _of_table(table), name) for name in table.values)


def check_no_options(names: Iterable[str]) -> None:
    """Refuse options for the built-in executor, which has none.

    Raises:
        OptionError: with every option that was given.
    """
    source = _Source({}, Path(), _nowhere)
    problems = tuple(_without_options("numpy", source, name) for name in names)
    if problems:
        raise OptionError(diagnostics=problems)


def _sources(
    installation: Installation,
    executor: str,
    schema: type[BackendOptions] | None,
    given: Mapping[str, object] | None,
) -> Iterator[_Source]:
    for table in installation.executor_tables:
        if table.executor.target == executor:
            yield _of_table(table)
    if installation.executor_texts:
        infos = {} if schema is None else schema.option_infos()
        yield _Source(_read_texts(infos, installation.executor_texts), Path.cwd(), _nowhere)
    if given:
        yield _Source(given, Path.cwd(), _nowhere)


def _of_table(table: ExecutorTable) -> _Source:
    def place(option: str, is_value: bool, path: tuple[str | int, ...]) -> tuple[Span, ...]:
        return (table.value_span(option, *path) if is_value else table.key_span(option),)

    return _Source(table.values, Path(table.table.document.name).resolve().parent, place)


def _nowhere(option: str, is_value: bool, path: tuple[str | int, ...]) -> tuple[Span, ...]:
    return ()


def _read_texts(infos: Mapping[str, OptionInfo], texts: Iterable[tuple[str, str]]) -> Mapping[str, object]:
    """Return raw values of the texts of a command line: each text of an array is one item, or JSON."""
    from etconfig.schema.option_type import OptionKind
    from etconfig.schema.value_text import read_text

    values: dict[str, Any] = {}
    for name, text in texts:
        info = infos.get(name)
        if info is None:
            values[name] = text  # reported as unknown
        elif info.type.kind is not OptionKind.ARRAY:
            values[name] = read_text(info.type, text)
        else:
            raw = read_text(info.type, text)
            values[name] = [*values.get(name, ()), *(raw if isinstance(raw, list) else [text])]
    return values


def _check(
    executor: str, contribution: ExecutorContribution, source: _Source
) -> tuple[dict[str, object], list[Diagnostic]]:
    """Return the typed values of a source by option, and the problems with it."""
    from etconfig.schema.problem import OptionProblem
    from etconfig.schema.validate import check_value, find_option

    schema = contribution.options
    if schema is None:
        return {}, [_without_options(executor, source, name) for name in source.values]
    typed: dict[str, object] = {}
    problems: list[Diagnostic] = []
    for name, raw in source.values.items():
        info, problem = find_option(schema, name)
        if problem is not None:
            problems.append(_named(executor, schema, problem.to_diagnostic(*source.place(name, False, ()))))
        if info is None:
            continue
        value = check_value(schema, info, raw)
        if isinstance(value, OptionProblem):
            for each in value.each:
                spans = source.place(name, True, each.path)
                problems.append(_named(executor, schema, each.to_diagnostic(*spans)))
        elif info.name in contribution.path_options:
            typed[info.name], missing = _anchored(executor, info.name, value, source)
            problems += missing
        else:
            typed[info.name] = value
    return typed, problems


def _anchored(executor: str, option: str, value: object, source: _Source) -> tuple[object, list[Diagnostic]]:
    """Return a text, or several, with absolute paths, and the problems of missing files."""
    if isinstance(value, str):
        path = _absolute(value, source.directory)
        return path, _missing(executor, option, path, source.place(option, True, ()))
    if not isinstance(value, tuple):
        return value, []
    paths = tuple(_absolute(each, source.directory) if isinstance(each, str) else each for each in value)
    problems = [
        problem
        for index, path in enumerate(paths)
        for problem in _missing(
            f"{executor}", f"{option}[{index}]", path, source.place(option, True, (index,))
        )
    ]
    return paths, problems


def _absolute(text: str, directory: Path) -> str:
    """Return a path that starts from a directory; a text without a slash and a dot is a name."""
    return text if not {"/", "\\", "."} & set(text) else str(directory / text)


def _missing(executor: str, option: str, path: object, spans: tuple[Span, ...]) -> list[Diagnostic]:
    if not isinstance(path, str) or not Path(path).is_absolute() or Path(path).is_file():
        return []
    what = "is a directory" if Path(path).is_dir() else "does not exist"
    message = f"executor.{executor}.{option}: {path} {what}"
    help_text = "correct the path; a relative one in a project file starts from that file"
    return [Diagnostic(code="unreadable-file", message=message, spans=spans, help=help_text)]


def _without_options(executor: str, source: _Source, name: str) -> Diagnostic:
    return Diagnostic(
        code="unknown-option",
        message=f"executor.{executor} has no option {name!r}",
        spans=source.place(name, False, ()),
        help="it has no options; remove it",
    )


def _named(executor: str, schema: type[BackendOptions], problem: Diagnostic) -> Diagnostic:
    """Return a problem whose message names the executor as the project file does, not the options class."""
    return replace(problem, message=problem.message.replace(schema.__name__, f"executor.{executor}", 1))
