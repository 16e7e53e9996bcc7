"""Suggestions for misspelt names and values: the nearest one, and no repair that is a mistake itself."""

from __future__ import annotations

import random
import string
from collections.abc import Iterator
from typing import Literal

import pytest
from effort import scaled

from etconfig.diagnostics import Span, nearest
from etconfig.diagnostics.suggest import edit_distance
from etconfig.errors import ProfileError
from etconfig.expression import parse_expression
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.facts.problems import usual_texts
from etconfig.facts.registry import FactInfo, FactType, Volatility, meant_value
from etconfig.mistakes.fact_guesses import likely_facts
from etconfig.schema.declaration import option
from etconfig.schema.options import BackendOptions
from etconfig.schema.problem import OptionProblem
from etconfig.schema.validate import check_value, find_option


def facts_of_plugin(namespace: str, *names: str) -> tuple[FactInfo, ...]:
    return tuple(
        FactInfo(name=f"{namespace}.{name}", type=FactType.STRING, doc="It.", volatility=Volatility.BOOT)
        for name in names
    )


WITH_PLUGINS = BUILTIN_FACTS.extended(
    facts_of_plugin("engine", "version", "device.<n>.name", "device.<n>.model", "device.<n>.vendor", "arch")
).extended(facts_of_plugin("zoo", "0.cores".replace("0", "<n>"), "<n>.kernel", "<n>.total", "<n>.source"))


def typos(word: str, chance: random.Random) -> Iterator[str]:
    """Yield the word with one letter left out, added, changed or swapped; dots and digits stay."""
    for _ in range(scaled(8)):
        place = chance.randrange(1, len(word) - 1)
        letter = chance.choice(string.ascii_lowercase)
        if not (word[place].isalpha() and word[place + 1].isalpha()):
            continue
        yield chance.choice(
            (
                word[:place] + word[place + 1 :],
                word[:place] + letter + word[place:],
                word[:place] + letter + word[place + 1 :],
                word[:place] + word[place + 1] + word[place] + word[place + 2 :],
            )
        )


class TestFacts:
    """The one fact nearest by edits is suggested; core's before those of plugins."""

    def test_a_typo_of_a_fact_suggests_that_fact(self) -> None:
        chance, wrong, count = random.Random(1), [], 0
        for registry in (BUILTIN_FACTS, WITH_PLUGINS):
            for pattern in registry.names:
                name = pattern.replace("<n>", "0")
                for typo in typos(name, chance):
                    if registry.get(typo) is not None:
                        continue
                    count += 1
                    others = [each.replace("<n>", "0") for each in registry.names if each != pattern]
                    is_as_near = any(edit_distance(typo, each, 1) <= 1 for each in others)
                    found = likely_facts(typo, registry)
                    if found != (name,) and not (is_as_near and len(found) == 1):
                        wrong.append((typo, name, found))
        assert not wrong
        assert count > 300

    def test_two_typos_in_a_long_name_suggest_one_fact(self) -> None:
        assert likely_facts("cpu.avialbale_cores", WITH_PLUGINS) == ("cpu.available_cores",)
        assert likely_facts("devcie.modle", WITH_PLUGINS) == ("device.model",)

    def test_the_facts_of_a_plugin_are_found_in_its_own_namespace(self) -> None:
        assert likely_facts("engine.0.name", WITH_PLUGINS) == ("engine.device.0.name",)
        assert likely_facts("engine.versoin", WITH_PLUGINS) == ("engine.version",)
        assert likely_facts("engine.arhc", WITH_PLUGINS) == ("engine.arch",)
        assert likely_facts("acme.total", WITH_PLUGINS) == ("memory.total",)


class TestConditions:
    """A repair of a condition leaves fewer mistakes, and none that it wrote itself."""

    def test_typos_of_names_and_values_are_repaired_or_left(self) -> None:
        chance, wrong, count = random.Random(2), [], 0
        for text in conditions(chance):
            for problem in problems_of(text):
                fix = problem.fix
                if fix is None:
                    continue
                start = fix.span.column - 1
                fixed = text[:start] + fix.replacement + text[start + fix.span.length :]
                count += 1
                if fixed == text or len(problems_of(fixed)) >= len(problems_of(text)):
                    wrong.append((text, fixed))
        assert not wrong
        assert count > 100

    def test_a_misspelt_value_is_not_corrected_to_the_same_mistake_in_lower_case(self) -> None:
        wrong, count = [], 0
        for info in BUILTIN_FACTS.infos:
            for value in usual_texts(info) if info.type is FactType.STRING else ():
                swapped = value[:-2] + value[-1] + value[-2]
                if sorted(usual_texts(info), key=len).count(swapped) or swapped == value:
                    continue
                for typo in (swapped, swapped.capitalize(), swapped.upper()):
                    if meant_value(info.name, typo) in usual_texts(info):
                        continue
                    count += 1
                    for problem in problems_of(f'{info.name} == "{typo}"'):
                        if swapped in (problem.help or "") or (
                            problem.fix and swapped in problem.fix.replacement
                        ):
                            wrong.append((info.name, typo, problem.help))
        assert not wrong
        assert count > 30

    def test_an_item_of_a_list_and_a_single_value_have_no_number(self) -> None:
        for text in ('cpu.features[0] == "avx2"', 'os.name[0] == "linux"', 'cpu.features[0] != "avx2"'):
            (problem,) = problems_of(text)
            assert problem.help is not None
            assert problem.help.startswith("facts are numbered with points, as gpu.0.name; items of a list")
            assert problem.fix is None
        for text in ("has(cpu.features[1])", 'cpu.features.0 == "avx2"'):
            assert all(each.fix is None or ".0" not in each.fix.replacement for each in problems_of(text))


