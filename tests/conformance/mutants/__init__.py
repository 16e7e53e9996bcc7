"""A mutant for each check of the kit: the reference backend with one defect, which fails that check alone."""

from __future__ import annotations

from importlib import import_module

from mutants.mutant import Mutant

MODULES = (
    "discovery",
    "imports",
    "missing_resources",
    "facts",
    "contract",
    "options",
    "evidence",
    "declared_memory",
    "answers",
    "lifecycle",
    "resources",
    "arguments",
    "shapes",
    "side_by_side",
    "state",
    "payload",
    "payload_descriptions",
    "init_arguments",
)
"""A module for each topic; its constants are mutants."""


def all_mutants() -> dict[str, Mutant]:
    """Return every mutant, by the value of an entry point that names it."""
    modules = [import_module(f"{__name__}.{name}") for name in MODULES]
    return {
        f"{module.__name__}:{name}": value
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, Mutant)
    }
