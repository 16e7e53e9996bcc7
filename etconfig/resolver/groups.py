"""`Groups`: every backend of every method instance, and which of them a changed fact touches."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from etconfig.diagnostics import Diagnostic
from etconfig.errors import OptionError
from etconfig.profile import Expression
from etconfig.resolver.advice import Advice, recommend
from etconfig.resolver.arguments import ANY_METHOD, Arguments, BackendArguments, slot_label
from etconfig.resolver.backend_chains import BackendChains, Outcome
from etconfig.resolver.conflicts import process_conflicts, process_options
from etconfig.resolver.device import DeviceView
from etconfig.resolver.memo import Slot, Snapshot

_NO_ADVICE = Advice()


class Groups:
    """What a resolver resolves, sorted by the facts that it depends on.

    A group is one backend of one slot, a slot one instance of one method. Groups are numbered
    in the order of the slots.

    Args:
        slots: The groups of each slot.
    """

    def __init__(self, slots: Mapping[Slot, Sequence[BackendChains]]) -> None:
        self._slots = tuple(slots)
        self._ranges: list[range] = []
        self._groups: list[BackendChains] = []
        self._slot_numbers: list[int] = []
        for number, groups in enumerate(slots.values()):
            self._ranges.append(range(len(self._groups), len(self._groups) + len(groups)))
            self._groups += groups
            self._slot_numbers += [number] * len(groups)
        specs = {group.spec.id: group.spec for group in self._groups}
        self._advising = [spec for spec in specs.values() if spec.recommend is not None]
        self._process_options = process_options(specs.values())
        self._of_backend = _numbers_by_key([group.spec.id] for group in self._groups)
        self._computed_from = _numbers_by_key(
            {fact for chain in group.chains.values() for fact in chain.computed_from}
            for group in self._groups
        )
        self._conditions = _conditions(self._groups)
        self._conditions_on = _numbers_by_key(condition.facts for condition, _ in self._conditions)
        self._facts = tuple({**self._computed_from, **self._conditions_on})

    def resolve(self, values: Mapping[str, object], before: Snapshot | None) -> Snapshot:
        """The arguments on a device with these facts; of `before`, all that still holds is kept.

        Raises:
            OptionError: an option has no valid value; with every problem of every slot.
            PluginCallError: a backend's recommendation failed.
        """
        facts = tuple(map(values.get, self._facts))
        advice = {} if before is None else before.advice
        renewed = self._renewed_advice(values, advice)
        if before is not None and before.facts == facts and not renewed:
            return before
        known = {name: value for name, value in zip(self._facts, facts, strict=True) if value is not None}
        if before is None:
            device = DeviceView(known)
            stale: Collection[int] = range(len(self._groups))
            outcomes: list[Outcome] = [()] * len(self._groups)
            # A method that delegates nothing has no group, and so nothing below fills its slot.
            slots: list[Arguments | Sequence[Diagnostic]] = [
                Arguments(method=method, instance=instance, backends={}) for method, instance in self._slots
            ]
        else:
            device = DeviceView(known, before.held)
            stale = self._stale(before.facts, facts, device)
            stale.update(number for backend in renewed for number in self._of_backend[backend])
            if not stale:
                return replace(before, facts=facts, held=device.held)
            outcomes, slots = list(before.outcomes), list(before.slots)
        if renewed:
            advice = {**advice, **renewed}
        for number in stale:
            group = self._groups[number]
            outcomes[number] = group.resolve(device, advice.get(group.spec.id, _NO_ADVICE))
        for number in {self._slot_numbers[group] for group in stale}:
            slots[number] = self._gathered(number, outcomes)
        return self._snapshot(facts, device.held, advice, outcomes, slots)

    def _renewed_advice(self, values: Mapping[str, object], known: Mapping[str, Advice]) -> dict[str, Advice]:
        """The advice of those backends whose earlier advice rests on other facts."""
        return {
            spec.id: recommend(spec, values)
            for spec in self._advising
            if spec.id not in known or not known[spec.id].holds_on(values)
        }

    def _stale(self, before: tuple[object, ...], after: tuple[object, ...], device: DeviceView) -> set[int]:
        """The groups with a value computed from a changed fact, or with a condition that has turned."""
        changed = [name for name, old, new in zip(self._facts, before, after, strict=True) if old != new]
        stale: set[int] = set()
        for name in changed:
            stale.update(self._computed_from.get(name, ()))
        for number in {number for name in changed for number in self._conditions_on.get(name, ())}:
            condition, groups = self._conditions[number]
            if device.held.get(id(condition)) is not device.evaluate(condition):
                stale.update(groups)
        return stale

    def _gathered(self, number: int, outcomes: Sequence[Outcome]) -> Arguments | Sequence[Diagnostic]:
        """The arguments of a slot, or all that is wrong with them."""
        found: dict[str, BackendArguments] = {}
        problems: list[Diagnostic] = []
        for group in self._ranges[number]:
            outcome = outcomes[group]
            if isinstance(outcome, BackendArguments):
                found[self._groups[group].spec.id] = outcome
            else:
                problems += (_placed(problem, *self._slots[number]) for problem in outcome)
        method, instance = self._slots[number]
        return problems or Arguments(method=method, instance=instance, backends=found)

    def _snapshot(
        self,
        facts: tuple[object, ...],
        held: Mapping[int, bool],
        advice: Mapping[str, Advice],
        outcomes: Sequence[Outcome],
        slots: Sequence[Arguments | Sequence[Diagnostic]],
    ) -> Snapshot:
        arguments: dict[Slot, Arguments] = {}
        problems: dict[Slot, Sequence[Diagnostic]] = {}
        for slot, found in zip(self._slots, slots, strict=True):
            if isinstance(found, Arguments):
                arguments[slot] = found
            else:
                problems[slot] = found
        incomplete = {slot: wrong for slot, wrong in problems.items() if self._is_template(slot, wrong)}
        errors = [d for slot, wrong in problems.items() if slot not in incomplete for d in wrong]
        errors += process_conflicts(arguments.values(), self._process_options)
        if errors:
            raise OptionError(diagnostics=tuple(dict.fromkeys(errors)))
        return Snapshot(
            facts=facts,
            held=held,
            advice=advice,
            outcomes=outcomes,
            slots=slots,
            arguments=arguments,
            incomplete=incomplete,
        )

    def _is_template(self, slot: Slot, problems: Sequence[Diagnostic]) -> bool:
        """Whether it is a default instance that only serves the named ones, and so may lack options."""
        method, instance = slot
        has_named = any(m == method and i is not None for m, i in self._slots)
        return instance is None and has_named and all(d.code == "missing-option" for d in problems)


def _placed(problem: Diagnostic, method: str, instance: str | None) -> Diagnostic:
    """The problem; where no text is to blame for it, with the method instance that has it."""
    if problem.spans:
        return problem
    where = "any method" if method == ANY_METHOD else slot_label(method, instance)
    return replace(problem, notes=(*problem.notes, f"for {where}"))


def _numbers_by_key(keys_of_groups: Iterable[Iterable[str]]) -> dict[str, list[int]]:
    """The numbers of the groups that have each key."""
    numbers: dict[str, list[int]] = {}
    for number, keys in enumerate(keys_of_groups):
        for key in sorted(keys):
            numbers.setdefault(key, []).append(number)
    return numbers


def _conditions(groups: Sequence[BackendChains]) -> list[tuple[Expression, list[int]]]:
    """Every condition with the numbers of the groups that it decides about."""
    found: dict[int, tuple[Expression, list[int]]] = {}
    for number, group in enumerate(groups):
        in_group = {id(c): c for chain in group.chains.values() for c in chain.conditions}
        for key, condition in in_group.items():
            found.setdefault(key, (condition, []))[1].append(number)
    return list(found.values())