class TestNames:
    """Of any names, the nearest by edits is suggested."""

    def test_a_typo_suggests_no_name_that_is_farther_than_another(self) -> None:
        chance, wrong = random.Random(3), []
        known = tuple(name.replace("<n>", "0") for name in WITH_PLUGINS.names)
        for name in known:
            for typo in typos(name, chance):
                found = nearest(typo, known)
                least = min(edit_distance(typo, each, 40) for each in known if each != typo)
                if found is None or edit_distance(typo, found, 40) != least:
                    wrong.append((typo, found))
        assert not wrong


def conditions(chance: random.Random) -> Iterator[str]:
    for info in WITH_PLUGINS.infos:
        name = info.name.replace("<n>", "0")
        value = (usual_texts(info) or ("x",))[0]
        right = {
            FactType.BOOL: name,
            FactType.INT: f"{name} > 4",
            FactType.FLOAT: f"{name} > 0.5",
            FactType.STRING: f'{name} == "{value}"',
            FactType.STRING_LIST: f'"{value}" in {name}',
        }[info.type]
        yield from typos(right, chance)
        yield f'{name}[0] == "x"'
        yield f'{name}.0 == "x"'


def problems_of(text: str) -> tuple:
    try:
        parse_expression(text, WITH_PLUGINS, span=Span(file="a", length=len(text), text=text))
    except ProfileError as error:
        return error.diagnostics
    return ()


class Engine(BackendOptions):
    """Options like those of an engine."""

    num_threads: int = option(1, applies="load", doc="Threads.")
    thread_pool_size: int = option(1, applies="load", doc="A size.")
    performance_mode: Literal["balanced", "high_performance", "Low_Power", "burst"] = option(
        "burst", applies="load", doc="A mode.", also_called={"kHtpBurst": "burst", 7: "Low_Power"}
    )
    graph_optimization: Literal["none", "basic", "Extended"] = option("none", applies="load", doc="A level.")
    cache_directory: str = option("", applies="load", doc="A place.")
    names: list[str] = option([], applies="load", doc="Names.")


class TestOptions:
    """A typo of an option or of one of its values suggests the nearest, and its repair is valid."""

    def test_a_typo_of_an_option_suggests_that_option(self) -> None:
        chance, wrong, infos = random.Random(4), [], Engine.option_infos()
        for name in infos:
            for typo in typos(name, chance):
                _, problem = find_option(Engine, typo)
                if typo in infos:
                    continue
                assert problem is not None
                if problem.help != f"did you mean {name!r}?" or (
                    problem.respelling is not None and problem.respelling.right != name
                ):
                    wrong.append((typo, problem.help))
        assert not wrong

    def test_the_repair_of_a_value_is_valid_and_differs(self) -> None:
        chance, wrong, count = random.Random(5), [], 0
        for name, info in Engine.option_infos().items():
            for choice in map(str, info.choices):
                swapped = choice[:-2] + choice[-1] + choice[-2]
                for typo in (*typos(choice, chance), swapped, swapped.upper(), swapped.capitalize()):
                    value = check_value(Engine, info, typo)
                    if not isinstance(value, OptionProblem) or value.respelling is None:
                        continue
                    count += 1
                    right = value.respelling.right.strip('"')
                    if right == typo or isinstance(check_value(Engine, info, right), OptionProblem):
                        wrong.append((name, typo, right))
        assert not wrong
        assert count > 30

    def test_other_spellings_are_mapped(self) -> None:
        info = Engine.option_infos()["performance_mode"]
        for written, meant in (("kHtpBurst", "burst"), ("Mode::kHtpBurst", "burst"), (7, "Low_Power")):
            problem = check_value(Engine, info, written)
            assert isinstance(problem, OptionProblem)
            assert problem.help == f'write "{meant}"'

    def test_a_wrong_spelling_is_refused_when_it_is_declared(self) -> None:
        for also_called in ({"x": "absent"}, {"burst": "balanced"}):
            with pytest.raises(TypeError, match="has other spellings of its choices, but"):

                class Wrong(BackendOptions):
                    """Options."""

                    mode: Literal["balanced", "burst"] = option(
                        "burst", applies="load", doc="A mode.", also_called=also_called
                    )
