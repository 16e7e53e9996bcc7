"""The order of what a profile extends is the method resolution order of Python's classes."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from profile_texts import REGISTRY, write_profiles

from etconfig.diagnostics import Diagnostic
from etconfig.errors import ConfigError
from etconfig.profile.inheritance import ProfileReader
from etconfig.profile.library import ProfileFile, ProfileLibrary, ProfileSource
from etconfig.profile.linearization import OrderConflict, ordered_bases


def random_hierarchy(rng: random.Random) -> dict[str, list[str]]:
    """The lists of bases of some profiles, each of which extends earlier ones."""
    names = [f"p{number}" for number in range(rng.randint(2, 12))]
    return {
        name: rng.sample(names[:index], rng.choice([k for k in (0, 1, 2, 2, 3, 4) if k <= index]))
        for index, name in enumerate(names)
    }


def python_order(bases: Sequence[str], classes: Mapping[str, type]) -> type | None:
    """The class that derives from these, the last one first; None if Python refuses it."""
    try:
        return type("Derived", tuple(classes[base] for base in reversed(bases)), {})
    except TypeError:
        return None


class TestPythonAgrees:
    """For any lists, either both give the same order, or both refuse."""

    @pytest.mark.parametrize("seed", range(20))
    def test_on_random_hierarchies(self, seed: int) -> None:
        rng, counts = random.Random(seed), {True: 0, False: 0}
        for _ in range(500):
            orders: dict[str, Sequence[str]] = {}
            classes: dict[str, type] = {}
            for name, listed in random_hierarchy(rng).items():
                bases = [base for base in listed if base in orders]
                found = ordered_bases([orders[base] for base in bases], bases)
                derived = python_order(bases, classes)
                counts[derived is None] += 1
                if derived is None:
                    assert isinstance(found, OrderConflict), (bases, orders)
                    continue
                names = {each: base for base, each in classes.items()}
                assert list(found) == [names[each] for each in derived.__mro__[-2:0:-1]]
                classes[name], orders[name] = derived, (*found, name)
        assert min(counts.values()) > 200, "too few orders or too few conflicts to compare"

    @pytest.mark.parametrize("seed", range(20))
    def test_every_conflict_is_a_circle_of_real_demands(self, seed: int) -> None:
        rng = random.Random(seed)
        for _ in range(300):
            orders: dict[str, Sequence[str]] = {}
            for name, listed in random_hierarchy(rng).items():
                bases = [base for base in listed if base in orders]
                found = ordered_bases([orders[base] for base in bases], bases)
                if not isinstance(found, OrderConflict):
                    orders[name] = (*found, name)
                    continue
                demands = found.demands
                for demand, following in zip(demands, (*demands[1:], demands[0]), strict=True):
                    order = bases if demand.source is None else list(orders[bases[demand.source]])
                    assert order.index(demand.weaker) < order.index(demand.stronger)
                    assert demand.stronger == following.weaker


def outcome(reader: ProfileReader, file: ProfileFile) -> tuple[list[str], Sequence[Diagnostic]]:
    """Return the names of a chain, and all problems, also of what can be salvaged."""
    try:
        return [each.name for each in reader.chain(file)], ()
    except ConfigError as error:
        try:
            chain, problems = reader.salvage(file)
        except ConfigError as unreadable:
            return [], (*error.diagnostics, *unreadable.diagnostics)
        return [each.name for each in chain], (*error.diagnostics, *problems)


class TestEarlierWalks:
    """A reader finds the same chains and problems, whatever it walked before."""

    @pytest.mark.parametrize("seed", range(5))
    def test_one_reader_finds_what_a_new_one_finds(
        self, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("etconfig.profile.inheritance.MAX_CHAIN_LENGTH", 5)
        rng, codes = random.Random(seed), set[str]()
        for number in range(20):
            hierarchy = random_hierarchy(rng)
            texts = {name: f"extends = {bases}\n" for name, bases in hierarchy.items()}
            for name in rng.sample([*texts], rng.choice((0, 0, 1, 2))):  # cycles, missing and wrong files
                wrong = rng.choice(
                    (f"extends = ['{rng.choice([*texts])}']", "extends = ['none']", "wrong = 1")
                )
                texts[name] = f"{wrong}\n"
            directory = tmp_path / str(number)
            library = ProfileLibrary((ProfileSource("test", write_profiles(directory, **texts)),), REGISTRY)
            readers = [ProfileReader(library, is_for_one_run=each) for each in (False, True)]
            for file in rng.choices(library.files, k=2 * len(texts)):
                expected = outcome(ProfileReader(library), file)
                codes |= {problem.code for problem in expected[1]}
                for reader in readers:
                    assert outcome(reader, file) == expected, (texts, file.name)
                    if rng.random() < 0.3:
                        reader.forget(file)
        assert len(codes) >= 4, f"too few kinds of problems to compare: {codes}"
