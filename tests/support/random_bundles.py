"""Random stacks of profiles over two backends, compiled for the resolver and as a bundle."""

from __future__ import annotations

import enum
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Annotated, Literal

from engine_tables import Cpu, Gpu
from random_expressions import (
    REGISTRY,
    random_condition,
    random_facts,
    random_integer,
    random_text,
    random_texts,
)

from etconfig.base.provenance import Origin, OriginKind, Sourced
from etconfig.device.compiling.compilation import compile_bundle
from etconfig.device.compiling.content import BundleContent, BundledProfile
from etconfig.device.device_bundle import DeviceBundle
from etconfig.errors import ConfigError
from etconfig.expression import ExpressionParser
from etconfig.facts.sheet import FactSheet
from etconfig.plugin.v1 import (
    Advice,
    ApiRange,
    BackendOptions,
    BackendSpec,
    Ge,
    Gt,
    Le,
    Len,
    Lt,
    MultipleOf,
    Wire,
    option,
)
from etconfig.profile.document import parse_document
from etconfig.profile.inheritance import load_chain
from etconfig.profile.layer import Layer
from etconfig.profile.layers import layers_of
from etconfig.profile.library import ProfileLibrary, ProfileSource, Provider
from etconfig.profile.project import parse_project
from etconfig.profile.selector import select_profile
from etconfig.resolver.compiling.overrides import layer_from_overrides
from etconfig.resolver.compiling.resolver import Resolver, Target
from etconfig.resolver.deciding.advice import AdviceReader
from etconfig.resolver.deciding.arguments import ANY_METHOD
from etconfig.resolver.deciding.resolution import Resolution


class Speed(enum.Enum):
    SLOW = "slow"
    FAST = "fast"


SPEED = Wire(key="s", values={"slow": 0, "fast": 1})
WORDS = Wire(key="w", separator=",")


class ManyOptions(BackendOptions):
    threads: Annotated[int, Ge(1), Lt(65)] = option(1, from_fact="a.cores", applies="execute", doc="D.")
    required: int = option(applies="load", doc="D.")
    level: Annotated[float, Gt(0), Le(1)] = option(0.5, from_fact="a.level", applies="execute", doc="D.")
    step: Annotated[int, MultipleOf(4)] = option(8, applies="load", doc="D.")
    speed: Speed = option(
        "slow", applies="execute", doc="D.", wire=Wire(key="s", values={"slow": 0, "fast": 1})
    )
    size: Literal[1, 2, 4] = option(2, applies="load", doc="D.")
    word: Annotated[str, Len(0, 6)] = option("", from_fact="a.model", applies="load", doc="D.")
    words: Annotated[list[str], Len(0, 2)] = option(
        ["pi"], applies="load", doc="D.", wire=Wire(key="w", separator=",")
    )
    features: tuple[str, ...] = option(from_fact="a.features", applies="load", doc="D.")
    table: dict[str, int] = option({"d": 0}, applies="load", doc="D.", wire=Wire(key=None))
    is_on: bool = option(False, applies="execute", doc="D.")
    log: int = option(0, applies="load", scope="process", doc="D.")
    maybe: int | None = option(None, applies="load", doc="D.")
    engine: Cpu | Gpu | None = option({"engine": "cpu", "threads": 1}, applies="load", doc="D.")
    engines: tuple[Cpu | Gpu, ...] = option((), applies="load", doc="D.")


class FewOptions(BackendOptions):
    core: Annotated[int, Ge(0)] = option(0, applies="load", doc="D.")
    table: dict[str, int] = option({"d": 0}, applies="load", doc="D.")


ADVICE = (
    Advice("step", expr="a.cores > 4 ? 16 : 12", when='a.source == "mains"'),
    Advice("step", expr="a.slow * 4"),
    Advice("size", expr="a.offset > 0 ? 4 : 1", when="has(a.offset)"),
    Advice("word", expr="a.model + '!'", when="a.is_hot"),
)
SPECS = {
    "Many": BackendSpec(id="Many", doc="D.", options=ManyOptions, api=ApiRange(1, 1), advice=ADVICE),
    "Few": BackendSpec(
        id="Few",
        doc="D.",
        options=FewOptions,
        api=ApiRange(1, 1),
        advice=(Advice("core", expr="a.slow"),),
        program_beats_recommendation=True,
    ),
}
_ORIGIN = Origin(OriginKind.PROGRAM, "model.pte")
_PROGRAM = {
    "Few": {"core": Sourced(3, _ORIGIN), "table": Sourced({"p": 1}, _ORIGIN)},
    "Many": {"step": Sourced(20, _ORIGIN)},
}
_SCOPES = ("", "", "", "methods.f.", 'methods."f*".', 'methods."?".', "methods.g.")


