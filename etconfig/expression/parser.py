"""Parsing of tokens to a syntax tree, by precedence climbing."""

from __future__ import annotations

import re
from dataclasses import replace

from etconfig.errors import ProfileError
from etconfig.expression.expression_source import ExpressionSource
from etconfig.expression.lexer import Token, tokenize
from etconfig.expression.operations import INT_MAX, INT_MIN
from etconfig.expression.syntax import (
    Binary,
    Conditional,
    FunctionCall,
    ListDisplay,
    Literal,
    Logical,
    Name,
    Node,
    Unary,
    height_of,
)

MAX_HEIGHT = 40
"""The most operators, calls and parentheses inside each other."""

_OR, _AND, _COMPARISON, _SUM, _PRODUCT = 1, 2, 3, 4, 5
_PRECEDENCE = {
    "||": _OR,
    "&&": _AND,
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">=", "in"), _COMPARISON),
    **dict.fromkeys(("+", "-"), _SUM),
    **dict.fromkeys(("*", "/", "%"), _PRODUCT),
}


def parse(source: ExpressionSource) -> Node:
    """Parse an expression to its syntax tree.

    Raises:
        ProfileError: it breaks the grammar; only the first such problem is reported.
    """
    parser = _Parser(source)
    node = parser.expression()
    if parser.token.kind != "end":
        raise parser.unexpected("the end or an operator")
    return node


class _Parser:
    def __init__(self, source: ExpressionSource) -> None:
        self.source = source
        self.tokens = tokenize(source)
        self.index = 0
        self.token = self.tokens[0]
        self.depth = 0

    def expression(self) -> Node:
        """Parse `or-expression [? or-expression : expression]`."""
        self.enter()
        condition = self.operators(_OR)
        if self.accept("?"):
            then = self.operators(_OR)
            self.expect(":", "to separate the two values of '?'")
            otherwise = self.expression()
            height = height_of(condition, then, otherwise)
            condition = self.bounded(
                Conditional(condition.start, otherwise.end, condition, then, otherwise, height)
            )
        self.depth -= 1
        return condition

    def operators(self, lowest: int) -> Node:
        """Parse operands joined by binary operators of precedence `lowest` or higher."""
        left = self.unary()
        while (precedence := _PRECEDENCE.get(self.token.kind, 0)) >= lowest:
            operator = self.advance().kind
            if precedence <= _AND:
                left = self.logical(left, operator, precedence)
                continue
            right = self.operators(precedence + 1)
            height = height_of(left, right)
            left = self.bounded(Binary(left.start, right.end, operator, left, right, height))
            if precedence == _COMPARISON and _PRECEDENCE.get(self.token.kind) == _COMPARISON:
                raise self.chained(right)
        return left

    def chained(self, middle: Node) -> ProfileError:
        token = self.token
        joined = f"&& {self.source.text[middle.start : middle.end]} {token.text}"
        help = f"join two comparisons: write {joined}"
        found = self.source.diagnostic("comparisons do not chain", token.start, token.end, help=help)
        fix = self.source.fix(token.start, token.end, joined)
        return ProfileError(diagnostics=(replace(found, fix=fix),))

    def logical(self, first: Node, operator: str, precedence: int) -> Node:
        operands = [first, self.operators(precedence + 1)]
        while self.accept(operator):
            operands.append(self.operators(precedence + 1))
        height = height_of(*operands)
        return self.bounded(Logical(first.start, operands[-1].end, operator, tuple(operands), height))

    def unary(self) -> Node:
        operator = self.token
        if operator.kind not in ("!", "-"):
            return self.postfix()
        self.advance()
        if operator.kind == "-" and self.token.kind == "int":
            token = self.advance()
            return Literal(operator.start, token.end, int_value(self.source, token, -1))
        self.enter()
        operand = self.unary()
        self.depth -= 1
        height = height_of(operand)
        return self.bounded(Unary(operator.start, operand.end, operator.kind, operand, height))

    def postfix(self) -> Node:
        """Parse a primary and the `.method(...)` calls after it."""
        node = self.primary()
        while self.accept("."):
            name = self.expect("name", "after '.'")
            node = self.call(name, name.text, name.start, (node,))
        return node

    def primary(self) -> Node:
        token = self.advance()
        if token.kind == "name":
            return self.name(token)
        if token.kind in ("true", "false"):
            return Literal(token.start, token.end, token.kind == "true")
        if token.kind == "int":
            return Literal(token.start, token.end, int_value(self.source, token, 1))
        if token.kind == "float":
            return Literal(token.start, token.end, float(token.text))
        if token.kind == "string":
            return Literal(token.start, token.end, string_value(self.source, token))
        if token.kind == "(":
            node = self.expression()
            end = self.expect(")", "to close '('").end
            return node._replace(start=token.start, end=end)
        if token.kind == "[":
            items, end = self.items("]", "to close '['")
            return self.bounded(ListDisplay(token.start, end, items, height_of(*items)))
        raise self.unexpected("a value, a fact or '('", token)

    def name(self, token: Token) -> Node:
        """Parse a fact, a function call, or a method call on a fact."""
        if self.token.kind != "(":
            return Name(token.start, token.end, token.text)
        receiver, dot, function = token.text.rpartition(".")
        if not dot:
            return self.call(token, function, token.start, None)
        fact = Name(token.start, token.start + len(receiver), receiver)
        return self.call(token, function, token.end - len(function), (fact,))

    def call(self, token: Token, function: str, name_start: int, receiver: tuple[Node] | None) -> Node:
        self.expect("(", f"after {function!r}")
        items, end = self.items(")", "to close '('")
        arguments = (receiver or ()) + items
        start = receiver[0].start if receiver else token.start
        node = FunctionCall(
            start, end, function, receiver is not None, name_start, arguments, height_of(*arguments)
        )
        return self.bounded(node)

    def items(self, closing: str, purpose: str) -> tuple[tuple[Node, ...], int]:
        """Parse expressions separated by commas; also return the end of the `closing` after them."""
        if self.token.kind == closing:
            return (), self.advance().end
        items = [self.expression()]
        while self.accept(","):
            items.append(self.expression())
        return tuple(items), self.expect(closing, purpose).end

    def advance(self) -> Token:
        token = self.token
        if token.kind != "end":
            self.index += 1
            self.token = self.tokens[self.index]
        return token

    def accept(self, kind: str) -> bool:
        """Take the next token if it is of this kind; return True if so."""
        if self.token.kind != kind:
            return False
        self.advance()
        return True

    def expect(self, kind: str, purpose: str) -> Token:
        if self.token.kind != kind:
            wanted = "a function's name" if kind == "name" else repr(kind)
            raise self.unexpected(f"{wanted} {purpose}")
        return self.advance()

    def enter(self) -> None:
        """Go one level deeper; the caller goes back up."""
        self.depth += 1
        if self.depth > MAX_HEIGHT:
            raise self.too_deep()

    def bounded(self, node: Node) -> Node:
        if node.height > MAX_HEIGHT:
            raise self.too_deep()
        return node

    def unexpected(self, expected: str, token: Token | None = None) -> ProfileError:
        from etconfig.mistakes.expression.unexpected_tokens import help_for_token

        token = token or self.token
        found = "the end" if token.kind == "end" else repr(token.text)
        index = self.tokens.index(token)
        before = self.tokens[index - 1].text if index else None
        help = help_for_token(before, token.kind, token.text, expected)
        return self.source.error(f"expected {expected}, found {found}", token.start, token.end, help=help)

    def too_deep(self) -> ProfileError:
        problem = f"the expression is nested more than {MAX_HEIGHT} deep"
        token = self.token
        return self.source.error(problem, token.start, token.end, code="expression-too-large")


