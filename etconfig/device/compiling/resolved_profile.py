"""`resolved_profile`: a resolution as a profile of a bundle whose options no longer depend on facts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from etconfig.base.provenance import OriginKind
from etconfig.device.compiling.content import BundledProfile
from etconfig.diagnostics import Span
from etconfig.profile.layer import AssignmentPlace
from etconfig.profile.library import Provider
from etconfig.resolver.deciding.arguments import BackendArguments
from etconfig.resolver.deciding.backend_candidates import BackendCandidates
from etconfig.resolver.deciding.option_candidates import Candidate, OptionCandidates
from etconfig.resolver.deciding.resolution import Resolution
from etconfig.schema.spec import ApiRange, BackendSpec


def resolved_profile(name: str, resolution: Resolution) -> BundledProfile:
    """Return the values of a resolution under a name, each with its origin as it is now."""
    known: dict[int, BackendCandidates] = {}  # method instances may share their arguments
    instances = {}
    for arguments in resolution:
        for backend, resolved in arguments.backends.items():
            if id(resolved) not in known:
                known[id(resolved)] = _fixed_backend(backend, resolved)
        backends = [known[id(resolved)] for resolved in arguments.backends.values()]
        instances[arguments.method, arguments.instance] = backends
    return BundledProfile(
        name=name,
        bases=(),
        match=None,
        provider=Provider.USER,
        facts={},
        instances=instances,
        fingerprint=resolution.fingerprint(),
    )


def _fixed_backend(backend: str, resolved: BackendArguments) -> BackendCandidates:
    options = {
        name: OptionCandidates(
            spec=option.spec,
            info=replace(option.info, from_fact=None),
            candidates=tuple(_fixed_value(resolved, name)),
        )
        for name, option in resolved.candidates.items()
    }
    specs = (option.spec for option in options.values())
    # of a backend without options, nothing but its id is written
    spec = next(specs, None) or BackendSpec(
        id=backend, doc=backend, options=type(resolved.options), api=ApiRange(1, 1)
    )
    return BackendCandidates(spec=spec, options=options, merge_order=())


def _fixed_value(resolved: BackendArguments, name: str) -> Iterator[Candidate]:
    """Yield the value of an option, unless it is the static default, which the bundle has anyway."""
    origin = resolved.origin(name)
    if origin.kind is OriginKind.DEFAULT and origin.detail is None:
        return
    span = Span(file=origin.source)
    yield Candidate(
        value=getattr(resolved.options, name),
        place=AssignmentPlace(origin=origin, span=span, key_span=span, backend_span=span),
        is_bundled=origin.kind is OriginKind.PROFILE and not resolved.is_asked_for(name),
    )