@dataclass
class RandomStack:
    """Random profiles, compiled; `bundle` is read from its bytes."""

    library: ProfileLibrary
    project_facts: Mapping[str, Sourced[object]]
    resolvers: Mapping[str, Resolver]
    bundle: DeviceBundle

    def selected(self, facts: Mapping[str, object]) -> str:
        """The name of the profile that the resolver's own rules select, or the code of the error."""
        known = {**facts, **{name: fact.value for name, fact in self.project_facts.items()}}
        try:
            return select_profile(self.library, known).profile.name
        except ConfigError as error:
            return f"error {error.diagnostics[0].code}"

    def resolved(self, profile: str, facts: Mapping[str, object]) -> object:
        """Every value and origin that the resolver decides, or the codes of the problems."""
        try:
            return _rows(self.resolvers[profile].resolve(sheet(facts)))
        except ConfigError as error:
            return {each.code for each in error.diagnostics}


def sheet(facts: Mapping[str, object]) -> FactSheet:
    """A fact sheet of plain values."""
    origin = Origin(OriginKind.SHEET, "random")
    return FactSheet.empty(REGISTRY).with_overrides({n: Sourced(v, origin) for n, v in facts.items()})


def _rows(resolution: Resolution) -> object:
    return [
        (
            arguments.method,
            arguments.instance,
            backend,
            {
                name: (value, str(resolved.origin(name)))
                for name, value in resolved.options.to_jsonable().items()
            },
        )
        for arguments in resolution
        for backend, resolved in arguments.backends.items()
    ]


def random_stack(random: Random, directory: Path) -> RandomStack:
    """A stack that compiles; profiles of it may still fail to resolve on some devices."""
    while True:
        try:
            return _random_stack(random, directory / str(random.random()))
        except ConfigError:
            continue


def _random_stack(random: Random, directory: Path) -> RandomStack:
    sources = []
    names: list[str] = []
    for provider in Provider:
        folder = directory / provider.name
        (folder / "p").mkdir(parents=True)
        for _ in range(random.choice((0, 1, 1, 2))):
            name = f"p/{provider.name.lower()}{len(names)}"
            (folder / f"{name}.toml").write_text(_profile_text(random, name, names), "utf-8")
            names.append(name)
        if any(folder.rglob("*.toml")):
            sources.append(ProfileSource(provider.name, folder, provider))
    library = ProfileLibrary(tuple(sources), REGISTRY)
    project = parse_project(
        parse_document(_settings_text(random, is_project=True), "etconfig.toml"), ExpressionParser(REGISTRY)
    )
    by_hand = layer_from_overrides(["Few.core=7"] if random.random() < 0.2 else [], "--set")
    methods = (ANY_METHOD, "f", "g") if random.random() < 0.5 else ("f", "g", "fast")
    program = _PROGRAM if random.random() < 0.5 else {}
    targets = [
        Target(
            method=method,
            backends=("Many", "Few") if method != "g" else ("Few",),
            instances=("here",) if method == "f" else (),
            program=program if method == "f" else {},
        )
        for method in methods
    ]
    resolvers: dict[str, Resolver] = {}
    profiles = []
    project_facts: Mapping[str, Sourced[object]] = dict(project.settings.facts)
    for name in names:
        chain = load_chain(library, name)
        layers = (*layers_of(chain, project), by_hand)
        compiled = Resolver.compile(SPECS, layers, targets, advice=AdviceReader(REGISTRY))
        resolvers[name] = replace(compiled, budget=None)  # which a device divides, and does not sum
        profiles.append(
            BundledProfile(
                name=name,
                bases=tuple(profile.name for profile in chain[:-1]),
                match=chain[-1].match,
                provider=library.find(name).provider,
                facts=_all_facts(layers),
                instances=resolvers[name].instances,
            )
        )
    content = BundleContent(
        producer="test", registry=REGISTRY, profiles=tuple(profiles), project_facts=project_facts
    )
    data = DeviceBundle(compile_bundle(content)).to_bytes()
    return RandomStack(library, project_facts, resolvers, DeviceBundle.from_bytes(data))


def _all_facts(layers: tuple[Layer, ...]) -> Mapping[str, Sourced[object]]:
    return {name: fact for layer in layers for name, fact in layer.facts.items()}


# --- texts ---


