"""`Resolved`: the part of a resolution that explanations and comparisons need; `Resolution` has it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol, TypeVar

from etconfig.diagnostics import Diagnostic
from etconfig.facts.sheet import FactSheet
from etconfig.profile.evidence import TuningEvidence
from etconfig.resolver.deciding.arguments import Arguments


class Resolved(Protocol):
    """The arguments of every method instance on one device."""

    @property
    def instances(self) -> Mapping[tuple[str, str | None], Arguments]:
        """The arguments, by method and instance."""

    @property
    def incomplete(self) -> Mapping[tuple[str, str | None], Sequence[Diagnostic]]:
        """The problems of default instances that lack options."""

    @property
    def facts(self) -> FactSheet:
        """The facts, including hand-set ones."""

    @property
    def profile(self) -> str | None:
        """The name of the profile, or None."""

    @property
    def noun(self) -> str:
        """The noun for what the arguments are for, in messages: `method`, `model`, or `model or method`."""

    @property
    def evidence(self) -> Sequence[TuningEvidence]:
        """The evidence for the options of profiles."""

    def __iter__(self) -> Iterator[Arguments]: ...

    def arguments(self, method: str, instance: str | None = None) -> Arguments:
        """Return the arguments of one method instance.

        Raises:
            OptionError: there is no such method or instance, or it lacks required options.
        """


ResolvedT = TypeVar("ResolvedT", bound=Resolved)
