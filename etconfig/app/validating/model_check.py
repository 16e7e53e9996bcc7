"""`check_models`: everything that is wrong with models and their programs, without running one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from etconfig.app.configuring.targets import find_spec
from etconfig.app.installation.installation import Installation
from etconfig.app.programs.engine_files import engine_file_format
from etconfig.app.programs.model_needs import missing_data_problem, read_needs
from etconfig.app.programs.payloads import (
    VariantPayloads,
    description_problems,
    unmet_needs,
    variant_payloads,
)
from etconfig.app.validating.validated_programs import engine_problems
from etconfig.base.fingerprint import file_sha256
from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic
from etconfig.diagnostics.render import to_jsonable
from etconfig.errors import BackendUnavailableError, ModelError, PluginError, ProgramError
from etconfig.facts.sheet import FactSheet
from etconfig.models.catalog import CatalogModel, ModelCatalog, ModelVariant
from etconfig.models.checking import disagreements, unreachable_variants
from etconfig.models.needs import VariantNeeds
from etconfig.models.variant_selection import choose_variant, variant_data
from etconfig.profile.condition_checks import ConditionChecker
from etconfig.schema.payload_description import PayloadDescription


@record(frozen=True, kw_only=True)
class CheckedModel:
    """A model and what was found out about it.

    Attributes:
        model: The model.
        needs: The needs of the variants whose files can be read, by number.
        formats: The formats of the files that engines run, by the number of the variant.
        payloads: The label of each payload of a variant and what its backend's plugin says, by number.
        selected: The number of the variant that each device selects; None if it selects none.
        problems: Everything that is wrong with it.
    """

    model: CatalogModel
    needs: Mapping[int, VariantNeeds]
    formats: Mapping[int, str]
    payloads: Mapping[int, VariantPayloads]
    selected: Mapping[str, int | None]
    problems: tuple[Diagnostic, ...]

    def contents(self, number: int) -> Iterator[str]:
        """Yield the format of an engine's file, and what is known about each payload of the variant."""
        yield from (self.formats[number],) if number in self.formats else ()
        for label, each in self.payloads.get(number, ()):
            payload = each.description or PayloadDescription()
            parts = [] if each.problem is None else [each.problem]
            parts += [] if payload.target is None else [f"compiled for {payload.target}"]
            parts += [] if payload.sdk_version is None else [f"made by {payload.sdk_version}"]
            parts += [need.reason for need in payload.needs if payload.target is None]
            text = ", ".join(parts)
            if text:
                yield f"{label}: {text}" if label else text

    def to_jsonable(self) -> dict[str, Any]:
        """Return the result as plain data for JSON."""
        return {
            "model": self.model.name,
            "fallback": self.model.fallback,
            "variants": [self._variant_data(variant) for variant in self.model.variants],
            "devices": [{"device": name, "variant": number} for name, number in self.selected.items()],
            "problems": [to_jsonable(problem) for problem in self.problems],
        }

    def _variant_data(self, variant: ModelVariant) -> dict[str, Any]:
        needs = self.needs.get(variant.number)
        if needs is None:
            return {**variant_data(variant), "backends": None, "methods": None, "data": None}
        found = self.formats.get(variant.number)
        return {
            **variant_data(variant),
            **({} if found is None else {"format": found}),
            "contents": [*self.contents(variant.number)],
            "backends": list(needs.backends),
            "methods": [
                {"name": m.name, "inputs": list(map(str, m.inputs)), "outputs": list(map(str, m.outputs))}
                for m in needs.methods
            ],
            "data": [str(path) for path in needs.data],
        }


def check_models(
    installation: Installation, catalog: ModelCatalog, devices: Mapping[str, FactSheet]
) -> tuple[CheckedModel, ...]:
    """Check models: their programs exist and agree, each backend has a schema, and each device a variant.

    Args:
        installation: The plugins, whose schemas the programs need.
        catalog: The models.
        devices: The devices that each model must have a variant for, by the names that messages use.
    """
    conditions = ConditionChecker(installation.fact_registry)
    return tuple(_check(installation, model, devices, conditions) for model in catalog)


