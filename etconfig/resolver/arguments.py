"""`Arguments`: the typed options of every backend of one method instance, and their stories."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, TypeVar, overload

from etconfig.provenance import Origin
from etconfig.records import record
from etconfig.resolver.advice import Advice
from etconfig.resolver.chain import OptionChain, Story
from etconfig.resolver.device import DeviceView

if TYPE_CHECKING:
    from etconfig.schema import BackendOptions

ANY_METHOD = "*"
"""The name under which options for any method are resolved when there is no program."""

BackendOptionsT = TypeVar("BackendOptionsT", bound="BackendOptions")


def slot_label(method: str, instance: str | None) -> str:
    """A method instance as option paths spell it: `forward`, or `forward@left`."""
    return method if instance is None else f"{method}@{instance}"


@record(frozen=True, kw_only=True)
class BackendArguments:
    """One backend's options in one method instance. Two are equal when their options are.

    Attributes:
        options: The typed, frozen options.
        chains: What might have decided each option, by name.
        facts: The values of the known facts that they were resolved on, by name.
        advice: What the vendor recommended on these facts.
    """

    options: BackendOptions
    chains: Mapping[str, OptionChain] = field(compare=False, repr=False)
    facts: Mapping[str, object] = field(compare=False, repr=False)
    advice: Advice = field(compare=False, repr=False)

    @property
    def facts_asked(self) -> frozenset[str]:
        """The facts that have a say in any of the options or the vendor's advice, known or not."""
        return frozenset(self.advice.basis).union(*(chain.facts for chain in self.chains.values()))

    def is_default(self, option: str) -> bool:
        """True if neither configuration nor the vendor set the option.

        Raises:
            KeyError: the backend has no such option.
        """
        candidate = self.chains[option].deciding_candidate(DeviceView(self.facts))
        return candidate is None and option not in self.advice.values

    def story(self, option: str) -> Story:
        """Where an option's value came from; told when asked, since few are asked.

        Raises:
            KeyError: the backend has no such option.
        """
        recommended = self.advice.values.get(option)
        story = self.chains[option].story(DeviceView(self.facts), recommended)
        if recommended is None:
            return story
        return replace(story, facts=tuple(sorted({*story.facts, *self.advice.basis})))


@record(frozen=True, kw_only=True)
class Arguments:
    """The options of every backend of one method instance: what an executor receives.

    `arguments[XnnpackOptions]` and `arguments["XnnpackBackend"]` give a backend's options.
    Two are equal when methods, instances and options are; origins do not count.

    Attributes:
        method: The method's name, or `ANY_METHOD`.
        instance: The named instance, or None for the default one.
        backends: What was resolved for each backend, by id.
    """

    method: str
    instance: str | None
    backends: Mapping[str, BackendArguments]

    @property
    def label(self) -> str:
        """`forward` or `forward@left`, as option paths spell it."""
        return slot_label(self.method, self.instance)

    @overload
    def __getitem__(self, key: type[BackendOptionsT]) -> BackendOptionsT: ...
    @overload
    def __getitem__(self, key: str) -> BackendOptions: ...
    def __getitem__(self, key: type[BackendOptionsT] | str) -> BackendOptionsT | BackendOptions:
        """The options of a backend, by its options class or its id.

        Raises:
            KeyError: the method instance has no such backend.
            LookupError: two backends share the options class; use the id.
        """
        if isinstance(key, str):
            if key not in self.backends:
                known = ", ".join(self.backends) or "no backend"
                raise KeyError(f"{self.label} has no arguments for {key!r}; it delegates to {known}")
            return self.backends[key].options
        found = [b.options for b in self.backends.values() if isinstance(b.options, key)]
        if not found:
            raise KeyError(key.__name__)
        if len(found) > 1:
            raise LookupError(f"{len(found)} backends have {key.__name__}; use a backend id")
        return found[0]

    def __iter__(self) -> Iterator[str]:
        """The backend ids."""
        return iter(self.backends)

    def __contains__(self, backend: object) -> bool:
        return backend in self.backends

    def __len__(self) -> int:
        return len(self.backends)

    def origin(self, backend: str, option: str) -> Origin:
        """Where an option's value came from.

        Raises:
            KeyError: no such backend or option here.
        """
        return self.story(backend, option).winner.origin

    def story(self, backend: str, option: str) -> Story:
        """Where an option's value came from, what it beat, and the facts it depends on.

        Raises:
            KeyError: no such backend or option here.
        """
        return self.backends[backend].story(option)
