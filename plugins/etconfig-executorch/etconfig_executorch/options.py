"""Typed options in the form of ExecuTorch's option map, and options without a key in it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from etconfig.plugin.v1 import (
    EXECUTORCH,
    BoundBackend,
    Diagnostic,
    OptionError,
    Scope,
    WireOption,
    wire_options,
)

XNNPACK = "XnnpackBackend"
NUM_THREADS = "num_threads"
"""The XNNPACK option for the number of threads in an instance's pool. The map has no key for it."""
SINGLE_THREADED = "single_threaded"
"""The XNNPACK option for instances without a thread pool. The map has no key for it."""

HANDLED: Mapping[str, frozenset[str]] = {XNNPACK: frozenset({NUM_THREADS, SINGLE_THREADED})}
"""Options that this plugin applies itself, without the map."""


def wire(backends: Mapping[str, BoundBackend]) -> dict[str, list[WireOption]]:
    """Return the options of each backend in the form of the map.

    An option without a key stays with the backend if nobody set it: a recommendation for a plugin of the
    same id is not one for the runtime's own backend.

    Raises:
        OptionError: the map cannot carry some of them; the error lists every problem.
    """
    wired: dict[str, list[WireOption]] = {}
    problems: list[Diagnostic] = []
    for backend, bound in backends.items():
        handled = HANDLED.get(backend, frozenset()) | unasked(bound)
        wired[backend], found = wire_options(backend, bound.options, EXECUTORCH, handled)
        problems += found
    if problems:
        raise OptionError(diagnostics=tuple(problems))
    return wired


def unasked(bound: BoundBackend) -> frozenset[str]:
    """Return the options that the map has no key for and that nobody set."""
    if bound.is_asked_for is None:
        return frozenset()
    infos = bound.options.option_infos()
    return frozenset(
        name for name, info in infos.items() if info.wire.key is None and not bound.is_asked_for(name)
    )


def method_options(options: Sequence[WireOption]) -> list[tuple[str, bool | int | str]]:
    """Return the options to pass when a method is loaded."""
    return [(each.key, each.value) for each in options if each.scope is Scope.METHOD]


def check_room(method: str, backends: Collection[str]) -> None:
    """Check that the map has room for the backends of one method.

    Raises:
        OptionError: it does not.
    """
    if len(backends) > EXECUTORCH.max_backends:
        message = (
            f"{EXECUTORCH.name} has room for {EXECUTORCH.max_backends} backends of one method, and "
            f"{method!r} delegates to {len(backends)}"
        )
        help_text = "export the method for fewer backends, or run it with the numpy executor"
        raise OptionError(diagnostics=(Diagnostic(code="cannot-carry", message=message, help=help_text),))
