"""`Advice`: what a backend's vendor recommends on one device, and the facts that it rests on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

from etconfig.errors import PluginCallError
from etconfig.provenance import Origin, OriginKind, Sourced
from etconfig.records import record
from etconfig.schema import BackendSpec, OptionProblem, check_value, find_option


@record(frozen=True, kw_only=True)
class Advice:
    """A vendor's recommended values on one device.

    Attributes:
        values: The recommended values, by option name.
        basis: The facts that were looked at and what they were; None for those that were unknown.
        is_exhaustive: Whether all facts were listed, so that a further one may change the advice.
    """

    values: Mapping[str, Sourced[object]] = field(default_factory=dict)
    basis: Mapping[str, object] = field(default_factory=dict)
    is_exhaustive: bool = False

    def holds_on(self, facts: Mapping[str, object]) -> bool:
        """Whether it is the same on a device with these facts: all that was looked at is as it was."""
        if self.is_exhaustive:
            facts_then = {name: value for name, value in self.basis.items() if value is not None}
            return facts_then == facts
        return all(facts.get(name) == value for name, value in self.basis.items())


def recommend(spec: BackendSpec, facts: Mapping[str, object]) -> Advice:
    """Ask a backend for its advice on a device with these facts.

    Raises:
        PluginCallError: the backend's `recommend` raises, or names what is no option or no value.
    """
    if spec.recommend is None:
        return Advice()
    noted = _NotedFacts(facts)
    try:
        raw = dict(spec.recommend(noted))
    except Exception as error:
        raise _failed(spec, f"{type(error).__name__}: {error}") from error
    origin = Origin(OriginKind.RECOMMENDATION, spec.id)
    return Advice(
        values={name: Sourced(_checked(spec, name, value), origin) for name, value in raw.items()},
        basis=dict(noted.asked),
        is_exhaustive=noted.is_listed,
    )


class _NotedFacts(Mapping[str, object]):
    """The known facts, which notes the ones that it is asked for."""

    def __init__(self, values: Mapping[str, object]) -> None:
        self._values = values
        self.asked: dict[str, object] = {}
        self.is_listed = False

    def __getitem__(self, name: str) -> object:
        self.asked[name] = self._values.get(name)
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        self._note_all()
        return iter(self._values)

    def __len__(self) -> int:
        self._note_all()
        return len(self._values)

    def _note_all(self) -> None:
        self.is_listed = True
        self.asked.update(self._values)


def _checked(spec: BackendSpec, name: str, raw: object) -> object:
    info, problem = find_option(spec, name)
    if info is None or info.name != name:
        raise _failed(spec, problem.message if problem else name)
    value = check_value(spec, info, raw)
    if isinstance(value, OptionProblem):
        raise _failed(spec, value.message)
    return value


def _failed(spec: BackendSpec, cause: str) -> PluginCallError:
    return PluginCallError(
        group="etconfig.backends",
        name=spec.id,
        call="recommend",
        cause=cause,
        help="report it to the author of the backend's plugin",
    )