def _profile_text(random: Random, name: str, earlier: list[str]) -> str:
    bases = random.sample(earlier, k=min(len(earlier), random.choice((0, 0, 1, 1, 2))))
    match = random.choice((None, "true", *(random_condition(random, 2) for _ in range(4))))
    lines = ["[profile]", f"name = {json.dumps(name)}"]
    lines += [f"extends = {json.dumps(bases)}"] if bases else []
    lines += [f"match = {json.dumps(match)}"] if match else []
    return "\n".join((*lines, _settings_text(random)))


def _settings_text(random: Random, *, is_project: bool = False) -> str:
    lines = []
    if random.random() < 0.25:
        facts = {n: v for n, v in random_facts(random).items() if random.random() < 0.2}
        lines += ["[facts]", *(f"{json.dumps(n)} = {_toml(v)}" for n, v in facts.items())]
    chosen = random.sample(range(len(_SCOPES)), k=random.choice((0, 1, 2)))
    for scope in dict.fromkeys(_SCOPES[at] for at in chosen):
        lines += _tables(random, scope, "")
    if not is_project and random.random() < 0.3:
        lines += ["[instances.left]", 'method = "f"', *_tables(random, "instances.left.", "")]
    if is_project:
        lines += _budget_lines(random)
    for _ in range(random.choice((0, 0, 1, 2))):
        lines += ["[[when]]", f"if = {json.dumps(random_condition(random, 2))}"]
        lines += _tables(random, random.choice(_SCOPES), "when.")
    return "\n".join(lines) + "\n"


def _budget_lines(random: Random) -> Iterator[str]:
    limit = f"{{ expr = {json.dumps(random_integer(random, 2))} }}"
    yield f"[budget]\nthreads = {random.choice((str(random.randint(1, 20)), limit))}"
    if random.random() < 0.5:
        yield f"split = {{ f = {random.randint(1, 5)}, g = {random.randint(1, 5)} }}"
    if random.random() < 0.3:
        yield f"[groups.together]\ntogether = {json.dumps(random.choice((['f'], ['f', 'g'])))}"


def _tables(random: Random, scope: str, prefix: str) -> Iterator[str]:
    for backend in random.choice((("Many",), ("Few",), ("Many", "Few"))):
        yield f"[{prefix}{scope}options.{backend}]"
        infos = SPECS[backend].options.option_infos()
        for name in random.sample([*infos], k=random.randint(1, min(4, len(infos)))):
            yield f"{name} = {_value_text(random, name)}"


def _value_text(random: Random, name: str) -> str:
    if random.random() < 0.12:
        return "{ unset = true }"
    if random.random() < 0.4:
        text = _expression(random, name)
        if text is not None:
            return f"{{ expr = {json.dumps(text)} }}"
    return _toml(random.choice(_LITERALS[name]))


_LITERALS: Mapping[str, tuple[object, ...]] = {
    "threads": (1, 4, 64),
    "required": (0, -5, 2**40),
    "level": (0.25, 1.0),
    "step": (0, 4, -8),
    "speed": ("slow", "fast"),
    "size": (1, 4),
    "word": ("", "é😀", "abcdef"),
    "words": ([], ["a", "b"]),
    "features": ([], ["x"]),
    "table": ({}, {"a": 1}, {"b": 2, "d": 3}),
    "is_on": (True, False),
    "log": (0, 0, 1),
    "maybe": (1, 2),
    "core": (0, 2),
    "engine": ({"engine": "cpu"}, {"engine": "cpu", "threads": 3}, {"engine": "gpu", "device": 1}),
    "engines": ([], [{"engine": "gpu", "device": 2, "limits": {"memory": "2 KiB"}}, {"engine": "cpu"}]),
}


def _expression(random: Random, name: str) -> str | None:
    if name in ("threads", "required", "step", "core", "maybe", "log"):
        text = random_integer(random, 2)
        if name not in ("log", "step") and random.random() < 0.3:  # a share differs among instances
            text = random.choice(('share("threads")', f'min(share("threads"), {text})'))
        return text if random.random() < 0.4 else f"min(max({text}, 1), 64) * 4 / 4"
    if name == "size":
        return f"{random_condition(random, 1)} ? 1 : {random_integer(random, 1)}"
    if name == "level":
        return random.choice(("a.level", "a.heat / 100.0", "0.5 + a.level", "0.0 / 0.0"))
    if name == "speed":
        return f"{random_condition(random, 1)} ? 'fast' : 'slow'"
    if name == "word":
        return random_text(random, 2)
    if name in ("words", "features"):
        return random_texts(random, 1)
    return random_condition(random, 2) if name == "is_on" else None


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_toml, value))}]"
    return repr(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False)
