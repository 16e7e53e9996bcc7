"""`choose_variant`: the variant of a model for a device, and why not the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic
from etconfig.errors import EtconfigError, ModelError, ProgramError
from etconfig.facts.memory_fit import MemoryFit
from etconfig.models.catalog import CatalogModel, ModelVariant
from etconfig.models.needs import VariantNeeds
from etconfig.report.has_view import HasView
from etconfig.report.model import Table, View, shown_text

BACKENDS_FACT = "runtime.backends"
"""The fact with the ids of the backends that can run on a device."""

_BACKENDS_HELP = (
    "set runtime.backends, as with --fact runtime.backends=XnnpackBackend, or add a variant without delegates"
)
_HELP = "add a variant that suits this device, such as one without a condition and without delegates"
_PROGRAM_HELP = "build the programs, or correct their paths, which are relative to the file that names them"

NeedsReader: TypeAlias = "Callable[[ModelVariant], VariantNeeds]"
"""Reads the needs of a variant. Raises a `ProgramError` if its file is not there or cannot be read."""


@record(frozen=True, kw_only=True)
class RejectedVariant:
    """A variant that was not selected.

    Attributes:
        variant: The variant.
        reasons: Why not, a sentence each.
        error: The error if its program cannot be read, or if it lacks only backends whose plugins are
            broken; else None.
        suits: Its needs and why it suits the device, if it comes after the selected one only; else None.
    """

    variant: ModelVariant
    reasons: tuple[str, ...]
    error: EtconfigError | None = None
    suits: tuple[VariantNeeds, tuple[str, ...]] | None = None


@record(frozen=True, kw_only=True)
class ModelChoice(HasView):
    """The variant of a model that was selected for a device.

    Attributes:
        name: The name of the model.
        variant: The selected variant.
        needs: Its needs.
        reasons: Why it suits the device, a sentence each.
        rejected: The other variants, in the order of the document, and why each was not selected.
        fallback: True if a later variant takes over should this one fail to load.
    """

    name: str
    variant: ModelVariant
    needs: VariantNeeds
    reasons: tuple[str, ...]
    rejected: tuple[RejectedVariant, ...]
    fallback: bool = False

    def next(self, reason: str) -> ModelChoice | None:
        """Return the choice after the load of the variant has failed: the next variant that suits the device.

        Args:
            reason: Why it failed, which becomes the reason against it.

        Returns:
            The choice; None if no later variant suits the device, or the model has no fallback.
        """
        later = next((each for each in self.rejected if each.suits is not None), None)
        if later is None or later.suits is None or not self.fallback:
            return None
        failed = RejectedVariant(variant=self.variant, reasons=(f"its load failed: {reason}",))
        others = (failed, *(each for each in self.rejected if each is not later))
        needs, reasons = later.suits
        return replace(
            self,
            variant=later.variant,
            needs=needs,
            reasons=reasons,
            rejected=tuple(sorted(others, key=lambda each: each.variant.number)),
        )

    @property
    def verdicts(self) -> tuple[tuple[ModelVariant, bool, tuple[str, ...]], ...]:
        """Each variant in the order of the document, whether it was selected, and why or why not."""
        found = [(each.variant, False, each.reasons) for each in self.rejected]
        found.append((self.variant, True, self.reasons))
        return tuple(sorted(found, key=lambda each: each[0].number))

    def __repr__(self) -> str:
        file = shown_text(str(self.variant))
        return f"<ModelChoice {shown_text(self.name)}: variant {self.variant.number}, {file}>"

    def _view(self) -> View:
        rows = verdict_rows(self.verdicts)
        return View(
            title=f"ModelChoice: variant {self.variant.number} of model {self.name}, {self.variant}",
            tables=(Table(caption="", headers=VERDICT_HEADERS, rows=rows),),
        )

    def to_jsonable(self) -> dict[str, Any]:
        """Return the choice as plain data for JSON."""
        return {
            "model": self.name,
            "fallback": self.fallback,
            "variant": {
                **variant_data(self.variant),
                "backends": list(self.needs.backends),
                "data": [str(path) for path in self.needs.data],
            },
            "reasons": list(self.reasons),
            "rejected": [
                {**variant_data(each.variant), "reasons": list(each.reasons)} for each in self.rejected
            ],
        }


VERDICT_HEADERS = ("VARIANT", "FILE", "SELECTED", "WHY")
"""The headers of the rows of `verdict_rows`."""


def verdict_rows(
    verdicts: Sequence[tuple[ModelVariant, bool, tuple[str, ...]]],
) -> list[tuple[str, str, str, str]]:
    """Return a row for each reason; a variant is named in its first one."""
    rows: list[tuple[str, str, str, str]] = []
    for variant, is_selected, reasons in verdicts:
        head = (str(variant.number), str(variant), "yes" if is_selected else "no")
        for reason in reasons:
            rows.append((*head, reason))
            head = ("", "", "")
    return rows


def choose_variant(
    model: CatalogModel,
    facts: Mapping[str, object],
    read_needs: NeedsReader,
    device: str = "this device",
    broken: Mapping[str, EtconfigError] | None = None,
) -> ModelChoice:
    """Return the first variant of a model whose condition holds and whose needs are met.

    A condition that is unknown, or that has no value, does not hold. The needs of a variant are read only if
    its condition holds. A program that cannot be read counts as a failed load: it is an error, or, with
    `fallback = true`, a reason against the variant. So does a variant that suits the device but for backends
    whose plugins are broken.

    Args:
        model: The model.
        facts: The values of the known facts.
        read_needs: Reads the needs of a variant.
        device: The name of the device in messages.
        broken: The errors of the backends whose plugins are broken on the device, by their ids.

    Raises:
        ModelError: no variant suits the device; the error says why for each.
        ProgramError: the program of a variant cannot be read, and the model has no fallback.
        PluginError: a variant lacks only a backend whose plugin is broken, and the model has no fallback.
    """
    chosen: tuple[ModelVariant, VariantNeeds, tuple[str, ...]] | None = None
    rejected: list[RejectedVariant] = []
    for variant in model.variants:
        judged = _judge(variant, facts, read_needs, broken or {})
        if isinstance(judged, RejectedVariant):
            if judged.error is not None and chosen is None and not model.fallback:
                raise judged.error
            rejected.append(judged)
        elif chosen is None:
            chosen = (variant, *judged)
        else:
            reason = f"it suits the device too, but comes after variant {chosen[0].number}"
            rejected.append(RejectedVariant(variant=variant, reasons=(reason,), suits=judged))
    if chosen is None:
        raise ModelError(diagnostics=(_no_variant(model, rejected, device),))
    variant, needs, reasons = chosen
    return ModelChoice(
        name=model.name,
        variant=variant,
        needs=needs,
        reasons=reasons,
        rejected=tuple(rejected),
        fallback=model.fallback,
    )


def _no_variant(model: CatalogModel, rejected: Sequence[RejectedVariant], device: str) -> Diagnostic:
    """Return the problem of a model without a variant for a device, whose name messages use."""
    return Diagnostic(
        code="no-model-variant",
        message=f"no variant of model {model.name!r} suits {device}",
        spans=(model.span,),
        notes=tuple(f"{each.variant}: {reason}" for each in rejected for reason in each.reasons),
        help=_no_variant_help(rejected),
    )


def _no_variant_help(rejected: Sequence[RejectedVariant]) -> str:
    error = next((each.error for each in rejected if each.error is not None), None)
    if isinstance(error, ProgramError):
        return _PROGRAM_HELP
    if error is not None:
        return error.help or _HELP
    lacks = any(BACKENDS_FACT in reason and "not known" in reason for r in rejected for reason in r.reasons)
    return _BACKENDS_HELP if lacks else _HELP


def variant_data(variant: ModelVariant) -> dict[str, Any]:
    """Return a variant as plain data for JSON, without the keys that its table does not have."""
    declared = {
        "backend": None if variant.backend is None else variant.backend.target,
        "memory": variant.memory_bytes,
        "bytes": variant.size_bytes,
        "sha256": variant.sha256,
        "source": variant.source,
    }
    return {
        "number": variant.number,
        "file": variant.file.target,
        "path": str(variant.path),
        "when": None if variant.when is None else variant.when.source,
        **{name: value for name, value in declared.items() if value is not None},
    }


def _judge(
    variant: ModelVariant,
    facts: Mapping[str, object],
    read_needs: NeedsReader,
    broken: Mapping[str, EtconfigError],
) -> tuple[VariantNeeds, tuple[str, ...]] | RejectedVariant:
    """Return the needs of a variant and why it suits a device, or why it does not."""
    holding: tuple[str, ...] = ()
    if variant.when is not None:
        clauses = variant.when.explain(facts)
        if variant.when.evaluate(facts) is not True:
            against = tuple(each.explanation for each in clauses if each.result is not True)
            return RejectedVariant(variant=variant, reasons=against)
        holding = tuple(each.explanation for each in clauses)
    try:
        needs = read_needs(variant)
    except EtconfigError as error:
        return RejectedVariant(variant=variant, reasons=(f"it cannot be read: {error.message}",), error=error)
    unmet = tuple(_unmet(needs, facts, broken))
    if unmet:
        return RejectedVariant(variant=variant, reasons=unmet, error=_only_broken(needs, facts, broken))
    return needs, (*holding, *_met(needs, facts))


def _met(needs: VariantNeeds, facts: Mapping[str, object]) -> Iterator[str]:
    if needs.backends:
        verb = "is" if len(needs.backends) == 1 else "are"
        yield f"{' and '.join(needs.backends)} {verb} in {BACKENDS_FACT}"
    else:
        yield "it delegates to no backend"
    if needs.memory_bytes is not None:
        yield f"it {MemoryFit.of(needs.memory_bytes, facts)}"
    if needs.data:
        yield f"its data are in {' and '.join(path.name for path in needs.data)}"


def _lacking(needs: VariantNeeds, facts: Mapping[str, object]) -> tuple[str, ...]:
    """Return the backends that a variant needs and the device is not known to have."""
    known = facts.get(BACKENDS_FACT)
    if not isinstance(known, (list, tuple)):
        return needs.backends
    return tuple(backend for backend in needs.backends if backend not in known)


def _only_broken(
    needs: VariantNeeds, facts: Mapping[str, object], broken: Mapping[str, EtconfigError]
) -> EtconfigError | None:
    """Return the error of a broken plugin if a variant lacks nothing else, else None."""
    lacking = _lacking(needs, facts)
    if not lacking or any(_other_problems(needs, facts)) or any(each not in broken for each in lacking):
        return None
    return broken[lacking[0]]


def _unmet(
    needs: VariantNeeds, facts: Mapping[str, object], broken: Mapping[str, EtconfigError]
) -> Iterator[str]:
    lacking = _lacking(needs, facts)
    absent = tuple(backend for backend in lacking if backend not in broken)
    if absent:
        known = facts.get(BACKENDS_FACT)
        if isinstance(known, (list, tuple)):
            verdict = ", ".join(known) or "empty"
        else:
            verdict = "not known on this device"
        yield f"it needs {' and '.join(absent)}, and {BACKENDS_FACT} is {verdict}"
    for backend in lacking:
        if backend in broken:
            yield f"it needs {backend}, which cannot be used: {broken[backend].message}"
    yield from _other_problems(needs, facts)


def _other_problems(needs: VariantNeeds, facts: Mapping[str, object]) -> Iterator[str]:
    if needs.data_problem is not None:
        yield needs.data_problem
    fit = MemoryFit.of(needs.memory_bytes or 0, facts)
    if needs.memory_bytes is not None and not fit.fits:
        yield f"it {fit}"
