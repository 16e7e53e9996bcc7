"""`Models`: models that an application hands to engines itself, without a program."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from etconfig.app.configuring.several_programs import SeveralPrograms
from etconfig.app.configuring.targets import find_installation
from etconfig.base.parameters import AnyPath, as_path, check_type
from etconfig.base.source_characters import find_unprintable
from etconfig.diagnostics import Diagnostic, Span
from etconfig.errors import DocumentError, ModelError, PluginError
from etconfig.profile.names import NAME_RULES, is_name_of
from etconfig.report.has_view import HasView
from etconfig.report.model import Table, View, count_text, shown_names
from etconfig.resolver.deciding.program_check import unknown_model

if TYPE_CHECKING:
    from etconfig.app.configuring.targets import Delegating
    from etconfig.app.installation.installation import Installation
    from etconfig.base.provenance import Sourced
    from etconfig.models.catalog import ModelCatalog
    from etconfig.profile.profile import Reference
    from etconfig.schema.spec import BackendSpec

BackendsOfModels: TypeAlias = "Mapping[str, str | Sequence[str]]"
"""The id of the backend of each model, by the model's name, or a list of ids."""

_EXPECTED = 'backends by model, as {"detector": "OnnxRuntimeBackend"}, or a path of a file of models'


class Models(HasView):
    """Models that engines run without a program, each with the backends that have options for it.

    It takes the place of a program: everywhere that a program's methods get options, these models do,
    under their names. Profiles spell them as methods: `[methods.detector.options.OnnxRuntimeBackend]`.

    Example:
        >>> models = etconfig.Models({"detector": "ReferenceCpuBackend"})
        >>> models.method_names
        ('detector',)
        >>> overrides = {"detector:ReferenceCpuBackend.num_threads": 2}
        >>> etconfig.resolve(models, overrides=overrides).options_for("detector").num_threads
        2

    Args:
        backends: The id of the backend of each model, by the model's name, or a list of ids.
        installation: The plugins, profiles and project file; by default those found from the current
            directory.

    Attributes:
        files: The files of models, by name, where they are known.

    Raises:
        TypeError: `backends` is not such a mapping, or `installation` is not an installation.
        ValueError: there is no model, a model has no backend or one twice, or its name cannot be a model's.
    """

    def __init__(self, backends: BackendsOfModels, installation: Installation | None = None) -> None:
        check_type("models", backends, Mapping, _EXPECTED)
        if not backends:
            raise ValueError(f"models: expected {_EXPECTED}, given no model")
        self._backends = {name: _checked(name, ids) for name, ids in backends.items()}
        self._installation = find_installation(installation)
        self._path: str | None = None
        self._references: Mapping[str, Sequence[Reference]] = {}
        self.files: Mapping[str, Path] = {}

    @classmethod
    def read(cls, path: AnyPath, installation: Installation | None = None) -> Models:
        """Return the models of a file that engines run: all with `backends`.

        Args:
            path: A file of models, or a project file.
            installation: As for `Models`.

        Raises:
            DocumentError: the file cannot be read.
            ProfileError: a table of models is malformed; the error has every problem.
            ModelError: no model of the file has `backends`.
            TypeError: an argument is of a wrong type.
        """
        from etconfig.app.installation.model_catalog import catalog_of_file  # most models are given in code

        path, installation = as_path("path", path), find_installation(installation)
        try:
            catalog = catalog_of_file(path, installation.fact_registry)
        except DocumentError as error:
            raise _not_a_table(path, error) from error
        found = cls.of_catalog(catalog, installation)
        if found is None:
            raise ModelError(diagnostics=(_no_models(path),))
        found._path = str(path)
        return found

    @classmethod
    def of_catalog(cls, catalog: ModelCatalog, installation: Installation) -> Models | None:
        """Return the models of a catalog that engines run; None if there are none."""
        backends = {model.name: tuple(r.target for r in model.backends) for model in catalog.of_engines}
        if not backends:
            return None
        found = cls(backends, installation)
        found._references = {model.name: model.backends for model in catalog.of_engines}
        found.files = {model.name: model.path for model in catalog.of_engines if model.path is not None}
        return found

    @property
    def installation(self) -> Installation:
        """The plugins, profiles and project file."""
        return self._installation

    @property
    def path(self) -> str | None:
        """The file that they were read from, or None."""
        return self._path

    @property
    def method_names(self) -> tuple[str, ...]:
        """The names of the models, which take the place of methods."""
        return tuple(self._backends)

    @property
    def model_names(self) -> tuple[str, ...]:
        """The same: none of them is a method of a program."""
        return self.method_names

    def backends(self, method: str) -> tuple[str, ...]:
        """Return the ids of the backends of a model.

        Raises:
            ModelError: there is no such model; the error suggests one with nearly the name.
        """
        if method not in self._backends:
            raise ModelError(diagnostics=(unknown_model(method, self.method_names),))
        return self._backends[method]

    def _model_needing(self, backend: str) -> str:
        """Return the first model of a backend, with its place in a file, for messages; empty without one."""
        for name, ids in self._backends.items():
            if backend in ids:
                references = (each for each in self._references.get(name, ()) if each.target == backend)
                return f"model {name!r}{''.join(f' ({each.span.place})' for each in references)}"
        return ""

    def program_values(self, method: str, spec: BackendSpec) -> Mapping[str, Sourced[object]]:
        """Return no values: nothing is fixed ahead of time."""
        return {}

    def __repr__(self) -> str:
        return f"<Models: {shown_names(self._backends)}>"

    def _view(self) -> View:
        rows = [(name, ", ".join(ids)) for name, ids in self._backends.items()]
        table = Table(caption="", headers=("MODEL", "BACKENDS"), rows=rows)
        return View(title=f"Models: {count_text(len(rows), 'model')}", tables=(table,))


