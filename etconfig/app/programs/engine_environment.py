"""`EngineEnvironment`: resolved options as environment variables, for code that starts an engine itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from etconfig.base.plain_data import jsonable
from etconfig.base.provenance import OriginKind
from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic, did_you_mean_backend
from etconfig.errors import OptionError
from etconfig.resolver.deciding.arguments import ANY_METHOD, Arguments
from etconfig.resolver.deciding.resolution import Resolution
from etconfig.schema.coerce import show_value
from etconfig.schema.environment import variable_text

FIXED_ORIGINS = (OriginKind.DEFAULT, OriginKind.PROGRAM)
"""The origins of values that an engine has anyway."""


@record(frozen=True, kw_only=True)
class VariableOption:
    """An option of a model as text.

    Attributes:
        path: Its path, such as `detector:TorchBackend.num_threads`.
        value: Its value.
        origin: The origin of the value.
        reason: Why no variable expresses it; empty if one does.
        variables: The variables that cannot express it, though they are for the option.
    """

    path: str
    value: str
    origin: str
    reason: str = ""
    variables: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.path} = {self.value}, from {self.origin}"

    def is_of(self, path: str) -> bool:
        """Return True if this is an option with a path such as `TorchBackend.num_threads`, of any model."""
        return self.path.rpartition(":")[2] == path

    def to_jsonable(self) -> dict[str, str]:
        """Return it as plain data."""
        found = {"option": self.path, "value": self.value, "origin": self.origin}
        return {**found, "reason": self.reason} if self.reason else found


@record(frozen=True, kw_only=True)
class EngineEnvironment:
    """The environment variables that express options, and the options that none expresses.

    Attributes:
        variables: The text of each variable, by its name.
        options: The options that each variable is for, by its name: one, or equal ones of several models.
        inexpressible: The options that have neither a variable nor their default.
        requested: The values that variables express as plain data, by backend and option.
    """

    variables: Mapping[str, str]
    options: Mapping[str, tuple[VariableOption, ...]]
    inexpressible: tuple[VariableOption, ...]
    requested: Mapping[str, Mapping[str, object]]

    def to_jsonable(self) -> dict[str, object]:
        """Return it as plain data: the output of `etconfig env --shell json`."""
        variables = {
            name: {"text": text, "options": [each.to_jsonable() for each in self.options[name]]}
            for name, text in self.variables.items()
        }
        return {"variables": variables, "inexpressible": [each.to_jsonable() for each in self.inexpressible]}

    def conflicts_with(self, environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """Yield a message and its help for each variable that already has a text of another value."""
        for name, text in self.variables.items():
            if environ.get(name, text) != text:
                option = self.options[name][0]
                yield (
                    f"{name} is already {environ[name]!r}, but {option}, needs {text!r}",
                    f"unset {name}, or give the option the value that you want: --set {option.path}=...",
                )
        for option in self.inexpressible:
            for name in option.variables:
                if name in environ and name not in self.variables:
                    yield (
                        f"{name} is already {environ[name]!r}, but no text of it means {option}",
                        f"unset {name}, or leave the option out",
                    )


def environment_of(
    resolution: Resolution, model: str | None = None, backend: str | None = None
) -> EngineEnvironment:
    """Return the variables for the options of all models, or of one model or one backend.

    Args:
        resolution: The options.
        model: The model or method, as `detector` or `detector@left`; None for all.
        backend: The id of the backend; None for all.

    Raises:
        OptionError: there is no such model or backend, or two options need one variable with two texts.
    """
    variables: dict[str, str] = {}
    options: dict[str, tuple[VariableOption, ...]] = {}
    inexpressible: list[VariableOption] = []
    requested: dict[str, dict[str, object]] = {}
    for arguments, backend_id in _chosen(resolution, model, backend):
        resolved = arguments.backends[backend_id]
        for name, info in resolved.spec.options.option_infos().items():
            value, origin = getattr(resolved.options, name), resolved.origin(name)
            if value is None or origin.kind in FIXED_ORIGINS:
                continue
            path = f"{backend_id}.{name}"
            path = path if arguments.label == ANY_METHOD else f"{arguments.label}:{path}"
            shown = VariableOption(path=path, value=show_value(jsonable(value)), origin=str(origin))
            texts = {variable: variable_text(info, variable, value) for variable in info.env}
            for variable, text in texts.items():
                if text is None:
                    continue
                requested.setdefault(backend_id, {})[name] = jsonable(value)
                if variables.setdefault(variable, text) != text:
                    raise _disagreement(variable, options[variable][0], shown)
                options[variable] = (*options.get(variable, ()), shown)
            if value != info.default and not any(text is not None for text in texts.values()):
                inexpressible.append(_unexpressed(shown, tuple(texts)))
    return EngineEnvironment(
        variables=variables, options=options, inexpressible=tuple(inexpressible), requested=requested
    )


def _chosen(
    resolution: Resolution, model: str | None, backend: str | None
) -> Iterator[tuple[Arguments, str]]:
    if model is None:
        chosen = [*resolution]
    else:
        name, _, instance = model.partition("@")
        chosen = [resolution.arguments(name, instance or None)]
    found = [(arguments, each) for arguments in chosen for each in arguments if backend in (None, each)]
    if backend is not None and not found:
        known = sorted({each for arguments in chosen for each in arguments})
        help = did_you_mean_backend(backend, known) or f"backends here: {', '.join(known) or 'none'}"
        message = f"no {resolution.noun} uses the backend {backend!r}"
        raise OptionError(diagnostics=(Diagnostic(code="not-delegated", message=message, help=help),))
    yield from found


def _unexpressed(shown: VariableOption, variables: tuple[str, ...]) -> VariableOption:
    """Return an option with the reason why no variable expresses its value."""
    reason = (
        f"{' and '.join(variables)} cannot express it" if variables else "the engine reads no variable for it"
    )
    return replace(shown, reason=reason, variables=variables)


def _disagreement(variable: str, one: VariableOption, other: VariableOption) -> OptionError:
    message = f"a process has one {variable}, but {one}, and {other}"
    help = "give both one value, or choose with --model or --backend, and start a process for each"
    return OptionError(diagnostics=(Diagnostic(code="process-scope-conflict", message=message, help=help),))
