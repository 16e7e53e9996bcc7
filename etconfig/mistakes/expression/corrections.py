"""Corrections of names and types in an expression: the message, the help, and the text to write.

This module is imported only for expressions that are wrong.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from etconfig.base.budgeted_resources import RESOURCES
from etconfig.diagnostics import nearest
from etconfig.expression.expression_source import ExpressionSource
from etconfig.expression.operations import OPERATIONS, is_plain_version
from etconfig.expression.signatures import ARITHMETIC, FUNCTIONS, STRING_METHODS
from etconfig.expression.syntax import Binary, FunctionCall, Literal, Name, Node
from etconfig.expression.types import ExpressionType
from etconfig.facts.problems import is_never, meant_text, usual_texts, usual_texts_help
from etconfig.facts.registry import FactInfo, FactRegistry, FactType
from etconfig.mistakes.expression.foreign_words import size_in_bytes
from etconfig.mistakes.expression.unexpected_tokens import CHOICE_HELP, NO_NULL
from etconfig.mistakes.fact_guesses import likely_facts

_INT, _FLOAT = ExpressionType.INT, ExpressionType.FLOAT
_STRING, _BOOL, _VERSION = ExpressionType.STRING, ExpressionType.BOOL, ExpressionType.VERSION
_COMPARED = {_INT: " > 4", _FLOAT: " < 0.5", _STRING: ' == "..."', _VERSION: ' >= "1.2"'}
_NUMBER = re.compile(r"-?(?:[0-9]+|[0-9]*\.[0-9]+)")

ADVICE_FOR_FUNCTIONS = {
    "matches": f"there are no regular expressions; use {', '.join(STRING_METHODS)}",
    "ceil": "there is no rounding; write (a + b - 1) / b for a / b rounded up",
    "abs": "there is no absolute value; write max(a, -(a)), or compare both ends",
    **dict.fromkeys(("if", "iif", "when"), CHOICE_HELP),
    **dict.fromkeys(
        ("lower", "upper", "tolowercase", "touppercase", "casefold", "strip", "trim"),
        "compare the fact itself: os.name, cpu.arch and fixed values are in lower case",
    ),
}
"""Advice for functions of other languages, by name in lower case."""
_USAGE_OF_HAS = "has takes the name of a fact, as in has(power.battery_level)"
_USAGE_OF_LISTS = 'write ITEM in LIST, as in "neon" in cpu.features, or compare size(LIST)'
_USAGE_OF_TEXTS = "write TEXT.contains(PART), or TEXT in [A, B]"
_USAGE_OF_VERSIONS = 'compare a version with ==, !=, <, <=, > or >= with a version in quotes, as in "1.2"'
_WITHOUT_QUOTES = ": without quotes it is the name of a fact"
_INTS_ALONE = "ints and floats do not mix; use ints alone, as in cpu.available_cores * 3 / 4"
_NO_ROUNDING = "there is no rounding of floats; compare, as in cpu.quota_cores < 2.0 ? 1 : 2"

_SIZES = frozenset(("length", "len", "size", "count"))
_NULLS = frozenset(("none", "nil", "undefined"))
_NAMES_OF_FUNCTIONS = {
    **dict.fromkeys(("len", "length", "count", "strlen"), "size"),
    **dict.fromkeys(
        ("defined", "exists", "isset", "is_set", "known", "is_known", "isdefined", "present"), "has"
    ),
    **dict.fromkeys(("minimum", "least"), "min"),
    **dict.fromkeys(("maximum", "greatest"), "max"),
    "includes": "contains",
    "hasprefix": "startsWith",
    "hassuffix": "endsWith",
    **dict.fromkeys(("semver", "parse_version", "parseversion", "version_of"), "version"),
    **dict.fromkeys(("hash", "percent", "percentage", "percentile", "rollout", "fraction"), "bucket"),
}
_ROUNDING = frozenset(("int", "round", "floor", "trunc", "integer"))


class Correction(NamedTuple):
    """The way out of a mistake.

    Attributes:
        help: An instruction, or None.
        start: The place of the text to replace.
        end: Its end.
        replacement: The text to write there, or None if the help is all there is.
        is_safe: True if there is no doubt about the meaning.
    """

    help: str | None
    start: int = 0
    end: int = 0
    replacement: str | None = None
    is_safe: bool = False


def _writing(node: Node, replacement: str, *, why: str = "", is_safe: bool = False) -> Correction:
    return Correction(f"write {replacement}{why}", node.start, node.end, replacement, is_safe)


class Corrector:
    """Corrects the mistakes of one expression.

    Attributes:
        source: The expression.
        registry: The facts that it may name.
    """

    def __init__(self, source: ExpressionSource, registry: FactRegistry) -> None:
        self.source = source
        self.registry = registry

    def text(self, node: Node) -> str:
        """Return the text of a node."""
        return self.source.text[node.start : node.end]

    def name(self, node: Name, compared_with: FactInfo | None, *, is_compared: bool) -> Correction | None:
        """Return the correction of a name that no fact has; None to look for a similar fact.

        Args:
            node: The name.
            compared_with: The fact with which the name is compared, or None.
            is_compared: True if the name is compared with a text.
        """
        receiver, _, last = node.name.rpartition(".")
        if last in _SIZES and receiver in self.registry:
            return _writing(node, f"size({receiver})", is_safe=True)
        if node.name.casefold() in _NULLS:
            return Correction(NO_NULL)
        if "." in node.name:
            return None
        if compared_with is not None and compared_with.type is FactType.STRING:
            return self._word_of(node, compared_with)
        if compared_with is not None and compared_with.type is FactType.BOOL:
            return Correction("write true or false")
        if likely_facts(node.name, self.registry):
            return None
        quoted = self.source.quoted(node.name)
        if is_compared:
            return _writing(node, quoted, why=_WITHOUT_QUOTES)
        return Correction("a text needs quotes, and the name of a fact a dot", node.start, node.end, quoted)

    def _word_of(self, node: Name, fact: FactInfo) -> Correction:
        """Return the correction of a word that should be a value of a fact."""
        word = node.name
        meant = meant_text(fact, word) or word
        quoted = self.source.quoted(meant)
        is_safe = meant == word and word in fact.choices
        if meant != word:
            return Correction(f"did you mean {quoted}, in quotes?", node.start, node.end, quoted)
        if is_never(fact, word):
            return Correction(usual_texts_help(fact))
        if fact.choices and word not in fact.choices:
            listed = ", ".join(self.source.quoted(choice) for choice in fact.choices)
            return Correction(f"the values of {fact.name} are {listed}")
        return _writing(node, quoted, why=_WITHOUT_QUOTES, is_safe=is_safe)

    def condition(self, node: Node, given: ExpressionType) -> Correction:
        """Return the correction of a value where a condition is needed."""
        if isinstance(node, Literal) and node.value in ("true", "false"):
            return _writing(node, str(node.value), why=" without quotes", is_safe=True)
        if not isinstance(node, (Name, FunctionCall)):
            return Correction(None)
        text = self.text(node)
        return Correction(
            f'test an element: "..." in {text}' if given.is_list else f"compare it: {text}{_COMPARED[given]}"
        )

    def negated_comparison(self, node: Binary) -> Correction:
        """Return the correction of `!a == b`."""
        inside = self.source.text[node.left.start + 1 : node.end].lstrip()
        return _writing(node, f"!({inside})")

    def value(self, fact: FactInfo, literal: Literal) -> Correction:
        """Return the correction of a value with which a fact is compared and that it never has."""
        meant = meant_text(fact, literal.value)
        if meant is None:
            return Correction(usual_texts_help(fact))
        return Correction(f"did you mean {meant!r}?", literal.start, literal.end, self.source.quoted(meant))

    def quoted_fact(self, literal: Node) -> Correction | None:
        """Return the correction of the name of a fact in quotes; None for another text."""
        if not isinstance(literal, Literal) or not isinstance(literal.value, str):
            return None
        if "." not in literal.value:
            return None
        likely = likely_facts(literal.value, self.registry) if literal.value not in self.registry else ()
        name = likely[0] if len(likely) == 1 else literal.value
        if name not in self.registry:
            return None
        return _writing(literal, name, why=" without quotes")

    @staticmethod
    def mismatch_message(operator: str, left: ExpressionType, right: ExpressionType) -> str:
        """Return the message for operands that `operator` cannot take."""
        if operator == "in":
            return f"'in' cannot look for {left.with_article} in {right.with_article}"
        if operator not in ARITHMETIC:
            return f"{operator!r} cannot compare {left.with_article} with {right.with_article}"
        if left is right:
            return f"{operator!r} does not work on {left} values"
        return (
            f"{operator!r} needs two values of one type, but has {left.with_article} and {right.with_article}"
        )

    def mismatch(self, node: Binary, left: ExpressionType, right: ExpressionType) -> Correction:
        """Return the correction of operands whose types an operator cannot take."""
        if node.operator == "in":
            return self._membership(node, left, right)
        for operand, given, other in ((node.left, left, right), (node.right, right, left)):
            if other is _VERSION and node.operator not in ARITHMETIC:
                return self._beside_version(operand, given)
            found = self._unquoted(operand, other, is_arithmetic=node.operator in ARITHMETIC)
            if found is not None:
                return found
        if left.is_list != right.is_list:
            return Correction(_USAGE_OF_LISTS)
        if node.operator not in ARITHMETIC and {left, right} in ({_STRING, _INT}, {_STRING, _FLOAT}):
            text = node.left if left is _STRING else node.right
            help, info = "compare a text with a text, in quotes", None
            if isinstance(text, Name):
                info = self.registry.get(text.name)
                if node.operator not in ("==", "!="):
                    help += f"; in the order of versions: version({text.name})"
            usual = usual_texts_help(info) if info is not None and usual_texts(info) else ""
            return Correction(help + (usual and f"; {usual}"))
        return self.mixed_numbers((node.left, node.right), (left, right), node.operator)

    def as_version(self, node: Node) -> Correction:
        """Return the correction of a text that should be compared as a version."""
        return _writing(node, f"version({self.text(node)})")

    def _beside_version(self, node: Node, given: ExpressionType) -> Correction:
        text = self.text(node)
        if isinstance(node, Literal) and is_plain_version(text):
            return _writing(node, self.source.quoted(text), why=" in quotes", is_safe=True)
        return self.as_version(node) if given is _STRING else Correction(_USAGE_OF_VERSIONS)

    def version(self, literal: Literal) -> Correction:
        """Return the correction of a text in quotes that is not a version."""
        quoted_fact = self.quoted_fact(literal)
        found = re.match(r"\s*[vV]?([0-9]+(?:\.[0-9]+)*)", str(literal.value))
        if quoted_fact is not None or found is None or not is_plain_version(found[1]):
            return quoted_fact or Correction(_USAGE_OF_VERSIONS)
        return _writing(literal, self.source.quoted(found[1]), why=": only numbers and dots are compared")

    def _membership(self, node: Binary, left: ExpressionType, right: ExpressionType) -> Correction:
        if left is _VERSION:
            return Correction(_USAGE_OF_VERSIONS)
        if right.element is not None:
            found = self._unquoted(node.left, right.element, is_arithmetic=False)
            if found is not None:
                return found
            return Correction(f"look for {right.element.with_article}, and write numbers without quotes")
        return Correction(_USAGE_OF_LISTS if left is not right else _USAGE_OF_TEXTS)

    def _unquoted(
        self, node: Node, other: ExpressionType | None, *, is_arithmetic: bool
    ) -> Correction | None:
        """Return the correction of a literal in quotes where a number or a bool belongs."""
        if not isinstance(node, Literal) or not isinstance(node.value, str) or other is _STRING:
            return None
        quoted_fact = self.quoted_fact(node)
        if quoted_fact is not None:
            return quoted_fact
        text = node.value.strip()
        if other is _BOOL and text.casefold() in ("true", "false"):
            return _writing(node, text.casefold(), why=" without quotes", is_safe=True)
        if other is None or not other.is_number:
            return None
        if _NUMBER.fullmatch(text):
            text = f"{text}.0" if is_arithmetic and other is _FLOAT and "." not in text else text
            return _writing(node, text, why=" without quotes", is_safe=True)
        size = size_in_bytes(text.replace(" ", ""))
        if size is not None:
            size = f"({size})" if is_arithmetic else size
            return _writing(node, size, why=": numbers have no units, and sizes are in bytes")
        return Correction("numbers are written without quotes")

    def mixed_numbers(
        self,
        nodes: Sequence[Node],
        types: Sequence[ExpressionType],
        operator: str = "",
    ) -> Correction:
        """Return the correction of ints mixed with floats; without help if the types are others."""
        if set(types) != {_INT, _FLOAT} or (operator and operator not in ARITHMETIC):
            return Correction(None)
        computed = {type_ for node, type_ in zip(nodes, types, strict=True) if not isinstance(node, Literal)}
        for node, type_ in zip(nodes, types, strict=True):
            if not isinstance(node, Literal):
                continue
            if type_ is _INT and computed != {_INT}:
                return _writing(node, f"{node.value}.0", is_safe=True)
        if computed == {_INT}:
            return Correction(_INTS_ALONE)
        return Correction(f"ints and floats do not mix, and {_NO_ROUNDING}")

    def function(self, node: FunctionCall, argument_types: Sequence[ExpressionType | None]) -> Correction:
        """Return the correction of a call of a function that there is not."""
        name = node.function
        name_end = node.name_start + len(name)
        word = name.casefold()
        if word in _ROUNDING and len(node.arguments) == 1:
            whole = f"leave out {name!r}: ints divide toward zero"
            return Correction(whole if argument_types[0] is _INT else _NO_ROUNDING)
        if word in ADVICE_FOR_FUNCTIONS:
            return Correction(ADVICE_FOR_FUNCTIONS[word])
        guess = _NAMES_OF_FUNCTIONS.get(word) or nearest(name, FUNCTIONS)
        if guess is None:
            return Correction(f"the functions are {', '.join(FUNCTIONS)}")
        return Correction(f"did you mean {guess!r}?", node.name_start, name_end, guess)

    def call(self, node: FunctionCall, types: Sequence[ExpressionType]) -> Correction:
        """Return the correction of arguments that a function does not take."""
        if node.function in STRING_METHODS and types[0].is_list:
            return Correction(_USAGE_OF_LISTS)
        if node.is_method and len(types) == 1 and node.function not in STRING_METHODS:
            argument = self.text(node.arguments[0])
            return _writing(node, f"{node.function}({argument})")
        found = self.mixed_numbers(node.arguments, types) if node.function in ("min", "max") else None
        return found if found and found.help else self.usage(node.function)

    def usage(self, function: str) -> Correction:
        """Return the way to call a function."""
        if function in OPERATIONS:
            return Correction(OPERATIONS[function].usage)
        return Correction(f"write share({self.source.quoted(RESOURCES[0])})")

    def has(self, node: FunctionCall) -> Correction:
        """Return the correction of `has` without the name of a fact."""
        quoted = self.quoted_fact(node.arguments[0]) if len(node.arguments) == 1 else None
        return quoted or Correction(_USAGE_OF_HAS)

    def misread_word(self, node: Binary) -> Name | None:
        """Return `high-power` as one name where it was read as a difference of two; None if it was not."""
        left, right = node.left, node.right
        is_one_word = (
            node.operator == "-"
            and isinstance(left, Name)
            and isinstance(right, Name)
            and left.end + 1 == right.start
            and left.name not in self.registry
        )
        return Name(node.start, node.end, self.text(node)) if is_one_word else None
