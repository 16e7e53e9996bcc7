"""Facts set by hand on the command line: `--fact NAME=VALUE`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from shlex import quote

from etconfig.base.provenance import Origin, OriginKind, Sourced
from etconfig.diagnostics import Diagnostic, Span
from etconfig.errors import FactError
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.facts.problems import invalid_value, unknown_fact
from etconfig.facts.registry import FactRegistry, FactType, FactValue

_SOURCE = "--fact"
_OTHER_SIGN = re.compile(r"([^\s:]*)(\s*:?\s*)(.*)", re.DOTALL)
_QUOTED = re.compile(r"""(["'])(.*)\1""")
_INT = re.compile(r"[+-]?[0-9]{1,19}")
_FLOAT = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")


def parse_fact_assignment(
    text: str, registry: FactRegistry = BUILTIN_FACTS
) -> tuple[str, Sourced[FactValue]]:
    """Parse `NAME=VALUE`; the type of the fact decides how the value is read.

    A bool is `true` or `false`, a string is taken unchanged, and the items of a string list are separated by
    commas, in brackets and quotes or not.

    Raises:
        FactError: the `=` is missing, the fact is unknown, or the value has the wrong type.
    """
    name, equals, value_text = text.partition("=")
    name = name.strip()
    if not equals:
        raise FactError(diagnostics=(_no_value(text, registry),))
    info = registry.get(name)
    if info is None:
        raise FactError(diagnostics=(unknown_fact(name, registry, _span(text, name)),))
    value = _read(info.type, value_text.strip())
    try:
        checked = info.check(value)
    except ValueError as error:
        span = _span(text, value_text.strip(), after=text.index("=") + 1)
        raise FactError(diagnostics=(invalid_value(name, info, value, error, span),)) from error
    return name, Sourced(checked, Origin(OriginKind.OVERRIDE, _SOURCE))


def parse_fact_assignments(
    texts: Iterable[str], registry: FactRegistry = BUILTIN_FACTS
) -> dict[str, Sourced[FactValue]]:
    """Parse several `NAME=VALUE`.

    Raises:
        FactError: some are wrong, or two set one fact to different values; the error contains all problems.
    """
    facts: dict[str, Sourced[FactValue]] = {}
    first: dict[str, str] = {}
    problems: list[Diagnostic] = []
    for text in texts:
        try:
            name, value = parse_fact_assignment(text, registry)
        except FactError as error:
            problems.extend(error.diagnostics)
        else:
            if facts.setdefault(name, value) != value:
                problems.append(_set_twice(name, first[name], text))
            first.setdefault(name, text)
    if problems:
        raise FactError(diagnostics=tuple(problems))
    return facts


def _set_twice(name: str, first: str, second: str) -> Diagnostic:
    return Diagnostic(
        code="invalid-fact-assignment",
        message=f"{name!r} is set twice, to different values",
        spans=(_span(second, second), _span(first, first)),
        help="give one value, or run the command once for each",
    )


def _no_value(text: str, registry: FactRegistry) -> Diagnostic:
    return Diagnostic(
        code="invalid-fact-assignment",
        message=f"{text!r} sets no fact; expected NAME=VALUE",
        spans=(_span(text, text),),
        help=_help_with_value(text.strip(), registry),
    )


def _help_with_value(text: str, registry: FactRegistry) -> str:
    """Return the assignment that a text without `=` was probably meant as, else an example."""
    match = _OTHER_SIGN.fullmatch(text)
    assert match is not None, "the pattern matches any text"
    name, sign, value = match.groups()
    info = registry.get(name)
    if info is None:
        from etconfig.mistakes.fact_guesses import likely_facts

        likely = likely_facts(name, registry)
        name = likely[0] if len(likely) == 1 else "power.source"
        info = registry.get(name)
        value = value if len(likely) == 1 else ""
    if sign and value:
        return f"write --fact {quote(f'{name}={value}')}"
    if info is None or info.choices or info.type is FactType.BOOL:
        return f"write, for example, --fact {name}={info.choices[-1] if info and info.choices else 'true'}"
    return f"write --fact {name}=VALUE; `etconfig facts` shows the values here"


def _span(text: str, part: str, after: int = 0) -> Span:
    start = text.index(part, after)
    return Span(file=_SOURCE, column=start + 1, length=max(len(part), 1), text=text)


def _read(fact_type: FactType, text: str) -> object:
    """Return the value that `text` spells, or else `text` itself, which `check` will refuse."""
    if fact_type is FactType.BOOL:
        return {"true": True, "false": False}.get(text, text)
    if fact_type is FactType.INT and _INT.fullmatch(text):
        return int(text)
    if fact_type is FactType.FLOAT and _FLOAT.fullmatch(text):
        return float(text)
    if fact_type is FactType.STRING_LIST:
        return _read_list(text)
    return text


def _read_list(text: str) -> object:
    """Return the items of a list, in brackets and quotes or not; the text itself if one is left open."""
    is_bracketed = text.startswith("[") and text.endswith("]") and len(text) > 1
    items = [part.strip() for part in (text[1:-1] if is_bracketed else text).split(",")]
    items = [_QUOTED.sub(r"\2", item) for item in items if item]
    return text if any(set(item) & set("[](){}\"'") for item in items) else tuple(items)
