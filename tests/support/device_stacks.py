"""Random stacks of profiles, project files and overrides over backends with every kind of option."""

from __future__ import annotations

import enum
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Annotated, Any, Literal

from engine_tables import Cpu, Gpu
from random_expressions import REGISTRY, random_condition, random_facts, random_integer

from etconfig.base.provenance import Origin, OriginKind, Sourced
from etconfig.device.bundle.tables import BundleTables
from etconfig.device.compiling.compilation import compile_bundle
from etconfig.device.compiling.content import BundleContent, BundledProfile
from etconfig.errors import EtconfigError
from etconfig.expression import ExpressionParser, parse_expression
from etconfig.facts.sheet import FactSheet
from etconfig.plugin.v1 import Advice, ApiRange, BackendOptions, BackendSpec, Ge, Le, Len, MultipleOf, option
from etconfig.profile.document import parse_document
from etconfig.profile.inheritance import ProfileReader
from etconfig.profile.layers import layers_of
from etconfig.profile.library import ProfileLibrary, ProfileSource, Provider
from etconfig.profile.project import parse_project
from etconfig.profile.selector import select_profile
from etconfig.resolver.compiling.overrides import layer_from_overrides
from etconfig.resolver.compiling.resolver import Resolver, Target
from etconfig.resolver.deciding.advice import AdviceReader
from etconfig.resolver.deciding.resolution import Resolution

METHODS = ("forward", "decode")
INSTANCES = '[instances.left]\nmethod = "forward"\n'
PATTERNS = ("forward", "decode", "f*", "*", "*o*")


class Speed(enum.Enum):
    SLOW = "slow"
    FAST = "fast"
    PI = "pi"


class WideOptions(BackendOptions):
    threads: Annotated[int, Ge(1)] = option(
        2, from_fact="a.cores", applies="execute", doc="An integer with a fact."
    )
    chunk: Annotated[int, MultipleOf(4)] | None = option(None, applies="load", doc="Multiples.")
    scale: Annotated[float, Ge(0.0)] = option(1.0, applies="execute", doc="A number.")
    is_on: bool = option(False, from_fact="a.is_hot", applies="load", doc="A flag.")
    model: Annotated[str, Len(0, 9)] = option("", from_fact="a.model", applies="load", doc="A text.")
    speed: Speed = option(Speed.SLOW, applies="execute", doc="A choice.")
    level: Literal[0, 1, 2] = option(0, applies="load", doc="A choice of numbers.")
    words: tuple[str, ...] = option((), from_fact="a.features", applies="load", doc="Texts.")
    order: Annotated[list[Annotated[int, Ge(0), Le(9)]], Len(0, 3)] = option(
        [1], applies="load", doc="Numbers."
    )
    labels: dict[str, str] = option({"a": "default"}, applies="load", doc="A table.")
    limits: dict[str, int] | None = option(None, applies="load", doc="A table or nothing.")
    engine: Cpu | Gpu | None = option({"engine": "cpu", "threads": 1}, applies="load", doc="A union.")
    engines: tuple[Cpu | Gpu, ...] = option((), applies="load", doc="Tables.")


class ProcessOptions(BackendOptions):
    log: int = option(0, applies="load", scope="process", doc="Of the process.")
    core: Annotated[int, Ge(0), Le(7)] = option(applies="load", doc="Required.")
    share: float = option(0.5, from_fact="a.level", applies="execute", doc="A number with a fact.")


KINDS: Mapping[str, Mapping[str, str]] = {
    "WideBackend": {
        "threads": "int",
        "chunk": "multiple",
        "scale": "float",
        "is_on": "bool",
        "model": "text",
        "speed": "choice",
        "level": "small",
        "words": "texts",
        "order": "ints",
        "labels": "table",
        "limits": "numbers",
        "engine": "tables",
        "engines": "tables",
    },
    "ProcessBackend": {"log": "int", "core": "small", "share": "float"},
}
"""The kinds of values and expressions of each option."""
_LITERALS: Mapping[str, Sequence[object]] = {
    "threads": (1, 4, 64),
    "chunk": (0, 8, -4),
    "scale": (0.0, 0.1, 2.5),
    "is_on": (True, False),
    "model": ("", "pi", "pixel"),
    "speed": ("slow", "fast", "pi"),
    "level": (0, 1, 2),
    "words": ([], ["pi", "x"]),
    "order": ([], [3, 1], [9]),
    "labels": ({}, {"a": "1"}, {"b": "2", "c": "3"}, {"a": "4", "d": "5"}),
    "limits": ({}, {"x": 1}, {"x": 2, "y": -3}),
    "log": (0, 1),
    "core": (0, 3),
    "share": (0.25, 1.0),
    "engine": ({"engine": "cpu"}, {"engine": "cpu", "threads": 3}, {"engine": "gpu", "device": 1}),
    "engines": ([], [{"engine": "gpu", "device": 2, "limits": {"memory": "2 KiB"}}, {"engine": "cpu"}]),
}


@lru_cache(4096)
def _is_valid(text: str) -> bool:
    try:
        parse_expression(text, REGISTRY)
    except EtconfigError:
        return False  # for example a comparison that is never true
    return True


