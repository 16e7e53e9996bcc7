"""`select_model`: the variant of a model for a device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache, partial

from etconfig.app.configuring.targets import check_facts, find_installation
from etconfig.app.installation.installation import Installation
from etconfig.app.installation.model_catalog import catalog_of_file
from etconfig.app.programs.executors import NUMPY, choose_executor, find_executor
from etconfig.app.programs.model_needs import read_needs
from etconfig.app.programs.runtime_backends import runtime_backends
from etconfig.base.option_path import MODEL_PREFIX
from etconfig.base.parameters import AnyPath, check_type
from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic, Severity
from etconfig.errors import EtconfigError, ModelError, PluginError, ProgramError
from etconfig.facts.facts_by_hand import FactOverrides, source_facts
from etconfig.facts.sheet import FactSheet
from etconfig.models.catalog import CatalogModel, ModelCatalog
from etconfig.models.variant_selection import BACKENDS_FACT, ModelChoice, choose_variant


@record(frozen=True, kw_only=True)
class ModelRequest:
    """A model, and the device to select a variant for.

    Attributes:
        model: The model.
        device: The facts of the device, without facts of the project file or set by hand.
        facts: The facts of the device, with them.
        broken: The errors of the backends whose plugins are broken here, by their ids.
        installation: The plugins, which declare the memory of backends.
    """

    model: CatalogModel
    device: FactSheet
    facts: FactSheet
    broken: Mapping[str, PluginError]
    installation: Installation

    def choose(self) -> ModelChoice:
        """Return the variant for the device. Raises as `select_model`."""
        needs = partial(read_needs, installation=self.installation)
        return choose_variant(self.model, self.facts.values, needs, broken=self.broken)


def select_model(
    name: str,
    *,
    models: AnyPath | None = None,
    facts: FactSheet | None = None,
    fact_overrides: FactOverrides | None = None,
    executor: str | None = None,
    installation: Installation | None = None,
) -> ModelChoice:
    """Return the variant of a model for a device.

    It is the first one whose condition holds and whose needs are met. A variant needs every backend that its
    program delegates to among the fact `runtime.backends`, and the data of the tensors that lie outside the
    program. A condition on facts that are not known does not hold.

    Example:
        >>> choice = etconfig.select_model("digits", models="models.toml")
        >>> choice.variant.path.name
        'digits_portable.pte'
        >>> program = etconfig.load_program(choice.variant.path, data=choice.needs.data)

    Args:
        name: The name of the model: `detector` for `[model.detector]`.
        models: A file of models; by default the models of the project file.
        facts: The device; by default this one, detected now, with the backends that the executor and the
            installed plugins can run. On a sheet without `runtime.backends`, only programs without delegates
            can be selected.
        fact_overrides: Facts set by hand, by name, such as `{"runtime.backends": ["XnnpackBackend"]}`. They
            win over the facts of the project file.
        executor: The executor that will run the program; by default the project file's, else `numpy`.
        installation: Plugins and project file; by default those found from the current directory.

    Returns:
        The variant, why it was selected, and why not the others.

    Raises:
        ModelError: there is no such model, or no variant suits the device; the error says why for each.
        ConfigError: the project file, the file of models or a fact is wrong.
        ProgramError: the program of a variant whose condition holds cannot be read, and the model has no
            fallback.
        UnknownPluginError: no such executor is installed.
        PluginError: a variant lacks only a backend whose plugin is broken, and the model has no fallback.
        TypeError: an argument is of a wrong type.
    """
    return model_request(
        name,
        models=models,
        facts=facts,
        fact_overrides=fact_overrides,
        executor=executor,
        installation=find_installation(installation),
    ).choose()


def model_request(
    name: str,
    *,
    models: AnyPath | None,
    facts: FactSheet | None,
    fact_overrides: FactOverrides | None,
    executor: str | None,
    installation: Installation,
) -> ModelRequest:
    """Return a model and the facts of a device. Arguments and errors as for `select_model`."""
    check_type("name", name, str, "the name of a model")
    if facts is not None:
        check_facts(facts)
    if executor not in (None, NUMPY):
        find_executor(installation, executor)  # a wrong name is refused, even where a sheet has the backends
    model = find_catalog(installation, models).find_selectable(name)
    by_hand = source_facts(fact_overrides, installation.fact_registry)
    device = installation.detect_facts() if facts is None else facts
    known = installation.known_facts(device, by_hand)
    broken: Mapping[str, PluginError] = {}
    if facts is None and not known[BACKENDS_FACT].is_known:
        found = runtime_backends(installation, choose_executor(installation, executor))
        device, broken = found.added_to(device), found.broken
        known = installation.known_facts(device, by_hand)
    return ModelRequest(model=model, device=device, facts=known, broken=broken, installation=installation)


class DeviceVariants:
    """The variant of each model on one device after another, where each file is read once.

    Raises:
        ConfigError: the project file, or the file of models in its place, is wrong.
    """

    def __init__(self, installation: Installation, models: AnyPath | None = None) -> None:
        self._models = find_catalog(installation, models).with_variants
        self._needs = cache(partial(read_needs, installation=installation))

    def on(self, facts: FactSheet) -> tuple[dict[str, str | None], list[Diagnostic]]:
        """Return the file of each model as `model.NAME`, None if it has none, and warnings that say why."""
        found: dict[str, str | None] = {}
        problems: list[Diagnostic] = []
        for model in self._models:
            file = None
            try:
                variant = choose_variant(model, facts.values, self._needs).variant
                file = f"{variant} with {variant.backend.target}" if variant.backend else str(variant)
            except EtconfigError as error:
                problems += (replace(each, severity=Severity.WARNING) for each in _why_none(model, error))
            found[f"{MODEL_PREFIX}{model.name}"] = file
        return found, problems


def _why_none(model: CatalogModel, error: EtconfigError) -> tuple[Diagnostic, ...]:
    if isinstance(error, ModelError):
        return error.diagnostics
    code = "unreadable-file" if isinstance(error, ProgramError) else "broken-plugin"
    message = f"model {model.name!r} has no variant: {error.message}"
    return (Diagnostic(code=code, message=message, spans=(model.span,), help=error.help),)


def find_catalog(installation: Installation, models: AnyPath | None) -> ModelCatalog:
    """Return the models of a file, or without a file the models of the project file.

    Raises:
        ConfigError: a file cannot be read, or is wrong.
        TypeError: `models` is not a path.
    """
    if models is None:
        return installation.models
    return catalog_of_file(models, installation.fact_registry)
