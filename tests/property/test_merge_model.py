"""The merge rule, written a second time from `docs/configuration.md`, gives what the resolver gives."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

import pytest
from effort import seeds
from engine_tables import Cpu, Gpu
from resolving import make_facts

from etconfig.base.provenance import Origin, OriginKind, Sourced
from etconfig.expression import ExpressionParser
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.plugin.v1 import Advice, ApiRange, BackendOptions, BackendSpec, option
from etconfig.profile.document import parse_document
from etconfig.profile.layers import layers_of
from etconfig.profile.profile import parse_profile
from etconfig.profile.project import parse_project
from etconfig.resolver.compiling.overrides import layer_from_environment, layer_from_overrides
from etconfig.resolver.compiling.resolver import Resolver, Target

UNSET = {"unset": True}
TOKENS = itertools.count()
"""Numbers for labels, so that each label is written in one place."""
METHODS = {"forward": (None, "left"), "decode": (None, "right")}
METHOD_PATTERNS = ("forward", "decode", "f*", "*", "*o*", "[df]*")
Facts = Mapping[str, Any]
CPU = {"engine": "cpu", "threads": None, "is_fast": False}


class StackOptions(BackendOptions):
    threads: int = option(1, from_fact="cpu.available_cores", applies="load", doc="An integer with a fact.")
    scale: float = option(1.0, applies="load", doc="A number.")
    mode: str = option("plain", applies="load", doc="A text that is recommended.")
    order: tuple[int, ...] = option((0,), applies="load", doc="An array.")
    labels: dict[str, str] = option({"a": "default"}, applies="load", doc="A table that is recommended.")
    engine: Cpu | Gpu = option(
        {"engine": "cpu"}, applies="load", doc="A table of options, which is replaced."
    )


def recommend(facts: Facts) -> dict[str, Any]:
    return {"mode": "fast", "labels": {"b": "advised"}} if facts.get("power.source") == "mains" else {}


ADVICE = (
    Advice("threads", expr="90", when='power.source == "mains"'),
    Advice("threads", expr="cpu.available_cores + 80", when="!has(memory.total)"),
    Advice("scale", expr="0.25", when='power.source == "battery"'),
    Advice("order", expr="[cpu.available_cores, 9]"),
)

SPEC = BackendSpec(
    id="StackBackend",
    doc="A stack.",
    options=StackOptions,
    api=ApiRange(1, 1),
    recommend=recommend,
    advice=ADVICE,
)


def advised(facts: Facts) -> dict[str, Any]:
    """Return what the function and the entries recommend."""
    found = recommend(facts)
    if facts.get("power.source") == "mains":
        found["threads"] = 90
    elif "memory.total" not in facts and "cpu.available_cores" in facts:
        found["threads"] = facts["cpu.available_cores"] + 80
    if facts.get("power.source") == "battery":
        found["scale"] = 0.25
    if "cpu.available_cores" in facts:
        found["order"] = [facts["cpu.available_cores"], 9]
    return found


FIXED: Mapping[str, Mapping[str, Any]] = {
    "forward": {"threads": 5, "mode": "compiled", "labels": {"b": "compiled", "p": "compiled"}},
    "decode": {},
}
"""The values that the program fixes ahead of time, by method."""

CONDITIONS: Mapping[str, Callable[[Facts], bool]] = {
    "true": lambda facts: True,
    'power.source == "battery"': lambda facts: facts.get("power.source") == "battery",
    "cpu.available_cores > 2": lambda facts: facts.get("cpu.available_cores", 0) > 2,
    "!has(memory.total)": lambda facts: "memory.total" not in facts,
}
EXPRESSIONS: Mapping[str, Callable[[Facts], int]] = {
    "has(cpu.available_cores) ? cpu.available_cores * 2 : 7": lambda facts: (
        facts["cpu.available_cores"] * 2 if "cpu.available_cores" in facts else 7
    ),
    "5 + 6": lambda facts: 11,
}


# --- the model, from the page's sections on options, conditions, layers and the merge rule ---


def said_in(section: Mapping[str, Any], method: str, instance: str | None, name: str) -> Iterator[Any]:
    """Return the settings of an option in one document, or one `[[when]]` of it, weakest first.

    The methods are in the order of their lines.
    """
    scopes = [section.get("options", {})]
    methods = section.get("methods", {})
    scopes += [
        said for pattern, said in methods.items() if pattern != method and fnmatchcase(method, pattern)
    ]
    scopes += [methods.get(method, {}), section.get("instances", {}).get(instance, {})]
    return (scope[name] for scope in scopes if name in scope)


def said_in_all(
    sources: list[Any], facts: Facts, method: str, instance: str | None, name: str
) -> Iterator[Any]:
    """Return the settings of an option in all sources, weakest first."""
    for source in sources:
        yield from said_in(source, method, instance, name)
        for overlay in source.get("when", []):
            if CONDITIONS[overlay["if"]](facts):
                yield from said_in(overlay, method, instance, name)


def facts_in_force(sources: list[Any], facts: Facts) -> Facts:
    """The facts of the device; those of the profiles win over them, base first, then the project file's."""
    hand_set = (source.get("facts", {}) for source in sources)
    return dict(facts) | {name: value for table in hand_set for name, value in table.items()}


