"""SQL of the problems of a line of JSON: of the whole line, of its keys, and of each fact."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from etconfig.base.records import record
from etconfig.facts.problems import unknown_fact
from etconfig.facts.registry import FactInfo, FactRegistry, FactType
from etconfig.facts.sheet_json import ENTRY_KEYS, SHEET_VERSION
from etconfig.fleet.inventory.columns import NOT_AN_OBJECT, SHEET_KEYS, unknown_help
from etconfig.fleet.inventory.json_values import plain_text, typed_value
from etconfig.fleet.inventory.sql_names import quoted_text

_KEY_IS_REPEATED = "its key is repeated"
_MAX_VALUE = 60
"""The characters that are kept of a wrong value."""

_TYPE = 'STRUCT(fact VARCHAR, problem VARCHAR, help VARCHAR, "value" VARCHAR)'
_EXPECTED = {
    FactType.BOOL: "true or false",
    FactType.INT: "an int of at most 64 bits",
    FactType.FLOAT: "a finite number",
    FactType.STRING: "a string",
    FactType.STRING_LIST: "a list of strings",
}


@record(frozen=True, kw_only=True)
class JsonKey:
    """A key that names a fact, or what might be one.

    Attributes:
        key: The key; one of them, if a fact is named in two ways.
        fact: The name of the fact.
        places: The places of its keys among the keys of the file.
        info: The declaration of the fact, None if there is none.
    """

    key: str
    fact: str
    places: tuple[int, ...]
    info: FactInfo | None


def problems_of_line(
    keys: Sequence[JsonKey], beside: Sequence[JsonKey], registry: FactRegistry, ignored: Collection[str]
) -> str:
    """Return the SQL of all problems of a line.

    Args:
        keys: The keys of facts, in the order of their problems.
        beside: The keys beside the key `facts` of sheets that must not be there.
        registry: The facts.
        ignored: Keys to leave out.
    """
    repeated = _problem("replace(key, '__', '.')", quoted_text(_KEY_IS_REPEATED))
    lists = [
        f"list_transform(coalesce(repeated, []), lambda key: {repeated})",
        f"list_filter([{', '.join(_line_cases(ignored))}], lambda p: p IS NOT NULL)",
    ]
    if beside:
        cases = ", ".join(_beside(key, registry) for key in beside)
        lists.append(
            f"list_transform(list_filter([{cases}], lambda c: is_sheet "
            "AND list_contains(keys_of[1], c.key)), "
            "lambda c: c.problem)"
        )
    if keys:
        lists.append(_fact_problems(keys, registry))
    return f"CASE WHEN is_right THEN [] ELSE {' || '.join(lists)} END"


def repeated_keys(ignored: Collection[str]) -> str:
    """Return the SQL of the keys of a line that are repeated, without those to leave out; NULL if none is."""
    cases = " ".join(
        f"WHEN {is_repeated(keys)} THEN {_repeated(keys, ignored)}" for keys in ("keys", "keys_of[1]")
    )
    return f"CASE {cases} END"


def is_repeated(keys: str) -> str:
    """Return the SQL that is true if a list of keys has one twice."""
    return f"len({keys}) <> list_unique({keys})"


def _repeated(keys: str, ignored: Collection[str]) -> str:
    is_twice = f"len(list_filter({keys}, lambda other: other = key)) > 1"
    if ignored:
        is_twice += f" AND key NOT IN ({', '.join(map(quoted_text, sorted(ignored)))})"
    return f"list_sort(list_distinct(list_filter({keys}, lambda key: {is_twice})))"


def _problem(fact: str, problem: str, help: str = "NULL", value: str = "NULL") -> str:
    """Return the SQL of a problem, of the SQL of its parts; an empty value is none."""
    shown = f"nullif(left(CAST({value} AS VARCHAR), {_MAX_VALUE}), '')"
    return f"{{'fact': {fact}, 'problem': {problem}, 'help': {help}, 'value': {shown}}}::{_TYPE}"


def _text(text: str | None) -> str:
    return "NULL" if text is None else quoted_text(text)


def _line_cases(ignored: Collection[str]) -> Iterator[str]:
    """Yield the SQL of the problems of a whole line, or of a whole sheet; each is NULL if all is right."""
    facts = quoted_text(SHEET_KEYS[1])
    cases: list[tuple[str, str, str | None, str]] = [
        ("json_type(json) IS DISTINCT FROM 'OBJECT'", NOT_AN_OBJECT, None, "NULL")
    ]
    if SHEET_KEYS[0] not in ignored:
        problem = f"the version of the sheet is not {SHEET_VERSION}"
        help = "save the sheet again with this version of etconfig, or install a newer etconfig"
        found = f"json_extract(json, '/{SHEET_KEYS[0]}')"
        is_wrong = f"CAST({found} AS VARCHAR) NOT IN ('null', '{SHEET_VERSION}')"
        cases.append((is_wrong, problem, help, found))
    if SHEET_KEYS[1] not in ignored:
        problem = "expected an object under the key 'facts'"
        help = 'write {"facts": {"cpu.arch": {"value": "arm64"}}}, or plain values without the key'
        is_wrong = f"NOT is_sheet AND list_contains(keys_of[1], {facts})"
        cases.append((is_wrong, problem, help, "json_extract(json, '/facts')"))
        problem, help = "a whole sheet is under the key 'facts'", "give only its facts there"
        cases.append((f"is_sheet AND list_contains(keys_of[2], {facts})", problem, help, "NULL"))
    for is_wrong, problem, advice, value in cases:
        found = _problem("NULL", quoted_text(problem), _text(advice), value)
        yield f"CASE WHEN {is_wrong} THEN {found} END"


def _beside(key: JsonKey, registry: FactRegistry) -> str:
    """Return the SQL of a key beside the key `facts` of a sheet, which is not read, with its problem."""
    if key.info is not None:
        problem, help = f"the fact {key.fact!r} is beside the key 'facts'", "move it into 'facts'"
    else:
        problem = f"unknown key {key.key!r} beside the key 'facts'"
        help = unknown_help(unknown_fact(key.fact, registry), key.key)
    found = _problem("NULL", quoted_text(problem), quoted_text(help))
    return f"{{'key': {quoted_text(key.key)}, 'problem': {found}}}"


def _declaration(key: JsonKey, registry: FactRegistry) -> str:
    """Return the SQL of what the values of a fact must be, and of the texts of their problems."""
    info, unknown, help = key.info, None, None
    if info is None:
        found = unknown_fact(key.fact, registry)
        unknown, help = found.message, unknown_help(found, key.key)
    unit = None if info is None else info.unit
    parts = {
        "fact": quoted_text(key.fact),
        "unknown": _text(unknown),
        "help": _text(help),
        "kind": _text(None if info is None else info.type.name),
        "unit": _text(unit),
        "unit_text": _text("it has no unit" if unit is None else f"its unit is {unit}"),
        "expected": _text(None if info is None else f"expected {_EXPECTED[info.type]}"),
        "is_shown": "FALSE" if info is not None and info.is_identifying else "TRUE",
    }
    fields = ", ".join(f"'{name}': {value}" for name, value in parts.items())
    types = ", ".join(f"{name} {'BOOLEAN' if name == 'is_shown' else 'VARCHAR'}" for name in parts)
    return f"{{{fields}}}::STRUCT({types})"


def _fact_problems(keys: Sequence[JsonKey], registry: FactRegistry) -> str:
    """Return the SQL of the problems of facts, one of each at most: a list of what they have becomes shorter.

    The text of a fact's problem is looked up by its place, so that it is not kept for every line.
    """
    entries = ", ".join(_entry(key) for key in keys)
    declared = ", ".join(_declaration(key, registry) for key in keys)
    present = f"list_filter(list_zip([{entries}], range(1, {len(keys) + 1})), lambda p: p[1] IS NOT NULL)"
    parsed = (
        f"list_transform({present}, lambda p: {{'is_twice': p[1] = '', 'entry': p[1], "
        f"'keys': CASE WHEN starts_with(p[1], '{{') THEN json_keys(p[1]) END, "
        "'value': CASE WHEN starts_with(p[1], '{') THEN CAST(json_extract(p[1], '/value') AS VARCHAR) "
        "ELSE p[1] END, "
        "'unit': CASE WHEN starts_with(p[1], '{') THEN json_extract_string(p[1], '/unit') END, "
        "'unknown': CASE WHEN starts_with(p[1], '{') "
        "THEN CAST(json_extract(p[1], '/unknown') AS VARCHAR) END, "
        f"'is': ([{declared}])[p[2]]}})"
    )
    return f"list_filter(list_transform({parsed}, lambda f: {_fact_case()}), lambda p: p IS NOT NULL)"


def _entry(key: JsonKey) -> str:
    """Return the SQL of what a line has for a fact; an empty text if it has two keys for it."""
    if len(key.places) == 1:
        return f"e[{key.places[0]}]"
    number = " + ".join(f"CAST(e[{place}] IS NOT NULL AS INT)" for place in key.places)
    several = ", ".join(f"e[{place}]" for place in key.places)
    return f"CASE WHEN ({number}) > 1 THEN '' ELSE coalesce({several}) END"


def _fact_case() -> str:
    """Return the SQL of the first problem of a fact."""
    known = ", ".join(map(quoted_text, ENTRY_KEYS))
    both = (
        "list_has_all(f.keys, ['value', 'unknown']) AND coalesce(f.value, 'null') <> 'null' "
        "AND coalesce(f.unknown, 'null') <> 'null'"
    )
    wrong_type = " ".join(
        f"WHEN '{kind.name}' THEN ({typed_value(kind, plain_text('f.value'))}) IS NULL" for kind in FactType
    )
    joined = "CASE WHEN f.is.is_shown THEN array_to_string(f.keys, ', ') END"
    help = quoted_text(f"the keys are {', '.join(map(repr, ENTRY_KEYS))}")
    value = "CASE WHEN f.is.is_shown THEN f.value END"
    cases = (
        ("f.is_twice", quoted_text(_KEY_IS_REPEATED)),
        ("f.is.unknown IS NOT NULL", "f.is.unknown", "f.is.help", "f.entry"),
        (is_repeated("f.keys"), quoted_text("a key in its object is repeated")),
        (f"NOT list_has_all([{known}], f.keys)", quoted_text("unknown key in its object"), help, joined),
        (
            f"NOT list_has_any(['value', 'unknown'], f.keys) OR ({both})",
            quoted_text("expected either 'value' or 'unknown' in its object"),
        ),
        ("f.unit IS NOT NULL AND f.unit IS DISTINCT FROM f.is.unit", "f.is.unit_text", "NULL", "f.unit"),
        (f"f.value <> 'null' AND CASE f.is.kind {wrong_type} END", "f.is.expected", "NULL", value),
    )
    fact = "CASE WHEN f.is.unknown IS NULL OR f.is_twice THEN f.is.fact END"
    texts = " ".join(f"WHEN {condition} THEN {_problem(fact, *parts)}" for condition, *parts in cases)
    return f"CASE {texts} END"
