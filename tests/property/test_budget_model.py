"""Sums and shares of random budgets are what a second, slower statement of the rules gives."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from budgets import resolve_budget
from effort import scaled

from etconfig.diagnostics import Diagnostic
from etconfig.errors import OptionError
from etconfig.resolver.deciding.budget_use import BudgetUse
from etconfig.resolver.deciding.resolution import Resolution

BACKENDS = ("OtherBackend", "PoolBackend")
NAMES = ("beam", "crop", "dot", "edge", "fold")
PHYSICAL = 4


@dataclass
class Case:
    """A random configuration as plain data.

    `options` has what each method sets of each backend; a text is an expression.
    """

    limit: int
    is_computed: bool
    methods: dict[str, list[str]]
    instances: dict[str, str]
    options: dict[str, dict[str, dict[str, Any]]]
    weights: dict[str, int] | None
    groups: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def random(cls, random: Random, *, with_shares: bool) -> Case:
        methods = {
            name: random.sample(BACKENDS, random.randint(with_shares, 2))
            for name in random.sample(NAMES, random.randint(1, len(NAMES)))
        }
        instances = {f"i{number}": random.choice([*methods]) for number in range(random.choice((0, 0, 2, 4)))}
        options = {
            method: {backend: _options(random, with_shares=with_shares) for backend in backends}
            for method, backends in methods.items()
        }
        names = [*methods, *instances, *(f"{method}@{name}" for name, method in instances.items())]
        groups = {
            f"g{number}": random.sample(names, random.randint(1, len(names)))
            for number in range(random.choice((0, 0, 1, 2)))
        }
        weights = {name: random.choice((1, 2, 3, 7, 1000)) for name in random.sample(names, len(names) // 2)}
        return cls(
            limit=random.choice((1, 2, 3, 4, 5, 7, 8, 12, 16, 61, 100)),
            is_computed=random.random() < 0.5,
            methods=methods,
            instances=instances,
            options=options,
            weights=random.choice((None, weights)),
            groups=groups,
        )

    def toml(self) -> str:
        limit = "{ expr = 'cpu.available_cores' }" if self.is_computed else str(self.limit)
        split = "" if self.weights is None else f"split = {_inline(self.weights)}\n"
        parts = [f"[budget]\nthreads = {limit}\n{split}"]
        parts += [f"[groups.{name}]\ntogether = {json.dumps(each)}\n" for name, each in self.groups.items()]
        parts += [f"[instances.{name}]\nmethod = '{method}'\n" for name, method in self.instances.items()]
        for method, backends in self.options.items():
            for backend, options in backends.items():
                body = "".join(f"{name} = {_toml(value)}\n" for name, value in options.items())
                parts.append(f"[methods.{method}.options.{backend}]\n{body}")
        return "\n".join(parts)

    def resolve(self) -> Resolution:
        return resolve_budget(
            self.toml(), methods=self.methods, cpu__available_cores=self.limit, cpu__physical_cores=PHYSICAL
        )

    # --- the rules, once more

    def members(self) -> list[tuple[str, str | None]]:
        named = [(method, name) for name, method in self.instances.items()]
        plain = [(method, None) for method in self.methods if method not in self.instances.values()]
        return [*named, *plain]

    def sets(self) -> Iterator[list[tuple[str, str | None]]]:
        alone = self.members()
        for names in self.groups.values():
            group = [each for each in self.members() if _is_named(each, names)]
            alone = [each for each in alone if each not in group]
            yield group
        if self.groups:
            yield from ([each] for each in alone)
        else:
            yield alone

    def weight(self, member: tuple[str, str | None]) -> int:
        method, instance = member
        weights = self.weights or {}
        own = [w for name, w in weights.items() if name in (instance, f"{method}@{instance}") and instance]
        return own[-1] if own else weights.get(method, 1)


def _options(random: Random, *, with_shares: bool) -> dict[str, Any]:
    found: dict[str, Any] = {"threads": random.choice((0, 1, 2, 3, 5))}
    if with_shares:
        return {"threads": 'share("threads")'}
    if random.random() < 0.3:
        found["more"] = random.randint(0, 3)
    if random.random() < 0.2:
        found["alone"] = True
    if random.random() < 0.4:
        found["pooled"] = True
    return found


def _toml(value: Any) -> str:
    return f"{{ expr = '{value}' }}" if isinstance(value, str) else json.dumps(value)


def _inline(values: Mapping[str, int]) -> str:
    return "{ " + ", ".join(f'"{name}" = {value}' for name, value in values.items()) + " }"


def _is_named(member: tuple[str, str | None], names: list[str]) -> bool:
    method, instance = member
    return method in names or instance in names or f"{method}@{instance}" in names


def modeled_sum(case: Case, group: list[tuple[str, str | None]]) -> int:
    """The threads of a group: of each member the backend that takes the most, and each shared pool once."""
    total = 0
    pools: set[tuple[str, int]] = set()
    for method, _ in group:
        best: tuple[int, bool] = (-1, False)
        chosen: tuple[str, dict[str, Any]] | None = None
        for backend in case.methods[method]:
            options = case.options[method][backend]
            own, pool = modeled_threads(options)
            is_private = not is_pooled(options)
            if (own + pool, is_private) > best:
                best, chosen = (own + pool, is_private), (backend, options)
        if chosen is None:
            continue
        backend, options = chosen
        own, pool = modeled_threads(options)
        total += own
        if is_pooled(options):
            if (backend, options["threads"]) in pools:
                continue
            pools.add((backend, options["threads"]))
        total += pool
    return total


def is_pooled(options: dict[str, Any]) -> bool:
    return bool(options.get("pooled")) and not options.get("alone")


def modeled_threads(options: dict[str, Any]) -> tuple[int, int]:
    pool = options["threads"] or PHYSICAL
    return options.get("more", 0), 1 if options.get("alone") else pool


def modeled_shares(case: Case, group: list[tuple[str, str | None]]) -> dict[tuple[str, str | None], int]:
    """The shares of a group, one thread after the other.

    Each member has one. Of those that are left, the lightest weights get theirs first: as many as all members
    so far are due together, by weight, rounded down. Inside a weight they are dealt out by name.
    """
    shares = dict.fromkeys(group, 1)
    if case.limit <= len(group):
        return shares
    total = sum(map(case.weight, group))
    dealt, due, count = 0, 0, 0
    for weight in sorted({case.weight(each) for each in group}):
        equals = sorted((each for each in group if case.weight(each) == weight), key=_label)
        due += weight * len(equals)
        count += len(equals)
        until = dealt + len(equals)
        while (until + 1) * total <= case.limit * due:
            until += 1
        for number in range(until - dealt):
            shares[equals[number % len(equals)]] = number // len(equals) + 1
        dealt = max(until, count)
    return shares


def _label(member: tuple[str, str | None]) -> str:
    return member[0] if member[1] is None else f"{member[0]}@{member[1]}"


def outcome(case: Case) -> tuple[BudgetUse | None, Sequence[Diagnostic]]:
    try:
        return case.resolve().budget, ()
    except OptionError as error:
        return None, error.diagnostics


def test_sums_are_those_of_the_model() -> None:
    exceeded = 0
    for seed in range(scaled(2400)):
        case = Case.random(Random(seed), with_shares=False)
        sums = [modeled_sum(case, group) for group in case.sets()]
        is_over = any(each > case.limit for each in sums)
        budget, problems = outcome(case)
        if any(each.is_error for each in problems):
            assert {each.code for each in problems} == {"budget-exceeded"}, seed
            assert len(problems) == sum(each > case.limit for each in sums), (seed, case.toml())
            exceeded += 1
            continue
        assert budget is not None
        assert sorted(use.taken for use in budget.uses) == sorted(sums), (seed, case.toml())
        if is_over:  # a warning: nobody takes more than one
            assert all(c.amount == 1 for use in budget.uses if use.is_exceeded for c in use.contributions), (
                seed
            )
    assert exceeded > scaled(600)


def test_shares_are_those_of_the_model() -> None:
    for seed in range(scaled(2400)):
        case = Case.random(Random(seed), with_shares=True)
        expected: dict[tuple[str, str | None], int] = {}
        for group in case.sets():
            shares = modeled_shares(case, group)
            assert sum(shares.values()) == max(case.limit, len(group)) or not group, seed
            for member, share in shares.items():
                expected[member] = min(share, expected.get(member, share))
        resolution = case.resolve()
        for (method, instance), share in expected.items():
            arguments = resolution.arguments(method, instance)
            found = {backend: arguments.backends[backend].options.threads for backend in arguments}  # type: ignore[attr-defined]
            assert set(found.values()) == {share}, (seed, method, instance, case.toml())
