"""Expressions against the types of options: which type of expression can set which kind of option."""

from __future__ import annotations

from etconfig.expression import ExpressionType
from etconfig.schema.option_type import OptionKind, OptionType

_KINDS = {
    ExpressionType.BOOL: OptionKind.BOOLEAN,
    ExpressionType.INT: OptionKind.INTEGER,
    ExpressionType.FLOAT: OptionKind.FLOAT,
    ExpressionType.STRING: OptionKind.STRING,
}


def fits_type(wanted: OptionType, given: ExpressionType) -> bool:
    """Return True if an expression of a type can give a value of an option, or of the items of one."""
    if wanted.kind is OptionKind.ARRAY:
        item = given.element
        return given.is_list and (item is None or (wanted.item is not None and fits_type(wanted.item, item)))
    if given.is_list:
        return False
    if wanted.kind is OptionKind.CHOICE:
        kind = {ExpressionType.INT: int, ExpressionType.STRING: str}.get(given)
        return any(type(choice) is kind for choice in wanted.choices)
    # A quantity such as "64 KiB" is a string that stands for a number.
    is_quantity = given is ExpressionType.STRING and wanted.unit is not None
    return is_quantity or wanted.kind is _KINDS.get(given)
