"""`bundled_models`: the models of a project as a bundle has them, each file under a name of its own."""

from __future__ import annotations

import os
from pathlib import Path

from etconfig.app.installation.installation import Installation
from etconfig.app.programs.memory_needs import fit_condition
from etconfig.app.programs.model_needs import missing_data_problem, read_needs
from etconfig.device.compiling.content import BundledModel, BundledVariant
from etconfig.diagnostics import Diagnostic
from etconfig.errors import ModelError
from etconfig.models.catalog import CatalogModel, ModelVariant


def bundled_models(installation: Installation, directory: Path | None) -> tuple[BundledModel, ...]:
    """Return the models of a project that have programs, with what these need.

    Args:
        installation: The project.
        directory: The directory that the names of files below it are relative to; other files are called as
            their document calls them.

    Raises:
        ModelError: two files would have the same name, or the data of programs are not there.
        ProgramError: a program cannot be read.
    """
    known: dict[str, Path] = {}
    return tuple(_bundled(model, installation, directory, known) for model in installation.models.of_programs)


def _bundled(
    model: CatalogModel, installation: Installation, directory: Path | None, known: dict[str, Path]
) -> BundledModel:
    needs = [read_needs(variant, installation) for variant in model.variants]
    problems = map(missing_data_problem, model.variants, needs)
    missing = tuple(problem for problem in problems if problem is not None)
    if missing:
        raise ModelError(diagnostics=missing)
    return BundledModel(
        name=model.name,
        fallback=model.fallback,
        variants=tuple(
            BundledVariant(
                file=_unique_name(variant, directory, known),
                when=variant.when
                if each.memory_bytes is None
                else fit_condition(each.memory_bytes, installation.fact_registry, variant.when),
                needs=each.backends,
            )
            for variant, each in zip(model.variants, needs, strict=True)
        ),
    )


def _unique_name(variant: ModelVariant, directory: Path | None, known: dict[str, Path]) -> str:
    path = Path(os.path.abspath(variant.path))  # noqa: PTH100  (without "..", and links stay as they are)
    is_below = directory is not None and path.is_relative_to(directory)
    name = path.relative_to(directory).as_posix() if directory and is_below else variant.file.target
    if known.setdefault(name, path) != path:
        problem = Diagnostic(
            code="cannot-carry",
            message=f"a bundle cannot carry two files called {name!r}: {known[name]} and {path}",
            spans=(variant.span,),
            help="put the files below the directory of the project file, or rename one of them",
        )
        raise ModelError(diagnostics=(problem,))
    return name
