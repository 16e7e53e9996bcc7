"""Units of expressions against those of options: a number in another unit is a warning."""

from __future__ import annotations

import pytest

from etconfig.diagnostics import Diagnostic, Fix, Span
from etconfig.expression import parse_expression
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.facts.registry import FactInfo, FactType, Volatility
from etconfig.plugin.v1 import ApiRange, BackendOptions, BackendSpec, option
from etconfig.resolver.proving.expression_fit import ExpressionVerifier


def fact(name: str, unit: str, kind: FactType = FactType.INT) -> FactInfo:
    return FactInfo(name=name, type=kind, unit=unit, doc="A fact.", volatility=Volatility.LIVE)


REGISTRY = BUILTIN_FACTS.extended(
    (fact("acme.wait", "s"), fact("acme.tick", "us"), fact("acme.delay", "s", FactType.FLOAT))
)


class TimedOptions(BackendOptions):
    timeout: int = option(1, applies="load", unit="ms", doc="How long it waits.")
    delay: float = option(1.0, applies="load", unit="ms", doc="How long it waits before.")
    level: float = option(1.0, applies="load", unit="percent", doc="The least charge.")
    threads: int = option(1, applies="load", unit="threads", doc="Workers.")
    free: int = option(1, applies="load", doc="A number without a unit.")


SPEC = BackendSpec(id="TimedBackend", doc="Waits.", options=TimedOptions, api=ApiRange(1, 1))


def mismatches(name: str, source: str) -> list[Diagnostic]:
    verifier = ExpressionVerifier(REGISTRY)
    found = verifier.problems(
        SPEC, TimedOptions.option_infos()[name], parse_expression(source, REGISTRY), None
    )
    return [problem for problem in found if problem.code == "unit-mismatch"]


@pytest.mark.parametrize(
    ("name", "source", "unit", "help"),
    [
        ("timeout", "acme.wait", "s", "write (acme.wait) * 1000"),
        ("timeout", "acme.tick", "us", "write (acme.tick) / 1000"),
        ("timeout", "max(acme.wait + 1, 5)", "s", "write (max(acme.wait + 1, 5)) * 1000"),
        (
            "timeout",
            'os.name == "linux" ? acme.wait : 5',
            "s",
            'write (os.name == "linux" ? acme.wait : 5) * 1000',
        ),
        ("delay", "-acme.delay", "s", "write (-acme.delay) * 1000.0"),
        ("level", "power.battery_level", "fraction", "write (power.battery_level) * 100.0"),
        ("timeout", "memory.total", "bytes", "compute it from other facts"),
    ],
)
def test_an_expression_in_another_unit_is_a_warning(name: str, source: str, unit: str, help: str) -> None:
    (problem,) = mismatches(name, source)
    wanted = TimedOptions.option_infos()[name].unit
    assert wanted is not None
    assert problem.message == f"TimedBackend.{name}: {source!r} is in {unit}, expected {wanted.value}"
    assert (problem.help, problem.is_error) == (help, False)
    if help.startswith("write"):
        assert not mismatches(name, help.removeprefix("write "))


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("timeout", "acme.wait * 1000"),
        ("timeout", "20"),
        ("timeout", "acme.wait + acme.tick"),
        ("threads", "cpu.available_cores"),
        ("threads", "min(cpu.available_cores, 4)"),
        ("threads", "size(cpu.features)"),
        ("free", "memory.total"),
    ],
)
def test_what_has_the_unit_or_none_is_right(name: str, source: str) -> None:
    assert not mismatches(name, source)


@pytest.mark.parametrize(("quote", "is_fixed"), [("'", True), ('"', True), ('"""', False)])
def test_the_conversion_is_a_fix_where_the_expression_is_in_plain_quotes(quote: str, is_fixed: bool) -> None:
    line = f"timeout = {{ expr = {quote}acme.wait{quote} }}"
    span = Span(file="a.toml", column=20, length=len("acme.wait") + 2 * len(quote), text=line)
    expression = parse_expression("acme.wait", REGISTRY, span=span)
    found = ExpressionVerifier(REGISTRY).problems(
        SPEC, TimedOptions.option_infos()["timeout"], expression, None
    )
    (fix,) = (problem.fix for problem in found if problem.code == "unit-mismatch")
    assert fix == (Fix(span=span, replacement=f"{quote}(acme.wait) * 1000{quote}") if is_fixed else None)
