"""Problems of `extends` lists that no order of profiles respects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from etconfig.diagnostics import Diagnostic, Span
from etconfig.profile.linearization import OrderConflict, OrderDemand
from etconfig.profile.profile import FoundProfile, Profile, Reference


def conflicting_order(
    profile: Profile,
    bases: Mapping[str, Reference],
    conflict: OrderConflict,
    found: Mapping[str, FoundProfile],
) -> Diagnostic:
    """Return the problem of a profile whose bases cannot be ordered, with every list that takes part in it.

    Args:
        profile: The profile.
        bases: As in `FoundProfile`.
        conflict: The reasons, by the keys of profiles.
        found: All that it extends, by key.
    """
    listed = list(bases)
    reasons: dict[str, Span] = {}
    for demand in conflict.demands:
        source = None if demand.source is None else found[listed[demand.source]]
        text, reference = _reason(demand, profile, bases, source, found)
        reasons[text] = reference.span
    own = next((demand for demand in conflict.demands if demand.source is None), None)
    first = next(iter(bases.values())) if own is None else bases[own.stronger]
    return Diagnostic(
        code="extends-conflict",
        message=f"no order of what {profile.name!r} extends respects every list: {'; '.join(reasons)}",
        spans=tuple(dict.fromkeys([first.span, *reasons.values()])),
        help="list them in the same order everywhere, each before the profiles that extend it",
    )


def _reason(
    demand: OrderDemand,
    profile: Profile,
    bases: Mapping[str, Reference],
    source: FoundProfile | None,
    found: Mapping[str, FoundProfile],
) -> tuple[str, Reference]:
    """Return a demand in words, and the place of the list that makes it."""
    weaker, stronger = found[demand.weaker].profile.name, found[demand.stronger].profile.name
    if source is None:
        return f"{profile.name!r} lists {weaker!r} before {stronger!r}", bases[demand.stronger]
    for key in source.order:
        lister = found[key]
        listed = list(lister.bases)
        if demand.weaker not in listed:
            continue
        if key == demand.stronger:
            return f"{stronger!r} extends {weaker!r}", lister.bases[demand.weaker]
        if demand.stronger in listed and listed.index(demand.weaker) < listed.index(demand.stronger):
            text = f"{lister.profile.name!r} lists {weaker!r} before {stronger!r}"
            return text, lister.bases[demand.stronger]
    text = f"what {source.profile.name!r} extends puts {weaker!r} before {stronger!r}"
    return text, bases[source.order[-1]]


def duplicate_bases(listed: Sequence[tuple[Reference, str]]) -> Iterator[Diagnostic]:
    """Yield a problem for each base that a list names twice, given every name with the key of its profile."""
    first: dict[str, Reference] = {}
    for reference, key in listed:
        earlier = first.setdefault(key, reference)
        if earlier is not reference:
            is_same = earlier.target == reference.target
            what = "twice" if is_same else f"and {earlier.target!r}, which are one profile"
            yield Diagnostic(
                code="extends-conflict",
                message=f"`extends` lists {reference.target!r} {what}",
                spans=(reference.span, earlier.span),
                help="remove one of them",
            )