def _valid(make: Callable[[], str]) -> str:
    """Return the first expression of those that `make` returns which the checker accepts."""
    return next(filter(_is_valid, (make() for _ in itertools.count())))


def _condition(rng: Random, depth: int) -> str:
    return _valid(lambda: random_condition(rng, depth))


def random_spec(rng: Random, backend: str, options: type[BackendOptions]) -> BackendSpec:
    """A backend whose vendor recommends something."""
    advice = []
    for name, kind in KINDS[backend].items():
        for _ in range(2):
            expression = _expression(rng, kind) if rng.random() < 0.15 else None
            if expression is not None:
                when = _condition(rng, 1) if rng.random() < 0.5 else None
                advice.append(Advice(name, expr=expression, when=when))
    return BackendSpec(
        id=backend,
        doc="A backend.",
        options=options,
        api=ApiRange(1, 1),
        advice=tuple(advice),
        program_beats_recommendation=rng.random() < 0.5,
    )


def _expression(rng: Random, kind: str) -> str | None:
    """An expression of a kind; None if tables are meant, which no expression gives."""
    if kind == "multiple":
        return rng.choice(("a.slow * 4", "a.slow", "-4", "a.is_hot ? 8 : 12"))
    if kind == "small":
        return rng.choice(("min(a.slow, 2)", "a.slow", "has(a.slow) ? 1 : 2", "2 - 1", "0"))
    if kind == "choice":
        return rng.choice(("a.is_hot ? 'fast' : 'slow'", "a.model", "'p' + 'i'", "'slow'"))
    if kind == "int":
        integer = _valid(lambda: random_integer(rng, 2))
        return rng.choice(
            (integer, f"max(1, min({_valid(lambda: random_integer(rng, 1))}, 7))", "a.cores", "3")
        )
    if kind == "float":
        return rng.choice(
            (
                "a.level",
                "a.level * 0.5",
                "max(a.heat, 0.0) / 3.0",
                "a.is_hot ? 0.1 : 0.2",
                "0.25",
                "0.0 / 0.0",
            )
        )
    if kind == "bool":
        return _condition(rng, 2)
    if kind == "text":
        return rng.choice(("a.model", "a.source", "'p' + 'i'", "'ä' + 'b'", "a.model + '!'"))
    if kind == "texts":
        return rng.choice(("a.features", "[a.source, 'ä' + a.model]", "[]"))
    return (
        rng.choice(("[min(a.cores, 9), 1]", "[a.slow]", "[]", "[2, 3]", "[a.offset, 1]"))
        if kind == "ints"
        else None
    )


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value)


def _settings(rng: Random, chance: float) -> dict[str, dict[str, str]]:
    """Random lines by backend and option."""
    found: dict[str, dict[str, str]] = {}
    for backend, options in KINDS.items():
        for name, kind in options.items():
            if rng.random() >= chance:
                continue
            line = _toml(rng.choice(_LITERALS[name]))
            expression = _expression(rng, kind) if rng.random() < 0.3 else None
            if name == "threads" and rng.random() < 0.3:
                expression = "share('threads')"
            if rng.random() < 0.15:
                line = "{ unset = true }"
            elif expression is not None:
                line = f'{{ expr = "{expression}" }}'
            found.setdefault(backend, {})[name] = line
    return found


def _section(rng: Random, prefix: str, chance: float) -> str:
    scopes = {f"{prefix}options": chance}
    scopes |= {f'{prefix}methods."{pattern}".options': chance / 2 for pattern in rng.sample(PATTERNS, 2)}
    scopes |= {f"{prefix}instances.left.options": chance / 2}
    return "".join(
        f"[{scope}.{backend}]\n" + "".join(f"{name} = {line}\n" for name, line in lines.items())
        for scope, likely in scopes.items()
        for backend, lines in _settings(rng, likely).items()
    )


def _facts(rng: Random) -> str:
    if rng.random() < 0.6:
        return ""
    facts = rng.sample(sorted(random_facts(rng).items()), 1)
    return "[facts]\n" + "".join(f'"{name}" = {json.dumps(value)}\n' for name, value in facts)


def _document(rng: Random, chance: float, options: str = "") -> str:
    overlays = (
        f'[[when]]\nif = "{_condition(rng, 2)}"\n{_section(rng, "when.", chance)}'
        for _ in range(rng.randrange(3))
    )
    plain = options or _section(rng, "", chance)
    return INSTANCES + _facts(rng) + plain + "".join(overlays)


