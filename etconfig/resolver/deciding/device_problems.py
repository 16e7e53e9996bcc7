"""Problems of resolved options on the device that they were resolved for, as backends report them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from etconfig.diagnostics import Diagnostic, Severity
from etconfig.diagnostics.error_text import error_text
from etconfig.errors import PluginCallError
from etconfig.profile.quirks import quirk_warnings
from etconfig.resolver.deciding.arguments import Arguments, BackendArguments, instance_label
from etconfig.resolver.deciding.resolution import Resolution


def verify_on_device(resolution: Resolution, facts: Mapping[str, object]) -> Iterator[Diagnostic]:
    """Yield what the device excludes, such as a provider that its engine does not have, and its quirks.

    Args:
        resolution: The options.
        facts: The values of the device's known facts by name, even if no option depends on them.

    Raises:
        PluginCallError: a backend's `verify_on_device` failed, or returned something else than sentences.
    """
    found: dict[tuple[str, tuple[str, ...]], Diagnostic] = {}
    for arguments in resolution:
        for resolved in arguments.backends.values():
            for problem in _problems(arguments, resolved, facts):
                found.setdefault((problem.message, tuple(span.place for span in problem.spans)), problem)
    yield from found.values()
    backends = dict.fromkeys(backend for arguments in resolution for backend in arguments.backends)
    yield from quirk_warnings(backends, resolution.facts.values)


def notes_on_device(resolution: Resolution) -> tuple[Diagnostic, ...]:
    """Return notes about the device of a resolution: conditions that it does not decide, and excluded values.

    The options are resolved all the same, since the engine decides in the end. So a backend whose
    `verify_on_device` fails is a warning.
    """
    try:
        excluded = [*verify_on_device(resolution, resolution.facts.values)]
    except PluginCallError as error:
        broken = Diagnostic(
            code="broken-plugin", message=error.message, help=error.help, severity=Severity.WARNING
        )
        return (*resolution.undecided, broken)
    return (*resolution.undecided, *(replace(each, severity=Severity.NOTE) for each in excluded))


def _problems(
    arguments: Arguments, resolved: BackendArguments, facts: Mapping[str, object]
) -> Iterator[Diagnostic]:
    verify = resolved.spec.verify_on_device
    if verify is None:
        return
    try:
        texts = [*verify(resolved.options, facts)]
        if not all(isinstance(text, str) for text in texts):
            raise TypeError(f"it returned {texts!r}")
    except Exception as error:
        raise PluginCallError(
            group="etconfig.backends",
            name=resolved.spec.id,
            call="verify_on_device",
            cause=error_text(error),
            help="return sentences, and read only facts that are there",
        ) from error
    for text in texts:
        words = re.findall(r"\w+", text)
        named = [option for option in dict.fromkeys(words) if option in resolved.candidates]
        places = [place for place in map(resolved.place_of, named) if place is not None]
        label = instance_label(arguments.method, arguments.instance)
        yield Diagnostic(
            code="invalid-value",
            message=f"{resolved.spec.id}: {text}",
            spans=tuple(places),
            notes=() if places else (f"for {label}",),
            help="choose another value for this device, or set it for others with [[when]]",
        )
