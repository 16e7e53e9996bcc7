"""JSON Schema (draft 4) of whole documents, for editors and linters such as taplo and tombi.

It knows the options of the installed backends and the facts. `etconfig validate` checks the rest:
expressions, references to other files, and unknown backends, which may be typos or not installed.

To draft 4, 2.0 is not an integer; to all later ones it is. `x-etconfig-names` says what a text names:
`etconfig.lsp` completes it.

Source: https://taplo.tamasfe.dev/configuration/developing-schemas.html for `x-taplo`,
https://tombi-toml.github.io/tombi/docs/json-schema for `x-tombi-*`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from etconfig.base.budgeted_resources import MAX_AMOUNT
from etconfig.base.quantities import BYTE_SIZES, DECIMAL_PATTERN
from etconfig.diagnostics import CODES
from etconfig.diagnostics.rules import ALWAYS_ERRORS, LEVELS
from etconfig.facts.json_schema import facts_schema
from etconfig.facts.memory_fit import MAX_MARGIN
from etconfig.facts.registry import FactRegistry
from etconfig.models.reading import PROGRAM_ENDING, PROGRAM_NAME, SHA256, SOURCE
from etconfig.profile import evidence
from etconfig.profile.budget import MAX_WEIGHT
from etconfig.profile.usage_guards import DURATIONS, WORDS
from etconfig.schema.jsonschema import json_schema
from etconfig.schema.spec import BackendSpec

_PROFILE_NAME = r"^(?!.*\.toml$)[A-Za-z0-9][A-Za-z0-9_.-]*(/[A-Za-z0-9][A-Za-z0-9_.-]*)*$"
_METHOD = r"^[^:@=\s]+$"  # may be a glob
_NAME = r"^[^:@=\s*?\[]+$"  # of one method or instance
_BACKEND = r"^[A-Za-z_][A-Za-z0-9_-]*$"
_SPECIAL_KEYS = ("expr", "unset")
_ANNOTATIONS = ("description", "default", "deprecated")
_HEAD: _Schema = {"$schema": "http://json-schema.org/draft-04/schema#", "x-tombi-toml-version": "v1.1.0"}
_CEL = "https://cel.dev"
_DEFAULT = "The default."
_ANY_TABLE = {"type": "object", "additionalProperties": True}  # tombi would take it for closed
_OBJECTIVES = {
    "latency": "The time of one run; the default.",
    "throughput": "The runs in a second.",
    "memory": "The most memory in use.",
}

_Schema: TypeAlias = dict[str, Any]


def profile_schema(specs: Iterable[BackendSpec], registry: FactRegistry) -> dict[str, Any]:
    """Return the schema of a profile.

    Args:
        specs: The backends whose options are known.
        registry: The facts that may be set.
    """
    head = _table(
        {
            "name": {**_named("own", "Such as vendor/device."), "pattern": _PROFILE_NAME},
            "extends": {
                **_strings("profile"),
                "description": "Profiles that this one builds on; the last one wins.",
            },
            "description": {"type": "string", "description": "What it is for, in a sentence."},
            "match": _expression("The condition under which `auto` may select it."),
        },
        required=["name"],
        init=["extends", "match"],
    )
    return _document(
        "etconfig profile", {"profile": head, "evidence": _evidence()}, specs, registry, required=["profile"]
    )


def _evidence() -> _Schema:
    ratio = _draft4({"type": "number", "exclusiveMinimum": 0})
    interval = {"type": "array", "items": ratio, "minItems": 2, "maxItems": 2}
    gain: _Schema = {"ratio": ratio, "interval": interval, "pairs": {"type": "integer", "minimum": 1}}
    option = _text(evidence.OPTION, "BACKEND.OPTION.")
    shapes = {"type": "array", "items": {"type": "string", "pattern": f"^{evidence.SHAPE}$"}}
    objective = {
        "enum": [*evidence.OBJECTIVES],
        "description": "What was measured, by default latency.",
        "x-taplo": {"docs": {"enumValues": [_OBJECTIVES[each] for each in evidence.OBJECTIVES]}},
    }
    table = _table(
        {
            "made": {"description": "The day of the measurement."},
            "model": _text(evidence.MODEL, "`sha256:` and the hash of the model's file."),
            "engine": _text(evidence.ENGINE, "The engine's distribution and its version."),
            "backend": _text(evidence.BACKEND, "The backend whose engine runs the model."),
            "shapes": {**shapes, "description": "The shapes of inputs that were made up: NAME=1,3,48,192."},
            "device": {**_ANY_TABLE, "description": "The facts of the device that it depends on."},
            "noise": {**ratio, "description": "The ratio of two equal configurations."},
            "objective": objective,
            **gain,
            "options": {"type": "array", "items": _table({"option": option, **gain}, ["option", "ratio"])},
        },
        required=["made", "model", "engine", "device", "noise"],
    )
    table["dependencies"] = {"interval": ["ratio"], "pairs": ["ratio"]}
    used = _table(
        {
            "source": {"enum": ["usage"]},
            "made": {"description": "The day on which it was written."},
            "rollout": {"type": "string", "description": "The rollout whose devices were compared."},
            "objective": {"enum": [*DURATIONS], "description": "The duration."},
            "devices": {"type": "integer", "minimum": 1, "description": "The devices of the smaller side."},
            **{key: gain[key] for key in ("ratio", "interval")},
            "options": {"type": "array", "items": _table({"option": option}, ["option"])},
        },
        required=[*evidence.USED],
    )
    return {"oneOf": [table, used], "description": "What `etconfig tune` found; it changes no option."}


def _text(pattern: str, description: str) -> _Schema:
    return {"type": "string", "pattern": f"^{pattern}$", "description": description}


def project_schema(specs: Iterable[BackendSpec], registry: FactRegistry) -> dict[str, Any]:
    """Return the schema of a project file, `etconfig.toml`. Arguments as for `profile_schema`."""
    plugins = _table(
        {
            "prefer": {**_texts_by_key("backend"), "description": "The plugin that serves a backend."},
            "allow": {**_strings(), "description": "The plugins that may be used; by default all."},
            "deny": {**_strings(), "description": "The plugins that may not be used."},
        }
    )
    selection = _named("profile", "`auto`, a profile's name, or the path of one.")
    kernels = {**_texts_by_key("operator"), "description": "The plugin whose kernel serves an operator."}
    head = {
        "profile": selection,
        "require_match": {"type": "boolean", "description": "Refuse the fallback of `auto`, generic/any."},
        "profile_path": {
            **_strings("file"),
            "description": "Directories of profiles, relative to this file.",
        },
        "executor": {
            "description": "The executor of commands, numpy by default; as a table also its options.",
            "anyOf": [
                {"type": "string"},
                {
                    "type": "object",
                    "properties": {"name": {"type": "string", "description": "Its name."}},
                    "additionalProperties": _ANY_TABLE,
                },
            ],
        },
        "programs": {**_strings("file"), "description": "The programs it is for, relative to this file."},
        "models": {**_strings("file"), "description": "Files with further models, relative to this file."},
        "model": _models(),
        "plugins": plugins,
        "kernels": _table({"prefer": kernels}),
        "rules": _rules(),
        "devices": {**_strings("device"), "description": "Known devices, and sheets relative to this file."},
        "expect": _named("file", "What devices should get: `matrix --write-expect`."),
        "test": {"type": "array", "items": _test()},
        "guard": {"type": "array", "items": _guard()},
    }
    return _document("etconfig project", head, specs, registry)


def _test() -> _Schema:
    return _table(
        {
            "name": {"type": "string", "minLength": 1, "description": "Its name in reports."},
            "where": _expression("The devices that it is for: a condition on facts."),
            "assert": _expression("A condition on options and facts.", "assertion"),
            "methods": {**_strings("method"), "description": "Names or patterns of methods, by default all."},
        },
        required=["name", "assert"],
    )


def _guard() -> _Schema:
    keys: _Schema = {key: {"enum": [*words]} for key, words in WORDS.items()}
    keys["worse_than"] = {"anyOf": [{"type": "number", "minimum": 0}, {"type": "string"}]}
    keys["min_devices"] = {"type": "integer", "minimum": 1}
    return _table(keys, required=["metric", "worse_than"])


def _rules() -> _Schema:
    levels: _Schema = {
        each.code: {"enum": [*LEVELS], "description": each.summary}
        for each in CODES.values()
        if each.code not in ALWAYS_ERRORS
    }
    paths = {**_strings(), "description": "Patterns of paths, relative to this file."}
    in_files = {"type": "array", "items": _table({"paths": paths, **levels}, required=["paths"])}
    return {**_table({**levels, "files": in_files}), "description": "The levels of findings."}


def models_schema() -> dict[str, Any]:
    """Return the schema of a file of models."""
    table = _table({"model": _models()}, required=["model"])
    return {**_HEAD, "title": "etconfig models", **table}


def _models() -> _Schema:
    number, size = _amounts()
    file = {**_named("file", "The file, relative to this one."), "minLength": 1}
    engine_file = {**file, "not": {"pattern": PROGRAM_ENDING}}
    backend = {"type": "string", "pattern": _BACKEND, "x-etconfig-names": "backend"}
    shared: dict[str, _Schema] = {
        "when": _expression("The condition under which it may be selected."),
        "fits": {
            "anyOf": [{"type": "boolean"}, {"type": "number", "minimum": 0, "maximum": MAX_MARGIN}],
            "description": "True if it must fit into the memory, or the share of the need to keep free.",
        },
        "memory": {"anyOf": [number, size], "description": "The memory that it needs, for fits."},
        "bytes": {"anyOf": [number, size], "description": "The size of the file."},
        "sha256": {"type": "string", "pattern": SHA256, "description": "The hash of the file."},
        "source": {"type": "string", "pattern": SOURCE, "description": "The URL of the file, never fetched."},
    }
    own = {
        "file": {**file, "pattern": PROGRAM_NAME},
        "data": {**_strings("file"), "description": "Its data files (.ptd), relative to this file."},
    }
    engines = {
        "file": engine_file,
        "backend": {**backend, "description": "The backend whose engine runs the file."},
    }
    needs_fits = {"required": ["fits"], "properties": {"fits": {"not": {"enum": [False]}}}}
    variant = {
        "anyOf": [
            _table({**own, **shared}, required=["file"]),
            _table({**engines, **shared}, required=["file", "backend"]),
        ],
        "allOf": [{"anyOf": [{"not": {"required": ["memory"]}}, needs_fits]}],
    }
    fallback = {
        "type": "boolean",
        "default": False,
        "description": "Let the next variant take over if one fails to load.",
    }
    variants = {"type": "array", "items": variant, "minItems": 1}
    backends = {
        "type": "array",
        "items": backend,
        "minItems": 1,
        "uniqueItems": True,
        "description": "The backends of a model that an engine runs without a program.",
    }
    of_program = _table({"fallback": fallback, "variants": variants}, required=["variants"])
    of_engine = _table({"backends": backends, "file": engine_file}, required=["backends"])
    return _names(_NAME, {"anyOf": [of_program, of_engine]}, "model")


def _document(
    title: str,
    head: Mapping[str, _Schema],
    specs: Iterable[BackendSpec],
    registry: FactRegistry,
    required: Iterable[str] = (),
) -> dict[str, Any]:
    settings = {
        "facts": facts_schema(registry),
        "options": _ref("options"),
        "methods": _ref("methods"),
        "instances": {
            **_names(_NAME, _table({"method": _method_name(), "options": _ref("options")}), "instance"),
            "description": "Options of named instances of methods.",
        },
        "when": {
            "type": "array",
            "items": _ref("overlay"),
            "description": "Options under a condition; later ones win.",
        },
        "budget": _budget(),
        "groups": _names(_NAME, _table({"together": _strings()}, required=["together"]), "group"),
    }
    backends = {f"backend.{spec.id}": _backend(spec) for spec in specs}
    return {
        **_HEAD,
        "title": title,
        **_table({**head, **settings}, required=required),
        "definitions": {**_shared_definitions(backends), **backends},
    }


def _budget() -> _Schema:
    number, size = _amounts()
    weight = {"type": "integer", "minimum": 1, "maximum": MAX_WEIGHT}
    return _table(
        {
            "threads": {"anyOf": [number, _ref("expr")], "description": "The most threads of all together."},
            "memory": {
                "anyOf": [number, size, _ref("expr")],
                "description": "The most bytes of all together.",
            },
            "split": {
                "anyOf": [{"enum": ["fair"]}, {"type": "object", "additionalProperties": weight}],
                "description": "The parts that `share` gives to each method, model or instance.",
            },
        }
    )


def _amounts() -> tuple[_Schema, _Schema]:
    """Return the schemas of a number, and of a size with a unit."""
    number = {"type": "integer", "minimum": 1, "maximum": MAX_AMOUNT}
    return number, {"type": "string", "pattern": f"^{DECIMAL_PATTERN} ?({'|'.join(BYTE_SIZES)})$"}


def _shared_definitions(backends: Iterable[str]) -> dict[str, _Schema]:
    value = _table({"expr": _expression("The value, computed from facts.")}, required=["expr"])
    unset = {"enum": [True], "description": "Ignores the values of lower profiles and the project file."}
    known = {name.removeprefix("backend."): _ref(name) for name in backends}
    return {
        "options": {
            **_names(_BACKEND, _ANY_TABLE, "backend"),
            "properties": known,
            "description": "Options by backend, for all methods.",
        },
        "methods": {
            **_names(_METHOD, _table({"options": _ref("options")}), "method"),
            "description": "Options of methods, by name or pattern.",
        },
        "overlay": _table(
            {
                "if": _expression("The condition under which these options apply."),
                "options": _ref("options"),
                "methods": _ref("methods"),
                "instances": _names(_NAME, _table({"options": _ref("options")}), "instance"),
            },
            required=["if"],
        ),
        "expr": value,
        "unset": _table({"unset": unset}, required=["unset"]),
    }


def _backend(spec: BackendSpec) -> _Schema:
    schema: _Schema = _draft4(json_schema(spec))
    del schema["$schema"]
    return {**schema, "properties": {name: _setting(p) for name, p in schema["properties"].items()}}


def _setting(option: _Schema) -> _Schema:
    """Return the schema of an option's setting: a value, an expression, or `unset`."""
    annotations = {key: value for key, value in option.items() if key in _ANNOTATIONS or key.startswith("x-")}
    value = {key: part for key, part in option.items() if key not in annotations}
    if option.get("default") in value.get("enum", ()):
        docs = [_DEFAULT if choice == option["default"] else None for choice in value["enum"]]
        value["x-taplo"] = {"docs": {"enumValues": docs}}
    annotations["x-taplo"] = {"docs": {"main": _main_text(option)}}
    if value.get("type") == "object":
        special = {"anyOf": [{"required": [key]} for key in _SPECIAL_KEYS]}
        return {**annotations, "anyOf": [{**value, "not": special}, _ref("unset")]}
    return {**annotations, "anyOf": [*value.get("anyOf", [value]), _ref("expr"), _ref("unset")]}


