"""Option values for the checks: those without configuration, and other valid ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from etconfig.base.effective import EffectiveSource
from etconfig.conformance.kit.outcomes import CheckFailedError
from etconfig.conformance.subject.subject import Subject
from etconfig.diagnostics import Diagnostic
from etconfig.method.method import Method
from etconfig.plugin.call_check import code_place
from etconfig.resolver.deciding.advice import AdviceReader
from etconfig.resolver.deciding.unconfigured import values_without_configuration
from etconfig.schema.declaration import OptionInfo
from etconfig.schema.option_type import OptionKind
from etconfig.schema.options import BackendOptions
from etconfig.schema.problem import OptionProblem
from etconfig.schema.spec import BackendSpec
from etconfig.schema.validate import check_value, validate_options

_SEEN = (EffectiveSource.READ_BACK, EffectiveSource.OBSERVED)
"""The sources of values that are evidence; the other values only repeat what was requested."""


def options_place(spec: BackendSpec, option: str | None = None) -> str:
    """Return where an option is declared, for messages: `options.py:31: AcmeOptions.num_threads`."""
    name = spec.options.__name__ if option is None else f"{spec.options.__name__}.{option}"
    return f"{code_place(spec.options)}{name}"


def usual_values(
    spec: BackendSpec, facts: Mapping[str, object], advice: AdviceReader | None = None
) -> dict[str, object]:
    """Return the value that each option has without configuration, on a device with these facts.

    Args:
        spec: The backend.
        facts: The known facts.
        advice: Reads what its vendor recommends; by default with the built-in facts.

    Raises:
        CheckFailedError: an option has none.
        PluginCallError: the backend's recommendation failed.
    """
    values: dict[str, object] = {}
    for name, sourced in values_without_configuration(spec, facts, advice).items():
        if isinstance(sourced, Diagnostic):
            raise CheckFailedError(f"{options_place(spec, name)}: {sourced.message}")
        if sourced is None:
            from_fact = spec.options.option_infos()[name].from_fact
            unknown = "" if from_fact is None else f" if the fact {from_fact} is not known"
            raise CheckFailedError(
                f"{options_place(spec, name)} has no value{unknown}, expected one that works "
                "without configuration; give option() a default"
            )
        values[name] = sourced.value
    return values


def valid_options(spec: BackendSpec, values: Mapping[str, object]) -> BackendOptions:
    """Return validated options with these values.

    Raises:
        CheckFailedError: the backend refuses them.
    """
    validated = validate_options(spec, values)
    if validated.options is None:
        problem = next(each for each in validated.problems if each.is_error)
        raise CheckFailedError(f"{options_place(spec)} refuses {format_options(values)}: {problem.message}")
    return validated.options


def other_values(spec: BackendSpec, info: OptionInfo, usual: object) -> tuple[object, ...]:
    """Return some valid values of an option other than `usual`; none for text, arrays and tables.

    The backend may still refuse them in combination with other options.
    """
    found: list[object] = []
    for raw in _candidates(info, usual):
        value = check_value(spec, info, raw)
        if not isinstance(value, OptionProblem) and value != usual and value not in found:
            found.append(value)
    return tuple(found)


def _candidates(info: OptionInfo, usual: object) -> Iterator[object]:
    if info.type.kind is OptionKind.BOOLEAN:
        yield from (True, False)
    elif info.type.kind is OptionKind.CHOICE:
        yield from info.choices
    elif info.type.kind in {OptionKind.INTEGER, OptionKind.FLOAT}:
        number = float if info.type.kind is OptionKind.FLOAT else int
        # values near the usual one first: the largest that is allowed may exhaust the memory
        for base in (usual, *(each.bound for each in info.type.constraints)):
            if isinstance(base, (int, float)):
                yield from map(number, (base + 1, base - 1, base * 2, base / 2, base))


def effective_values(subject: Subject, method: Method) -> dict[str, object]:
    """Return the options that a method uses, by name; none that are assumed or unknown."""
    values = method.effective_values().get(subject.backend_id, {})
    return {name: each.value for name, each in values.items() if each.source in _SEEN}


def unreported(subject: Subject, method: Method, names: Iterable[str]) -> list[str]:
    """Return the options about which the backend reports nothing, not even that it is unknown."""
    values = method.effective_values().get(subject.backend_id, {})
    return [name for name in names if name not in values]


def format_options(values: Mapping[str, object]) -> str:
    """Return options as a message shows them."""
    return ", ".join(f"{name}={value!r}" for name, value in values.items()) or "no options"
