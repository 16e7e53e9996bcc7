"""Options without a program: described, valid where nothing is configured, and read back from JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace

from etconfig.conformance.checks.check import check
from etconfig.conformance.kit.outcome import CheckFailedError, NotApplicableError
from etconfig.conformance.subject.option_values import (
    format_options,
    options_place,
    other_values,
    usual_values,
    valid_options,
)
from etconfig.conformance.subject.subject import Subject
from etconfig.errors import PluginCallError
from etconfig.plugin.call_check import code_place
from etconfig.provenance import Sourced
from etconfig.resolver import values_without_configuration
from etconfig.schema import BackendOptions, BackendSpec, ProblemKind, json_schema, validate_options

LEAST_WORDS = 3
"""Fewer say no more than a name does."""

LEAST_LETTERS = 4
"""A name that is not longer may differ by one letter from another."""


@check("schema-documented", level=0, prevents="guessing what an option does")
def schema_documented(subject: Subject) -> None:
    """All that can be set is described in a sentence, and what is deprecated can be left out."""
    spec = subject.spec
    described = {f"option {name}": info.doc for name, info in spec.options.option_infos().items()}
    described |= {f"compile spec {key!r}": info.doc for key, info in spec.compile_specs.items()}
    described |= {f"environment variable {name}": doc for name, doc in spec.environment.items()}
    for what, doc in described.items():
        if len(doc.split()) < LEAST_WORDS:
            raise CheckFailedError(
                f"{options_place(spec)}: the {what} of {spec.id} is described as {doc!r}, expected a "
                "sentence; say what it does"
            )
    for name, info in spec.options.option_infos().items():
        if info.deprecated is not None and info.is_required:
            raise CheckFailedError(
                f"{options_place(spec, name)} is deprecated and has no default, so it cannot be left out; "
                "give option() a default"
            )


@check("defaults-valid", level=0, prevents="a backend that does not work as it is installed")
def defaults_valid(subject: Subject) -> None:
    """Without configuration and advice every option has a valid value, also where no fact is known."""
    unadvised = replace(subject.spec, recommend=None)
    for facts in _devices(subject).values():
        valid_options(unadvised, usual_values(unadvised, facts))


@check("recommend-valid", level=0, prevents="advice that the backend itself refuses")
def recommend_valid(subject: Subject) -> None:
    """What the vendor recommends is valid, also where no fact is known."""
    spec = subject.spec
    if spec.recommend is None:
        raise NotApplicableError(f"{spec.id} recommends nothing")
    for where, facts in _devices(subject).items():
        problem = _problem_of_advice(spec, facts)
        if problem is not None:
            raise CheckFailedError(
                f"{code_place(spec.recommend)}recommend of {spec.id} fails {where}: {problem}; "
                "look facts up with get(), and advise only what the options allow"
            )


@check("unknown-option", level=0, prevents="a typo that is ignored, or that sets something else")
def unknown_option(subject: Subject) -> None:
    """A name that is no option is refused, and a typo of one is told from the other options."""
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


@check("schema-roundtrip", level=0, prevents="configurations that cannot be saved or read back")
def schema_roundtrip(subject: Subject) -> None:
    """Options come out of JSON as they went in, and their schema is JSON too."""
    spec = subject.spec
    _require_json(spec, "its JSON Schema", json_schema(spec))
    usual = usual_values(spec, _devices(subject)["on this device"])
    options = valid_options(spec, usual)
    _require_same_after_json(spec, options)
    for name, info in spec.options.option_infos().items():
        for value in other_values(spec, info, usual[name]):
            validated = validate_options(spec, {**usual, name: value})
            if validated.options is not None:
                _require_same_after_json(spec, validated.options)


def _devices(subject: Subject) -> Mapping[str, Mapping[str, object]]:
    """Facts by where they hold."""
    return {"where no fact is known": {}, "on this device": subject.facts.values}


def _problem_of_advice(spec: BackendSpec, facts: Mapping[str, object]) -> str | None:
    """What is wrong with the advice; that an option has no value at all is another check's business."""
    try:
        told = values_without_configuration(spec, facts)
    except PluginCallError as error:
        return error.cause
    values = {name: each.value for name, each in told.items() if isinstance(each, Sourced)}
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
            f"{options_place(spec)} accepts {name}, which it does not declare; leave "
            "option_infos() and former_names() as BackendOptions has them"
        )


def _require_same_after_json(spec: BackendSpec, options: BackendOptions) -> None:
    text = _require_json(spec, f"to_jsonable() of {format_options(dict(options))}", options.to_jsonable())
    again = validate_options(spec, json.loads(text))
    if again.options != options:
        seen = "; ".join(each.message for each in again.problems) or format_options(dict(again.options or ()))
        raise CheckFailedError(
            f"{options_place(spec)}: {format_options(dict(options))} came back from JSON as {seen}; leave "
            "to_jsonable() as BackendOptions has it, and let validators accept what they made"
        )


def _require_json(spec: BackendSpec, what: str, value: object) -> str:
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise CheckFailedError(
            f"{options_place(spec)}: {what} cannot be written as JSON: {error}; give plain values"
        ) from None


CHECKS = (schema_documented, schema_roundtrip, defaults_valid, recommend_valid, unknown_option)
"""The checks of this module, in the order of the report."""
