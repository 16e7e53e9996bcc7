"""Two backends, and layers written as in a profile."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Annotated

from etconfig.base.option_path import parse_option_path
from etconfig.base.provenance import Origin, OriginKind, Sourced
from etconfig.diagnostics import Span
from etconfig.expression import ExpressionType, parse_expression
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.facts.sheet import FactSheet
from etconfig.plugin.v1 import ApiRange, BackendOptions, BackendSpec, Ge, option
from etconfig.profile.layer import Assignment, AssignmentPlace, InstanceDeclaration, Layer
from etconfig.resolver.compiling.resolver import Resolver, Target
from etconfig.resolver.deciding.resolution import Resolution


class Mode(enum.Enum):
    LOW = "low"
    HIGH = "high"


class CpuOptions(BackendOptions):
    num_threads: Annotated[int, Ge(1)] = option(
        1, from_fact="cpu.available_cores", applies="execute", unit="threads", doc="Worker threads."
    )
    scratch_bytes: int = option("1 MiB", applies="load", unit="bytes", doc="Scratch memory.")
    log_level: int = option(0, applies="load", scope="process", doc="How much is logged.")
    labels: dict[str, str] = option({}, applies="load", doc="Free labels.")


class NpuOptions(BackendOptions):
    core: Annotated[int, Ge(0)] = option(applies="load", doc="Which core.")
    mode: Mode = option("low", applies="execute", doc="Power mode.", renamed_from="power")


def _recommend(facts: Mapping[str, object]) -> Mapping[str, object]:
    return {"mode": "high"} if facts.get("power.source") == "mains" else {}


SPECS = {
    "CpuBackend": BackendSpec(id="CpuBackend", doc="CPU.", options=CpuOptions, api=ApiRange(1, 1)),
    "NpuBackend": BackendSpec(
        id="NpuBackend", doc="NPU.", options=NpuOptions, api=ApiRange(1, 1), recommend=_recommend
    ),
}


def make_layer(
    *lines: tuple[str, object] | tuple[str, object, str],
    name: str = "p",
    kind: OriginKind = OriginKind.PROFILE,
    instances: Mapping[str, str] | None = None,
    facts: Mapping[str, object] | None = None,
) -> Layer:
    """Return a layer of (path, value[, condition]) lines; `{"expr": "..."}` is an expression."""
    assignments = []
    for number, (path, value, *condition) in enumerate(lines, 1):
        span = Span(file=f"{name}.toml", line=number, column=1, length=1, text=path)
        if isinstance(value, dict) and set(value) == {"expr"}:
            value = parse_expression(str(value["expr"]), BUILTIN_FACTS, span=span)
        held = (
            parse_expression(condition[0], BUILTIN_FACTS, expect=ExpressionType.BOOL) if condition else None
        )
        assignments.append(
            Assignment(
                path=parse_option_path(path),
                value=value,  # type: ignore[arg-type]
                place=AssignmentPlace(
                    origin=Origin(kind, f"{name}.toml", number, 1),
                    span=span,
                    key_span=span,
                    backend_span=span,
                    scope_span=span,
                ),
                condition=held,
            )
        )
    span = Span(file=f"{name}.toml")
    origin = Origin(kind, f"{name}.toml")
    return Layer(
        kind=kind,
        name=name,
        assignments=tuple(assignments),
        instances=tuple(InstanceDeclaration(i, m, lambda: span) for i, m in (instances or {}).items()),
        facts={fact: Sourced(value, origin) for fact, value in (facts or {}).items()},
    )


def make_facts(**known: object) -> FactSheet:
    """Return a sheet with these facts; `cpu__available_cores=2` means `cpu.available_cores`."""
    origin = Origin(OriginKind.SHEET, "test")
    return FactSheet.empty().with_overrides(
        {name.replace("__", "."): Sourced(value, origin) for name, value in known.items()}
    )


BOTH = (Target(method="forward", backends=("CpuBackend", "NpuBackend")),)


def resolve(
    *layers: Layer, targets: tuple[Target, ...] = BOTH, core: int | None = 0, **facts: object
) -> Resolution:
    """Resolve layers on facts; a layer below them sets the NPU's core unless `core` is None."""
    below = [] if core is None else [make_layer(("NpuBackend.core", core), name="base")]
    return Resolver.compile(SPECS, [*below, *layers], targets).resolve(make_facts(**facts))
