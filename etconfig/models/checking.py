"""Checks of a model's variants against each other: equal signatures, and each one reachable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from etconfig.diagnostics import Diagnostic, Severity
from etconfig.expression.checked import Checked, Logic
from etconfig.expression.proof.assumptions import Assumptions
from etconfig.facts.registry import FactRegistry
from etconfig.models.catalog import CatalogModel, ModelVariant
from etconfig.models.needs import MethodSignature, ValueSignature, VariantNeeds

_MISMATCH_HELP = (
    "export all variants with the same methods, inputs and outputs, or declare another model for this one"
)

_MOST_COMPARED = 100
"""The variants of a model whose conditions are compared, each with all before it."""


def unreachable_variants(
    model: CatalogModel, needs: Mapping[int, VariantNeeds], registry: FactRegistry
) -> Iterator[Diagnostic]:
    """Report the variants that no device selects, since an earlier one suits wherever they do.

    An earlier variant does if it needs no backend that the later one does not need, and has no condition, or
    a condition that the later one's condition implies. Conditions are compared by the reasoning of
    `Assumptions`, which may miss that, and never claims it wrongly; variants after the first 100 are not
    compared. With `fallback = true`, a later variant replaces an earlier variant that fails to load, and so
    is reachable.

    Args:
        model: The model.
        needs: The needs of the variants whose programs can be read, by number.
        registry: The facts that conditions may name.
    """
    if model.fallback:
        return
    nothing = Assumptions.none(registry)
    compared = model.variants[:_MOST_COMPARED]
    for index, later in enumerate(compared):
        cases = () if later.when is None else tuple(_cases(nothing, later.when.tree))
        for earlier in compared[:index]:
            if _needs_no_more(needs.get(earlier.number), needs.get(later.number)) and _implies(
                later, cases, earlier
            ):
                yield _unreachable(model, earlier, later)
                break


def _needs_no_more(earlier: VariantNeeds | None, later: VariantNeeds | None) -> bool:
    if earlier is None or later is None or earlier.data_problem is not None:
        return False
    if earlier.memory_bytes is not None and earlier.memory_bytes > (later.memory_bytes or 0):
        return False
    return set(earlier.backends) <= set(later.backends)


def _implies(later: ModelVariant, cases: Sequence[Assumptions], earlier: ModelVariant) -> bool:
    """Return True if the earlier variant's condition holds wherever the later one's does: in its cases."""
    if earlier.when is None:
        return True
    if later.when is None:
        return False
    if later.when.tree == earlier.when.tree:
        return True
    # a condition that never holds is reported for itself
    return bool(cases) and all(case.implies(earlier.when.tree) for case in cases)


def _cases(nothing: Assumptions, tree: Checked) -> Iterator[Assumptions]:
    """Yield each possible operand of `||`, or the whole condition, as an assumption."""
    for each in tree.operands if isinstance(tree, Logic) and tree.decisive else (tree,):
        case = nothing.assume(each, True)
        if case is not None:
            yield case


def _unreachable(model: CatalogModel, earlier: ModelVariant, later: ModelVariant) -> Diagnostic:
    why = "has no condition" if earlier.when is None else "has a condition that holds wherever its own does"
    return Diagnostic(
        code="unreachable-variant",
        message=f"no device selects variant {later.number} of model {model.name!r}: variant "
        f"{earlier.number} comes first, needs no other backend, and {why}",
        spans=(later.span, earlier.span if earlier.when is None else earlier.when.span),
        help="put the narrower condition first, or remove the variant",
        severity=Severity.WARNING,
    )


def disagreements(model: CatalogModel, needs: Mapping[int, VariantNeeds]) -> Iterator[Diagnostic]:
    """Report each program that differs from the first readable one in methods, inputs or outputs."""
    programs = [variant for variant in model.variants if variant.backend is None]
    readable = [variant for variant in programs if variant.number in needs]
    for variant in readable[1:]:
        first = readable[0]
        differences = tuple(
            _differences(needs[first.number].methods, needs[variant.number].methods, str(first), str(variant))
        )
        if differences:
            yield Diagnostic(
                code="model-mismatch",
                message=f"variant {variant.number} of model {model.name!r} has another interface than "
                f"variant {first.number}",
                spans=(variant.span, first.span),
                notes=differences,
                help=_MISMATCH_HELP,
            )


def _differences(
    one: Sequence[MethodSignature], other: Sequence[MethodSignature], one_file: str, other_file: str
) -> Iterator[str]:
    ones, others = ({method.name: method for method in methods} for methods in (one, other))
    for names, lacking, having in ((ones, others, one_file), (others, ones, other_file)):
        missing = [name for name in names if name not in lacking]
        if missing:
            yield f"only {having} has {_plural('method', missing)}"
    for name in ones:
        if name in others:
            for kind in ("input", "output"):
                values = getattr(ones[name], f"{kind}s"), getattr(others[name], f"{kind}s")
                for difference in _value_differences(*values, kind, one_file, other_file):
                    yield f"method {name!r}: {difference}"


def _value_differences(
    one: Sequence[ValueSignature],
    other: Sequence[ValueSignature],
    kind: str,
    one_file: str,
    other_file: str,
) -> Iterator[str]:
    if len(one) != len(other):
        yield f"{one_file} has {_count(kind, len(one))}, {other_file} has {len(other)}"
        return
    for index, (mine, its) in enumerate(zip(one, other, strict=True)):
        if mine != its:
            yield f"{kind} {index} is {mine} in {one_file}, and {its} in {other_file}"


def _count(noun: str, count: int) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _plural(noun: str, names: Sequence[str]) -> str:
    return f"{noun if len(names) == 1 else noun + 's'} {', '.join(map(repr, names))}"
