"""Advice about a token where the grammar has another one, in a table by the token."""

from __future__ import annotations

_REGULAR = "there are no regular expressions; use contains, endsWith, startsWith"
CHOICE_HELP = "write CONDITION ? VALUE : OTHER, or the condition alone"
NO_NULL = "there is no null; has(fact) is true if a fact is known"
_NUMBERED = "facts are numbered with points, as gpu.0.name; items of a list have no numbers: TEXT in LIST"
_NOT_IN = "write !(VALUE in LIST)"

_AFTER_A_VALUE = {
    **dict.fromkeys(("like", "matches"), _REGULAR),
    **dict.fromkeys(("if", "else", "then", "when", "unless"), CHOICE_HELP),
    **dict.fromkeys(("not", "!"), _NOT_IN),
    **dict.fromkeys(
        ("contains", "includes", "startswith", "starts_with", "endswith", "ends_with"),
        "write FACT.contains(TEXT), startsWith or endsWith, and TEXT in LIST for a list",
    ),
    "between": "write FACT >= LEAST && FACT <= MOST",
    "xor": "write (a) != (b) for two conditions",
    "[": _NUMBERED,
    ":": "compare with ==",
    ",": "lists are written [a, b], and numbers without separators, as 0.5 and 4000000",
    **dict.fromkeys((")", "]"), "remove it, or open a bracket before it"),
}
_IN_PLACE_OF_A_VALUE = {
    "*": "there are no powers; multiply",
    ">": "there are no bit operations; divide by 1024",
    "<": "there are no bit operations; multiply",
    "/": "ints divide toward zero with one /; comments belong after the TOML string",
}
_CHARACTERS = {
    **dict.fromkeys(("~", "=~"), _REGULAR),
    "$": "write the name of the fact alone, as in cpu.available_cores > 4",
    "\\": "quotes need no backslash; write 'text' in a TOML string with double quotes",
    "^": "there are no bit operations",
    "{": "there are no maps; lists are written [a, b]",
    "#": "write comments after the TOML string",
    ";": "remove it at the end; a comma separates arguments and items, a colon the values of a choice",
    "&": "write && between two conditions",
    "|": "write || between two conditions",
    "=": "compare with ==",
}
_VALUES = ("name", "int", "float", "string", "true", "false")


def help_for_character(text: str, position: int) -> str | None:
    """Return what to do about a character that begins no token."""
    if text[position] == "=" and not text[:position].strip():
        return "remove it: an expression starts with a value"
    if text[position] == "=" and (before := text[:position].rstrip()[-1]) in "!<>":
        return f"write {before}= without a space"
    return _CHARACTERS.get(text[position : position + 2]) or _CHARACTERS.get(text[position])


def help_for_token(before: str | None, kind: str, text: str, expected: str) -> str | None:
    """Return what to do about an unexpected token.

    Args:
        before: The text of the token before it, or None.
        kind: Its kind.
        text: Its text.
        expected: What the grammar has in its place.
    """
    if text == "null":
        return NO_NULL
    if (before, text) == (".", "<"):
        return _NUMBERED
    if before is None:
        return "write a condition or a value, such as cpu.available_cores > 4"
    closing = expected[1:2] if expected.startswith(("')'", "']'")) else ""
    if closing and text in (")", "]", ""):
        return f"close it with {closing}"
    is_value_expected = expected.startswith("a value")
    table = _IN_PLACE_OF_A_VALUE if is_value_expected else _AFTER_A_VALUE
    if text.casefold() in table:
        return table[text.casefold()]
    if is_value_expected:
        return f"write a value after {before!r}"
    if before.casefold() in ("if", "when", "unless"):
        return CHOICE_HELP
    if expected.startswith("':"):
        return "write condition ? value : other value"
    if kind in _VALUES:
        return f"write an operator between {before!r} and {text!r}, such as == or &&"
    return f"close it with {closing}" if closing else None
