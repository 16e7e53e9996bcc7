"""`choose_variant` and `unreachable_variants` against a second implementation, from docs/models.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from random import Random

import pytest

from etconfig.errors import ModelError, PluginLoadError, UnreadableProgramError
from etconfig.expression import ExpressionParser
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.models.catalog import CatalogModel, ModelVariant
from etconfig.models.checking import unreachable_variants
from etconfig.models.needs import VariantNeeds
from etconfig.models.reading import parse_models
from etconfig.models.variant_selection import ModelChoice, choose_variant
from etconfig.profile.document import parse_document

BACKENDS = ("CoreMLBackend", "QnnBackend", "XnnpackBackend")
WORLD: Mapping[str, tuple[object, ...]] = {
    "os.name": ("linux", "android"),
    "cpu.available_cores": (1, 4, 8),
    "gpu.count": (0, 1),
    "power.source": ("mains", "battery"),
}
EXPRESSIONS = ExpressionParser(BUILTIN_FACTS)

Facts = Mapping[str, object]


@dataclass(frozen=True)
class Compared:
    """`FACT OPERATOR LITERAL`, or `N / FACT OPERATOR LITERAL`, which has no value where the fact is 0."""

    fact: str
    operator: str
    literal: object
    dividend: int | None = None

    def text(self) -> str:
        literal = f'"{self.literal}"' if isinstance(self.literal, str) else str(self.literal)
        left = self.fact if self.dividend is None else f"{self.dividend} / {self.fact}"
        return f"{left} {self.operator} {literal}"

    def truth(self, facts: Facts) -> bool | None:
        """The third value, None, is unknown or without a value: neither holds."""
        value = facts.get(self.fact)
        if value is None:
            return None
        if self.dividend is not None:
            assert isinstance(value, int)
            if value == 0:
                return None
            value = self.dividend // value
        if self.operator == "==":
            return value == self.literal
        if self.operator == "!=":
            return value != self.literal
        assert isinstance(value, int)
        assert isinstance(self.literal, int)
        return value >= self.literal if self.operator == ">=" else value < self.literal


@dataclass(frozen=True)
class Known:
    """`has(FACT)`."""

    fact: str

    def text(self) -> str:
        return f"has({self.fact})"

    def truth(self, facts: Facts) -> bool | None:
        return self.fact in facts


@dataclass(frozen=True)
class Contains:
    """`BACKEND in runtime.backends`."""

    backend: str

    def text(self) -> str:
        return f'"{self.backend}" in runtime.backends'

    def truth(self, facts: Facts) -> bool | None:
        known = facts.get("runtime.backends")
        return None if known is None else self.backend in known  # type: ignore[operator]


@dataclass(frozen=True)
class Joined:
    """`&&` and `||`: one decisive operand decides, then one that is not known, then the rest."""

    operator: str
    operands: tuple[Condition, ...]

    def text(self) -> str:
        return f" {self.operator} ".join(f"({each.text()})" for each in self.operands)

    def truth(self, facts: Facts) -> bool | None:
        decisive = self.operator == "||"
        truths = [each.truth(facts) for each in self.operands]
        if decisive in truths:
            return decisive
        return None if None in truths else not decisive


@dataclass(frozen=True)
class Negated:
    """`!CONDITION`."""

    operand: Condition

    def text(self) -> str:
        return f"!({self.operand.text()})"

    def truth(self, facts: Facts) -> bool | None:
        truth = self.operand.truth(facts)
        return None if truth is None else not truth


Condition = Compared | Known | Contains | Joined | Negated


@dataclass(frozen=True)
class Variant:
    """A variant as the second implementation has it."""

    when: Condition | None
    backends: tuple[str, ...]
    has_data: bool
    is_readable: bool


def random_condition(random: Random, depth: int = 2) -> Condition:
    shape = random.random()
    if depth and shape < 0.25:
        operands = tuple(random_condition(random, depth - 1) for _ in range(random.randint(2, 3)))
        return Joined(random.choice(("&&", "||")), operands)
    if depth and shape < 0.35:
        return Negated(random_condition(random, depth - 1))
    if shape < 0.45:
        return Known(random.choice(tuple(WORLD)))
    if shape < 0.55:
        return Contains(random.choice(BACKENDS))
    if shape < 0.6:
        return Compared("gpu.count", "==", 4, dividend=4)
    if shape < 0.8:
        return Compared("cpu.available_cores", random.choice((">=", "<", "==")), random.choice((1, 2, 4, 8)))
    name = random.choice(("os.name", "power.source"))
    return Compared(name, random.choice(("==", "!=")), random.choice(WORLD[name]))


def random_variants(random: Random) -> list[Variant]:
    return [
        Variant(
            when=random_condition(random) if random.random() < 0.7 else None,
            backends=tuple(sorted(random.sample(BACKENDS, random.choice((0, 0, 1, 1, 2))))),
            has_data=random.random() < 0.9,
            is_readable=random.random() < 0.9,
        )
        for _ in range(random.randint(1, 5))
    ]


def random_facts(random: Random) -> dict[str, object]:
    facts = {name: random.choice(values) for name, values in WORLD.items() if random.random() < 0.8}
    if random.random() < 0.85:
        facts["runtime.backends"] = tuple(random.sample(BACKENDS, random.randint(0, 3)))
    return facts


def as_model(variants: Sequence[Variant], *, fallback: bool) -> CatalogModel:
    lines = ["[model.m]", f"fallback = {str(fallback).lower()}"]
    for number, variant in enumerate(variants, 1):
        lines += ["[[model.m.variants]]", f'file = "{number}.pte"']
        lines += [] if variant.when is None else [f"when = '{variant.when.text()}'"]
    return parse_models(parse_document("\n".join(lines), "models.toml"), EXPRESSIONS).find("m")


def needs_of(variant: Variant) -> VariantNeeds:
    missing = () if variant.has_data else ("weight",)
    return VariantNeeds(
        backends=variant.backends,
        methods=(),
        missing_data=missing,
        data_problem=None if variant.has_data else "no data file has it",
    )


def expected_number(
    variants: Sequence[Variant], facts: Facts, *, fallback: bool, broken: Sequence[str] = ()
) -> int | str | None:
    """The number of the selected variant, `unreadable`, `broken`, or None if none suits."""
    for number, variant in enumerate(variants, 1):
        if variant.when is not None and variant.when.truth(facts) is not True:
            continue
        if not variant.is_readable:
            if fallback:
                continue
            return "unreadable"
        available = facts.get("runtime.backends", ())
        assert isinstance(available, tuple)
        lacking = {backend for backend in variant.backends if backend not in available}
        if variant.has_data and not lacking:
            return number
        if variant.has_data and lacking <= set(broken) and not fallback:
            return "broken"
    return None


def random_broken(random: Random, facts: Facts) -> tuple[str, ...]:
    """Backends with broken plugins, none of which can run; they are known only where the others are."""
    available = facts.get("runtime.backends")
    if available is None or random.random() < 0.5:
        return ()
    assert isinstance(available, tuple)
    return tuple(each for each in BACKENDS if each not in available and random.random() < 0.5)


def broken_plugin(backend: str) -> PluginLoadError:
    return PluginLoadError(
        group="etconfig.backends",
        name=backend,
        distribution="broken",
        version="1.0",
        cause="its import failed",
    )


def actual_number(
    variants: Sequence[Variant], facts: Facts, *, fallback: bool, broken: Sequence[str] = ()
) -> int | str | None:
    model = as_model(variants, fallback=fallback)

    def read_needs(variant: ModelVariant) -> VariantNeeds:
        read = variants[variant.number - 1]
        if not read.is_readable:
            raise UnreadableProgramError(code="unreadable-file", region="program", reason="it is gone")
        return needs_of(read)

    try:
        errors = {backend: broken_plugin(backend) for backend in broken}
        choice = choose_variant(model, facts, read_needs, broken=errors)
    except ModelError as error:
        (problem,) = error.diagnostics
        assert len(problem.notes) >= len(variants)
        return None
    except UnreadableProgramError:
        return "unreadable"
    except PluginLoadError:
        return "broken"
    others = [each.variant.number for each in choice.rejected]
    assert sorted([choice.variant.number, *others]) == list(range(1, len(variants) + 1))
    assert others == sorted(others)
    assert all(each.reasons for each in choice.rejected)
    assert choice.reasons
    return choice.variant.number


@pytest.mark.parametrize("seed", range(10))
def test_the_selected_variant_is_that_of_the_second_implementation(seed: int) -> None:
    random = Random(seed)
    outcomes = set()
    for _ in range(400):
        variants, facts, fallback = random_variants(random), random_facts(random), random.random() < 0.5
        broken = random_broken(random, facts)
        expected = expected_number(variants, facts, fallback=fallback, broken=broken)
        actual = actual_number(variants, facts, fallback=fallback, broken=broken)
        assert actual == expected, (variants, facts, broken)
        outcomes.add(expected)
    assert outcomes >= {None, "unreadable", "broken", 1, 2, 3}


@pytest.mark.parametrize("seed", range(3))
def test_failed_loads_hand_over_to_each_later_variant_that_suits(seed: int) -> None:
    random = Random(seed)
    lengths = set()
    for _ in range(300):
        variants, facts, fallback = random_variants(random), random_facts(random), random.random() < 0.7
        expected = []
        for start in range(len(variants)):
            # what is selected if all variants before `start` are gone
            number = expected_number(variants[start:], facts, fallback=True)
            if isinstance(number, int) and number == 1:
                expected.append(start + 1)
        model = as_model(variants, fallback=fallback)

        def read_needs(variant: ModelVariant, variants: Sequence[Variant] = variants) -> VariantNeeds:
            if not variants[variant.number - 1].is_readable:
                raise UnreadableProgramError(code="unreadable-file", region="program", reason="it is gone")
            return needs_of(variants[variant.number - 1])

        try:
            choice: ModelChoice | None = choose_variant(model, facts, read_needs)
        except (ModelError, UnreadableProgramError):
            continue
        tried = []
        while choice is not None:
            tried.append(choice.variant.number)
            numbers = [each.variant.number for each in choice.rejected]
            assert numbers == sorted({*range(1, len(variants) + 1)} - {choice.variant.number})
            choice = choice.next("it failed")
        assert tried == (expected if fallback else expected[:1])
        lengths.add(len(tried))
    assert lengths >= {1, 2, 3}


DEVICES: list[dict[str, object]] = [
    {name: value for name, value in zip(WORLD, values, strict=True) if value is not None}
    | ({} if backends is None else {"runtime.backends": backends})
    for values in product(*((None, *values) for values in WORLD.values()))
    for backends in (None, (), *combinations(BACKENDS, 1), *combinations(BACKENDS, 2), BACKENDS)
]
"""Every device of a small world."""


@pytest.mark.parametrize("seed", range(3))
def test_no_device_selects_a_variant_that_is_reported_as_unreachable(seed: int) -> None:
    random = Random(seed)
    reported_count = 0
    for _ in range(60):
        variants = [
            Variant(v.when, v.backends, has_data=True, is_readable=True) for v in random_variants(random)
        ]
        needs = {number: needs_of(variant) for number, variant in enumerate(variants, 1)}
        model = as_model(variants, fallback=False)
        reported = {
            problem.message.split()[4] for problem in unreachable_variants(model, needs, BUILTIN_FACTS)
        }
        if reported:
            selected = {str(expected_number(variants, facts, fallback=False)) for facts in DEVICES}
            assert reported.isdisjoint(selected), variants
            reported_count += len(reported)
    assert reported_count > 20
