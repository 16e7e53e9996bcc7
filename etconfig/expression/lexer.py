"""Conversion of text to tokens."""

from __future__ import annotations

import re
from typing import NamedTuple

from etconfig.base.source_characters import find_invisible
from etconfig.expression.expression_source import ExpressionSource

MAX_LENGTH = 4096
"""The most characters that an expression may have."""

RESERVED = frozenset({"true", "false", "null", "in"})
"""Words that are not names of facts."""


class Token(NamedTuple):
    """A word of the language.

    Attributes:
        kind: `int`, `float`, `string`, `name`, `end`; for operators and reserved words the text itself.
        text: As written.
        start: Offset of the first character.
        end: Offset just past the last one.
    """

    kind: str
    text: str
    start: int
    end: int


# A name is a whole dotted fact name, so `gpu.0.name` is one token; a method call is its last part.
_TOKEN = re.compile(
    r"""
    [ \t\n\r\f]* (?:
      (?P<name>      [A-Za-z_]\w* (?: \. (?: [A-Za-z_]\w* | [0-9]+ ) )* )
    | (?P<string>    "(?: [^"\\\n] | \\[^\n] )*" | '(?: [^'\\\n] | \\[^\n] )*' )
    | (?P<float>     (?: [0-9]*\.[0-9]+ (?: [eE][+-]?[0-9]+ )? | [0-9]+[eE][+-]?[0-9]+ ) (?![\w.]) )
    | (?P<int>       (?: 0[xX][0-9a-fA-F]+ | [0-9]+ ) (?![\w.]) )
    | (?P<operator>  && | \|\| | [=!<>]= | [!<>+\-*/%?:(),.\[\]] )
    | (?P<end>       \Z )
    | (?P<other>     . )
    )
    """,
    re.VERBOSE | re.ASCII | re.DOTALL,
)
_BAD_NUMBER = re.compile(r"\.?[0-9][\w.]*", re.ASCII)


def tokenize(source: ExpressionSource) -> list[Token]:
    """Return the tokens of an expression; the last one has the kind `end`.

    Raises:
        ProfileError: the text is too long, or contains something that is not a token.
    """
    text = source.text
    if len(text) > MAX_LENGTH:
        problem = f"the expression has {len(text)} characters; at most {MAX_LENGTH} are allowed"
        raise source.error(problem, 0, len(text), code="expression-too-large")
    unseen = find_invisible(text)
    if unseen is not None:
        problem = f"the expression contains the invisible character U+{ord(text[unseen]):04X}"
        help = "retype the expression"
        raise source.error(problem, unseen, unseen + 1, code="invisible-character", help=help)
    tokens: list[Token] = []
    position = 0
    while not tokens or tokens[-1].kind != "end":
        match = _TOKEN.match(text, position)
        assert match is not None
        kind, position = match.lastgroup or "", match.end()
        word = match.group(kind)
        if kind == "operator" or word in RESERVED:
            kind = word
        elif kind == "other":
            raise _not_a_token(source, match.start(kind))
        tokens.append(Token(kind, word, position - len(word), position))
    return tokens


def _not_a_token(source: ExpressionSource, position: int) -> Exception:
    from etconfig.mistakes.expression.unexpected_tokens import help_for_character

    text = source.text
    character = text[position]
    if character in "\"'":
        return source.error(
            "this string does not end", position, len(text), help=f"close it with {character}"
        )
    number = _BAD_NUMBER.match(text, position)
    if number:
        problem = f"{number.group()!r} is not a number"
        help = "numbers are written 4, 0x1F, 0.5 or 1e6, without units"
        if re.fullmatch(r"[0-9]+(\.[0-9]+){2,}", number.group()):
            help = f'a version is a text: write "{number.group()}" in quotes, beside version(...)'
        return source.error(problem, position, number.end(), help=help)
    problem = f"unexpected character {character!r}"
    if character.isspace():
        problem = f"unexpected space U+{ord(character):04X}"
        return source.error(problem, position, position + 1, help="retype it as a plain space")
    meant = help_for_character(text, position)
    return source.error(problem, position, position + 1, help=meant)