def engines_for(installation: Installation, model: Path) -> list[str]:
    """Return the ids of the installed backends whose engines take the file of a model."""
    found = []
    for backend in installation.backend_ids:
        try:
            spec = installation.plugins.backend_spec(backend)
        except PluginError:  # `etconfig doctor` reports it
            continue
        if spec.runner is not None and model.suffix in spec.model_files:
            found.append(backend)
    return found


def model_in_file(path: Path, installation: Installation, backend: str | None = None) -> Models | None:
    """Return the model in a file that an engine runs; None if no installed backend takes such a file.

    It has the name of the file if the project file declares a model of that name, else `model`.

    Args:
        path: The file.
        installation: The plugins, profiles and project file.
        backend: The id of the backend whose engine runs it, if several installed ones do.

    Raises:
        ModelError: several installed backends run such files.
        ConfigError: the models of the project file cannot be read.
    """
    backends = [backend] if backend else engines_for(installation, path)
    if not backends:
        return None
    declared = models_of_file(installation)
    is_declared = declared is not None and path.stem in declared.method_names
    if declared is not None and is_declared:
        backends = [each for each in backends if each in declared.backends(path.stem)] or backends
    if len(backends) > 1:
        message = f"several installed backends run {path.name}: {', '.join(backends)}"
        help = (
            f'write [model.{path.stem}] with backends = ["{backends[0]}"] in the project file; '
            f"for inspect, --backend {backends[0]} suffices"
        )
        raise ModelError(diagnostics=(Diagnostic(code="unknown-model", message=message, help=help),))
    name = path.stem if is_declared else "model"
    found = Models({name: backends[0]}, installation)
    found.files = {name: path}
    return found


def models_of_file(installation: Installation) -> Models | None:
    """Return the models of the project file that engines run; None if there are none.

    Raises:
        ConfigError: the models cannot be read.
    """
    if not installation.may_declare_models:
        return None
    found = Models.of_catalog(installation.models, installation)
    if found is not None:
        found._path = str(installation.project_path)
    return found


def with_models(
    program: Delegating | None,
    models: Models | BackendsOfModels | AnyPath,
    installation: Installation | None = None,
) -> Delegating:
    """Return models in any form, together with a program if there is one.

    Raises:
        ConfigError: the file of models is wrong, or a model has the name of a method.
        TypeError, ValueError: as for `Models`.
    """
    if isinstance(models, Models):
        given = models
    elif isinstance(models, (str, os.PathLike)):
        given = Models.read(models, find_installation(installation, program))
    else:
        given = Models(models, find_installation(installation, program))
    return given if program is None else SeveralPrograms.joined((program, given))


def _not_a_table(path: Path, error: DocumentError) -> DocumentError:
    """Return the error of a file that is not TOML; if it has another ending, it is rather a model itself."""
    if path.suffix in ("", ".toml") or not path.is_file():
        return error
    problem = Diagnostic(
        code="invalid-toml",
        message=f"{path} is not a TOML file of models",
        spans=(Span(file=str(path)),),
        help='write [model.NAME] with backends = ["OnnxRuntimeBackend"] in a .toml file, and give that; '
        "the model's own file is an argument of build()",
    )
    return DocumentError(diagnostics=(problem,))


def model_file_problem(path: Path) -> Diagnostic | None:
    """Return the problem of a file that should be TOML and is a model of an engine; None for other files."""
    from etconfig.program.identify import HEAD_BYTES, recognize_engine_model

    if not path.is_file():
        return None
    with path.open("rb") as file:
        found = recognize_engine_model(file.read(HEAD_BYTES))
    if found is None:
        return None
    message = f"{path} is {found[0]}, not TOML"
    return Diagnostic(code="invalid-toml", message=message, spans=(Span(file=str(path)),), help=found[1])


def _no_models(path: Path) -> Diagnostic:
    return Diagnostic(
        code="unknown-model",
        message=f"{path} declares no model that an engine runs",
        spans=(Span(file=str(path)),),
        help='write backends = ["OnnxRuntimeBackend"] below [model.NAME]',
    )


def _checked(name: Any, ids: Any) -> tuple[str, ...]:
    """Return the backends of one model. Raises TypeError, ValueError."""
    check_type("models", name, str, _EXPECTED)
    if not is_name_of("instance", name):
        raise ValueError(f"models: {name!r} is not a name; {NAME_RULES['model']}")
    unseen = find_unprintable(name)
    if unseen is not None:
        raise ValueError(f"models: the name {name!a} contains the invisible character {unseen}; retype it")
    if not isinstance(ids, (str, Sequence)):
        _refuse(name, type(ids).__name__)
    found = (ids,) if isinstance(ids, str) else tuple(ids)
    for each in found:
        if not isinstance(each, str):
            _refuse(name, type(each).__name__)
    if not found:
        raise ValueError(f"models: {name!r} has no backend; expected {_EXPECTED}")
    if len({*found}) < len(found):
        raise ValueError(f"models: {name!r} has a backend twice; name each once")
    return found


def _refuse(name: str, given: str) -> NoReturn:
    raise TypeError(f"models: expected {_EXPECTED}, given {given} for {name!r}")
