"""`BundleContent`: all that goes into a bundle, as the resolver compiled it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path

from etconfig.base.provenance import Sourced
from etconfig.base.records import record
from etconfig.expression import Expression
from etconfig.facts.registry import FactRegistry
from etconfig.profile.library import Provider
from etconfig.resolver.deciding.backend_candidates import BackendCandidates


@record(frozen=True, kw_only=True)
class BundledProfile:
    """One profile of a bundle.

    Attributes:
        name: Its name.
        bases: The names of the profiles that it extends, directly or not.
        match: The condition under which it is selected; None if only by name.
        provider: The kind of its source.
        facts: The facts that its chain, the project and the command set by hand.
        instances: By method and instance, everything that may decide the options of its backends.
        fingerprint: The fingerprint of values that were resolved when packing; None if conditions travel.
    """

    name: str
    bases: tuple[str, ...]
    match: Expression | None
    provider: Provider
    facts: Mapping[str, Sourced[object]]
    instances: Mapping[tuple[str, str | None], Sequence[BackendCandidates]]
    fingerprint: str | None = None

    @property
    def is_fallback(self) -> bool:
        """True if it comes with etconfig and matches every device."""
        return self.provider is Provider.BUNDLED and self.match is not None and not self.match.facts


@record(frozen=True, kw_only=True)
class BundledVariant:
    """One file of a model.

    Attributes:
        file: Its name; names of different files differ.
        when: The condition under which it may be chosen; None if it always may.
        needs: The ids of the backends that it needs.
        backend: The id of the backend whose engine runs it; None for a program.
    """

    file: str
    when: Expression | None
    needs: tuple[str, ...]
    backend: str | None = None


@record(frozen=True, kw_only=True)
class BundledModel:
    """A model in variants, of which the first that suits a device is chosen."""

    name: str
    fallback: bool
    variants: tuple[BundledVariant, ...]


@record(frozen=True, kw_only=True)
class BundleContent:
    """The content of a bundle before it is compiled to tables.

    Attributes:
        producer: The program that makes it, such as `etconfig 0.1.0`.
        registry: The facts that expressions name.
        profiles: The profiles; names differ.
        project_facts: The facts that the project file and the command set by hand; they count for `match`.
        named: The name of the profile to use; None to select one.
        require_match: True if a fallback may not be selected.
        models: The models.
        directory: The directory that the names of files below it are relative to, so that it does not matter
            where they lie; None leaves all names as they are.
        packages: The name that stands for each directory of installed profiles, which lies elsewhere on every
            machine.
        sources: The SHA-256 of the documents that it is made from; empty if it has none.
    """

    producer: str
    registry: FactRegistry
    profiles: tuple[BundledProfile, ...]
    project_facts: Mapping[str, Sourced[object]]
    named: str | None = None
    require_match: bool = False
    models: tuple[BundledModel, ...] = ()
    directory: Path | None = None
    packages: Mapping[Path, str] = field(default_factory=dict)
    sources: str = ""

    def named_directories(self) -> Mapping[Path, str]:
        """Return what stands for each directory in the names of files below it: first for packages."""
        return dict(self.packages) if self.directory is None else {**self.packages, self.directory: ""}

    def backends(self) -> Mapping[str, BackendCandidates]:
        """Return each backend that some method instance has, with one of its candidates, sorted by id."""
        found = {each.spec.id: each for each in self._candidates()}
        return dict(sorted(found.items()))

    def _candidates(self) -> Iterator[BackendCandidates]:
        for profile in self.profiles:
            for backends in profile.instances.values():
                yield from backends

    def facts_read(self) -> Sequence[str]:
        """Return the facts that conditions, expressions, defaults and recommendations read, sorted."""
        expressions = [*self._expressions()]
        names = {name for expression in expressions for name in expression.facts}
        for backend in self.backends().values():
            names |= {each.info.from_fact for each in backend.options.values() if each.info.from_fact}
        if any(variant.needs for model in self.models for variant in model.variants):
            names.add("runtime.backends")
        return sorted(name for name in names if self.registry.get(name) is not None)

    def _expressions(self) -> Iterator[Expression]:
        for profile in self.profiles:
            if profile.match is not None:
                yield profile.match
        seen: set[int] = set()
        for backend in self._candidates():
            for option in backend.options.values():
                if id(option) in seen:
                    continue
                seen.add(id(option))
                for entry in option.advice:
                    yield from (each for each in (entry.condition, entry.value) if each is not None)
                for candidate in option.effective:
                    parts = (candidate.condition, candidate.value)
                    yield from (each for each in parts if isinstance(each, Expression))
        for model in self.models:
            yield from (variant.when for variant in model.variants if variant.when is not None)
