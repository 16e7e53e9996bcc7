"""Checks of options without a program: documented, valid by default, and readable from JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from etconfig.app.programs.api import load_program
from etconfig.base.compile_specs import CompileSpecs
from etconfig.base.provenance import Sourced
from etconfig.conformance.checks.check import check
from etconfig.conformance.kit.outcomes import CheckFailedError, NotApplicableError
from etconfig.conformance.subject.option_choices import (
    format_options,
    options_place,
    other_values,
    usual_values,
    valid_options,
)
from etconfig.conformance.subject.subject import Subject
from etconfig.diagnostics import Diagnostic, did_you_mean
from etconfig.errors import PluginCallError
from etconfig.facts.registry import FactType
from etconfig.plugin.call_check import code_place
from etconfig.resolver.compiling.program_values import read_program_values
from etconfig.resolver.deciding.advice import AdviceReader
from etconfig.resolver.deciding.recommendation import recommend
from etconfig.resolver.deciding.unconfigured import values_without_configuration
from etconfig.resolver.proving.advice_check import advised_devices, verify_advice
from etconfig.schema.jsonschema import json_schema
from etconfig.schema.option_type import OptionKind, OptionType
from etconfig.schema.options import BackendOptions
from etconfig.schema.problem import ProblemKind
from etconfig.schema.spec import BackendSpec
from etconfig.schema.units import units_agree
from etconfig.schema.validate import validate_options

LEAST_WORDS = 3
"""A shorter description says no more than the name."""

LEAST_LETTERS = 4
"""Names up to this length may differ from another by one letter."""

_FACTS_BY_KIND: Mapping[OptionKind, frozenset[FactType]] = {
    OptionKind.BOOLEAN: frozenset((FactType.BOOL,)),
    OptionKind.INTEGER: frozenset((FactType.INT,)),
    OptionKind.FLOAT: frozenset((FactType.FLOAT,)),
    OptionKind.STRING: frozenset((FactType.STRING,)),
    OptionKind.CHOICE: frozenset((FactType.STRING, FactType.INT)),
    OptionKind.TABLE: frozenset(),
    OptionKind.RECORD: frozenset(),
}


@check("schema-documented", level=0, rests_on=("loads",), prevents="options whose effect users must guess")
def schema_documented(subject: Subject) -> None:
    """Everything that can be set has a description, and deprecated options have a default."""
    spec = subject.spec
    described = {f"option {name}": info.doc for name, info in spec.options.option_infos().items()}
    described |= {f"compile spec {key!r}": info.doc for key, info in spec.compile_specs.items()}
    described |= {f"environment variable {name}": doc for name, doc in spec.environment.items()}
    for what, doc in described.items():
        if len(doc.split()) < LEAST_WORDS:
            raise CheckFailedError(
                f"{options_place(spec)}: the {what} of {spec.id} is described as {doc!r}, expected a "
                "sentence; describe what it does"
            )
    for name, info in spec.options.option_infos().items():
        if info.deprecated is not None and info.is_required:
            raise CheckFailedError(
                f"{options_place(spec, name)} is deprecated but has no default, so it cannot be left out; "
                "give option() a default"
            )


@check("defaults-valid", level=0, rests_on=("loads",), prevents="a backend that does not work out of the box")
def defaults_valid(subject: Subject) -> None:
    """Every option has a valid value without configuration and recommendations, even if no fact is known."""
    _require_known_facts(subject)
    bare = replace(subject.spec, recommend=None, advice=())
    for facts in _devices(subject).values():
        valid_options(bare, usual_values(bare, facts))


def _require_known_facts(subject: Subject) -> None:
    """Require that the facts of defaults exist, and that each has the type and the unit of its option."""
    registry = subject.installation.fact_registry
    for name, info in subject.spec.options.option_infos().items():
        if info.from_fact is None:
            continue
        place, fact = options_place(subject.spec, name), registry.get(info.from_fact)
        if fact is None:
            raise CheckFailedError(
                f"{place} follows the fact {info.from_fact!r}, which no plugin declares, so its default "
                "never does; name a fact that `etconfig facts` lists"
            )
        if not _suits(fact.type, info.type):
            raise CheckFailedError(
                f"{place} is {info.type.expected}, but follows the fact {fact.name}, whose type is "
                f"{fact.type.value}; use recommend to convert it"
            )
        if info.unit is not None and fact.unit is not None and not units_agree(fact.unit, info.unit.value):
            raise CheckFailedError(
                f"{place} is in {info.unit.value}, but follows the fact {fact.name}, which is in "
                f"{fact.unit}; use recommend to convert it"
            )


def _suits(fact: FactType, wanted: OptionType) -> bool:
    """Return True if a fact of a type can be a value of an option, as far as types go."""
    if wanted.kind is OptionKind.ARRAY:
        assert wanted.item is not None
        return fact is FactType.STRING_LIST and _suits(FactType.STRING, wanted.item)
    return fact in _FACTS_BY_KIND[wanted.kind]


@check(
    "recommend-valid",
    level=0,
    rests_on=("defaults-valid",),
    prevents="recommendations that the backend itself refuses",
)
def recommend_valid(subject: Subject) -> None:
    """The values that the vendor recommends are valid, even if no fact is known."""
    spec = subject.spec
    if spec.recommend is None and not spec.advice:
        raise NotApplicableError(f"{spec.id} recommends nothing")
    reader = subject.installation.advice
    for found in verify_advice(spec, reader):
        raise CheckFailedError(
            f"{options_place(spec)}: advice: {found.message}; {found.help or 'correct the entry'}"
        )
    devices = {**_devices(subject), **dict(advised_devices(reader.entries(spec), reader))}
    for where, facts in devices.items():
        problem = _problem_of_recommendation(spec, facts, reader)
        if problem is not None:
            raise CheckFailedError(_failing(spec, where, problem))
        _require_facts_that_exist(subject, facts)


def _failing(spec: BackendSpec, where: str, problem: str) -> str:
    if spec.recommend is None:
        return f"{options_place(spec)}: the advice of {spec.id} fails {where}: {problem}; correct its entries"
    return (
        f"{code_place(spec.recommend)}recommend of {spec.id} fails {where}: {problem}; "
        "look facts up with get(), and recommend only what the options allow"
    )


def _require_facts_that_exist(subject: Subject, facts: Mapping[str, object]) -> None:
    """Require that `recommend` misspells no fact: it would never see one, and recommend nothing.

    Facts of namespaces that are not declared here may come from a plugin that is not installed.
    """
    spec, registry = subject.spec, subject.installation.fact_registry
    namespaces = {info.namespace for info in registry.infos}
    for name in recommend(spec, facts).basis:
        if name not in registry and str(name).partition(".")[0] in namespaces:
            assert spec.recommend is not None
            guess = did_you_mean(str(name), registry.names) or "`etconfig facts --all` lists them"
            raise CheckFailedError(
                f"{code_place(spec.recommend)}recommend of {spec.id} reads the fact {name!r}, which no "
                f"plugin declares; {guess}"
            )


@check("program-values", level=0, rests_on=("aot-id-match",), prevents="programs that cannot be configured")
def program_values(subject: Subject) -> None:
    """The values that `from_program` reads are valid, in each golden program and without compile specs."""
    spec = subject.spec
    if spec.from_program is None:
        raise NotApplicableError(f"{spec.id} reads no option from compile specs")
    for where, path in _places(subject):
        try:
            if path is None:
                read_program_values(spec, [CompileSpecs()], where)
            else:
                _read_all_program_values(subject, path)
        except PluginCallError as error:
            raise CheckFailedError(
                f"{code_place(spec.from_program)}from_program of {spec.id} fails {where}: {error.cause}; "
                "look keys up with get(), and return only what the options allow"
            ) from None


def _places(subject: Subject) -> Iterator[tuple[str, Path | None]]:
    """Yield where to read values: without compile specs, and in each golden program."""
    yield "without compile specs", None
    yield from ((f"in {path.name}", path) for path in subject.programs.values())


def _read_all_program_values(subject: Subject, path: Path) -> None:
    with load_program(path, installation=subject.installation) as program:
        for method in program.method_names:
            program.program_values(method, subject.spec)


@check(
    "unknown-option",
    level=0,
    rests_on=("loads",),
    prevents="typos that are ignored, or that set another option",
)
def unknown_option(subject: Subject) -> None:
    """Unknown names are refused, and a typo in an option's name is not another option."""
    spec = subject.spec
    names = tuple(spec.options.option_infos())
    _require_refusal(spec, "etconfig_no_such_option")
    for name in names:
        for typo in _typos(name):
            if typo in names:
                raise CheckFailedError(
                    f"{options_place(spec, name)}: a typo of it, {typo}, is another option, expected names "
                    "that differ by more than a letter; rename one and keep the name in renamed_from"
                )
            if typo not in spec.options.former_names():
                _require_refusal(spec, typo)


