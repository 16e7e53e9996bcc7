"""`Checker`: checks every name, type and function of a syntax tree, in every branch, before anything runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from etconfig.base.budgeted_resources import RESOURCES
from etconfig.diagnostics import Diagnostic
from etconfig.expression.checked import (
    SHARE,
    Checked,
    CheckedConditional,
    Constant,
    FactValueOf,
    HasFact,
    ListOf,
    Logic,
    Operation,
)
from etconfig.expression.expression_source import ExpressionSource
from etconfig.expression.operations import is_plain_version
from etconfig.expression.signatures import (
    ARITHMETIC,
    FUNCTIONS,
    OperationSignature,
    binary_signature,
    call_signature,
    unary_signature,
)
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
)
from etconfig.expression.types import TYPE_OF_FACT, TYPE_OF_VALUE, ExpressionType, common_type
from etconfig.facts.problems import is_never, unknown_fact
from etconfig.facts.registry import FactInfo, FactRegistry, FactType

if TYPE_CHECKING:
    from etconfig.mistakes.expression.corrections import Correction, Corrector

_BOOL, _VERSION = ExpressionType.BOOL, ExpressionType.VERSION
_ORDERS = frozenset(("<", "<=", ">", ">="))
_SHOWN_CHARACTERS = 40


class Typed(NamedTuple):
    """A checked tree and the type of its value."""

    type: ExpressionType
    tree: Checked


class Checker:
    """Checks the syntax tree of one expression.

    Args:
        source: The expression.
        registry: The facts that it may name.
        is_explained: False to find problems without looking for what unknown names may mean.
        is_condition: True for a condition, which takes no share of a budget.

    Attributes:
        problems: The problems found so far.
    """

    def __init__(
        self,
        source: ExpressionSource,
        registry: FactRegistry,
        *,
        is_explained: bool = True,
        is_condition: bool = False,
    ) -> None:
        self.source = source
        self.is_explained = is_explained
        self.is_condition = is_condition
        self.registry = registry
        self.problems: list[Diagnostic] = []
        self._compared: dict[int, FactInfo | None] = {}
        self._checks: Mapping[type, Callable[[Any], Typed | None]] = {
            Literal: self._literal,
            Name: self._name,
            ListDisplay: self._list,
            Unary: self._unary,
            Binary: self._binary,
            Logical: self._logical,
            Conditional: self._conditional,
            FunctionCall: self._call,
        }

    def check(self, node: Node) -> Typed | None:
        """Return the checked tree, or None if `problems` has gained its problems."""
        return self._checks[type(node)](node)

    def check_as(self, node: Node, wanted: ExpressionType, owner: str) -> Typed | None:
        """Return the checked tree of a value of type `wanted`, which `owner` needs."""
        typed = self.check(node)
        if typed is None or typed.type is wanted:
            return typed
        message = f"{owner} needs {wanted.with_article}, but {self._shown(node)} is {typed.type.with_article}"
        correction = self._corrector.condition(node, typed.type) if wanted is _BOOL else None
        return self._refused(message, node, correction)

    def _all(self, nodes: Sequence[Node]) -> list[Typed] | None:
        """Check all of `nodes`; return None if one of them is wrong."""
        return _unless_any_is_none([self.check(node) for node in nodes])

    def _refused(
        self, message: str, node: Node, correction: Correction | None, *, code: str = "expression-type"
    ) -> Typed | None:
        """Record a problem; return None, the result of the check that found it."""
        self._report(message, node.start, node.end, correction, code)
        return None

    def _report(self, message: str, start: int, end: int, correction: Correction | None, code: str) -> None:
        help = None if correction is None else correction.help
        fix = None
        if correction is not None and correction.replacement is not None:
            first, last = correction.start, correction.end
            fix = self.source.fix(first, last, correction.replacement, is_safe=correction.is_safe)
            if start <= first and last <= end:
                start, end = first, last  # exactly what is wrong
        found = replace(self.source.diagnostic(message, start, end, code=code, help=help), fix=fix)
        self.problems.append(found)

    @property
    def _corrector(self) -> Corrector:
        from etconfig.mistakes.expression.corrections import Corrector  # only what is wrong needs it

        return Corrector(self.source, self.registry)

    def _shown(self, node: Node) -> str:
        text = self.source.text[node.start : node.end]
        return repr(text) if len(text) <= _SHOWN_CHARACTERS else "this"

    def _literal(self, node: Literal) -> Typed:
        return Typed(TYPE_OF_VALUE[type(node.value)], Constant(node.value))

    def _name(self, node: Name) -> Typed | None:
        info = self._fact(node)
        return None if info is None else Typed(TYPE_OF_FACT[info.type], FactValueOf(node.name))

    def _fact(self, node: Name) -> FactInfo | None:
        info = self.registry.get(node.name)
        if info is None:
            self._unknown_name(node)
        return info

    def _unknown_name(self, node: Name) -> None:
        if not self.is_explained:
            span = self.source.span
            self.problems.append(unknown_fact(node.name, self.registry, span, is_one_of_many=True))
            return
        is_compared = node.start in self._compared
        fact = self._compared.get(node.start)
        correction = self._corrector.name(node, fact, is_compared=is_compared)
        if correction is not None:
            self._refused(f"no fact is called {node.name!r}", node, correction, code="unknown-fact")
            return
        place = self.source.diagnostic("", node.start, node.end)
        problem = unknown_fact(node.name, self.registry, *place.spans)
        self.problems.append(replace(problem, notes=place.notes))

    def _list(self, node: ListDisplay) -> Typed | None:
        items = self._all(node.items)
        if not items:
            return None if node.items else Typed(ExpressionType.EMPTY_LIST, Constant(()))
        first = items[0].type
        for item_node, item in zip(node.items, items, strict=True):
            if item.type.is_list or item.type is _VERSION:
                kind = "lists" if item.type.is_list else "versions"
                return self._refused(f"lists cannot contain {kind}", item_node, None)
            if item.type is not first:
                message = f"a list of {first} cannot contain {item.type.with_article}"
                pair = (node.items[0], item_node), (first, item.type)
                return self._refused(message, item_node, self._corrector.mixed_numbers(*pair))
        return Typed(first.list_type, _list_tree([item.tree for item in items]))

    def _unary(self, node: Unary) -> Typed | None:
        operand = self.check(node.operand)
        if operand is None:
            return None
        signature = unary_signature(node.operator, operand.type)
        if signature is None:
            wanted = "a bool" if node.operator == "!" else "a number"
            found = f"{self._shown(node.operand)} is {operand.type.with_article}"
            return self._refused(f"{node.operator!r} needs {wanted}, but {found}", node.operand, None)
        return _applied(signature, operand)

    def _binary(self, node: Binary) -> Typed | None:
        self._note_compared(node)
        operands = self._all((node.left, node.right)) if self._is_well_read(node) else None
        if operands is None:
            return None
        left = self._beside(operands[1], node.left, operands[0])
        right = self._beside(operands[0], node.right, operands[1])
        if left is None or right is None:
            return None
        signature = binary_signature(node.operator, left.type, right.type)
        if signature is None:
            message = self._corrector.mismatch_message(node.operator, left.type, right.type)
            correction = self._corrector.mismatch(node, left.type, right.type)
            return self._refused(message, node, correction)
        if signature.result is _BOOL:
            self._check_choices(node.left, node.right)
            self._check_choices(node.right, node.left)
            self._check_quoted_facts(node)
            self._check_buckets(node)
            self._check_order(node)
        return _applied(signature, left, right)

    def _beside(self, other: Typed, node: Node, typed: Typed) -> Typed | None:
        """Return an operand: a text in quotes beside a version is a version, too."""
        is_text = isinstance(node, Literal) and isinstance(node.value, str)
        return self._version(node, typed) if other.type is _VERSION and is_text else typed

    def _version(self, node: Node, typed: Typed) -> Typed | None:
        """Return the version of a text; report a text in quotes that is more, or less, than a version."""
        if isinstance(node, Literal) and not is_plain_version(str(node.value)):
            shown = repr(node.value) if len(str(node.value)) <= _SHOWN_CHARACTERS else "this"
            return self._refused(f"{shown} is not a version", node, self._corrector.version(node))
        return Typed(_VERSION, Operation("version", (typed.tree,)))

    def _note_compared(self, node: Binary) -> None:
        """Remember the names that are compared with a text: they may be words without quotes."""
        if node.operator in ARITHMETIC:
            return
        for words, other in ((node.left, node.right), (node.right, node.left)):
            fact = self.registry.get(other.name) if isinstance(other, Name) else None
            is_text = isinstance(other, Literal) and isinstance(other.value, str)
            if fact is None and not is_text and not isinstance(other, ListDisplay):
                continue
            for word in words.items if isinstance(words, ListDisplay) else (words,):
                if isinstance(word, (Name, Binary)) and (
                    fact is None or fact.type not in (FactType.INT, FactType.FLOAT)
                ):
                    self._compared[word.start] = fact

    def _is_well_read(self, node: Binary) -> bool:
        """Return False, and report it, for `high-power` without quotes and for `!a == b`."""
        if node.operator == "-":
            word = self._corrector.misread_word(node) if _is_unknown(node.left, self.registry) else None
            if word is not None:
                self._unknown_name(word)
            return word is None
        negated = node.left
        if node.operator in ARITHMETIC or not isinstance(negated, Unary) or negated.operator != "!":
            return True
        operand = self.check(negated.operand)
        if operand is None or operand.type is _BOOL:
            return operand is not None
        found = f"{self._shown(negated.operand)} is {operand.type.with_article}"
        self._refused(
            f"'!' needs a bool, but {found}", negated.operand, self._corrector.negated_comparison(node)
        )
        return False

    def _check_quoted_facts(self, node: Binary) -> None:
        """Report names of facts in quotes: no fact has the name of another one as its value."""
        for literal in (node.left, node.right):
            if isinstance(literal, Literal) and literal.value in self.registry:
                message = f"{literal.value!r} in quotes is a text, not the fact"
                self._refused(message, literal, self._corrector.quoted_fact(literal))

    def _check_choices(self, fact: Node, other: Node) -> None:
        """Report comparisons of a fact with a value that it never has."""
        info = self.registry.get(fact.name) if isinstance(fact, Name) else None
        if info is None:
            return
        for literal in other.items if isinstance(other, ListDisplay) else (other,):
            if not isinstance(literal, Literal) or literal.value in self.registry:
                continue
            if is_never(info, literal.value):
                correction = self._corrector.value(info, literal)
                self._refused(f"{info.name} is never {literal.value!r}", literal, correction)

    def _check_order(self, node: Binary) -> None:
        """Report `os.version < "12"`: in the order of texts, "9" comes after "12"."""
        for name, literal in ((node.left, node.right), (node.right, node.left)):
            text = literal.value if isinstance(literal, Literal) and isinstance(name, Name) else None
            if node.operator in _ORDERS and isinstance(text, str) and is_plain_version(text):
                message = f"""{node.operator!r} compares texts letter by letter, so "9" is more than "12\""""
                self._refused(message, node, self._corrector.as_version(name))

    def _check_buckets(self, node: Binary) -> None:
        """Report `bucket(...) < 5`: it is a fraction, not a percentage."""
        for call, number in ((node.left, node.right), (node.right, node.left)):
            is_bucket = isinstance(call, FunctionCall) and call.function == "bucket"
            if is_bucket and isinstance(number, Literal) and isinstance(number.value, (int, float)):
                message = f"'bucket' is a fraction from 0 to 1, but is compared with {self._shown(number)}"
                if not 0 <= number.value <= 1:
                    self._refused(message, number, self._corrector.usage("bucket"))

    def _logical(self, node: Logical) -> Typed | None:
        owner = repr(node.operator)
        operands = _unless_any_is_none([self.check_as(operand, _BOOL, owner) for operand in node.operands])
        if operands is None:
            return None
        return Typed(_BOOL, Logic(node.operator == "||", tuple(operand.tree for operand in operands)))

    def _conditional(self, node: Conditional) -> Typed | None:
        condition = self.check_as(node.condition, _BOOL, "'?'")
        values = self._all((node.then, node.otherwise))
        if condition is None or values is None:
            return None
        then, otherwise = values
        common = common_type(then.type, otherwise.type)
        if common is None:
            found = f"{then.type.with_article} and {otherwise.type.with_article}"
            correction = self._corrector.mixed_numbers(
                (node.then, node.otherwise), (then.type, otherwise.type)
            )
            return self._refused(f"'?' needs two values of one type, but has {found}", node, correction)
        return Typed(common, CheckedConditional(condition.tree, then.tree, otherwise.tree))

    def _call(self, node: FunctionCall) -> Typed | None:
        if node.function not in FUNCTIONS:
            return self._unknown_function(node)
        if node.function == "has":
            return self._has(node)
        if node.function == "share":
            return self._share(node)
        if node.function == "bucket" and not self._is_bucket(node):
            return None
        if node.is_method and node.function in ("min", "max"):
            message = f"{node.function!r} is not called on {self._shown(node.arguments[0])}"
            return self._refused(message, node, self._corrector.usage(node.function))
        arguments = self._all(node.arguments)
        if arguments is None:
            return None
        types = [argument.type for argument in arguments]
        signature = call_signature(node.function, types, is_method=node.is_method)
        if signature is None:
            found = ", ".join(map(str, types)) or "nothing"
            message = f"{node.function!r} does not take {found}"
            return self._refused(message, node, self._corrector.call(node, types))
        if signature.result is _VERSION:
            return self._version(node.arguments[0], arguments[0])
        return _applied(signature, *arguments)

    def _has(self, node: FunctionCall) -> Typed | None:
        argument = node.arguments[0] if len(node.arguments) == 1 and not node.is_method else None
        if not isinstance(argument, Name):
            return self._refused("'has' needs the name of a fact", node, self._corrector.has(node))
        return None if self._fact(argument) is None else Typed(_BOOL, HasFact(argument.name))

    def _share(self, node: FunctionCall) -> Typed | None:
        argument = node.arguments[0] if len(node.arguments) == 1 and not node.is_method else None
        if self.is_condition:
            message = "'share' belongs in the value of an option, and not in a condition"
            return self._refused(message, node, None)
        if not isinstance(argument, Literal) or argument.value not in RESOURCES:
            message = f"'share' needs {' or '.join(map(repr, RESOURCES))} in quotes"
            return self._refused(message, node, self._corrector.usage("share"))
        return Typed(ExpressionType.INT, Operation(SHARE, (Constant(argument.value),)))

    def _is_bucket(self, node: FunctionCall) -> bool:
        """Return True if `bucket` is called with a text and the name of a rollout; report it otherwise."""
        salt = node.arguments[-1] if len(node.arguments) == 2 else None
        if salt is None or (isinstance(salt, Literal) and isinstance(salt.value, str) and salt.value):
            first = node.arguments[0] if node.arguments else None
            if not isinstance(first, Literal) or first.value not in self.registry:
                return True
            message = f"{first.value!r} in quotes is a text, not the fact"
            self._refused(message, first, self._corrector.quoted_fact(first))
            return False
        message = f"'bucket' needs the name of the rollout as a text in quotes, found {self._shown(salt)}"
        self._refused(message, salt, self._corrector.usage("bucket"))
        return False

    def _unknown_function(self, node: FunctionCall) -> Typed | None:
        checked = [self.check(argument) for argument in node.arguments]
        correction = self._corrector.function(node, [typed.type if typed else None for typed in checked])
        name_end = node.name_start + len(node.function)
        message = f"there is no function {node.function!r}"
        self._report(message, node.name_start, name_end, correction, "invalid-expression")
        return None


def _is_unknown(node: Node, registry: FactRegistry) -> bool:
    return isinstance(node, Name) and node.name not in registry


def _unless_any_is_none(checked: list[Typed | None]) -> list[Typed] | None:
    known = [typed for typed in checked if typed is not None]
    return known if len(known) == len(checked) else None


def _applied(signature: OperationSignature, *operands: Typed) -> Typed:
    trees = tuple(operand.tree for operand in operands)
    return Typed(signature.result, Operation(signature.function, trees))


def _list_tree(items: list[Checked]) -> Checked:
    values = [item.value for item in items if isinstance(item, Constant)]
    return Constant(tuple(values)) if len(values) == len(items) else ListOf(tuple(items))
