"""`apply`: set options on an object of an engine that another library made."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

from etconfig.app.configuring.configuration import resolve
from etconfig.app.configuring.targets import find_installation
from etconfig.app.programs.engine_environment import FIXED_ORIGINS
from etconfig.base.plain_data import jsonable
from etconfig.base.records import record
from etconfig.errors import PluginError
from etconfig.report.has_view import HasView
from etconfig.report.model import Table, View
from etconfig.resolver.deciding.arguments import ANY_METHOD, Arguments
from etconfig.schema.coerce import show_value

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from etconfig.app.configuring.configuration import Settings
    from etconfig.app.installation.installation import Installation
    from etconfig.resolver.deciding.resolution import Resolution


@record(frozen=True, kw_only=True)
class AppliedOptions(HasView):
    """The options that `apply` set on an object, and those that it could not set.

    Attributes:
        backend: The id of the backend.
        label: The model and its instance, or `*`.
        values: The value of each option that something sets or recommends, by name.
        origins: Where each value comes from.
        left_out: Why an option could not be set, by name.
    """

    backend: str
    label: str
    values: Mapping[str, object]
    origins: Mapping[str, str]
    left_out: Mapping[str, str]

    def to_jsonable(self) -> dict[str, object]:
        """Return the record as plain data."""
        plain = {name: jsonable(value) for name, value in self.values.items()}
        own = {"backend": self.backend, "label": self.label, "origins": {**self.origins}}
        return {**own, "values": plain, "left_out": {**self.left_out}}

    def _view(self) -> View:
        rows = [
            (name, show_value(jsonable(value)), "no" if name in self.left_out else "yes", origin, reason)
            for name, value in self.values.items()
            for origin, reason in [(self.origins[name], self.left_out.get(name, ""))]
        ]
        what = self.backend if self.label == ANY_METHOD else f"{self.label}, {self.backend}"
        title = f"Options set for {what}: {len(rows) - len(self.left_out)} of {len(rows)}"
        headers = ("OPTION", "VALUE", "SET", "FROM", "REASON")
        return View(title=title, tables=(Table(headers=headers, rows=rows),))


def apply(
    target: Any,
    /,
    *,
    backend: str | None = None,
    model: str | None = None,
    instance: str | None = None,
    **settings: Unpack[Settings],
) -> AppliedOptions:
    """Set the options that something sets or recommends on an object that another library made.

    Example:
        >>> settings = onnxruntime.SessionOptions()  # doctest: +SKIP
        >>> print(etconfig.apply(settings, profile="board.toml"))  # doctest: +SKIP

    Args:
        target: The object: an `onnxruntime.SessionOptions`, an `openvino.Core`, or the module `torch`.
        backend: The id of the backend; needed only if several can set options on the object.
        model: The model; needed only if several have other options.
        instance: A named instance of it, or None.
        settings: The other arguments of `configure`, such as `profile` and `models`.

    Returns:
        What was set, and what the object does not take, with the reason.

    Raises:
        ConfigError: the configuration is wrong.
        TypeError: no installed backend sets options on such an object.
        ValueError: several backends or models are meant.
        Exception: what the engine itself raises passes through.
    """
    installation = find_installation(settings.get("installation"))
    backend = _backend_of(target, installation) if backend is None else backend
    resolution = resolve(**settings)
    arguments = _arguments(resolution, backend, model, instance)
    resolved = arguments.backends[backend]
    if resolved.spec.apply is None:
        raise TypeError(f"backend: {backend} sets options on no object; its build makes one")
    values = {
        name: value
        for name in resolved.candidates
        if (value := getattr(resolved.options, name)) is not None
        and resolved.origin(name).kind not in FIXED_ORIGINS
    }
    left_out = resolved.spec.apply(resolved.options, target, frozenset(values))
    return AppliedOptions(
        backend=backend,
        label=arguments.label,
        values=values,
        origins={name: str(resolved.origin(name)) for name in values},
        left_out={name: left_out[name] for name in values if name in left_out},
    )


def _backend_of(target: object, installation: Installation) -> str:
    """Return the backend whose engine has made an object. Raises TypeError, ValueError."""
    module = target.__name__ if isinstance(target, ModuleType) else type(target).__module__
    found, known = [], []
    for backend in installation.backend_ids:
        try:
            spec = installation.plugins.backend_spec(backend)
        except PluginError:  # `etconfig doctor` reports it
            continue
        if spec.apply is not None:
            known.append(backend)
            found += [backend] if module.partition(".")[0] in spec.engine else []
    if not found:
        listed = ", ".join(known) or "none is installed"
        raise TypeError(
            f"target: expected an object of an engine, given {type(target).__name__} of {module}; "
            f"backends that set options on objects: {listed}"
        )
    if len(found) > 1:
        raise ValueError(f"backend: name one of {', '.join(found)}")
    return found[0]


def _arguments(resolution: Resolution, backend: str, model: str | None, instance: str | None) -> Arguments:
    """Return the arguments of the model that is meant. Raises OptionError, ValueError."""
    if model is not None:
        resolution.backend_arguments(model, instance, backend)
        return resolution.arguments(model, instance)
    found = [arguments for arguments in resolution if backend in arguments]
    if not found:
        raise ValueError(f'models: none has the backend; pass models={{"NAME": "{backend}"}}')
    first = next((each for each in found if each.method == ANY_METHOD), found[0])
    if first.method != ANY_METHOD and any(each[backend] != first[backend] for each in found):
        raise ValueError(
            f"model: name one of {', '.join(each.label for each in found)}; their options differ"
        )
    return first
