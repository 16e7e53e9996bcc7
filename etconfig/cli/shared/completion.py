"""Shell completion: backends, profiles, methods of the program on the line, option paths and values.

A shell runs it at every press of the Tab key: a plugin, and pydantic with it, is imported only for the
options of a backend that is on the line already. If something is broken, there are no completions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import click

from etconfig.app.installation.installation import Installation
from etconfig.errors import EtconfigError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from etconfig.app.configuring.targets import Delegating
    from etconfig.schema.declaration import OptionInfo

Completer: TypeAlias = Callable[[click.Context, click.Parameter, str], list[str]]
"""click calls it with the context, the parameter, and the text so far."""


def _matching(texts: Callable[[click.Context, str], Iterable[str]]) -> Completer:
    """Return a completer of the texts that begin with the text so far; of none if something is broken."""

    @wraps(texts)
    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
        try:
            found = texts(context, incomplete)
            # the shell puts it on the terminal, so a name with control characters is not offered
            return [text for text in found if text.startswith(incomplete) and text.isprintable()]
        except (EtconfigError, OSError):
            return []

    return complete


@_matching
def complete_backend(context: click.Context, incomplete: str) -> Iterable[str]:
    """Offer the ids of the installed backends."""
    return _installation(context).backend_ids


@_matching
def complete_check(context: click.Context, incomplete: str) -> Iterable[str]:
    """Offer the ids of the checks of the conformance kit."""
    from etconfig.conformance.checks.check_catalog import all_checks

    return [check.id for check in all_checks()]


@_matching
def complete_profile_name(context: click.Context, incomplete: str) -> Iterable[str]:
    """Offer the names of the known profiles."""
    return _installation(context).profiles.names


@_matching
def complete_device(context: click.Context, incomplete: str) -> Iterable[str]:
    """Offer the names of the known devices; their last parts if no name begins with the text so far."""
    from etconfig.facts.known_devices import device_names, short_names

    names = device_names()
    return names if any(name.startswith(incomplete) for name in names) else short_names(names)


@_matching
def complete_model(context: click.Context, incomplete: str) -> Iterable[str]:
    """Offer the models of the file of models on the line, else of the project file."""
    from etconfig.app.programs.model_choice import find_catalog

    return find_catalog(_installation(context), context.params.get("file")).models


@_matching
def complete_method(context: click.Context, incomplete: str) -> Iterable[str]:
    """Offer the methods of the program on the line."""
    return [method for method, _ in _methods(context)]


@_matching
def complete_option_path(context: click.Context, incomplete: str) -> Iterable[str]:
    """Offer option paths, `[METHOD:]BACKEND.OPTION`."""
    return _option_paths(context, incomplete)


@_matching
def complete_assignment(context: click.Context, incomplete: str) -> Iterable[str]:
    """Offer option paths with `=`, and then the values of a boolean or a choice."""
    path, equals, _ = incomplete.partition("=")
    if not equals:
        return [
            text if text.endswith((".", ":")) else text + "=" for text in _option_paths(context, incomplete)
        ]
    _, backend, option = _parts(path)
    info = _options(context, backend).get(option)
    return [] if info is None else [f"{path}={value}" for value in _values(info)]


def complete_profile(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Offer `auto` and the names of profiles; files if none of them fits."""
    try:
        names = ("auto", *_installation(context).profiles.names)
    except (EtconfigError, OSError):
        names = ("auto",)
    from click.shell_completion import CompletionItem

    fitting = (name for name in names if name.startswith(incomplete) and name.isprintable())
    found = [CompletionItem(name) for name in fitting]
    return found or [CompletionItem(incomplete, type="file")]


def _option_paths(context: click.Context, incomplete: str) -> list[str]:
    """Return the options of the backend on the line, or of the only one that fits; else the backends."""
    scope, backend, _ = _parts(incomplete)
    named = scope.removesuffix(":").partition("@")[0]
    methods = _methods(context)
    delegated = [each for method, backends in methods if named in ("", method) for each in backends]
    backends = [
        each
        for each in (dict.fromkeys(delegated) if methods else _installation(context).backend_ids)
        if each.startswith(backend)
    ]
    if "." in incomplete or (len(backends) == 1 and backend):
        chosen = [each for each in backends if each == backend] or backends[:1]
        return [f"{scope}{each}.{option}" for each in chosen for option in _options(context, each)]
    scopes = [] if scope else [f"{method}:" for method, _ in methods]
    return [*scopes, *(f"{scope}{each}." for each in backends)]


def _parts(path: str) -> tuple[str, str, str]:
    """Split a path into the scope with its colon, the backend and the option; missing parts are empty."""
    scope, colon, rest = path.rpartition(":")
    backend, _, option = rest.partition(".")
    return scope + colon, backend, option


def _options(context: click.Context, backend: str) -> dict[str, OptionInfo]:
    installation = _installation(context)
    if backend not in installation.backend_ids:
        return {}
    return dict(installation.plugins.backend_spec(backend).options.option_infos())


def _values(info: OptionInfo) -> Sequence[str]:
    """Return the values of a boolean or a choice."""
    from etconfig.schema.option_type import OptionKind

    if info.type.kind is OptionKind.BOOLEAN:
        return ["true", "false"]
    return [str(choice) for choice in info.type.choices]


def _methods(context: click.Context) -> list[tuple[str, list[str]]]:
    """Return the methods of the program and the models on the line, with the backends of each."""
    from etconfig.app.configuring.default_program import program_by_default
    from etconfig.app.configuring.engine_models import Models

    of_models: list[tuple[str, list[str]]] = []
    found: Delegating | None = None
    models, program = context.params.get("models"), _program(context)
    if isinstance(models, Path):
        found = Models.read(models, _installation(context))
    elif program is None:
        found = program_by_default(_installation(context))
    if found is not None:
        of_models = [(name, list(found.backends(name))) for name in found.method_names]
    if program is None:
        return of_models
    from etconfig.program.program import Verification, open_program

    with open_program(program, verification=Verification.Minimal) as opened:
        of_program = [(name, [d.id for d in opened.plan(name).delegates]) for name in opened.method_names]
    return of_program + of_models


def _program(context: click.Context) -> Path | None:
    """Return the program on the line; if the last option has no value yet, click leaves it in `args`."""
    program = context.params.get("program")
    if isinstance(program, Path):
        return program
    return next((Path(text) for text in context.args if Path(text).is_file()), None)


def _installation(context: click.Context) -> Installation:
    return Installation(Path.cwd(), profile_directories=context.params.get("profile_paths") or ())
