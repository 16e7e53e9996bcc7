"""`rollout_settings`: the options of each rollout of a profile, and why its sides differ in more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from etconfig.app.configuring.configuration import Configuration
from etconfig.base.provenance import OriginKind
from etconfig.expression import Expression
from etconfig.expression.checked import Checked, Logic, Operation
from etconfig.fleet.deciding.plan import FleetPlan
from etconfig.fleet.deciding.rollouts import Rollout, rollouts_at, subtrees
from etconfig.profile.layer import UNSET, Assignment

_ID = "device.id"
"""The fact that draws devices one by one, as intervals assume."""


def rollout_settings(plan: FleetPlan) -> Iterator[dict[str, Any]]:
    """Yield the options of each rollout in each profile as plain data, which `etconfig tune` reads.

    `when` is the condition without the rollout, for devices with an id. `problem` says why the sides differ
    in more than these options, or in none.
    """
    for name in plan.selector.conditions if plan.is_auto else ("",):
        configuration = plan.configuration(name)
        if not isinstance(configuration, Configuration):
            continue
        profile = configuration.chain[-1]
        settings = [each for layer in configuration.resolver.layers for each in layer.assignments]
        deciding = [each.value for each in settings if isinstance(each.value, Expression)]
        deciding += [each.expression for each in plan.conditions_on(profile.name)]
        parts = [part for each in deciding for part in subtrees(each.tree)]
        for text, rollout in {str(found): found for part in parts for found in rollouts_at(part)}.items():
            options: dict[str, object] = {}
            whens: dict[str, None] = {}
            problem = next(_read(rollout, settings, deciding, options, whens), None)
            data = {"rollout": text, "profile": profile.name, "match": profile.match and profile.match.source}
            yield {**data, "when": next(iter(whens), None), "options": options, "problem": problem}


def _read(
    rollout: Rollout,
    settings: Sequence[Assignment],
    deciding: Sequence[Expression],
    options: dict[str, object],
    whens: dict[str, None],
) -> Iterator[str]:
    """Add the options of a rollout with their conditions, and yield the problems."""
    sources = set()
    for each in settings:
        option = f"{each.path.backend}.{each.path.option}"
        condition = each.condition if each.origin.kind is OriginKind.PROFILE else None
        others = None if condition is None else _others(condition, rollout)
        if condition is not None and others is not None:
            sources.add(condition.source)
            whens[" && ".join((f"has({_ID})", *others))] = None
            value = {"expr": each.value.source} if isinstance(each.value, Expression) else each.value
            options[option] = {"unset": True} if value is UNSET else value
            if each.path.method is not None or len(whens) > 1:
                yield "it sets options of one method or instance, or under several conditions"
        elif option in options:
            yield f"{option} is set again after it"
    elsewhere = [e.source for e in deciding if _buckets(e, rollout) and e.source not in sources]
    yield from (f"its bucket also decides in {source}" for source in elsewhere)
    if not str(rollout).startswith(f"bucket({_ID}, "):
        yield f"it does not draw devices one by one, by {_ID}"
    if not options:
        yield "it sets no option"


def _others(condition: Expression, rollout: Rollout) -> list[str] | None:
    """Return the clauses of a condition beside a rollout; None if it is not one of the clauses."""
    tree, texts = condition.tree, condition.clause_texts
    parts: Sequence[Checked] = tree.operands if len(texts) > 1 and isinstance(tree, Logic) else (tree,)
    others = [
        text
        for text, part in zip(texts, parts, strict=True)
        if str(rollout) not in map(str, rollouts_at(part))
    ]
    return others if len(others) == len(parts) - 1 and _buckets(condition, rollout) == 1 else None


def _buckets(expression: Expression, rollout: Rollout) -> int:
    """Count the calls of `bucket` with the name of a rollout."""
    calls = (each for each in subtrees(expression.tree) if isinstance(each, Operation))
    return sum(each.function == "bucket" and each.operands[1] == rollout.call.operands[1] for each in calls)
