"""Explanations of values in words: where each came from, and what it beat."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence

from etconfig.base.option_path import OptionPath
from etconfig.base.provenance import Sourced
from etconfig.diagnostics import Diagnostic, did_you_mean, did_you_mean_backend
from etconfig.errors import OptionError
from etconfig.facts.registry import HIDDEN_VALUE
from etconfig.facts.sheet import FactSheet
from etconfig.profile.evidence import TuningEvidence
from etconfig.profile.layer import UNSET
from etconfig.resolver.compiling.matching import name_backend_help
from etconfig.resolver.deciding.arguments import Arguments
from etconfig.resolver.deciding.resolved import Resolved
from etconfig.resolver.deciding.value_provenance import Provenance
from etconfig.schema.coerce import show_value


def find_provenance(resolution: Resolved, path: OptionPath) -> list[tuple[OptionPath, Provenance]]:
    """Return the provenance of the option in every method instance that `path` means, with its full path.

    A former name of an option means the option; the full path has its current name.

    Raises:
        OptionError: `path` means no method, instance, backend or option of the resolution.
    """
    if path.method is not None:
        meant = [resolution.arguments(path.method, path.instance)]
    else:
        meant = [arguments for arguments in resolution if path.backend in arguments]
    found = [
        (OptionPath(path.backend, option, a.method, a.instance), a.provenance(path.backend, option))
        for a in meant
        if path.backend in a
        and (option := a.backends[path.backend].current_name(path.option))
        in a.backends[path.backend].candidates
    ]
    if not found:
        raise OptionError(diagnostics=(_nothing_meant(resolution, path, meant),))
    return found


def explain_option(resolution: Resolved, path: OptionPath) -> str:
    """Describe the value, its origin, what it beat and the facts it depends on; one block per instance.

    Raises:
        OptionError: `path` means nothing in the resolution.
    """
    found = find_provenance(resolution, path)
    shown = (option_text(*each, resolution.facts, path.option, resolution.evidence) for each in found)
    return "\n\n".join(shown) + "\n"


def option_text(
    path: OptionPath,
    found: Provenance,
    facts: FactSheet,
    asked: str,
    evidence: Sequence[TuningEvidence] = (),
) -> str:
    """Describe the value of an option of one method instance in a few lines.

    Args:
        path: The option, by its current name.
        found: Its provenance.
        facts: The facts of the device.
        asked: The option's name in the question, which may be a former one.
        evidence: What was measured for the options of profiles.
    """
    lines = [f"{path} = {show_setting(found.winner.value)}"]
    if path.option != asked:
        lines.append(f"  {asked} was renamed to {path.option}")
    measured = measured_text(path, found, evidence)
    return "\n".join([*lines, *_lines(found, facts, measured)])


def measured_text(path: OptionPath, found: Provenance, evidence: Sequence[TuningEvidence]) -> str | None:
    """Return what was measured for an option in the document that sets it, with its age; None if nothing."""
    for each in evidence:
        if each.find_span().file == found.winner.origin.source:
            return each.sentence(f"{path.backend}.{path.option}", datetime.date.today())
    return None


def show_setting(value: object) -> str:
    """Return a value as text; `unset` for `UNSET`."""
    return "unset" if value is UNSET else show_value(value)


def _lines(found: Provenance, facts: FactSheet, measured: str | None) -> Iterator[str]:
    yield f"  from {found.winner.origin}"
    if measured:
        yield f"  {measured}"
    if found.reason:
        yield f"  reason: {found.reason}"
    if len(found.origins) > 1:
        yield from (f"  key {key!r} from {origin}" for key, origin in found.keys.items())
    yield from (_beaten_line(beaten) for beaten in found.beaten)
    for name in found.facts:
        value, origin = fact_texts(facts, name)
        is_known = name in facts.values
        yield (
            f"  depends on {name} = {value}, from {origin}"
            if is_known
            else f"  depends on {name}, which is unknown: {origin}"
        )


def fact_texts(facts: FactSheet, name: str) -> tuple[str, str]:
    """Return the value of a fact with its origin, or `unknown` with the reason."""
    fact = facts.get(name)
    if fact is None:
        return "unknown", "no such fact on this device"
    if not fact.is_known:
        return "unknown", fact.reason or ""
    return HIDDEN_VALUE if facts.is_hidden(name) else show_value(fact.value), str(fact.origin)


def _beaten_line(beaten: Sourced[object]) -> str:
    value = "no value" if beaten.value is None else show_setting(beaten.value)
    return f"  beat {value} from {beaten.origin}"


def _nothing_meant(resolution: Resolved, path: OptionPath, meant: Sequence[Arguments]) -> Diagnostic:
    backends = {backend: arguments for arguments in resolution for backend in arguments}
    if path.backend not in backends:
        known = sorted(backends)
        help = did_you_mean_backend(path.backend, known) or f"backends: {', '.join(known) or 'none'}"
        if path.method is None and path.backend in {method for method, _ in resolution.instances}:
            help = name_backend_help(path.backend, resolution.noun)
        return Diagnostic(
            code="unknown-backend",
            message=f"no arguments were resolved for a backend {path.backend!r}",
            help=help,
        )
    if meant and all(path.backend not in arguments for arguments in meant):
        return Diagnostic(
            code="not-delegated",
            message=f"method {meant[0].method!r} delegates nothing to {path.backend!r}",
            help=f"it delegates to {', '.join(meant[0]) or 'no backend'}",
        )
    options = list(backends[path.backend].backends[path.backend].candidates)
    return Diagnostic(
        code="unknown-option",
        message=f"{path.backend} has no option {path.option!r}",
        help=did_you_mean(path.option, options) or f"it has {', '.join(options) or 'no options'}",
    )