def _check(
    installation: Installation,
    model: CatalogModel,
    devices: Mapping[str, FactSheet],
    conditions: ConditionChecker,
) -> CheckedModel:
    needs: dict[int, VariantNeeds] = {}
    unread: dict[int, ProgramError] = {}
    formats: dict[int, str] = {}
    payloads: dict[int, VariantPayloads] = {}
    problems = list(conditions.problems(v.when for v in model.variants if v.when is not None))
    problems += engine_problems(ModelCatalog({model.name: model}), installation.backend_ids)
    for variant in model.variants:
        try:
            needs[variant.number] = read_needs(variant, installation)
            if variant.backend is not None:
                formats[variant.number] = engine_file_format(variant.path)
            payloads[variant.number] = variant_payloads(variant, needs[variant.number], installation)
            problems += _file_problems(variant)
        except ProgramError as error:
            unread[variant.number] = error
            problems.append(_unreadable(variant, error))
        except OSError as error:
            problems.append(_unreadable(variant, error))
        else:
            problems += _needs_problems(installation, variant, needs[variant.number])
            problems += _payload_problems(variant, payloads[variant.number])
    problems += disagreements(model, needs)
    problems += unreachable_variants(model, needs, installation.fact_registry)
    # a program that cannot be read is reported above; here it only is a variant that is not selected
    lenient = replace(model, fallback=True)

    def known_needs(variant: ModelVariant) -> VariantNeeds:
        if variant.number in unread:
            raise unread[variant.number]
        return needs[variant.number]

    selected: dict[str, int | None] = {}
    for name, facts in devices.items() if model.variants else ():
        try:
            choice = choose_variant(lenient, facts.values, known_needs, name)
            # without fallback, a program that cannot be read ends the selection
            ends = any(
                each.error is not None and each.variant.number < choice.variant.number
                for each in choice.rejected
            )
            selected[name] = None if ends and not model.fallback else choice.variant.number
            if selected[name] is not None:
                problems += _payload_problems(
                    choice.variant, payloads.get(choice.variant.number, ()), name, facts
                )
        except ModelError as error:
            selected[name] = None
            problems += error.diagnostics
    return CheckedModel(
        model=model,
        needs=needs,
        formats=formats,
        payloads=payloads,
        selected=selected,
        problems=_in_order(problems),
    )


def _unreadable(variant: ModelVariant, error: ProgramError | OSError) -> Diagnostic:
    kind, advice = ("program", None) if variant.backend is None else ("file", getattr(error, "help", None))
    reason = error.problem if isinstance(error, ProgramError) else error.strerror or str(error)
    return Diagnostic(
        code="unreadable-file",
        message=f"cannot read the {kind} {variant.file.target!r}: {reason}",
        spans=(variant.span,),
        help=advice or f"correct the path, which is relative to this file, or build the {kind} first",
    )


def _file_problems(variant: ModelVariant) -> Iterator[Diagnostic]:
    """Yield the problem of a file that is not the declared one. Raises OSError: it cannot be read."""
    wanted_bytes, wanted, problem = variant.size_bytes, variant.sha256, None
    if wanted_bytes is None and wanted is None:
        return
    size_bytes = variant.path.stat().st_size
    if variant.path.is_dir():
        problem = "is a directory, which has neither bytes nor sha256"
    elif wanted_bytes not in (None, size_bytes):
        problem = f"has {size_bytes:,} bytes, and {wanted_bytes:,} are declared"
    elif wanted is not None and (found := file_sha256(variant.path)) != wanted:
        problem = f"has another sha256 than declared: {found}"
    if problem is not None:
        source = "" if variant.source is None else f" from {variant.source}"
        help = f"get the right file{source}, or change what is declared"
        yield Diagnostic(
            code="wrong-model-file", message=f"{variant} {problem}", spans=(variant.span,), help=help
        )


def _needs_problems(
    installation: Installation, variant: ModelVariant, needs: VariantNeeds
) -> Iterator[Diagnostic]:
    for backend in needs.backends:
        try:
            find_spec(installation, backend)
        except BackendUnavailableError as error:
            if variant.backend is not None:
                continue  # `engine_problems` reports it
            yield Diagnostic(
                code="backend-not-installed",
                message=f"{variant} delegates to {backend}, but {error.reason}",
                spans=(variant.span,),
                help=error.help or "install the plugin that declares its options",
            )
        except PluginError as error:
            yield Diagnostic(
                code="broken-plugin",
                message=f"{variant} delegates to {backend}, but {error.message}",
                spans=(variant.span,),
                help=error.help,
            )
    problem = missing_data_problem(variant, needs)
    if problem is not None:
        yield problem


def _payload_problems(
    variant: ModelVariant,
    payloads: VariantPayloads,
    device: str | None = None,
    facts: FactSheet | None = None,
) -> Iterator[Diagnostic]:
    """Yield the needs that a device does not meet; without one, what cannot be described."""
    for label, reading in payloads:
        name = ", ".join(filter(None, (str(variant), label)))
        found = [] if facts is None else [*unmet_needs(f"{device}: {name}", reading, facts)]
        # An engine reads more formats than its plugin describes.
        if facts is None and (variant.backend is None or reading.is_plugins):
            found = [*description_problems(name, reading)]
        yield from (replace(problem, spans=(variant.span,)) for problem in found)


def _in_order(problems: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    def place(problem: Diagnostic) -> tuple[str, int, int]:
        span = problem.spans[0]
        return span.file, span.line, span.column

    return tuple(sorted(dict.fromkeys(problems), key=place))
