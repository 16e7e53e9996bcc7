"""Models in several variants: catalogs read from TOML, the variant for a device, and checks of both.

A catalog names programs, but this package opens none: the caller provides what each one needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from etconfig.lazy import lazy_names

_HOME = {
    "CatalogModel": "catalog",
    "MethodSignature": "needs",
    "ModelCatalog": "catalog",
    "ModelChoice": "selection",
    "ModelVariant": "catalog",
    "NeedsReader": "selection",
    "RejectedVariant": "selection",
    "ValueSignature": "needs",
    "VariantNeeds": "needs",
    "choose_variant": "selection",
    "disagreements": "checking",
    "join_catalogs": "catalog",
    "parse_models": "reading",
    "parse_models_files": "reading",
    "unreachable_variants": "checking",
}
"""The module of each public name."""

if TYPE_CHECKING:
    from etconfig.models.catalog import CatalogModel, ModelCatalog, ModelVariant, join_catalogs
    from etconfig.models.checking import disagreements, unreachable_variants
    from etconfig.models.needs import MethodSignature, ValueSignature, VariantNeeds
    from etconfig.models.reading import parse_models, parse_models_files
    from etconfig.models.selection import (
        ModelChoice,
        NeedsReader,
        RejectedVariant,
        choose_variant,
    )

__all__ = [
    "CatalogModel",
    "MethodSignature",
    "ModelCatalog",
    "ModelChoice",
    "ModelVariant",
    "NeedsReader",
    "RejectedVariant",
    "ValueSignature",
    "VariantNeeds",
    "choose_variant",
    "disagreements",
    "join_catalogs",
    "parse_models",
    "parse_models_files",
    "unreachable_variants",
]

__getattr__, __dir__ = lazy_names(__name__, _HOME)
