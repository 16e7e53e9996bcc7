"""`Selectability` against a model: selecting on every device of a small world, as docs/profiles.md says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import product
from pathlib import Path
from random import Random

from effort import seeds
from every import every

from etconfig.app.validating.selectability import Contestant, Selectability
from etconfig.diagnostics import Span
from etconfig.expression import Expression, ExpressionParser, ExpressionType
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.profile.library import ProfileFile, Provider

WORLD = {
    "os.name": ("linux", "macos"),
    "cpu.arch": ("arm64", "x86_64"),
    "cpu.available_cores": (1, 2, 4, 8),
    "power.source": ("mains", "battery"),
    "gpu.count": (0, 1),
}
"""The facts that conditions ask for, and enough of their values to tell all conditions apart."""

CLAUSES = (
    'os.name == "linux"',
    'os.name in ["linux", "macos"]',
    'cpu.arch == "arm64"',
    'cpu.arch != "arm64"',
    "cpu.available_cores >= 2",
    "cpu.available_cores > 4",
    "cpu.available_cores < 4",
    'power.source == "battery"',
    '!(power.source == "battery")',
    "has(gpu.count)",
    "!has(gpu.count)",
    "gpu.count > 0",
    "8 / gpu.count > 1",
    "true",
)
PARSER = ExpressionParser(BUILTIN_FACTS)
DEVICES: tuple[Mapping[str, object], ...] = tuple(
    {name: value for name, value in zip(WORLD, values, strict=True) if value is not None}
    for values in product(*((None, *values) for values in WORLD.values()))
)


@lru_cache(None)
def condition(text: str) -> Expression:
    return PARSER.parse(text, lambda: Span(file="p.toml"), ExpressionType.BOOL)


@lru_cache(None)
def devices_of(text: str) -> frozenset[int]:
    expression = condition(text)
    return frozenset(at for at, facts in enumerate(DEVICES) if expression.evaluate(facts) is True)


def random_condition(random: Random) -> str | None:
    if random.random() < 0.15:
        return None
    clauses = random.sample(CLAUSES, random.choice((1, 1, 2, 3)))
    return random.choice((" && ", " && ", " || ")).join(clauses)


class World:
    """Some profiles: a condition, the bases, and the kind of source of each."""

    def __init__(self, random: Random) -> None:
        self.names = [f"p{number}" for number in range(random.randrange(2, 7))]
        self.conditions = {name: random_condition(random) for name in self.names}
        self.providers = {name: random.choice(list(Provider)) for name in self.names}
        self.extends: dict[str, list[str]] = {}
        for at, name in enumerate(self.names):
            earlier = [
                other
                for other in self.names[:at]
                if self.providers[name] is not Provider.BUNDLED or self.providers[other] is Provider.BUNDLED
            ]
            self.extends[name] = [other for other in earlier if random.random() < 0.3]

    def selectability(self) -> Selectability:
        return Selectability(self.contestants(), BUILTIN_FACTS)

    def file(self, name: str) -> ProfileFile:
        path = Path(f"/profiles/{name}.toml")
        return ProfileFile(path, str(path), path.parent, name, self.providers[name])

    def contestants(self) -> list[Contestant]:
        return [
            Contestant(self.file(name), name, frozenset(self.bases(name)), condition(text))
            for name, text in self.conditions.items()
            if text is not None
        ]

    def bases(self, name: str) -> set[str]:
        direct = self.extends[name]
        return set(direct).union(*map(self.bases, direct))

    def selected(self, device: int) -> str | None:
        """Select as docs/configuration.md says; None if nothing matches, or several profiles do."""
        matching = [name for name in self.names if device in devices_of(self.conditions[name] or "false")]
        most_derived = [name for name in matching if not any(name in self.bases(each) for each in matching)]
        best = max((self.providers[name] for name in most_derived), default=None)
        winners = [name for name in most_derived if self.providers[name] is best]
        return winners[0] if len(winners) == 1 else None

    def ever_selected(self) -> set[str]:
        return {name for name in map(self.selected, range(len(DEVICES))) if name is not None}

    def reported(self) -> set[str]:
        among = self.selectability()
        return {each.name for each in self.contestants() if among.winner_over(each)}


@every("seed", seeds(60))
def test_no_profile_is_reported_that_some_device_selects(seed: int) -> None:
    random = Random(seed)
    for _ in range(10):
        world = World(random)
        assert not world.reported() & world.ever_selected()


def test_most_profiles_that_another_one_covers_are_reported() -> None:
    """Some are missed: the reasoning about conditions is limited, and the world smaller than the real one."""
    random, reported, missed = Random(7), 0, 0
    for _ in range(400):
        world = World(random)
        found, selected = world.reported(), world.ever_selected()
        reported += len(found)
        for name in set(world.names) - found - selected:
            missed += any(covers(world, other, name) for other in world.names)
    assert reported > 250
    assert missed < reported / 6


def covers(world: World, other: str, name: str) -> bool:
    """Return True if one profile matches wherever another one does, and always wins or ties."""
    text, wider = world.conditions[name], world.conditions[other]
    if text is None or wider is None or other == name or other in world.bases(name):
        return False
    if not devices_of(text) or not devices_of(text) <= devices_of(wider):
        return False
    derived: Sequence[str] = [
        each for each in world.names if other in world.bases(each) and world.conditions[each] is not None
    ]
    sources = [world.providers[each] for each in (other, *derived)]
    return name in world.bases(other) or min(sources) >= world.providers[name]
