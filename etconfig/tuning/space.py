"""`Space`: the options that are tried and their values, from the schemas of backends."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import TypeAlias

from etconfig.base.plain_data import jsonable
from etconfig.base.provenance import OriginKind
from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic, did_you_mean
from etconfig.errors import OptionError
from etconfig.report.model import shown_names
from etconfig.resolver.deciding.arguments import Arguments, BackendArguments
from etconfig.schema.coerce import Mismatch, coerce, show_value
from etconfig.schema.declaration import OptionInfo
from etconfig.schema.tuned_values import TuneRange, values_of_type
from etconfig.schema.value_text import read_text

_FIXED = (OriginKind.PROGRAM, OriginKind.ENVIRONMENT, OriginKind.OVERRIDE)
"""Values from these sources are not up for a search: the user, or the program, has decided."""

Combination: TypeAlias = "Mapping[str, object]"
"""Plain values by `BACKEND.OPTION`, where it differs from what is configured."""


@record(frozen=True, kw_only=True)
class Dimension:
    """An option and the values that are tried.

    Attributes:
        path: `BACKEND.OPTION`.
        incumbent: The value that is configured, as plain data.
        values: The other values.
        range: The range that they are from, if they are.
    """

    path: str
    incumbent: object
    values: tuple[object, ...]
    range: TuneRange | None = None

    def has(self, value: object, *, of_range: bool) -> bool:
        """Return True for one of the values, or if `of_range` for any other of the range."""
        if any(is_same(value, each) for each in self.values):
            return True
        if not of_range or self.range is None or is_same(value, self.incumbent):
            return False
        if isinstance(value, bool) or not isinstance(value, int if self.range.is_integer else (int, float)):
            return False
        return self.range.low <= value <= self.range.high


@record(frozen=True, kw_only=True)
class Space:
    """All combinations of the values of some options.

    Attributes:
        dimensions: The options.
    """

    dimensions: tuple[Dimension, ...]

    @property
    def size(self) -> int:
        """The number of combinations, with the configured one."""
        return math.prod(1 + len(each.values) for each in self.dimensions)

    def configurations(self) -> Iterator[Combination]:
        """Yield every combination but the configured one."""
        choices = [(each.incumbent, *each.values) for each in self.dimensions]
        for values in product(*choices):
            found = self.configuration(values)
            if found:
                yield found

    def configuration(self, values: Sequence[object]) -> Combination:
        """Return a combination, from a value for each dimension."""
        pairs = zip(self.dimensions, values, strict=True)
        return {each.path: value for each, value in pairs if not is_same(value, each.incumbent)}

    def has(self, configuration: Combination, *, of_ranges: bool) -> bool:
        """Return True for one of the combinations, or if `of_ranges` for one of any values of the ranges."""
        known = {each.path: each for each in self.dimensions}
        return bool(configuration) and all(
            path in known and known[path].has(value, of_range=of_ranges)
            for path, value in configuration.items()
        )


def is_same(value: object, other: object) -> bool:
    """Return True for equal values of one type: true is not 1."""
    return type(value) is type(other) and value == other


def key_of(configuration: Combination) -> str:
    """Return a text that equal configurations have in common."""
    return json.dumps(configuration, sort_keys=True)


def configuration_text(configuration: Combination) -> str:
    """Return a configuration for people: `num_threads 1, precision "f32"`."""
    return ", ".join(f"{path.partition('.')[2]} {show_value(value)}" for path, value in configuration.items())


def make_space(arguments: Arguments, cores: int, only: Sequence[str] = (), also: Sequence[str] = ()) -> Space:
    """Return the space of a method instance.

    Args:
        arguments: What is configured.
        cores: The number of cores that threads may use.
        only: The options to try, by `BACKEND.OPTION` or name; by default all that suit.
        also: Further options with values, as `PATH=V1,V2`.

    Raises:
        OptionError: a path means nothing, a value is wrong, or there is nothing to try.
    """
    infos = {
        f"{backend}.{name}": (each, info)
        for backend, each in arguments.backends.items()
        for name, info in each.options.option_infos().items()
    }
    given = dict(_with_values(text, infos) for text in also)
    wanted = [_known(path, infos) for path in only]
    paths = wanted or [path for path, (each, info) in infos.items() if _suits(each, info)]
    dimensions = [
        _dimension(path, *infos[path], given.get(path), cores) for path in dict.fromkeys([*paths, *given])
    ]
    for each in dimensions:
        if each.path in wanted and not each.values:
            raise _problem(
                f"nothing to try follows from the schema of {each.path}",
                f"give the values: --also {each.path}=V1,V2",
                "invalid-value",
            )
    found = Space(dimensions=tuple(each for each in dimensions if each.values))
    if not found.dimensions:
        raise _problem(
            f"{', '.join(arguments) or 'no backend'} of {arguments.label} has no option to try",
            "name options with values: --also BACKEND.OPTION=V1,V2",
        )
    return found


def _suits(arguments: BackendArguments, info: OptionInfo) -> bool:
    """Return True for an option that is tried without being asked for."""
    if info.deprecated or arguments.origin(info.name).kind in _FIXED:
        return False
    declares = any(each.tune for each in arguments.options.option_infos().values())
    return bool(info.tune) if declares else info.tune is not False and info.tune != ()


def _dimension(
    path: str, arguments: BackendArguments, info: OptionInfo, given: Sequence[object] | None, cores: int
) -> Dimension:
    values: Sequence[object] = ()
    if given is not None:
        values = given
    elif isinstance(info.tune, TuneRange):
        values = info.tune.values()
    else:
        values = info.tune if isinstance(info.tune, tuple) else values_of_type(info.type, info.unit, cores)
    incumbent = jsonable(getattr(arguments.options, info.name))
    plain = {json.dumps(each): each for each in map(jsonable, values)}
    return Dimension(
        path=path,
        incumbent=incumbent,
        values=tuple(each for each in plain.values() if not is_same(each, incumbent)),
        range=info.tune if given is None and isinstance(info.tune, TuneRange) else None,
    )


_Infos: TypeAlias = "Mapping[str, tuple[BackendArguments, OptionInfo]]"


def _known(text: str, infos: _Infos) -> str:
    """Return the full path of an option.

    Raises:
        OptionError: there is none.
    """
    found = [path for path in infos if text in (path, path.partition(".")[2])]
    if len(found) == 1:
        return found[0]
    help = did_you_mean(text, found or [*infos, *(path.partition(".")[2] for path in infos)])
    longer = [path for path in infos if text in path]
    if help is None and longer:
        help = f"did you mean {shown_names(longer)}?"
    raise _problem(f"no option is called {text!r}", help or "`etconfig backends NAME` lists them")


def _with_values(text: str, infos: _Infos) -> tuple[str, list[object]]:
    """Return an option and its values from `PATH=V1,V2`. Raises OptionError."""
    path, equals, listed = text.partition("=")
    if not equals or not listed:
        raise _problem(f"{text!r} is not an option with values", "write --also PATH=V1,V2", "invalid-value")
    path = _known(path.strip(), infos)
    kind = infos[path][1].type
    found = [(each, coerce(kind, read_text(kind, each.strip()))) for each in listed.split(",")]
    for each, value in found:
        if isinstance(value, Mismatch):
            raise _problem(f"{path} cannot be {each!r}: {value.message}", value.help, "invalid-value")
    return path, [value for _, value in found]


def _problem(message: str, help: str | None, code: str = "unknown-option") -> OptionError:
    return OptionError(diagnostics=(Diagnostic(code=code, message=message, help=help),))
