"""`load_model`: select and load a variant of a model; where that is declared, fall back to the next one."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from etconfig.app.configuring.configuration import override_layer, resolve
from etconfig.app.configuring.targets import find_installation
from etconfig.app.programs.api import load_program
from etconfig.app.programs.executors import choose_executor, executor_with_options
from etconfig.app.programs.loaded_model import FailedLoad, LoadedModel, ModelReport
from etconfig.app.programs.model_choice import model_request
from etconfig.app.programs.model_needs import read_needs
from etconfig.base.parameters import AnyPath, check_type
from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic
from etconfig.diagnostics.escape import escape_line
from etconfig.errors import (
    EtconfigError,
    ExecutionError,
    MethodNotFoundError,
    ModelError,
    ModelLoadError,
    PluginError,
    ProgramError,
)
from etconfig.facts.facts_by_hand import FactOverrides
from etconfig.facts.sheet import FactSheet
from etconfig.models.catalog import CatalogModel
from etconfig.models.variant_selection import ModelChoice

if TYPE_CHECKING:
    from etconfig.app.installation.installation import Installation
    from etconfig.profile.layer import Layer
    from etconfig.resolver.compiling.override_forms import Overrides

_LOG = logging.getLogger("etconfig")

_LOAD_FAILURES = (ProgramError, ExecutionError, PluginError)
"""The errors of a load that fails. Others, such as a wrong option, are mistakes of the caller."""


def load_model(
    name: str,
    *,
    methods: Sequence[str] | None = None,
    models: AnyPath | None = None,
    profile: AnyPath | None = None,
    facts: FactSheet | None = None,
    fact_overrides: FactOverrides | None = None,
    overrides: Overrides | None = None,
    executor: str | None = None,
    executor_options: Mapping[str, object] | None = None,
    installation: Installation | None = None,
    share_memory_arenas: bool = False,
) -> LoadedModel:
    """Select the variant of a model for a device, resolve its arguments, and load its methods.

    If a load fails, that is the error. Only if the model declares `fallback = true`, the next variant that
    suits the device takes over. That is never silent: a warning is logged by `etconfig`, and
    `LoadedModel.report` has what was asked for, what failed with which code, and what runs now.

    Example:
        >>> with etconfig.load_model("digits", models="models.toml") as model:
        ...     (scores,) = model.method("forward").execute([np.zeros((1, 1, 8, 8), np.float32)])
        >>> str(model.report)
        'model digits: digits_portable.pte runs, as asked for'

    Args:
        name: The name of the model: `detector` for `[model.detector]`.
        methods: The methods to load; by default all of the program.
        models: A file of models; by default the models of the project file.
        profile: The profile, as for `resolve`.
        facts: The device, as for `select_model`; arguments are resolved on it, too.
        fact_overrides: Facts set by hand, by name.
        overrides: Options that win over all others, as for `resolve`. Those of a backend that only other
            variants delegate to do not count.
        executor: The executor that runs the program; by default the project file's, else `numpy`.
        executor_options: Options of the executor, by name.
        installation: Plugins, profiles and project file; by default those found from the current directory.
        share_memory_arenas: Load all methods into one set of arenas, as for `load_program`.

    Returns:
        The loaded model; close it, or use it as a context manager.

    Raises:
        ModelError: there is no such model, no variant suits the device, or an engine runs the selected one.
        ConfigError: the configuration is wrong; no other variant is tried.
        ProgramError, ExecutionError, PluginError: the load failed, and the model has no fallback.
        ModelLoadError: the model has a fallback, and the load of each variant that suits the device failed.
        MethodNotFoundError: the program lacks one of the methods; no other variant is tried.
        TypeError: an argument is of a wrong type.
    """
    if methods is not None:
        _check_methods(methods)
    installation = find_installation(installation)
    chosen_executor = choose_executor(installation, executor)
    executor_with_options(installation, chosen_executor, executor_options)  # before any variant is blamed
    request = model_request(
        name,
        models=models,
        facts=facts,
        fact_overrides=fact_overrides,
        executor=chosen_executor,
        installation=installation,
    )
    loading = _Loading(
        model=request.model,
        methods=None if methods is None else tuple(methods),
        profile=profile,
        device=request.device,
        fact_overrides=fact_overrides,
        overrides=override_layer(installation, overrides),
        executor=chosen_executor,
        executor_options=executor_options,
        installation=installation,
        share_memory_arenas=share_memory_arenas,
    )
    return loading.load(request.choose())


def _check_methods(methods: Sequence[object]) -> None:
    expected = "a list of names of methods"
    check_type("methods", methods, Sequence, expected)
    if isinstance(methods, str):  # its characters would be taken for names
        raise TypeError(f"methods: expected {expected}, given one str")
    for index, each in enumerate(methods):
        check_type(f"methods[{index}]", each, str, "the name of a method")


@record(frozen=True, kw_only=True)
class _Loading:
    """The arguments of `load_model` that hold for every variant."""

    model: CatalogModel
    methods: tuple[str, ...] | None
    profile: AnyPath | None
    device: FactSheet
    fact_overrides: FactOverrides | None
    overrides: Layer
    executor: str
    executor_options: Mapping[str, object] | None
    installation: Installation
    share_memory_arenas: bool

    def load(self, choice: ModelChoice) -> LoadedModel:
        """Load the chosen variant, or one after it. Raises as `load_model`."""
        failed: list[FailedLoad] = []
        current = choice
        while True:
            failures = _with_unreadable(current, failed, before=current.variant.number)
            asked_for = failures[0].variant if failures else current.variant
            report = ModelReport(
                model=choice.name, asked_for=asked_for, failures=failures, running=current.variant
            )
            try:
                loaded = self._load_variant(current, report)
            except MethodNotFoundError:  # a mistake of the caller, and no failed load
                raise
            except _LOAD_FAILURES as error:
                if not choice.fallback:
                    raise
                failed.append(FailedLoad(variant=current.variant, error=error))
                following = current.next(f"{error.message} [{failed[-1].code}]")
                if following is None:
                    raise _all_failed(choice.name, _with_unreadable(current, failed)) from error
                current = following
            else:
                if report.is_fallback:
                    _LOG.warning("%s", escape_line(str(report)))
                return loaded

    def _load_variant(self, choice: ModelChoice, report: ModelReport) -> LoadedModel:
        if choice.variant.backend is not None:
            raise ModelError(diagnostics=(_is_of_engine(choice, choice.variant.backend.target),))
        with ExitStack() as resources:
            program = load_program(
                choice.variant.path,
                data=choice.needs.data,
                executor=self.executor,
                executor_options=self.executor_options,
                installation=self.installation,
                share_memory_arenas=self.share_memory_arenas,
            )
            resources.enter_context(program)
            names = program.method_names if self.methods is None else self.methods
            for name in names:
                program.metadata(name)  # unknown names are refused before anything is resolved
            resolution = resolve(
                program,
                profile=self.profile,
                facts=self.device,
                fact_overrides=self.fact_overrides,
                overrides=self._overrides_for(choice.needs.backends),
            )
            loaded = {
                name: resources.enter_context(program.load_method(name, resolution.arguments(name)))
                for name in names
            }
            return LoadedModel(choice, report, program, resolution, loaded, resources.pop_all())

    def _overrides_for(self, own: Sequence[str]) -> Layer:
        """Leave out the options of backends that only other variants delegate to."""
        assignments = self.overrides.assignments
        if all(each.path.backend in own for each in assignments):
            return self.overrides  # no other program needs to be read
        others = _all_backends(self.model) - set(own)
        return replace(
            self.overrides, assignments=tuple(e for e in assignments if e.path.backend not in others)
        )


def _is_of_engine(choice: ModelChoice, backend: str) -> Diagnostic:
    variant = f"variant {choice.variant.number} of model {choice.name!r}"
    return Diagnostic(
        code="no-model-variant",
        message=f"{variant} is not a program: {backend} runs it",
        spans=(choice.variant.span,),
        help="select it with etconfig.select_model, and build it: "
        f"etconfig.resolve(models=...).build({choice.name!r}, choice.variant.path, backend={backend!r})",
    )


def _with_unreadable(
    choice: ModelChoice, failed: Sequence[FailedLoad], before: int | None = None
) -> tuple[FailedLoad, ...]:
    """Return failed loads in the order of the variants, with the programs that cannot be read.

    Args:
        choice: The choice, whose rejected variants have the programs that cannot be read.
        failed: The loads that were tried.
        before: The number of a variant: later ones are left out.
    """
    unreadable = [
        FailedLoad(variant=each.variant, error=each.error)
        for each in choice.rejected
        if each.error is not None and (before is None or each.variant.number < before)
    ]
    return tuple(sorted((*failed, *unreadable), key=lambda each: each.variant.number))


def _all_backends(model: CatalogModel) -> frozenset[str]:
    """Return the backends of all variants whose programs can be read, whether they suit the device or not."""
    backends: set[str] = set()
    for variant in model.variants:
        with suppress(ProgramError):
            backends.update(read_needs(variant).backends)
    return frozenset(backends)


def _all_failed(model: str, failures: Sequence[FailedLoad]) -> EtconfigError:
    return ModelLoadError(
        model=model,
        failures=tuple((str(each.variant), each.code, each.error.message) for each in failures),
        help=failures[-1].error.help,
    )