_ESCAPE = re.compile(
    r"\\(?:[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))", re.DOTALL
)
_OCTAL, _CHARACTER = 4, 5
_CHARACTERS = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    **{character: character for character in "\\?\"'`"},
}


def int_value(source: ExpressionSource, token: Token, sign: int) -> int:
    """Return the value of an int token after `sign`, 1 or -1.

    Raises:
        ProfileError: it does not fit in 64 bits.
    """
    value = sign * int(token.text, 16 if token.text[:2] in ("0x", "0X") else 10)
    if not INT_MIN <= value <= INT_MAX:
        raise source.error("this int does not fit in 64 bits", token.start, token.end)
    return value


def string_value(source: ExpressionSource, token: Token) -> str:
    """Return the value of a string token, its escapes replaced.

    Raises:
        ProfileError: an escape is not one of CEL's, or does not name a character.
    """

    def replacement(match: re.Match[str]) -> str:
        digits = match.group(match.lastindex or 0)
        if match.lastindex == _CHARACTER:
            character = _CHARACTERS.get(digits)
        else:
            character = _character(int(digits, 8 if match.lastindex == _OCTAL else 16))
        if character is None:
            start = token.start + 1 + match.start()
            problem = f"{match.group()!r} is not an escape sequence"
            help = r"write \\ for a backslash; \n, \t, \" and \u00e9 are escapes too"
            raise source.error(problem, start, start + len(match.group()), help=help)
        return character

    return _ESCAPE.sub(replacement, token.text[1:-1])


def _character(code_point: int) -> str | None:
    is_surrogate = 0xD800 <= code_point <= 0xDFFF
    return None if is_surrogate or code_point > 0x10FFFF else chr(code_point)
