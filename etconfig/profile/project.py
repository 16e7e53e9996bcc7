"""`ProjectFile`: `etconfig.toml`, or `[tool.etconfig]` in pyproject.toml."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from functools import partial
from pathlib import Path, PurePath
from typing import TypeVar

from etconfig.base.provenance import OriginKind
from etconfig.base.records import record
from etconfig.diagnostics import CODES, Respelling, Severity, Span, nearest
from etconfig.diagnostics.allow_comments import code_problem
from etconfig.diagnostics.rules import LEVELS, FileRules, Rules
from etconfig.expression import ExpressionParser
from etconfig.profile.device_tests import DeviceTest, read_names, read_tests
from etconfig.profile.document import Document
from etconfig.profile.profile import Reference
from etconfig.profile.settings import SETTINGS_KEYS, DocumentSettings, read_settings
from etconfig.profile.table import TomlTable
from etconfig.profile.usage_guards import Guard, read_guards

_HELP = 'a project file names an executor: executor = "numpy", or [executor] with name = "numpy"'
_TABLE_HELP = "write the options of an executor in a table of their own, such as [{table}.executorch]"
_NAME = "name"

_PYPROJECT = "pyproject.toml"

_SELECTION_HELP = 'a project file selects a profile: profile = "vendor/device"'

_KEYS = (
    "profile",
    "require_match",
    "profile_path",
    "executor",
    "programs",
    "models",
    "model",
    "plugins",
    "kernels",
    "rules",
    "devices",
    "test",
    "expect",
    "guard",
    *SETTINGS_KEYS,
)

_PLUGIN_KEYS = ("prefer", "allow", "deny")

_ValueT = TypeVar("_ValueT")


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


@record(frozen=True, kw_only=True)
class PluginChoices:
    """`[plugins]`: the plugins that a project uses.

    Attributes:
        prefer: For a backend id or other entry-point name that several distributions claim, the one to use.
        allow: If given, only plugins of these names or distributions.
        deny: No plugins of these names or distributions.
        references: All these names, with their places.
    """

    prefer: Mapping[str, str] = field(default_factory=dict)
    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()
    references: tuple[Reference, ...] = field(default=(), compare=False)


@record(frozen=True, kw_only=True)
class ProjectFile:
    """The contents of a project file.

    Attributes:
        name: Its path or name.
        profile: The profile that it selects: `auto`, a name or a path; None if it selects none.
        require_match: True if `auto` may not fall back to a profile that matches every device.
        profile_path: Directories of profiles; their paths are relative to the file.
        executor: The executor that commands use unless they are given another one; None for the default.
        executor_tables: The options of executors.
        programs: The programs that it configures; their paths are relative to the file.
        models: Files with further models; their paths are relative to the file. `[model.NAME]` itself is read
            by the package `models`, when a model is selected or checked.
        plugins: Its choice of plugins.
        kernels: `[kernels.prefer]`: by operator, the distribution whose kernel serves it, or `etconfig`.
        rules: `[rules]`: the levels of findings.
        rule_paths: The paths in `[[rules.files]]`, with their places.
        devices: Known devices, and fact sheets as paths, patterns or directories, relative to the file.
        tests: `[[test]]`: what must hold on each device.
        expect: The file of the options that devices should get; its path is relative to the file.
        guards: `[[guard]]`: limits for `fleet compare`.
        settings: The settings.
        values: All values that belong to etconfig, as the parser has them.
    """

    name: str
    profile: Reference | None = None
    require_match: bool = False
    profile_path: tuple[Reference, ...] = ()
    executor: Reference | None = None
    executor_tables: tuple[ExecutorTable, ...] = ()
    programs: tuple[Reference, ...] = ()
    models: tuple[Reference, ...] = ()
    plugins: PluginChoices = field(default_factory=PluginChoices)
    kernels: Mapping[str, Reference] = field(default_factory=dict)
    rules: Rules = field(default_factory=Rules)
    rule_paths: tuple[Reference, ...] = ()
    devices: tuple[Reference, ...] = ()
    tests: tuple[DeviceTest, ...] = ()
    expect: Reference | None = None
    guards: tuple[Guard, ...] = ()
    settings: DocumentSettings = field(default_factory=DocumentSettings)
    values: Mapping[str, object] = field(default_factory=dict, compare=False, repr=False)


def parse_project(document: Document, expressions: ExpressionParser) -> ProjectFile:
    """Read a project file from its document.

    In a document named pyproject.toml, only `[tool.etconfig]` is read; without that table nothing is set.
    A table with nearly its name is a problem.

    Raises:
        ProfileError: with every problem of the document.
    """
    root = TomlTable(document, (), document.data, [])
    project = _read_project(root, expressions)
    if root.problems:
        raise root.error()
    return project


def salvage_project(document: Document, expressions: ExpressionParser) -> ProjectFile:
    """Return what can be read of a project file with problems, which are not reported again.

    Raises:
        ProfileError: there are more than are looked for at once.
    """
    return _read_project(TomlTable(document, (), document.data, []), expressions)


def _read_project(root: TomlTable, expressions: ExpressionParser) -> ProjectFile:
    section = project_section(root)
    if section is None:
        return ProjectFile(name=root.document.name)
    section.check_keys(_KEYS, "project")
    return ProjectFile(
        name=root.document.name,
        profile=_read_selection(section),
        require_match=section.boolean("require_match", "write require_match = true, or leave it out"),
        profile_path=read_names(section, "profile_path"),
        executor=read_executor(section),
        executor_tables=read_executor_tables(section),
        programs=read_names(section, "programs"),
        models=read_models_files(section),
        plugins=read_plugins(section),
        kernels=read_kernels(section),
        rules=read_rules(section),
        rule_paths=_read_rule_paths(section),
        devices=read_names(section, "devices"),
        tests=read_tests(section, expressions),
        expect=_read_expect(section),
        guards=read_guards(section),
        settings=read_settings(section, expressions, OriginKind.PROJECT),
        values=section.data,
    )


def section_span(document: Document) -> Span | None:
    """Return the place of the part of a document that belongs to etconfig, or None if it has none."""
    section = project_section(TomlTable(document, (), document.data, []))
    return None if section is None else section.own_span()


def has_project_section(document: Document) -> bool:
    """Return True if a part of a document belongs to etconfig, or is wrong and was meant to."""
    root = TomlTable(document, (), document.data, [])
    return project_section(root) is not None or bool(root.problems)


def parse_part(document: Document, read: Callable[[TomlTable], _ValueT], otherwise: _ValueT) -> _ValueT:
    """Read a part of a project file, which counts also if something else is wrong, and without all facts.

    Raises:
        ProfileError: with every problem of that part.
    """
    root = TomlTable(document, (), document.data, [])
    section = project_section(root)
    value = otherwise if section is None else read(section)
    if root.problems:
        raise root.error()
    return value


def project_section(root: TomlTable) -> TomlTable | None:
    """Return the part of a project file that belongs to etconfig, or None; problems are reported."""
    if PurePath(root.document.name).name != _PYPROJECT:
        return root
    tool = root.table("tool")
    if not tool:
        return None
    if "etconfig" not in tool.data:
        for name in tool.data:
            # another tool may be called config
            if name.startswith("et") and nearest(name, ("etconfig",)) is not None:
                tool.report(
                    "unknown-key",
                    f"{tool.header} has no key {name!r}",
                    tool.key_span(name),
                    "did you mean 'etconfig'?",
                )
    return tool.table("etconfig")


def _read_selection(section: TomlTable) -> Reference | None:
    head = section.data.get("profile")
    if isinstance(head, dict):
        message = "'profile' must be a string, but is a table"
        section.report("wrong-type", message, section.value_span("profile"), _SELECTION_HELP)
        return None
    target = section.string("profile", _SELECTION_HELP)
    return None if target is None else Reference(target, partial(section.value_span, "profile"))


def _read_expect(section: TomlTable) -> Reference | None:
    path = section.string("expect", "write the path of a file that `matrix --write-expect` wrote")
    return None if path is None else Reference(path, partial(section.value_span, "expect"))


def read_models_files(section: TomlTable) -> tuple[Reference, ...]:
    """Read `models`: the files with further models."""
    models = section.data.get("models")
    if isinstance(models, dict):
        from etconfig.mistakes.profile.header_fixes import header_fix, header_text

        names = tuple(part for part in (*section.path, "models") if isinstance(part, str))
        meant = (*names[:-1], "model")
        section.report(
            "wrong-type",
            "'models' must be an array of paths, but is a table",
            section.key_span("models"),
            f"write {header_text((*meant, next(iter(models), 'NAME')))}, or name files: "
            'models = ["models.toml"]',
            None if "model" in section.data else header_fix(section.document, names, meant),
        )
        return ()
    return read_names(section, "models")


def read_rules(section: TomlTable) -> Rules:
    """Read the levels of findings."""
    rules = section.table("rules", 'write [rules] with lines such as unusual-value = "off"')
    if rules is None:
        return Rules()
    of_files = []
    for each in rules.array_of_tables("files"):
        each.require("paths", 'write the files that they are for: paths = ["profiles/acme"]')
        of_files.append(FileRules(tuple(each.strings("paths")), _read_levels(each, "paths")))
    path = section.document.path
    return Rules(
        levels=_read_levels(rules, "files"),
        of_files=of_files,
        directory=None if path is None else Path(path).parent,
    )


def _read_rule_paths(section: TomlTable) -> tuple[Reference, ...]:
    rules = TomlTable(section.document, section.path, section.data, []).table("rules")  # checked before
    tables = () if rules is None else rules.array_of_tables("files")
    return tuple(path for table in tables for path in read_names(table, "paths"))


def _read_levels(table: TomlTable, other: str) -> Mapping[str, Severity | None]:
    """Read the levels by code, beside one other key."""
    levels: dict[str, Severity | None] = {}
    for code, level in table.data.items():
        if code == other:
            continue
        wrong = None if level == "error" and code in CODES else code_problem(code, table.key_span(code))
        if wrong is not None:
            table.add(wrong)
        elif not isinstance(level, str) or level not in LEVELS:
            known = ", ".join(f'"{each}"' for each in LEVELS)
            span = table.value_span(code)
            shown = repr(level) if isinstance(level, str) else span.underlined
            guess = nearest(level, LEVELS) if isinstance(level, str) else None
            guess = "warning" if level == "warn" else guess
            message = f"{code} has no level {shown}; levels are {known}"
            help = None if guess is None else f"did you mean {guess!r}?"
            fix = Respelling(level, guess).at(span) if guess is not None else None
            table.report("invalid-rule", message, span, help, fix)
        else:
            levels[code] = LEVELS[level]
    return levels


def read_kernels(section: TomlTable) -> Mapping[str, Reference]:
    """Read the preferred kernels, by operator."""
    kernels = section.table("kernels")
    if kernels is None:
        return {}
    kernels.check_keys(("prefer",), "kernels")
    prefer = kernels.table("prefer", 'write prefer = { "aten::mul.out" = "some-distribution" }')
    chosen = {operator: prefer.string(operator) for operator in prefer.data} if prefer else {}
    return {
        operator: Reference(name, partial(prefer.value_span, operator))
        for operator, name in chosen.items()
        if prefer is not None and name is not None
    }


def read_plugins(section: TomlTable) -> PluginChoices:
    """Read the choice of plugins."""
    plugins = section.table("plugins")
    if plugins is None:
        return PluginChoices()
    plugins.check_keys(_PLUGIN_KEYS, "plugins")
    prefer = plugins.table("prefer", 'write prefer = { XnnpackBackend = "some-distribution" }')
    chosen = {name: prefer.string(name) for name in prefer.data} if prefer else {}
    preferred = {name: distribution for name, distribution in chosen.items() if distribution is not None}
    allow, deny = (read_names(plugins, key) for key in ("allow", "deny"))
    references = [*allow, *deny]
    if prefer is not None:
        references += [Reference(name, partial(prefer.key_span, name)) for name in preferred]
        references += [Reference(value, partial(prefer.value_span, n)) for n, value in preferred.items()]
    return PluginChoices(
        prefer=preferred,
        allow=tuple(each.target for each in allow) if "allow" in plugins.data else None,
        deny=tuple(each.target for each in deny),
        references=tuple(references),
    )