def expected(
    sources: list[Any], facts: Facts, method: str, instance: str | None, name: str, program_wins: bool
) -> Any:
    """The value of an option by the page's rule, on the facts in force."""
    default = {"scale": 1.0, "mode": "plain", "order": [0], "labels": {"a": "default"}, "engine": CPU}.get(
        name, facts.get("cpu.available_cores", 1)
    )
    advice = [FIXED[method], advised(facts)]
    weakest = [default, *(said[name] for said in advice[:: -1 if program_wins else 1] if name in said)]
    stack = list(weakest)
    for value in said_in_all(sources, facts, method, instance, name):
        stack = list(weakest) if value == UNSET else [*stack, value]
    top = stack[-1]
    if isinstance(top, dict) and "expr" in top:
        return EXPRESSIONS[top["expr"]](facts)
    if name == "labels":
        return {key: text for table in stack for key, text in table.items()}
    return top


# --- random stacks, as what the model reads and as what the program reads -----------------------


def random_engine(rng: random.Random) -> dict[str, Any]:
    """A table with all fields: it replaces another one as a whole."""
    if rng.random() < 0.5:
        return {"engine": "cpu", "threads": rng.randint(1, 9), "is_fast": rng.random() < 0.5}
    limits = {"memory": rng.randint(0, 9), "streams": [rng.randint(0, 9)]}
    return {
        "engine": "gpu",
        "device": rng.randint(0, 9),
        "mode": rng.choice(["low", "high"]),
        "limits": limits,
    }


def random_options(rng: random.Random, *, in_text: bool = False) -> dict[str, Any]:
    choices: dict[str, Callable[[], Any]] = {
        "threads": lambda: rng.randint(1, 9),
        "scale": lambda: rng.choice([0.5, 2.0, 3.5]),
        "mode": lambda: rng.choice(["slow", "fast", "plain"]),
        "order": lambda: [rng.randint(0, 3) for _ in range(rng.randint(0, 3))],
        "labels": lambda: {key: f"label {next(TOKENS)}." for key in rng.sample("abcd", rng.randint(0, 2))},
    }
    choices["engine"] = lambda: random_engine(rng)
    if in_text:
        return {name: choices[name]() for name in rng.sample(["threads", "mode"], rng.randint(0, 2))}
    options = {name: choices[name]() for name in rng.sample(list(choices), rng.randint(0, 3))}
    for name in options:
        if rng.random() < 0.2:
            options[name] = UNSET
        elif name == "threads" and rng.random() < 0.4:
            options[name] = {"expr": rng.choice(list(EXPRESSIONS))}
    return options


