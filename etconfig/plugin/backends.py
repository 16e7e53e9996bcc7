"""Check the backend that a plugin declares, and create it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from etconfig.backend import Availability, Backend, Capabilities
from etconfig.base.records import record
from etconfig.errors import BackendUnavailableError
from etconfig.plugin.api_version import CURRENT, negotiate
from etconfig.plugin.call_check import call_problem, code_place
from etconfig.plugin.entry_points import EntryPoint
from etconfig.plugin.failure import load_error
from etconfig.plugin.loader import guarded
from etconfig.schema.spec import Advice, BackendSpec


def _unchanged(backend: Backend[Any, Any]) -> Backend[Any, Any]:
    return backend


@record(frozen=True, kw_only=True)
class BackendContract:
    """The demands of one version of the plugin API on backends.

    Attributes:
        calls: The methods that the core calls, with the names of their arguments, which are passed by
            position.
        adapt: Turns a backend of this version into one of the next.
    """

    calls: Mapping[str, tuple[str, ...]]
    adapt: Callable[[Backend[Any, Any]], Backend[Any, Any]] = _unchanged

    def definition(self, method: str) -> str:
        """Return the line that defines a method in a plugin."""
        return f"def {method}({', '.join(('self', *self.calls.get(method, ())))})"


BACKEND_CONTRACTS: Mapping[int, BackendContract] = {
    1: BackendContract(
        calls={
            "availability": (),
            "init": ("context", "processed", "compile_specs"),
            "execute": ("context", "handle", "args"),
            "update": ("context", "handle", "changed"),
            "effective_options": ("handle",),
            "destroy": ("handle",),
            "native_call": ("handle",),
        }
    ),
}
"""The contract of each version. A new version is added here, and the one before it gets an `adapt`."""


def check_spec(entry: EntryPoint, spec: BackendSpec) -> None:
    """Check that `spec` is the declaration that `entry` announces, and that the core can call its functions.

    Raises:
        PluginLoadError: it cannot.
    """
    if spec.id != entry.name:
        cause = f"its entry point is named {entry.name!r}, but its spec has the id {spec.id!r}"
        fix = "name both after the id that programs use; a module of several backends looks at request.name"
        raise load_error(entry, cause, fix)
    if not isinstance(spec.capabilities, (Capabilities, type(None))):
        cause = f"its spec's capabilities are a {type(spec.capabilities).__name__}"
        raise load_error(entry, cause, "give an etconfig.plugin.v1.Capabilities")
    _check_callable(entry, spec.factory, "factory", ())
    _check_callable(entry, spec.recommend, "recommend", ("facts",))
    _check_advice(entry, spec.advice)


def make_backend(entry: EntryPoint, spec: BackendSpec) -> Backend[Any, Any]:
    """Return a new backend that can run on this device.

    Raises:
        PluginLoadError: the factory fails, or its result does not fulfill the contract.
        BackendUnavailableError: the backend cannot run here, or is schema-only.
    """
    if spec.factory is None and spec.build is not None:
        reason = f"{entry.source} builds objects of an engine, and has no implementation for delegates"
        help_text = "give it models of their own, with models= or --models, and call build of the result"
        raise BackendUnavailableError(backend=spec.id, reason=reason, help=help_text)
    if spec.factory is None:
        reason = f"{entry.source} only declares its options and has no implementation"
        help_text = (
            "use an executor whose runtime has it, such as 'executorch' of etconfig-executorch; "
            "else resolve or pack for the device that has it"
        )
        raise BackendUnavailableError(backend=spec.id, reason=reason, help=help_text)
    version = negotiate(spec.api)
    contract = BACKEND_CONTRACTS[version]
    # Python would refuse a class that lacks a method, too, but without file and line
    missing = sorted(getattr(spec.factory, "__abstractmethods__", ()))
    if missing and isinstance(spec.factory, type):
        cause = f"{code_place(spec.factory)}{spec.factory.__name__} lacks {missing[0]}, which a Backend needs"
        raise load_error(entry, cause, f"write: {contract.definition(missing[0])}", code=spec.factory)
    backend = guarded(entry, "its factory", spec.factory)
    if not isinstance(backend, Backend):
        made = type(backend).__name__
        cause = f"{code_place(spec.factory)}its factory made an object of {made}, which is not a Backend"
        raise load_error(entry, cause, "derive the class from etconfig.plugin.v1.Backend", code=spec.factory)
    _check_calls(entry, backend, contract)
    _check_availability(entry, spec, backend)
    for older in range(version, CURRENT):
        backend = BACKEND_CONTRACTS[older].adapt(backend)
    return backend


def _check_calls(entry: EntryPoint, backend: Backend[Any, Any], contract: BackendContract) -> None:
    for method, arguments in contract.calls.items():
        problem = call_problem(getattr(backend, method), f"{type(backend).__name__}.{method}", arguments)
        if problem is not None:
            fix = f"write: {contract.definition(method)}"
            raise load_error(entry, problem, fix, code=getattr(backend, method))


def _check_availability(entry: EntryPoint, spec: BackendSpec, backend: Backend[Any, Any]) -> None:
    availability: object = guarded(entry, "its availability()", backend.availability)
    if not isinstance(availability, Availability):
        cause = (
            f"{code_place(backend.availability)}its availability() returned a {type(availability).__name__}"
        )
        fix = "return Availability.yes() or Availability.no(reason, fix)"
        raise load_error(entry, cause, fix, code=backend.availability)
    if not availability.is_available:
        reason = availability.reason or "it gives no reason"
        raise BackendUnavailableError(backend=spec.id, reason=reason, help=availability.fix)


def _check_advice(entry: EntryPoint, advice: object) -> None:
    entries = advice if isinstance(advice, (list, tuple)) else None
    wrong = [advice] if entries is None else [each for each in entries if not isinstance(each, Advice)]
    if wrong:
        kind = "an Advice" if isinstance(advice, Advice) else f"a {type(wrong[0]).__name__}"
        found = f"is {kind}, not a list of Advice" if entries is None else f"contains {kind}, not only Advice"
        cause = f"its spec's advice {found}"
        raise load_error(entry, cause, 'write: advice=[Advice("OPTION", expr="...")]')


def _check_callable(entry: EntryPoint, function: object, symbol: str, arguments: tuple[str, ...]) -> None:
    if function is not None and not callable(function):
        cause = f"its spec's {symbol} is an object of {type(function).__name__}"
        raise load_error(entry, cause, f"give {symbol} a function, not what the function returns")
    problem = None if function is None else call_problem(function, symbol, arguments)
    if problem is not None:
        fix = f"let {symbol} take the arguments ({', '.join(arguments)})"
        raise load_error(entry, problem, fix, code=function)
