"""`OptionsInForce`: the options of an engine's own object, as requested and as in force."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import Any

from etconfig.base.effective import ComparedOption, EffectiveOption, compare_options
from etconfig.base.plain_data import jsonable
from etconfig.diagnostics.error_text import error_text
from etconfig.errors import EngineError, PluginCallError
from etconfig.report.has_view import HasView
from etconfig.report.model import Table, View, count_text, shown_names, shown_text
from etconfig.schema.coerce import show_value
from etconfig.schema.option_type import OptionKind
from etconfig.schema.options import BackendOptions
from etconfig.schema.spec import BackendSpec

_DIFFERS = {True: "yes", False: "no", None: "unknown"}
_NOT_DECLARED = "its plugin reads nothing back"
_NOT_REPORTED = "the engine does not report it"
_ABSENT = "(absent)"
_LONGEST = 60
"""The most characters of a table that are shown in one cell; a longer one is shown key by key."""


class OptionsInForce(Mapping[str, ComparedOption], HasView):
    """Every option of an object that an engine made: the requested value beside the value in force.

    Attributes:
        label: The model and its instance, such as `detector@left`.
        backend: The id of the backend.
        defaults: The names of the options that nothing sets or recommends.
    """

    def __init__(
        self,
        label: str,
        backend: str,
        options: Mapping[str, ComparedOption],
        *,
        defaults: Collection[str] = (),
        omitted: int = 0,
    ) -> None:
        self.label = label
        self.backend = backend
        self.defaults = frozenset(defaults)
        self._options = dict(options)
        self._omitted = omitted

    def __getitem__(self, name: str) -> ComparedOption:
        return self._options[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._options)

    def __len__(self) -> int:
        return len(self._options)

    @property
    def differing(self) -> tuple[str, ...]:
        """The options of which another value than the requested one is in force."""
        return tuple(name for name, option in self._options.items() if option.differs)

    def without_defaults(self) -> OptionsInForce:
        """Return the view of the options that something sets or recommends, or that differ."""
        kept = {
            name: option
            for name, option in self._options.items()
            if name not in self.defaults or option.differs
        }
        omitted = self._omitted + len(self) - len(kept)
        defaults = self.defaults & kept.keys()
        return OptionsInForce(self.label, self.backend, kept, defaults=defaults, omitted=omitted)

    def to_jsonable(self) -> dict[str, dict[str, object]]:
        """Return the view as plain data for JSON, by option."""
        return {name: option.to_jsonable() for name, option in self._options.items()}

    def __repr__(self) -> str:
        differing = f"{shown_names(self.differing)} differs" if self.differing else "none differs"
        what = shown_text(f"{self.label}:{self.backend}")
        return f"<OptionsInForce {what}: {count_text(len(self), 'option')}; {differing}>"

    def _view(self) -> View:
        rows = [_row(option) for option in self._options.values()]
        headers = ("OPTION", "REQUESTED", "IN FORCE", "SOURCE", "DIFFERS", "REASON")
        parts = [row for option in self._options.values() for row in _part_rows(option)]
        omitted = f"without {count_text(self._omitted, 'option')} that nothing sets" if self._omitted else ""
        return View(
            title=f"Options in force in {self.label}, {self.backend}",
            lines=(omitted,) if omitted else (),
            tables=(
                Table(caption="", headers=headers, rows=rows),
                Table(caption="Long tables", headers=("KEY", "REQUESTED", "IN FORCE"), rows=parts),
            ),
        )


def _row(option: ComparedOption) -> tuple[str, ...]:
    effective = option.effective
    requested = show_value(option.requested if _is_nested(option.requested) else jsonable(option.requested))
    in_force = show_value(jsonable(effective.value)) if effective.is_known else "unknown"
    return (
        option.name,
        requested,
        in_force,
        effective.source.value,
        _DIFFERS[option.differs],
        effective.reason,
    )


def _part_rows(option: ComparedOption) -> Iterator[tuple[str, str, str]]:
    """Yield a row for each key of a table that is too long for one cell."""
    values = (option.requested, option.effective.value)
    if not any(_is_nested(each) and len(repr(jsonable(each))) > _LONGEST for each in values):
        return
    requested, in_force = (dict(_parts(each, option.name)) for each in values)
    for path in {**requested, **in_force}:
        yield path, requested.get(path, _ABSENT), in_force.get(path, _ABSENT)


def _is_nested(value: object) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_is_nested, value))
    return isinstance(value, dict) or hasattr(type(value), "is_option_table")


def _parts(value: object, path: str) -> Iterator[tuple[str, str]]:
    """Yield the path and text of each value in a table; of declared ones, not of those at their default."""
    if isinstance(value, (list, tuple)) and _is_nested(value):
        for index, item in enumerate(value):
            yield from _parts(item, f"{path}[{index}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _parts(item, f"{path}.{key!r}" if "." in key else f"{path}.{key}")
    elif hasattr(type(value), "is_option_table"):
        for name, info in type(value).option_infos().items():  # type: ignore[attr-defined]  # of a table
            item = getattr(value, name)
            is_kind = info.type.kind is OptionKind.CHOICE and len(info.type.choices) == 1
            if is_kind or item != info.default:
                yield from _parts(item, f"{path}.{name}")
    elif value is not None:
        yield path, show_value(jsonable(value))


def view_effective(
    spec: BackendSpec, options: BackendOptions, built: object, label: str, defaults: Collection[str] = ()
) -> OptionsInForce:
    """Return the options in force in an object that the backend's `build` returned.

    Args:
        spec: The backend.
        options: The requested options.
        built: The object.
        label: The model and its instance.
        defaults: The names of the options that nothing sets or recommends.

    Raises:
        EngineError: the engine failed to report.
        PluginCallError: the backend's `effective` returned something else than it must.
    """
    requested = {name: getattr(options, name) for name in options.option_infos()}
    reason = _NOT_DECLARED if spec.effective is None else _NOT_REPORTED
    read = None if spec.effective is None else partial(spec.effective, built)
    reported = reported_options(spec, read, "effective", label)
    known = {name: reported.get(name, EffectiveOption.unknown(reason)) for name in requested}
    return OptionsInForce(label, spec.id, compare_options(requested, known), defaults=defaults)


def reported_options(
    spec: BackendSpec, read: Callable[[], Mapping[str, Any]] | None, hook: str, label: str
) -> Mapping[str, EffectiveOption]:
    """Return what a hook of the backend reports.

    Args:
        spec: The backend.
        read: Calls the hook; None if the backend has none.
        hook: The name of the hook, a field of `spec`.
        label: What is in force in, for the error.

    Raises:
        EngineError: the engine failed to report.
        PluginCallError: the hook returned something else than it must.
    """
    if read is None:
        return {}
    try:
        found: Any = read()
        raw = dict(found) if isinstance(found, Mapping) else None
    except Exception as error:
        cause = error_text(error)
        raise EngineError(backend=spec.id, method=label, phase=hook, cause=cause) from error
    if raw is None:
        raise _wrong(spec, hook, f"it returned {type(found).__name__}, expected options in force by name")
    for name, option in raw.items():
        if name not in spec.options.option_infos():
            raise _wrong(spec, hook, f"it returned {name!r}, which is not an option of the backend")
        if not isinstance(option, EffectiveOption):
            raise _wrong(spec, hook, f"it returned {option!r:.60} for {name!r}, expected an EffectiveOption")
    return raw


def _wrong(spec: BackendSpec, hook: str, cause: str) -> PluginCallError:
    from etconfig.base.code_symbol import correct_code

    help = correct_code(getattr(spec, hook), hook, "return an EffectiveOption by the name of each option")
    return PluginCallError(group="etconfig.backends", name=spec.id, call=hook, cause=cause, help=help)