class Stack:
    """Random profiles, a project file and overrides; resolved by Python's resolver, and as a bundle.

    Args:
        rng: Decides everything.
        directory: An empty directory, for the profiles.
    """

    def __init__(self, rng: Random, directory: Path) -> None:
        self._parser = ExpressionParser(REGISTRY)
        self.require_match = rng.random() < 0.1
        self._write_profiles(rng, directory)
        limit = f'{{ expr = "{_valid(lambda: random_integer(rng, 2))}" }}'
        split = f"{{ {METHODS[0]} = {rng.randint(1, 4)} }}"
        budget = f"[budget]\nthreads = {rng.choice(('7', limit))}\nsplit = {split}\n"
        required = "[options.ProcessBackend]\ncore = 3\n" if rng.random() < 0.8 else ""
        document = parse_document(budget + _document(rng, 0.06, required), "etconfig.toml")
        self._project = parse_project(document, self._parser)
        overrides = [f"WideBackend.threads={rng.randint(1, 9)}"] if rng.random() < 0.2 else []
        self._overrides = layer_from_overrides(overrides)
        specs = [
            random_spec(rng, "WideBackend", WideOptions),
            random_spec(rng, "ProcessBackend", ProcessOptions),
        ]
        self._specs = {spec.id: spec for spec in specs}
        self._targets = [self._target(rng, method) for method in METHODS]
        self._advice = AdviceReader(REGISTRY)
        self.resolvers: dict[str, Resolver] = {}

    def _write_profiles(self, rng: Random, directory: Path) -> None:
        sources = []
        names: list[str] = []
        for provider in (Provider.BUNDLED, Provider.PACKAGE, Provider.USER):
            folder = directory / provider.name.lower()
            for number in range(rng.randint(provider is Provider.PACKAGE, 2)):
                name = f"{provider.name.lower()}/p{number}"
                head = f'[profile]\nname = "{name}"\n'
                if names and rng.random() < 0.5:
                    head += f"extends = {json.dumps(rng.sample(names, min(len(names), rng.randint(1, 2))))}\n"
                if rng.random() < 0.9:
                    match = "true" if rng.random() < 0.3 else _condition(rng, 1)
                    head += f'match = "{match}"\n'
                path = folder / provider.name.lower() / f"p{number}.toml"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(head + _document(rng, 0.1))
                names.append(name)
            if folder.is_dir():
                sources.append(ProfileSource(provider.name, folder, provider))
        self.library = ProfileLibrary(tuple(sources), REGISTRY)

    def _target(self, rng: Random, method: str) -> Target:
        origin = Origin(OriginKind.PROGRAM, "model.pte")
        fixed: dict[str, object] = {"threads": 5, "labels": {"b": "program"}, "speed": Speed.FAST}
        chosen = {name: Sourced(value, origin) for name, value in fixed.items() if rng.random() < 0.3}
        return Target(method=method, backends=tuple(KINDS), program={"WideBackend": chosen})

    def content(self) -> BundleContent:
        """Compile every profile.

        Raises:
            EtconfigError: the documents contradict each other.
        """
        reader = ProfileReader(self.library)
        profiles = []
        for name in self.library.names:
            file = self.library.find(name)
            chain = reader.chain(file)
            layers = (*layers_of(chain, self._project), self._overrides)
            resolver = Resolver.compile(self._specs, layers, self._targets, advice=self._advice)
            resolver = replace(resolver, budget=None)  # which a device divides, and does not sum
            self.resolvers[name] = resolver
            facts: dict[str, Sourced[object]] = {}
            for layer in layers:
                facts.update(layer.facts)
            profiles.append(
                BundledProfile(
                    name=name,
                    bases=tuple(base.name for base in chain[:-1]),
                    match=chain[-1].match,
                    provider=file.provider,
                    facts=facts,
                    instances=resolver.instances,
                )
            )
        return BundleContent(
            producer="test",
            registry=REGISTRY,
            profiles=tuple(profiles),
            project_facts=self._project.settings.facts,
            require_match=self.require_match,
        )

    def tables(self) -> BundleTables:
        """Return the bundle. Raises as `content`."""
        return compile_bundle(self.content())

    def known(self, sheet: FactSheet) -> FactSheet:
        """Return the facts on which a profile is selected."""
        facts = self._project.settings.facts
        return sheet.with_overrides(facts) if facts else sheet

    def expected_selection(self, sheet: FactSheet) -> dict[str, Any]:
        """Return what `etdevice select --json` prints, without its status."""
        from etconfig.profile.selector import match_profiles

        matches = match_profiles(self.library, self.known(sheet).values)
        try:
            found = select_profile(self.library, self.known(sheet).values, require_match=self.require_match)
        except EtconfigError as error:
            profile, is_fallback = None, error.diagnostics[0].code
        else:
            profile, is_fallback = found.profile.name, str(found.is_fallback)
        rows = [
            {"name": each.profile.name, "is_match": each.is_match, "reasons": list(each.reasons)}
            for each in matches
        ]
        return {"profile": profile, "is_fallback": is_fallback, "profiles": rows}

    def resolve(self, name: str, sheet: FactSheet) -> Resolution:
        """Return the arguments of a profile on a device. Raises as `Resolver.resolve`."""
        return self.resolvers[name].resolve(sheet)


def random_sheet(rng: Random, path: Path) -> FactSheet:
    """Write a random fact sheet, and return it."""
    entries = {name: {"value": value} for name, value in random_facts(rng).items()}
    path.write_text(json.dumps({"etconfig_fact_sheet": 1, "facts": entries}))
    return FactSheet.from_json(path.read_text(), path.name, REGISTRY)
