"""The operators and functions: one table of all that Python, SQL and bundles know of each.

Source: the CEL language definition. CONTRIBUTING.md has the recipe for a new function.
"""

from __future__ import annotations

import enum
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from etconfig.expression.types import ExpressionType, are_comparable

INT_MIN, INT_MAX = -(2**63), 2**63 - 1
"""The bounds of an int."""

_IntFunction = Callable[[int, int], int]


def _fitting(sign: str, function: _IntFunction) -> _IntFunction:
    def run(left: int, right: int) -> int:
        result = function(left, right)
        if INT_MIN <= result <= INT_MAX:
            return result
        raise OverflowError(f"{left} {sign} {right} does not fit in 64 bits")

    return run


def _divide(left: int, right: int) -> int:
    """Return the quotient, rounded toward zero; Python's own rounds down."""
    if right == 0:
        raise ZeroDivisionError(f"{left} / 0 divides by zero")
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _remainder(left: int, right: int) -> int:
    """Return the remainder with the sign of `left`; Python's own has the sign of `right`."""
    if right == 0:
        raise ZeroDivisionError(f"{left} % 0 divides by zero")
    if (left, right) == (INT_MIN, -1):
        raise OverflowError(f"{left} % {right} does not fit in 64 bits")  # its quotient does not
    remainder = abs(left) % abs(right)
    return -remainder if left < 0 else remainder


def _divide_float(left: float, right: float) -> float:
    """Return the quotient as IEEE 754 has it: by zero it is infinite or not a number."""
    if right != 0:
        return left / right
    if left == 0 or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1, right)


def _negate(value: int) -> int:
    if value == INT_MIN:
        raise OverflowError(f"-({value}) does not fit in 64 bits")
    return -value


def _is_in(item: object, items: tuple[object, ...]) -> bool:
    return item in items and item == item  # Python finds NaN, which equals nothing, by identity


def _are_equal(left: tuple[float, ...], right: tuple[float, ...]) -> bool:
    """Compare lists of floats item by item; Python would take NaN for equal to the same object."""
    return len(left) == len(right) and all(map(operator.eq, left, right))


def _differ(left: tuple[float, ...], right: tuple[float, ...]) -> bool:
    return not _are_equal(left, right)


BUCKETS = 2**52
"""The number of values of `bucket`: each fits in a float exactly."""


@lru_cache(maxsize=64)  # many conditions of a device have the same few rollouts
def _bucket(text: str, salt: str) -> float:
    """Return the place of a text between 0 and 1, for staged rollouts.

    MD5, since all that must agree have it, SQL included. It spreads texts evenly; no secret depends on it.
    """
    from hashlib import md5  # few expressions need it

    digest = md5(f"{salt}:{text}".encode(), usedforsecurity=False).hexdigest()
    return int(digest[:13], 16) / BUCKETS


VERSION_DIGITS = 18
"""The most digits of a number in a version, without leading zeros."""
NO_VERSION = "version() needs a text that begins with a version, such as 1.2"
"""The reason why `version` has no value."""
_VERSION = re.compile(r"[vV]?([0-9]+(?:\.[0-9]+)*)")


def _version(text: str) -> str:
    """Return the version that begins a text, in a form whose order as a text is the order of versions.

    It has each number without leading zeros, after a character for the number of its digits, and no zeros at
    the end: 1.10.0 is `11210`.
    """
    found = _VERSION.match(text)
    numbers = [number.lstrip("0") for number in found[1].split(".")] if found else []
    if not numbers or max(map(len, numbers)) > VERSION_DIGITS:
        raise ArithmeticError(NO_VERSION)
    while len(numbers) > 1 and not numbers[-1]:
        numbers.pop()
    return "".join([f"{chr(ord('0') + len(number))}{number}" for number in numbers])


def is_plain_version(text: str) -> bool:
    """Return True if a text is a version and nothing else, without a `v`."""
    numbers = text.split(".")
    are_short = all(len(number.lstrip("0")) <= VERSION_DIGITS for number in numbers)
    return are_short and all(number.isascii() and number.isdigit() for number in numbers)


class Op(enum.IntEnum):
    """The numbers of instructions in bundles; most are rows of the table below."""

    CONSTANT = 0
    FACT = 1
    HAS_FACT = 2
    MAKE_LIST = 3
    NOT = 4
    AND = 5
    OR = 6
    SELECT = 7
    EQUAL = 8
    NOT_EQUAL = 9
    LESS = 10
    LESS_EQUAL = 11
    GREATER = 12
    GREATER_EQUAL = 13
    IN = 14
    ADD_INT = 15
    SUBTRACT_INT = 16
    MULTIPLY_INT = 17
    DIVIDE_INT = 18
    REMAINDER_INT = 19
    NEGATE_INT = 20
    ADD_FLOAT = 21
    SUBTRACT_FLOAT = 22
    MULTIPLY_FLOAT = 23
    DIVIDE_FLOAT = 24
    NEGATE_FLOAT = 25
    JOIN = 26
    STARTS_WITH = 27
    ENDS_WITH = 28
    CONTAINS = 29
    SIZE = 30
    MIN = 31
    MAX = 32
    BUCKET = 33
    VERSION = 34


