"""The catalog of models: of the project file and the files that it names, or of a file by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from etconfig.base.parameters import AnyPath, as_path
from etconfig.diagnostics import Diagnostic
from etconfig.errors import ConfigError, ProfileError
from etconfig.expression import ExpressionParser
from etconfig.facts.registry import FactRegistry
from etconfig.models.catalog import ModelCatalog, join_catalogs
from etconfig.models.reading import parse_models, parse_models_files
from etconfig.profile.document import Document, load_document


def catalog_of_file(path: AnyPath, registry: FactRegistry) -> ModelCatalog:
    """Return the models of a file.

    Raises:
        DocumentError: the file cannot be read.
        ProfileError: a table of models is malformed; the error has every problem.
        TypeError: `path` is not a path.
    """
    return parse_models(load_document(as_path("models", path)), ExpressionParser(registry))


def catalog_of_project(
    document: Document | None, registry: FactRegistry, texts: Mapping[str, str] | None = None
) -> ModelCatalog:
    """Return the models of a project file and of the files that it names; empty without a project file.

    Args:
        document: The project file.
        registry: The facts that conditions may name.
        texts: Texts that count in place of files, as for `load_document`.

    Raises:
        ProfileError: files cannot be read, or tables of models are malformed; with every problem.
        ModelError: two files declare a model of one name.
    """
    if document is None:
        return ModelCatalog({})
    expressions = ExpressionParser(registry)
    directory = Path() if document.path is None else document.path.parent
    readers: list[Callable[[], ModelCatalog]] = [lambda: parse_models(document, expressions)]
    problems: list[Diagnostic] = []
    try:
        files = parse_models_files(document)
    except ProfileError as error:
        problems.extend(error.diagnostics)
        files = ()
    readers += (partial(_read, directory / each.target, expressions, texts) for each in files)
    catalogs = []
    for read in readers:
        try:
            catalogs.append(read())
        except ConfigError as error:
            problems.extend(error.diagnostics)
    if problems:
        raise ProfileError(diagnostics=tuple(problems))
    return join_catalogs(catalogs)


def _read(path: Path, expressions: ExpressionParser, texts: Mapping[str, str] | None) -> ModelCatalog:
    return parse_models(load_document(path, texts), expressions)
