"""`bundled_models`: the models of a project as a bundle has them, each file under a name of its own."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from etconfig.app.configuring.default_program import OpenedProgram
from etconfig.app.installation.installation import Installation
from etconfig.app.programs.memory_needs import fit_condition, memory_need
from etconfig.app.programs.variant_conditions import ReadModel, read_models
from etconfig.device.compiling.content import BundledModel, BundledVariant
from etconfig.diagnostics import Diagnostic
from etconfig.errors import ModelError
from etconfig.models.catalog import ModelVariant
from etconfig.profile.names import NAME_RULES, is_name_of
from etconfig.program.metadata import delegated_backends


def bundled_models(installation: Installation, directory: Path | None) -> tuple[BundledModel, ...]:
    """Return the models of a project that have files, with what these need.

    Args:
        installation: The project.
        directory: The directory that the names of files below it are relative to; other files are called as
            their document calls them.

    Raises:
        ModelError: two files would have the same name, or the data of programs are not there.
        ProgramError: a file is not there or cannot be read.
    """
    known: dict[str, Path] = {}
    return tuple(_bundled(model, directory, known) for model in read_models(installation))


def fitting_programs(programs: Iterable[OpenedProgram], directory: Path | None) -> tuple[BundledModel, ...]:
    """Return each program as a model of one variant, which suits devices that have the memory for it.

    Args:
        programs: The programs, each from a file; the model has the file's name.
        directory: As for `bundled_models`.

    Raises:
        ModelError: a file's name cannot name a model, or two programs have one name.
        PluginError: a backend's `memory` failed.
    """
    found: dict[str, BundledModel] = {}
    for each in programs:
        path = Path(os.path.abspath(each.program.path or "program"))  # noqa: PTH100  (as in `_unique_name`)
        if path.stem in found or not is_name_of("model", path.stem):
            said = "another program has that name" if path.stem in found else NAME_RULES["model"]
            problem = Diagnostic(
                code="cannot-carry",
                message=f"a bundle cannot say whether {path.name!r} fits: {said}",
                help="rename the file",
            )
            raise ModelError(diagnostics=(problem,))
        variant = BundledVariant(
            file=_name_below(path, directory) or path.name,
            when=fit_condition(memory_need(each).peak.size_bytes, each.installation.fact_registry),
            needs=tuple(sorted(delegated_backends(each.program))),
        )
        found[path.stem] = BundledModel(name=path.stem, fallback=False, variants=(variant,))
    return tuple(found.values())


def _bundled(read: ReadModel, directory: Path | None, known: dict[str, Path]) -> BundledModel:
    return BundledModel(
        name=read.model.name,
        fallback=read.model.fallback,
        variants=tuple(
            BundledVariant(
                file=_unique_name(variant, directory, known),
                when=when,
                needs=needs.backends,
                backend=None if variant.backend is None else variant.backend.target,
            )
            for variant, needs, when in zip(read.model.variants, read.needs, read.whens, strict=True)
        ),
    )


def _unique_name(variant: ModelVariant, directory: Path | None, known: dict[str, Path]) -> str:
    path = Path(os.path.abspath(variant.path))  # noqa: PTH100  (without "..", and links stay as they are)
    name = _name_below(path, directory) or variant.file.target
    if known.setdefault(name, path) != path:
        problem = Diagnostic(
            code="cannot-carry",
            message=f"a bundle cannot carry two files called {name!r}: {known[name]} and {path}",
            spans=(variant.span,),
            help="put the files below the directory of the project file, or rename one of them",
        )
        raise ModelError(diagnostics=(problem,))
    return name


def _name_below(path: Path, directory: Path | None) -> str | None:
    """Return the name of a file below a directory; None if it lies elsewhere."""
    is_below = directory is not None and path.is_relative_to(directory)
    return path.relative_to(directory).as_posix() if directory and is_below else None