_Types = Sequence[ExpressionType]
_BOOL, _INT, _FLOAT, _STRING, _VERSION_TYPE = (
    ExpressionType.BOOL,
    ExpressionType.INT,
    ExpressionType.FLOAT,
    ExpressionType.STRING,
    ExpressionType.VERSION,
)


class Size(Protocol):
    """The size of an operand on a device: its items, and the steps and bytes that its texts take."""

    @property
    def items(self) -> int:
        """The items of a list, and 1 for others."""

    @property
    def steps(self) -> int:
        """The steps to read it once."""

    @property
    def text_bytes(self) -> int:
        """The bytes of a text."""


class OperationInfo(NamedTuple):
    """An operator or function.

    Attributes:
        op: Its number in bundles.
        compute: Its value for known operands; an `ArithmeticError` if it has none.
        takes: True for the types of operands that it accepts.
        gives: The type of its value; None for the type of its first operand.
        length: The number of operands, or the least number.
        is_variadic: True if it takes more operands, too.
        call: The ways to call it: False as `f(x)`, True as `x.f()`. Operators have none.
        sql: Its value in SQL of DuckDB, with the operands as `{0}` and `{1}`; NULL where an operand is. None
            if the types of operands decide it, see `condition_sql.py`.
        work: The steps that a device takes besides the instruction itself.
        usage: How to call it, for a call that is wrong. Operators have none.
    """

    op: Op
    compute: Callable[..., Any]
    takes: Callable[[_Types], bool]
    gives: ExpressionType | None
    length: int = 2
    is_variadic: bool = False
    call: tuple[bool, ...] = ()
    sql: str | None = None
    work: Callable[[Sequence[Size]], int] = len
    usage: str | None = None

    def result(self, types: Sequence[ExpressionType]) -> ExpressionType | None:
        """Return the type of its value for operands of these types; None if it does not take them."""
        has_length = len(types) >= self.length if self.is_variadic else len(types) == self.length
        return (self.gives or types[0]) if has_length and self.takes(types) else None


def _only(type_: ExpressionType) -> Callable[[_Types], bool]:
    return lambda types: all(each is type_ for each in types)


def _comparable(types: _Types) -> bool:
    return are_comparable(*types)


def _ordered(types: _Types) -> bool:
    return all(each.is_number for each in types) or _only(_STRING)(types) or _only(_VERSION_TYPE)(types)


def _item_and_list(types: _Types) -> bool:
    item, items = types
    return items is ExpressionType.EMPTY_LIST or (
        items.element is not None and are_comparable(item, items.element)
    )


def _sized(types: _Types) -> bool:
    return types[0].is_list or types[0] is _STRING


def _numbers_of_one_type(types: _Types) -> bool:
    return types[0].is_number and len(set(types)) == 1


def _of_shorter(operands: Sequence[Size]) -> int:
    return min(each.steps for each in operands)


def _of_all(operands: Sequence[Size]) -> int:
    return sum(each.steps for each in operands)


def _of_hashing(operands: Sequence[Size]) -> int:
    return 16 * _of_all(operands)  # MD5 is slower than a comparison


def _of_searching(operands: Sequence[Size]) -> int:
    text, part = operands
    return (1 + text.text_bytes) * part.steps  # at worst, each place of the text is compared with the part


def _of_looking_up(operands: Sequence[Size]) -> int:
    item, items = operands
    return min(items.steps, items.items * item.steps)


def _of_counting(operands: Sequence[Size]) -> int:
    return operands[0].steps


def _comparison(op: Op, compute: Callable[..., bool], takes: Callable[[_Types], bool]) -> OperationInfo:
    return OperationInfo(op, compute, takes, _BOOL, work=_of_shorter)


def _on_ints(op: Op, compute: Callable[..., int], length: int = 2) -> OperationInfo:
    return OperationInfo(op, compute, _only(_INT), _INT, length)


def _on_floats(op: Op, compute: Callable[..., float], length: int = 2) -> OperationInfo:
    return OperationInfo(op, compute, _only(_FLOAT), _FLOAT, length)


def _method(
    name: str, op: Op, compute: Callable[[str, str], bool], sql: str, work: Any = _of_shorter
) -> OperationInfo:
    usage = f'{name} is called on a string with a string, as in os.name.{name}("l")'
    return OperationInfo(op, compute, _only(_STRING), _BOOL, call=(True,), sql=sql, work=work, usage=usage)


_BUCKET_SQL = f"""(CAST(CAST('0x' || substr(md5({{1}} || ':' || {{0}}), 1, 13) AS BIGINT) AS DOUBLE)
 / {float(BUCKETS)!r}::DOUBLE)""".replace("\n", "")