def _main_text(option: _Schema) -> str:
    """Return the documentation of an option, in Markdown."""
    applies, scope, unit = (option.get(f"x-etconfig-{key}") for key in ("applies", "scope", "unit"))
    facts = [f"default `{json.dumps(option['default'])}`"] if "default" in option else []
    facts += [f"unit {unit}"] if unit else []
    facts += [f"takes effect at {applies}, for each {scope}"] if applies else []
    return "\n\n".join([option["description"], *([f"{'; '.join(facts)}."] if facts else [])])


def _draft4(schema: Any) -> Any:
    """Return a schema with bounds that all of its readers understand: `exclusiveMinimum` has two meanings."""
    if isinstance(schema, list):
        return [_draft4(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found: _Schema = {key: _draft4(value) for key, value in schema.items()}
    for exclusive, inclusive, step in (
        ("exclusiveMinimum", "minimum", 1),
        ("exclusiveMaximum", "maximum", -1),
    ):
        bound = found.get(exclusive)
        if isinstance(bound, (int, float)):
            del found[exclusive]
            if found.get("type") == "integer":
                found[inclusive] = int(bound) + step
            else:
                found[inclusive] = bound
                found.setdefault("not", {"enum": []})["enum"].append(bound)
    return found


def _table(
    properties: Mapping[str, _Schema], required: Iterable[str] = (), init: Iterable[str] = ()
) -> _Schema:
    schema = {"type": "object", "properties": dict(properties), "additionalProperties": False}
    schema |= {"required": list(required)} if required else {}
    return schema | {"x-taplo": {"initKeys": list(init)}} if init else schema


def _names(pattern: str, entry: _Schema, named: str) -> _Schema:
    return {
        "type": "object",
        "patternProperties": {pattern: entry},
        "additionalProperties": False,
        "x-tombi-additional-key-label": named,
        "x-etconfig-names": named,
    }


def _texts_by_key(named: str) -> _Schema:
    return {
        "type": "object",
        "additionalProperties": {"type": "string"},
        "x-tombi-additional-key-label": named,
    }


def _method_name() -> _Schema:
    return {**_named("method", "The method that this is an instance of."), "pattern": _NAME}


def _named(named: str, description: str) -> _Schema:
    return {"type": "string", "description": description, "x-etconfig-names": named}


def _expression(description: str, named: str = "expression") -> _Schema:
    return {**_named(named, description), "x-taplo": {"links": {"key": _CEL}}}


def _strings(named: str | None = None) -> _Schema:
    return {"type": "array", "items": {"type": "string", **({"x-etconfig-names": named} if named else {})}}


def _ref(name: str) -> _Schema:
    return {"$ref": f"#/definitions/{name}"}
