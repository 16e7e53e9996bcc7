"""`ConditionIndex`: the conditions that hold on a device, without an evaluation of each.

Most conditions compare a fact with a text, as in `device.model == "Pixel 8" && ...`. They can hold only on
devices where the fact is known and has this value, so one look-up finds the few that are worth evaluating.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from etconfig.expression import Expression
from etconfig.expression.checked import Checked, Constant, FactValueOf, Logic, Operation


class ConditionIndex:
    """Conditions by name, indexed by the values that facts must have for them to hold.

    Args:
        conditions: The conditions, by name.
    """

    def __init__(self, conditions: Mapping[str, Expression]) -> None:
        required = {name: dict(_required_texts(condition.tree)) for name, condition in conditions.items()}
        variety: dict[str, set[str]] = {}
        for texts in required.values():
            for fact, choices in texts.items():
                variety.setdefault(fact, set()).update(choices)
        self._numbered = [*conditions.items()]
        self._always: list[int] = []
        self._by_text: dict[str, dict[str, list[int]]] = {}
        for number, name in enumerate(conditions):
            texts = required[name]
            if not texts:
                self._always.append(number)
                continue
            fact = max(texts, key=lambda each: len(variety[each]))
            for text in set(texts[fact]):
                self._by_text.setdefault(fact, {}).setdefault(text, []).append(number)

    def holding(self, facts: Mapping[str, object]) -> list[str]:
        """Return the names of the conditions that are true on a device with these facts, in their order."""
        return list(self.each_holding(facts))

    def each_holding(self, facts: Mapping[str, object]) -> Iterator[str]:
        """Yield the same names, each when its condition has been evaluated."""
        numbers = [*self._always]
        for fact, by_text in self._by_text.items():
            numbers += by_text.get(facts.get(fact), ())  # type: ignore[call-overload]  # an unknown one has none
        numbers.sort()
        for number in numbers:
            name, condition = self._numbered[number]
            if condition.evaluate(facts) is True:
                yield name


def _required_texts(tree: Checked) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield facts with the texts of which each must have one, or the condition does not hold."""
    if isinstance(tree, Logic) and not tree.decisive:  # `&&`
        for operand in tree.operands:
            yield from _required_texts(operand)
    elif isinstance(tree, Operation):
        match tree:
            case Operation("==", (FactValueOf(fact), Constant(str(text)))):
                yield fact, (text,)
            case Operation("==", (Constant(str(text)), FactValueOf(fact))):
                yield fact, (text,)
            case Operation("in", (FactValueOf(fact), Constant(tuple(texts)))) if texts and all(
                isinstance(each, str) for each in texts
            ):
                yield fact, texts