_NUMBER = f"(?:0+|0*[1-9][0-9]{{{{0,{VERSION_DIGITS - 1}}}}})"
_VERSION_SQL = (  # neither a digit follows the version, nor a dot with a digit
    "list_aggregate([chr(CAST(48 + length(n) AS INTEGER)) || n FOR n IN string_split(rtrim(regexp_replace("
    rf"nullif(regexp_extract({{0}}, '^[vV]?({_NUMBER}(?:\.{_NUMBER})*)(?:\.(?:[^0-9]|$)|[^0-9.]|$)', 1), '')"
    r", '(^|\.)0+', '\1', 'g'), '.'), '.')], 'string_agg', '')"
)

OPERATIONS: Mapping[str, OperationInfo] = {
    "!": OperationInfo(Op.NOT, operator.not_, _only(_BOOL), _BOOL, 1, sql="(NOT {0})"),
    "==": _comparison(Op.EQUAL, operator.eq, _comparable),
    "!=": _comparison(Op.NOT_EQUAL, operator.ne, _comparable),
    "<": _comparison(Op.LESS, operator.lt, _ordered),
    "<=": _comparison(Op.LESS_EQUAL, operator.le, _ordered),
    ">": _comparison(Op.GREATER, operator.gt, _ordered),
    ">=": _comparison(Op.GREATER_EQUAL, operator.ge, _ordered),
    "in": OperationInfo(Op.IN, _is_in, _item_and_list, _BOOL, work=_of_looking_up),
    "float list ==": _comparison(Op.EQUAL, _are_equal, _comparable),
    "float list !=": _comparison(Op.NOT_EQUAL, _differ, _comparable),
    "int +": _on_ints(Op.ADD_INT, _fitting("+", operator.add)),
    "int -": _on_ints(Op.SUBTRACT_INT, _fitting("-", operator.sub)),
    "int *": _on_ints(Op.MULTIPLY_INT, _fitting("*", operator.mul)),
    "int /": _on_ints(Op.DIVIDE_INT, _fitting("/", _divide)),
    "int %": _on_ints(Op.REMAINDER_INT, _remainder),
    "int negate": _on_ints(Op.NEGATE_INT, _negate, 1),
    "float +": _on_floats(Op.ADD_FLOAT, operator.add),
    "float -": _on_floats(Op.SUBTRACT_FLOAT, operator.sub),
    "float *": _on_floats(Op.MULTIPLY_FLOAT, operator.mul),
    "float /": _on_floats(Op.DIVIDE_FLOAT, _divide_float),
    "float negate": _on_floats(Op.NEGATE_FLOAT, operator.neg, 1),
    "string +": OperationInfo(
        Op.JOIN, operator.add, _only(_STRING), _STRING, sql="({0} || {1})", work=_of_all
    ),
    "startsWith": _method("startsWith", Op.STARTS_WITH, str.startswith, "starts_with({0}, {1})"),
    "endsWith": _method("endsWith", Op.ENDS_WITH, str.endswith, "ends_with({0}, {1})"),
    "contains": _method("contains", Op.CONTAINS, operator.contains, "contains({0}, {1})", _of_searching),
    "size": OperationInfo(
        Op.SIZE,
        len,
        _sized,
        _INT,
        length=1,
        call=(False, True),
        work=_of_counting,
        usage="size takes a string or a list, as in size(cpu.features) or cpu.features.size()",
    ),
    "min": OperationInfo(
        Op.MIN,
        min,
        _numbers_of_one_type,
        gives=None,
        is_variadic=True,
        call=(False,),
        usage="min takes two or more numbers of one type, as in min(cpu.available_cores, 4)",
    ),
    "max": OperationInfo(
        Op.MAX,
        max,
        _numbers_of_one_type,
        gives=None,
        is_variadic=True,
        call=(False,),
        usage="max takes two or more numbers of one type, as in max(cpu.available_cores - 1, 1)",
    ),
    "bucket": OperationInfo(
        Op.BUCKET,
        _bucket,
        _only(_STRING),
        _FLOAT,
        call=(False,),
        sql=_BUCKET_SQL,
        work=_of_hashing,
        usage="bucket takes a string and the name of the rollout, "
        "as in bucket(device.id, 'threads-2') < 0.05",
    ),
    "version": OperationInfo(
        Op.VERSION,
        _version,
        _only(_STRING),
        _VERSION_TYPE,
        length=1,
        call=(False,),
        sql=_VERSION_SQL,
        work=_of_counting,
        usage='version takes a string, as in version(os.version) < "12"',
    ),
}
"""Operations by name: the operator or function, after its operand type where the type decides the meaning."""

OPERATIONS_OF_BUNDLES: Mapping[Op, OperationInfo] = {info.op: info for info in OPERATIONS.values()}
"""Operations by their number in bundles; `==` and `!=` are the operations that compare lists item by item."""

OPERANDS: Mapping[Op, tuple[int, bool]] = {
    **dict.fromkeys((Op.CONSTANT, Op.FACT, Op.HAS_FACT), (0, False)),
    Op.MAKE_LIST: (1, True),
    Op.AND: (2, True),
    Op.OR: (2, True),
    Op.SELECT: (3, False),
    **{op: (info.length, info.is_variadic) for op, info in OPERATIONS_OF_BUNDLES.items()},
}
"""The number of operands that each instruction takes from the stack, and True if it takes more, too."""