@check(
    "schema-roundtrip",
    level=0,
    rests_on=("recommend-valid",),
    prevents="configurations that cannot be saved or read back",
)
def schema_roundtrip(subject: Subject) -> None:
    """Options are the same after a round trip through JSON, and their schema is valid JSON."""
    spec = subject.spec
    _require_json(spec, "its JSON Schema", json_schema(spec))
    usual = usual_values(spec, _devices(subject)["on this device"], subject.installation.advice)
    options = valid_options(spec, usual)
    _require_same_after_json(spec, options)
    for name, info in spec.options.option_infos().items():
        for value in other_values(spec, info, usual[name]):
            validated = validate_options(spec, {**usual, name: value})
            if validated.options is not None:
                _require_same_after_json(spec, validated.options)


def _devices(subject: Subject) -> Mapping[str, Mapping[str, object]]:
    """Return the facts of each device to try, by its description."""
    return {"where no fact is known": {}, "on this device": subject.facts.values}


def _problem_of_recommendation(
    spec: BackendSpec, facts: Mapping[str, object], reader: AdviceReader
) -> str | None:
    """Return the problem of a recommendation; missing values are the subject of another check."""
    try:
        recommended = values_without_configuration(spec, facts, reader)
    except PluginCallError as error:
        return error.cause
    for each in recommended.values():
        if isinstance(each, Diagnostic):
            return each.message
    values = {name: each.value for name, each in recommended.items() if isinstance(each, Sourced)}
    problems = validate_options(spec, values).problems
    wrong = (each.message for each in problems if each.is_error and each.kind is not ProblemKind.MISSING)
    return next(wrong, None)


