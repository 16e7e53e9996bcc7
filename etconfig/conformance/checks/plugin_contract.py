"""Checks of the plugin API: the calls that a plugin accepts, and the API versions that it works with."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from etconfig.backend import Backend
from etconfig.conformance.checks.check import check
from etconfig.conformance.kit.outcomes import CheckFailedError
from etconfig.conformance.process.loading import COSTLY
from etconfig.conformance.subject.subject import Subject
from etconfig.conformance.subject.vendor_plugins import facts_of_vendor
from etconfig.diagnostics import nearest
from etconfig.errors import BackendUnavailableError, PluginLoadError
from etconfig.plugin.api_version import CURRENT
from etconfig.plugin.call_check import code_place
from etconfig.plugin.contributions import BACKEND_HOOK
from etconfig.plugin.culprit import located_cause
from etconfig.plugin.loader import load_plugin


@check(
    "loads", level=0, rests_on=("static-metadata",), prevents="plugins that break at first use", isolated=True
)
def loads(subject: Subject) -> None:
    """The plugin can be imported, and its hook declares the backend in a form that the core understands."""
    try:
        subject.spec  # noqa: B018  # imports the plugin
    except PluginLoadError as error:
        missing = getattr(error.__cause__, "name", None)
        if isinstance(error.__cause__, ModuleNotFoundError) and missing in COSTLY:
            raise CheckFailedError(
                f"{located_cause(error)}; import {missing} only in the ahead-of-time half"
            ) from error
        raise


@check("signature-bind", level=0, rests_on=("loads",), prevents="calls that fail or never happen")
def signature_bind(subject: Subject) -> None:
    """The plugin accepts the core's calls, and no method is a misspelling of one of the contract."""
    factory = subject.spec.factory  # loading checks the calls of the hook, factory and recommend
    facts_of_vendor(subject)
    if factory is None:
        return
    with suppress(BackendUnavailableError):  # raised after all calls were checked
        subject.create_backend()
    kind = type(factory())
    for name, method, meant in _misspelt(kind):
        raise CheckFailedError(
            f"{code_place(method)}{kind.__name__}.{name} is never called, and {kind.__name__} has no "
            f"{meant}; rename it to {meant}, or to a name that is less similar"
        )


@check(
    "api-range",
    level=0,
    rests_on=("loads",),
    prevents="plugins that needlessly refuse newer or older versions of etconfig",
)
def api_range(subject: Subject) -> None:
    """The plugin declares the same backend for every core that its ApiRange allows, and for the next."""
    declared = subject.spec
    options = set(declared.options.option_infos())
    for core in sorted({declared.api.min, CURRENT, CURRENT + 1}):
        request = f"{subject.entry.value}, for a core with plugin API {core},"
        try:
            answer = load_plugin(subject.entry, BACKEND_HOOK, core_api=core)
        except PluginLoadError as error:
            raise CheckFailedError(
                f"{request} fails: {error.cause}; accept every core from plugin API {declared.api.min} on, "
                "newer ones stay compatible"
            ) from error
        missing = sorted(options.difference(answer.options.option_infos()))
        if missing:
            raise CheckFailedError(
                f"{request} does not declare the option {missing[0]}, expected the same options as for "
                f"plugin API {CURRENT}; declare options independently of the core"
            )


@check(
    "deprecation",
    level=0,
    rests_on=("signature-bind", "aot-id-match"),
    prevents="use of names that will be removed",
    isolated=True,
)
def deprecation(subject: Subject) -> None:
    """The plugin uses no deprecated part of etconfig, from its import to the creation of its backend."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        facts_of_vendor(subject)
        subject.programs  # noqa: B018  # loads the vendor's contribution to the kit
        if not subject.is_native:
            with suppress(BackendUnavailableError):
                subject.create_backend()
    for each in caught:
        if issubclass(each.category, DeprecationWarning) and str(each.message).startswith("etconfig."):
            raise CheckFailedError(f"{each.filename}:{each.lineno}: {each.message}")


def _misspelt(kind: type) -> Iterator[tuple[str, Callable[..., Any], str]]:
    """Yield public methods whose names are close to one of the contract that the backend does not define."""
    contract = [name for name in vars(Backend) if not name.startswith("_")]
    inherited = [name for name in contract if getattr(kind, name) is getattr(Backend, name)]
    for name in dir(kind):
        method = getattr(kind, name)
        if name.startswith("_") or name in contract or not callable(method):
            continue
        meant = nearest(name, inherited)
        if meant is not None:
            yield name, method, meant
