"""`ReadModel`: a model whose files have been read, so that facts alone select the variant of each device."""

from __future__ import annotations

from collections.abc import Mapping

from etconfig.app.installation.installation import Installation
from etconfig.app.programs.memory_needs import fit_condition
from etconfig.app.programs.model_choice import find_catalog
from etconfig.app.programs.model_needs import missing_data_problem, read_needs
from etconfig.base.parameters import AnyPath
from etconfig.base.records import record
from etconfig.errors import ModelError
from etconfig.expression import Expression, ExpressionType, parse_expression
from etconfig.models.catalog import CatalogModel
from etconfig.models.needs import VariantNeeds
from etconfig.models.variant_selection import BACKENDS_FACT


@record(frozen=True, kw_only=True)
class ReadModel:
    """A model whose files have been read: a device gets the first variant whose condition holds.

    Attributes:
        model: The model.
        needs: The needs of each variant.
        whens: The condition of each variant, with the memory that it needs; None if there is none.
        conditions: The same, with the backends that it needs.
    """

    model: CatalogModel
    needs: tuple[VariantNeeds, ...]
    whens: tuple[Expression | None, ...]
    conditions: tuple[Expression, ...]

    def choose(self, facts: Mapping[str, object]) -> int | None:
        """Return the number of the variant for a device; None if none suits it."""
        holding = (number for number, each in enumerate(self.conditions, 1) if each.evaluate(facts) is True)
        return next(holding, None)


def read_models(installation: Installation, models: AnyPath | None = None) -> tuple[ReadModel, ...]:
    """Read the files of all models that have variants: of a file of models, or of the project file.

    Raises:
        ConfigError: a file of models is wrong, or data files of programs are missing.
        ProgramError: a file is not there or cannot be read.
    """
    return tuple(_read(model, installation) for model in find_catalog(installation, models).with_variants)


def _read(model: CatalogModel, installation: Installation) -> ReadModel:
    registry = installation.fact_registry
    needs = tuple(read_needs(variant, installation) for variant in model.variants)
    problems = map(missing_data_problem, model.variants, needs)
    missing = tuple(problem for problem in problems if problem is not None)
    if missing:
        raise ModelError(diagnostics=missing)
    whens, conditions = [], []
    for variant, each in zip(model.variants, needs, strict=True):
        when = variant.when
        if each.memory_bytes is not None:
            when = fit_condition(each.memory_bytes, registry, when)
        whens.append(when)
        parts = [] if when is None else [f"({when})"]
        parts += [f'"{backend}" in {BACKENDS_FACT}' for backend in each.backends]
        text = " && ".join(parts) or "true"
        conditions.append(parse_expression(text, registry, span=variant.span, expect=ExpressionType.BOOL))
    return ReadModel(model=model, needs=needs, whens=tuple(whens), conditions=tuple(conditions))
