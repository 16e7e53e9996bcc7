"""`ModelCatalog`: models by name, each with its variants, or with the backends that have options for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from pathlib import Path

from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic, Span, nearest
from etconfig.errors import ModelError
from etconfig.expression import Expression
from etconfig.profile.profile import Reference


@record(frozen=True, kw_only=True)
class ModelVariant:
    """One file of a model: a program, or a file or directory that an engine runs.

    Attributes:
        number: Its place among the variants, from 1.
        file: The file, as written: relative to the document.
        path: The path of the file.
        backend: The id of the backend whose engine runs it; None for a program.
        when: The condition under which it may be selected; None if it always may.
        data: The data files that the document names, as written; None if it leaves them to etconfig.
        data_paths: Their paths.
        fits_margin: The share of its need of memory that the device must have besides it; None if
            it may be selected whether it fits or not.
        memory_bytes: The need of memory that the document declares; None if it is estimated.
        size_bytes: The size that the file must have; None for any.
        sha256: The hash that the file must have, in hexadecimal; None for any.
        source: The URL that it comes from. Nothing is fetched.
    """

    number: int
    file: Reference
    path: Path
    backend: Reference | None = None
    when: Expression | None = None
    data: tuple[Reference, ...] | None = None
    data_paths: tuple[Path, ...] = ()
    fits_margin: float | None = None
    memory_bytes: int | None = None
    size_bytes: int | None = None
    sha256: str | None = None
    source: str | None = None

    @property
    def span(self) -> Span:
        """The place of its file's name in the document."""
        return self.file.span

    def __str__(self) -> str:
        return self.file.target


@record(frozen=True, kw_only=True)
class CatalogModel:
    """A model of a catalog.

    Attributes:
        name: Its name.
        fallback: True if a variant whose load fails hands over to the next one.
        variants: The variants; the first one that suits a device is selected. Of a model with `backends` and
            a `file`, each backend is a variant; without a file, there is none.
        find_span: Finds the place of its name.
        backends: The ids of the backends whose engines run it, each once; empty if all variants are programs.
    """

    name: str
    fallback: bool
    variants: tuple[ModelVariant, ...]
    find_span: Callable[[], Span] = field(compare=False, repr=False)
    backends: tuple[Reference, ...] = ()

    @property
    def span(self) -> Span:
        """The place of its name in the document."""
        return self.find_span()

    @property
    def path(self) -> Path | None:
        """The one file that its engines run; None if there are several, or the document does not say."""
        paths = {each.path for each in self.variants if each.backend is not None}
        return paths.pop() if len(paths) == 1 else None


@record(frozen=True)
class ModelCatalog:
    """Models by name.

    Attributes:
        models: The models, in the order of their documents.
    """

    models: Mapping[str, CatalogModel]

    @property
    def conditions(self) -> tuple[Expression, ...]:
        """The conditions of all variants."""
        return tuple(v.when for model in self for v in model.variants if v.when is not None)

    @property
    def with_variants(self) -> ModelCatalog:
        """The models with files to select from."""
        return ModelCatalog({name: model for name, model in self.models.items() if model.variants})

    @property
    def of_engines(self) -> ModelCatalog:
        """The models of which some variants, or all, need an engine without a program."""
        return ModelCatalog({name: model for name, model in self.models.items() if model.backends})

    def __iter__(self) -> Iterator[CatalogModel]:
        return iter(self.models.values())

    def __len__(self) -> int:
        return len(self.models)

    def find(self, name: str) -> CatalogModel:
        """Return the model of this name.

        Raises:
            ModelError: there is none; the error suggests one with nearly the name.
        """
        if name not in self.models:
            raise ModelError(diagnostics=(self._unknown(name),))
        return self.models[name]

    def find_selectable(self, name: str) -> CatalogModel:
        """Return the model of this name, which has variants.

        Raises:
            ModelError: there is none; or its table names backends and no file.
        """
        model = self.find(name)
        if not model.variants:
            ids = ", ".join(each.target for each in model.backends)
            problem = Diagnostic(
                code="no-model-variant",
                message=f"model {name!r} has no variants: {ids} runs it without a program",
                spans=(model.span,),
                help=f"write its file = '...', or build it in Python: "
                f"etconfig.resolve(models=...).build({name!r}, ...)",
            )
            raise ModelError(diagnostics=(problem,))
        return model

    def _unknown(self, name: str) -> Diagnostic:
        span = Span(file="model", length=max(1, len(name)), text=name)
        if not self.models:
            help = "declare [model.NAME] in the project file, or name a file of models with --models"
            return Diagnostic(
                code="unknown-model", message=f"there is no model {name!r}", spans=(span,), help=help
            )
        guess = nearest(name, self.models)
        return Diagnostic(
            code="unknown-model",
            message=f"there is no model {name!r}",
            spans=(span,),
            notes=(f"models are {', '.join(self.models)}",),
            help=f"did you mean {guess!r}?" if guess else "write one of these names, or declare the model",
        )


def join_catalogs(catalogs: Iterable[ModelCatalog]) -> ModelCatalog:
    """Return one catalog with the models of several documents.

    Raises:
        ModelError: two documents declare a model of one name; the error has all of these.
    """
    models: dict[str, CatalogModel] = {}
    problems: list[Diagnostic] = []
    for model in (model for catalog in catalogs for model in catalog):
        if model.name in models:
            problems.append(_duplicate(models[model.name], model))
        models.setdefault(model.name, model)
    if problems:
        raise ModelError(diagnostics=tuple(problems))
    return ModelCatalog(models)


def _duplicate(first: CatalogModel, second: CatalogModel) -> Diagnostic:
    return Diagnostic(
        code="duplicate-model",
        message=f"model {second.name!r} is declared twice",
        spans=(second.span, first.span),
        help="rename one of them, or write all variants under one header",
    )