def random_section(rng: random.Random) -> dict[str, Any]:
    return {
        "options": random_options(rng),
        "methods": {m: random_options(rng) for m in rng.sample(METHOD_PATTERNS, rng.randint(0, 4))},
        "instances": {i: random_options(rng) for i in ("left", "right") if rng.random() < 0.4},
        "named before": rng.sample(METHOD_PATTERNS, rng.choice([0, 0, 2, 4])),
    }


def random_document(rng: random.Random) -> dict[str, Any]:
    overlays = [{"if": rng.choice(list(CONDITIONS)), **random_section(rng)} for _ in range(rng.randint(0, 3))]
    facts = random_facts(rng) if rng.random() < 0.3 else {}
    return random_section(rng) | {"when": overlays, "facts": facts}


def random_line(rng: random.Random) -> dict[str, Any]:
    """Settings of `ETCONFIG_SET` or `--set`: no patterns and no tables."""
    return {
        "options": random_options(rng, in_text=True),
        "methods": {m: random_options(rng, in_text=True) for m in METHODS if rng.random() < 0.3},
        "instances": {i: random_options(rng, in_text=True) for i in ("left", "right") if rng.random() < 0.3},
    }


def random_facts(rng: random.Random) -> dict[str, Any]:
    known = {
        "cpu.available_cores": rng.randint(1, 8),
        "power.source": rng.choice(["battery", "mains"]),
        "memory.total": 100,
    }
    return {name: value for name, value in known.items() if rng.random() < 0.7}


def toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {toml(item)}" for key, item in value.items()) + "}"
    return json.dumps(value)


def section_text(section: Mapping[str, Any], prefix: str = "") -> str:
    elsewhere = "".join(
        f'[{prefix}methods."{m}".options.OtherBackend]\nthreads = 1\n' for m in section["named before"]
    )
    scopes = {f"{prefix}options": section["options"]}
    scopes |= {f'{prefix}methods."{m}".options': said for m, said in section["methods"].items()}
    scopes |= {f"{prefix}instances.{i}.options": said for i, said in section["instances"].items()}
    return elsewhere + "".join(
        f"[{scope}.StackBackend]\n" + "".join(f"{name} = {toml(value)}\n" for name, value in said.items())
        for scope, said in scopes.items()
    )


def document_text(document: Mapping[str, Any], head: str) -> str:
    overlays = (f"[[when]]\nif = '{o['if']}'\n{section_text(o, 'when.')}" for o in document["when"])
    facts = "".join(f'"{name}" = {toml(value)}\n' for name, value in document["facts"].items())
    return f"{head}[facts]\n{facts}{section_text(document)}{''.join(overlays)}"


def assignments(rng: random.Random, source: Mapping[str, Any]) -> list[str]:
    """The lines of `ETCONFIG_SET` or `--set`, in any order: the more precise path wins."""
    home = {instance: method for method, instances in METHODS.items() for instance in instances if instance}
    scoped = [("", source["options"]), *((f"{m}:", said) for m, said in source["methods"].items())]
    scoped += [(f"{home[i]}@{i}:", said) for i, said in source["instances"].items()]
    lines = [f"{scope}StackBackend.{name}={value}" for scope, said in scoped for name, value in said.items()]
    rng.shuffle(lines)
    return lines


INSTANCES = '[instances.left]\nmethod = "forward"\n[instances.right]\nmethod = "decode"\n'
TARGETS = [
    Target(
        method=method,
        backends=(SPEC.id,),
        program={SPEC.id: {n: Sourced(v, Origin(OriginKind.PROGRAM, "p")) for n, v in FIXED[method].items()}},
    )
    for method in METHODS
]
PARSER = ExpressionParser(BUILTIN_FACTS)


