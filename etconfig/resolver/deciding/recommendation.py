"""`Recommendation`: the values that a vendor's function recommends on a device, and the facts it reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

from etconfig.base.provenance import Origin, OriginKind, Sourced
from etconfig.base.records import record
from etconfig.diagnostics.error_text import error_text
from etconfig.errors import PluginCallError
from etconfig.schema.problem import OptionProblem
from etconfig.schema.spec import BackendSpec
from etconfig.schema.validate import check_value, find_option

RECOMMEND_DEPRECATED = "BackendSpec.recommend is deprecated: a function cannot be packed or examined"
ADVICE_INSTEAD = "declare the same as data: BackendSpec.advice, a list of Advice"


@record(frozen=True, kw_only=True)
class Recommendation:
    """A vendor's recommended values on one device.

    Attributes:
        values: The recommended values, by option name.
        basis: The facts that the vendor's function read, with their values; None for unknown ones.
        is_exhaustive: True if the function listed all facts, so that one more may change its answer.
    """

    values: Mapping[str, Sourced[object]] = field(default_factory=dict)
    basis: Mapping[str, object] = field(default_factory=dict)
    is_exhaustive: bool = False

    def applies_to(self, facts: Mapping[str, object]) -> bool:
        """Return True if the facts that were read are the same in `facts`, and so is the recommendation."""
        if self.is_exhaustive:
            facts_then = {name: value for name, value in self.basis.items() if value is not None}
            return facts_then == facts
        return all(facts.get(name) == value for name, value in self.basis.items())


def recommend(spec: BackendSpec, facts: Mapping[str, object]) -> Recommendation:
    """Call a backend's `recommend` for a device with these facts, and check its answer.

    Raises:
        PluginCallError: the backend's `recommend` raises, or names an unknown option or an invalid value.
    """
    if spec.recommend is None:
        return Recommendation()
    reader = _RecordingFacts(facts)
    try:
        answer: object = spec.recommend(reader)
        raw = dict(answer) if isinstance(answer, Mapping) else None
    except Exception as error:
        raise _failed(spec, error_text(error)) from error
    if raw is None:
        raise _failed(spec, f"it returned {answer!r:.60}, expected a mapping of option names to values")
    advised = {entry.option for entry in spec.advice}.intersection(raw)
    if advised:
        raise _failed(spec, f"it recommends {min(advised)}, which the spec's advice decides")
    origin = Origin(OriginKind.RECOMMENDATION, spec.id)
    return Recommendation(
        values={name: Sourced(_checked(spec, name, value), origin) for name, value in raw.items()},
        basis=dict(reader.basis),
        is_exhaustive=reader.is_listed,
    )


class _RecordingFacts(Mapping[str, object]):
    """The known facts; records which of them are read."""

    def __init__(self, values: Mapping[str, object]) -> None:
        self._values = values
        self.basis: dict[str, object] = {}
        self.is_listed = False

    def __getitem__(self, name: str) -> object:
        self.basis[name] = self._values.get(name)
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        self._record_all()
        return iter(self._values)

    def __len__(self) -> int:
        self._record_all()
        return len(self._values)

    def _record_all(self) -> None:
        self.is_listed = True
        self.basis.update(self._values)


def _checked(spec: BackendSpec, name: str, raw: object) -> object:
    info, problem = find_option(spec, name)
    if info is None or info.name != name:
        raise _failed(spec, problem.message if problem else name)
    value = check_value(spec, info, raw)
    if isinstance(value, OptionProblem):
        raise _failed(spec, value.message)
    return value


def _failed(spec: BackendSpec, cause: str) -> PluginCallError:
    from etconfig.base.code_symbol import correct_code  # it imports inspect; most recommendations are right

    return PluginCallError(
        group="etconfig.backends",
        name=spec.id,
        call="recommend",
        cause=cause,
        help=correct_code(
            spec.recommend,
            "recommend",
            "look facts up with get(), and recommend only values that the options allow",
        ),
    )
