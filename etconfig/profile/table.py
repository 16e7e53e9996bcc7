"""`TomlTable`: typed access to one table of a document; problems become diagnostics."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from typing import Any, TypeGuard

from etconfig.base.budgeted_resources import MAX_AMOUNT
from etconfig.base.quantities import BYTE_SIZES, scaled_number
from etconfig.diagnostics import Diagnostic, Fix, Span
from etconfig.errors import ProfileError
from etconfig.facts.memory_fit import MAX_MARGIN
from etconfig.profile.bounds import MAX_PROBLEMS, too_many_problems
from etconfig.profile.document import Document
from etconfig.profile.positions import KeyPath

_TOML_TYPES: Mapping[type, str] = {
    bool: "a bool",
    int: "an int",
    float: "a float",
    str: "a string",
    list: "an array",
    dict: "a table",
}


_NONE: frozenset[str] = frozenset()


class TomlTable:
    """One table of a document.

    Attributes:
        document: The document.
        path: The path of the table.
        data: Its keys and values.
        problems: The problems found in the document so far; all its tables share the list.
    """

    __slots__ = ("data", "document", "path", "problems")

    def __init__(
        self, document: Document, path: KeyPath, data: Mapping[str, Any], problems: list[Diagnostic]
    ) -> None:
        self.document = document
        self.path = path
        self.data = data
        self.problems = problems

    @property
    def name(self) -> str:
        """The dotted name, such as `options.XnnpackBackend`; indices are left out."""
        return dotted(self.path)

    @property
    def header(self) -> str:
        """The header, such as `[options.XnnpackBackend]`; `the document` for its root."""
        if not self.path:
            return "the document"
        return f"[[{self.name}]]" if isinstance(self.path[-1], int) else f"[{self.name}]"

    def key_span(self, key: str | int) -> Span:
        """Return the place of `key`."""
        return self.document.key_span((*self.path, key))

    def value_span(self, *keys: str | int) -> Span:
        """Return the place of the value of the last of nested `keys`."""
        return self.document.value_span((*self.path, *keys))

    def report(
        self, code: str, message: str, span: Span, help: str | None = None, fix: Fix | None = None
    ) -> None:
        """Add a problem.

        Raises:
            ProfileError: there are more than are looked for at once.
        """
        self.add(Diagnostic(code=code, message=message, spans=(span,), help=help, fix=fix))

    def add(self, *problems: Diagnostic) -> None:
        """Add problems.

        Raises:
            ProfileError: there are more than are looked for at once.
        """
        self.problems.extend(problems)
        if len(self.problems) > MAX_PROBLEMS:
            self.problems.append(too_many_problems(self.problems[-1]))
            raise self.error()

    def error(self) -> ProfileError:
        """Return an error with all problems of the document, in the order of their places."""
        problems = sorted(self.problems, key=lambda problem: _place(problem.spans[0]))
        return ProfileError(diagnostics=tuple(problems))

    def check_keys(self, known: Collection[str], kind: str) -> frozenset[str]:
        """Report the keys that are not `known`, with the advice for a table of this kind.

        Returns:
            The keys that were probably meant by those.
        """
        for key in self.data:  # nearly always few and right
            if key not in known:
                return self._report_unknown_keys(known, kind)
        return _NONE

    def _report_unknown_keys(self, known: Collection[str], kind: str) -> frozenset[str]:
        """Do the same as `check_keys`, which found that some are unknown."""
        from etconfig.mistakes.profile.unknown_keys import UnknownKey, advise

        meant = set()
        for key, value in self.data.items():
            if key not in known:
                unknown = UnknownKey(self.document, self.path, key, value, tuple(known), self.data)
                advice = advise(kind, unknown)
                message = f"{self.header} has no key {key!r}"
                self.report("unknown-key", message, unknown.span(), advice.help, advice.fix)
                if advice.meant is not None:
                    meant.add(advice.meant)
        return frozenset(meant)

    def string(self, key: str, help: str | None = None) -> str | None:
        """Return the string at `key`; None if it is missing or not a string."""
        value = self.data.get(key)
        if isinstance(value, str):
            return value
        if value is not None:
            self._wrong_type(key, value, "a string", help)
        return None

    def typed(self, key: str, kinds: tuple[type, ...], wanted: str, help: str | None = None) -> Any:
        """Return the value at `key`; None if it is missing, or of another type than `kinds`."""
        value = self.data.get(key)
        if value is None or type(value) in kinds:
            return value
        self._wrong_type(key, value, wanted, help)
        return None

    def boolean(self, key: str, help: str | None = None) -> bool:
        """Return the boolean under `key`; False if it is missing or of a wrong type, which is reported."""
        value = self.data.get(key, False)
        if isinstance(value, bool):
            return value
        self._wrong_type(key, value, "true or false", help)
        return False

    def margin(self, key: str, help: str) -> float | None:
        """Return the share at `key`, 0 for true; None for false, no key or a wrong value, which is noted."""
        value = self.data.get(key, False)
        if isinstance(value, bool):
            return 0.0 if value else None
        if isinstance(value, (int, float)) and 0 <= value <= MAX_MARGIN:
            return float(value)
        self._wrong_type(key, value, f"true, false or a share from 0 to {MAX_MARGIN:,}", help)
        return None

    def size(self, key: str, help: str) -> int | None:
        """Return the bytes at `key`, a number or a text such as "512 MiB"; None for no or a wrong one."""
        value = self.data.get(key)
        if isinstance(value, str):
            with suppress(ValueError):
                value = int(scaled_number(value, BYTE_SIZES))
        if value is None or (type(value) is int and 1 <= value <= MAX_AMOUNT):
            return value
        message = f"{self._dotted(key)!r} must be bytes from 1 to {MAX_AMOUNT}, but is {self.data[key]!r:.60}"
        self.report("wrong-type", message, self.value_span(key), help)
        return None

    def require(self, key: str, help: str) -> None:
        """Report that `key` is missing, if it is."""
        if key not in self.data:
            self.report("missing-key", f"{self.header} has no {key!r}", self.own_span(), help)

    def strings(self, key: str) -> list[str]:
        """Return the array of strings at `key`; empty if it is missing or something else."""
        value = self.data.get(key, [])
        if not isinstance(value, list):
            fix = _as_array(value, self.value_span(key))
            help = f"write {key} = {fix.replacement}" if fix else f'write {key} = ["..."]'
            self._wrong_type(key, value, "an array of strings", help, fix)
            return []
        wrong = [(index, item) for index, item in enumerate(value) if not isinstance(item, str)]
        for index, item in wrong:
            message = f"{self._dotted(key)!r} is an array of strings, but contains {toml_type(item)}"
            self.report("wrong-type", message, self.value_span(key, index))
        return [] if wrong else value

    def table(self, key: str, help: str | None = None) -> TomlTable | None:
        """Return the table at `key`; None if it is missing or something else."""
        value = self.data.get(key)
        if isinstance(value, dict):
            return TomlTable(self.document, (*self.path, key), value, self.problems)
        if value is not None:
            self._no_table(key, value, help)
        return None

    def tables(self, help: str) -> Iterator[tuple[str, TomlTable]]:
        """Yield every key with its table; report other values with `help`, where `{table}` is the name."""
        wrong: list[str] = []
        for key, value in self.data.items():
            if isinstance(value, dict):
                yield key, TomlTable(self.document, (*self.path, key), value, self.problems)
            elif is_tables(value):
                self._no_table(key, value, help.replace("{table}", self.name))
            else:
                wrong.append(key)
        if wrong:
            what = f"{self._dotted(wrong[0])!r} must be a table, but is {toml_type(self.data[wrong[0]])}"
            more = f"; so are {len(wrong) - 1} more keys of {self.header}" if wrong[1:] else ""
            span = self.value_span(wrong[0])
            self.report("wrong-type", f"{what}{more}", span, help.replace("{table}", self.name))

    def array_of_tables(self, key: str) -> Iterator[TomlTable]:
        """Yield the elements of the array of tables at `key`; none if it is missing or something else."""
        value = self.data.get(key)
        if isinstance(value, list) and all(isinstance(item, dict) for item in value):
            for index, item in enumerate(value):
                yield TomlTable(self.document, (*self.path, key, index), item, self.problems)
        elif value is not None:
            self._no_array_of_tables(key, value)

    def own_span(self) -> Span:
        """Return the place of the table's own key or header; the first character for the document's root."""
        return self.document.key_span(self.path) if self.path else self.document.source.span(0, 1)

    def _dotted(self, key: str) -> str:
        return dotted((*self.path, key))

    def _wrong_type(
        self,
        key: str,
        value: object,
        wanted: str,
        help: str | None = None,
        fix: Fix | None = None,
    ) -> None:
        message = f"{self._dotted(key)!r} must be {wanted}, but is {toml_type(value)}"
        self.report("wrong-type", message, self.value_span(key), help, fix)

    def _no_table(self, key: str, value: object, help: str | None) -> None:
        """Report a value that must be a table; an array of one table can become one."""
        if not is_tables(value):
            self._wrong_type(key, value, "a table", help)
            return
        from etconfig.mistakes.profile.header_fixes import header_fix, header_text

        names = self._names(key)
        fix = header_fix(self.document, names, names, is_array=False) if len(value) == 1 else None
        message = f"{self._dotted(key)!r} must be a table, but is an array of tables"
        self.report("wrong-type", message, self.value_span(key), f"write {header_text(names)}", fix)

    def _no_array_of_tables(self, key: str, value: object) -> None:
        """Report a value that must be an array of tables; one table can become its first element."""
        from etconfig.mistakes.profile.header_fixes import header_fix, header_text

        names = self._names(key)
        is_table = isinstance(value, dict)
        fix = header_fix(self.document, names, names, is_array=True) if is_table else None
        help = f"write {header_text(names, is_array=True)}"
        if is_table and fix is None:
            help += " above its keys"
        self._wrong_type(key, value, "an array of tables", help, fix)

    def _names(self, key: str) -> tuple[str, ...]:
        return (*(part for part in self.path if isinstance(part, str)), key)


def _as_array(value: object, span: Span) -> Fix | None:
    """Return the fix that makes an array of one string."""
    text = span.underlined
    if not isinstance(value, str) or text is None or len(text) < 2 or text[-1] != text[0]:
        return None
    return Fix(span=span, replacement=f"[{text}]", is_safe=True)


def is_tables(value: object) -> TypeGuard[list[dict[str, Any]]]:
    """Return True for an array of tables that is not empty."""
    return isinstance(value, list) and value != [] and all(isinstance(item, dict) for item in value)


def _place(span: Span) -> tuple[int, int]:
    return span.line, span.column


def dotted(path: KeyPath) -> str:
    """Return a path as a header has it, without indices."""
    return ".".join(part for part in path if isinstance(part, str))


def toml_type(value: object) -> str:
    """Return the TOML name for the type of a value, with an article."""
    return _TOML_TYPES.get(type(value), "a date or time")