def _typos(name: str) -> Iterator[str]:
    if len(name) > LEAST_LETTERS:
        yield from (name[:-1], name + name[-1])


def _require_refusal(spec: BackendSpec, name: str) -> None:
    problems = validate_options(spec, {name: 1}).problems
    if not any(each.kind is ProblemKind.UNKNOWN and repr(name) in each.message for each in problems):
        raise CheckFailedError(
            f"{options_place(spec)} accepts {name}, which it does not declare; do not override "
            "option_infos() and former_names() of BackendOptions"
        )


def _require_same_after_json(spec: BackendSpec, options: BackendOptions) -> None:
    text = _require_json(spec, f"to_jsonable() of {format_options(dict(options))}", options.to_jsonable())
    again = validate_options(spec, json.loads(text))
    if again.options != options:
        seen = "; ".join(each.message for each in again.problems) or format_options(dict(again.options or ()))
        raise CheckFailedError(
            f"{options_place(spec)}: {format_options(dict(options))} came back from JSON as {seen}; do not "
            "override to_jsonable(), and let validators accept their own results"
        )


def _require_json(spec: BackendSpec, what: str, value: object) -> str:
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise CheckFailedError(
            f"{options_place(spec)}: {what} cannot be written as JSON: {error}; use plain values"
        ) from None