def texts_of(sources: list[Any]) -> list[str]:
    """The texts of two profiles and a project file."""
    heads = [f'[profile]\nname = "acme/base"\n{INSTANCES}', '[profile]\nname = "acme/derived"\n', ""]
    return [document_text(d, head) for d, head in zip(sources[:3], heads, strict=True)]


def compile_stack(rng: random.Random, sources: list[Any], program_wins: bool) -> Resolver:
    """The resolver of two profiles, a project file, `ETCONFIG_SET` and overrides."""
    *_, environment, override = sources
    documents = [parse_document(text, str(number)) for number, text in enumerate(texts_of(sources))]
    chain = [parse_profile(document, PARSER) for document in documents[:2]]
    layers = layers_of(chain, parse_project(documents[2], PARSER))
    by_hand = (
        layer_from_environment(";".join(assignments(rng, environment))),
        layer_from_overrides(assignments(rng, override)),
    )
    spec = replace(SPEC, program_beats_recommendation=program_wins)
    return Resolver.compile({SPEC.id: spec}, (*layers, *by_hand), TARGETS, ["OtherBackend"])


class TestTheModelAgrees:
    """Every option of every method instance has the value that the documented rule gives."""

    @pytest.mark.parametrize("seed", seeds(4))
    def test_on_random_stacks(self, seed: int) -> None:
        rng = random.Random(seed)
        for _ in range(100):
            sources = [*(random_document(rng) for _ in range(3)), random_line(rng), random_line(rng)]
            program_wins = rng.random() < 0.5
            resolver = compile_stack(rng, sources, program_wins)
            for detected in (random_facts(rng), random_facts(rng)):
                resolution = resolver.resolve(make_facts(**detected))
                facts = facts_in_force(sources, detected)
                for method, instances in METHODS.items():
                    for instance in instances:
                        resolved = resolution.arguments(method, instance)[SPEC.id].to_jsonable()
                        model = {
                            name: expected(sources, facts, method, instance, name, program_wins)
                            for name in StackOptions.option_infos()
                        }
                        assert resolved == model, (sources, facts, method, instance)

    @pytest.mark.parametrize("seed", seeds(4))
    def test_on_the_origin_of_each_key_of_a_table(self, seed: int) -> None:
        """Each key comes from the line that has its value, and the others that hold were beaten."""
        rng = random.Random(1000 + seed)
        for _ in range(50):
            sources = [*(random_document(rng) for _ in range(3)), random_line(rng), random_line(rng)]
            facts: Facts = random_facts(rng)
            texts = [text.splitlines() for text in texts_of(sources)]
            resolution = compile_stack(rng, sources, rng.random() < 0.5).resolve(make_facts(**facts))
            facts = facts_in_force(sources, facts)
            for method, instances in METHODS.items():
                for instance in instances:
                    arguments = resolution.arguments(method, instance)
                    found = arguments.provenance(SPEC.id, "labels")
                    assert arguments.backends[SPEC.id].origins("labels") == found.origins
                    assert isinstance(found.winner.value, dict)
                    assert found.keys.keys() == found.winner.value.keys()
                    for key, text in found.winner.value.items():
                        origin = found.keys[key]
                        if origin.line is None:
                            said = {
                                "default": "default",
                                "program": "compiled",
                                "recommendation": "advised",
                            }
                            assert text == said[origin.kind.value]
                        else:
                            assert text in texts[int(origin.source)][origin.line - 1]
                    held = [*said_in_all(sources, facts, method, instance, "labels")]
                    held += [
                        {"a": "default"},
                        *(s.get("labels", {}) for s in (FIXED[method], recommend(facts))),
                    ]
                    beaten = [each.value for each in found.beaten if isinstance(each.value, dict)]
                    assert sorted(labels_of([found.winner.value, *beaten])) == sorted(
                        labels_of(table for table in held if table != UNSET)
                    )


def labels_of(tables: Iterable[Mapping[str, str]]) -> Iterator[tuple[str, str]]:
    return ((key, text) for table in tables for key, text in table.items())
