"""`Arguments`: the typed options of every backend of one method instance, and where they came from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, TypeAlias, TypeVar, overload

from etconfig.base.parameters import check_type
from etconfig.base.provenance import Origin, OriginKind
from etconfig.base.records import record
from etconfig.diagnostics import Span, did_you_mean
from etconfig.report.has_view import HasView
from etconfig.report.model import Table, View, count_text, shown_names, shown_text
from etconfig.resolver.deciding.device_view import DeviceView
from etconfig.resolver.deciding.option_candidates import OptionCandidates
from etconfig.resolver.deciding.recommendation import Recommendation
from etconfig.resolver.deciding.value_provenance import Provenance
from etconfig.schema.coerce import show_value

if TYPE_CHECKING:
    from etconfig.schema.options import BackendOptions
    from etconfig.schema.spec import BackendSpec

ANY_METHOD = "*"
"""The name under which options for any method are resolved when there is no program."""

BackendOptionsT = TypeVar("BackendOptionsT", bound="BackendOptions")


def instance_label(method: str, instance: str | None) -> str:
    """Return a method instance as option paths spell it: `forward`, or `forward@left`."""
    return method if instance is None else f"{method}@{instance}"


@record(frozen=True, kw_only=True)
class BackendArguments:
    """One backend's options in one method instance. Two are equal when their options are.

    Attributes:
        options: The typed, frozen options.
        candidates: Everything that might have decided each option, by its name.
        facts: The values of the known facts that they were resolved on, by name.
        recommendation: The values that the vendor's function recommends on these facts.
        spec: The backend.
    """

    options: BackendOptions
    candidates: Mapping[str, OptionCandidates] = field(compare=False, repr=False)
    facts: Mapping[str, object] = field(compare=False, repr=False)
    recommendation: Recommendation = field(compare=False, repr=False)
    spec: BackendSpec = field(compare=False, repr=False)

    @property
    def facts_used(self) -> frozenset[str]:
        """The facts, known or not, that any of the options or the vendor's recommendation depends on."""
        return frozenset(self.recommendation.basis).union(*(each.facts for each in self.candidates.values()))

    def current_name(self, option: str) -> str:
        """Return the name of an option that `option` is a former name of; other names stay as they are."""
        return self.options.former_names().get(option, option)

    def is_default(self, option: str) -> bool:
        """Return True if neither configuration nor the program nor a recommendation set the option.

        Raises:
            KeyError: the backend has no such option.
        """
        found, device = self.candidates[option], DeviceView(self.facts)
        is_below = found.program is not None or option in self.recommendation.values
        return not is_below and not found.advised(device) and found.deciding_candidate(device) is None

    def is_asked_for(self, option: str) -> bool:
        """Return True if somebody set the option: it is not a default, the program's own, or recommended.

        Profiles that come with etconfig recommend values, too.

        Raises:
            KeyError: the backend has no such option.
        """
        candidate = self.candidates[option].deciding_candidate(DeviceView(self.facts))
        return candidate is not None and not candidate.is_bundled

    def place_of(self, option: str) -> Span | None:
        """Return the place of the value that decided; None if the recommendation or the default did.

        Raises:
            KeyError: the backend has no such option.
        """
        candidate = self.candidates[option].deciding_candidate(DeviceView(self.facts))
        return None if candidate is None else candidate.span

    def origin(self, option: str) -> Origin:
        """Return where an option's value came from, which is much less work than its provenance.

        Raises:
            KeyError: the backend has no such option.
        """
        option = self.current_name(option)
        recommended = self.recommendation.values.get(option)
        return self.candidates[option].origin(DeviceView(self.facts), recommended)

    def origins(self, option: str) -> tuple[Origin, ...]:
        """Return where an option's value came from, and the keys of a table that come from elsewhere.

        Raises:
            KeyError: the backend has no such option.
        """
        if isinstance(getattr(self.options, self.current_name(option)), Mapping):
            return self.provenance(option).origins
        return (self.origin(option),)

    def provenance(self, option: str) -> Provenance:
        """Return where an option's value came from. It is computed on demand: most are never asked for.

        Raises:
            KeyError: the backend has no such option.
        """
        option = self.current_name(option)
        recommended = self.recommendation.values.get(option)
        found = self.candidates[option].provenance(DeviceView(self.facts), recommended)
        if recommended is None:
            return found
        return replace(found, facts=tuple(sorted({*found.facts, *self.recommendation.basis})))


@record(frozen=True, kw_only=True)
class Arguments(HasView):
    """The options of every backend of one method instance: what an executor receives.

    `arguments[XnnpackOptions]` and `arguments["XnnpackBackend"]` give a backend's options.
    Two are equal when methods, instances and options are; origins do not count.

    Example:
        >>> program = etconfig.load_program("model.pte")
        >>> resolution = etconfig.resolve(program, overrides={"ReferenceCpuBackend.num_threads": 2})
        >>> arguments = resolution.arguments("forward")
        >>> arguments["ReferenceCpuBackend"].num_threads
        2
        >>> print(arguments.origin("ReferenceCpuBackend", "num_threads"))
        override resolve(overrides) (ReferenceCpuBackend.num_threads)

    Attributes:
        method: The method's name, or `ANY_METHOD`.
        instance: The named instance, or None for the default one.
        backends: The resolved options of each backend, by its id.
    """

    method: str
    instance: str | None
    backends: Mapping[str, BackendArguments]

    @property
    def label(self) -> str:
        """`forward` or `forward@left`, as option paths spell it."""
        return instance_label(self.method, self.instance)

    @overload
    def __getitem__(self, key: type[BackendOptionsT]) -> BackendOptionsT: ...
    @overload
    def __getitem__(self, key: str) -> BackendOptions: ...
    def __getitem__(self, key: type[BackendOptionsT] | str) -> BackendOptionsT | BackendOptions:
        """Return the options of a backend, by its options class or its id.

        Raises:
            KeyError: the method instance has no such backend.
            LookupError: two backends share the options class; use the id.
        """
        if isinstance(key, str):
            if key not in self.backends:
                raise self._no_backend(key)
            return self.backends[key].options
        check_type("key", key, type, "the id of a backend or its options class")
        found = [b.options for b in self.backends.values() if isinstance(b.options, key)]
        if not found:
            raise self._no_backend(key.__name__)
        if len(found) > 1:
            raise LookupError(f"{len(found)} backends have {key.__name__}; use a backend id")
        return found[0]

    def __repr__(self) -> str:
        set_here, defaults = set_and_default_rows(self)
        first = [f"{backend}.{option}={value}" for backend, option, value, _ in set_here]
        parts = [shown_names(first)] if first else []
        parts += [count_text(len(defaults), "default")] if defaults else []
        return f"<Arguments {shown_text(self.label)}: {'; '.join(parts) or 'no backend'}>"

    def _view(self) -> View:
        return View(title=f"Arguments of {self.label}", tables=argument_tables(self, ""))

    def __iter__(self) -> Iterator[str]:
        """Return the backend ids."""
        return iter(self.backends)

    def __contains__(self, backend: object) -> bool:
        return backend in self.backends

    def __len__(self) -> int:
        return len(self.backends)

    def origin(self, backend: str, option: str) -> Origin:
        """Return where an option's value came from.

        Raises:
            KeyError: no such backend or option here.
        """
        return self._backend_with(backend, option).origin(option)

    def provenance(self, backend: str, option: str) -> Provenance:
        """Return where an option's value came from, what it beat, and the facts it depends on.

        Raises:
            KeyError: no such backend or option here.
        """
        return self._backend_with(backend, option).provenance(option)

    def _backend_with(self, backend: str, option: str) -> BackendArguments:
        """Return the backend's part, which has the option. Raises KeyError."""
        if backend not in self.backends:
            raise self._no_backend(backend)
        resolved = self.backends[backend]
        if resolved.current_name(option) not in resolved.candidates:
            known = ", ".join(resolved.candidates) or "no options"
            advice = did_you_mean(option, resolved.candidates) or f"it has {known}"
            raise KeyError(f"{backend} has no option {option!r}; {advice}")
        return resolved

    def _no_backend(self, name: object) -> KeyError:
        known = ", ".join(self.backends) or "no backend"
        return KeyError(f"{self.label} has no arguments for {name!r}; it delegates to {known}")


_FEW = 20
"""The number of options up to which none is folded away."""

ShownOption: TypeAlias = "tuple[str, str, str, str]"
"""Backend, option, value and origin as text."""


def set_and_default_rows(arguments: Arguments) -> tuple[list[ShownOption], list[ShownOption]]:
    """Return the options that something sets, and the options with the default of their schema."""
    set_here: list[ShownOption] = []
    defaults: list[ShownOption] = []
    for backend, resolved in arguments.backends.items():
        for option in resolved.candidates:
            winner = resolved.provenance(option).winner
            rows = defaults if winner.origin.kind is OriginKind.DEFAULT else set_here
            rows.append((backend, option, show_value(winner.value), str(winner.origin)))
    return set_here, defaults


def argument_tables(arguments: Arguments, caption: str) -> tuple[Table, ...]:
    """Return the options of a method instance; if there are many, its defaults are folded."""
    headers = ("BACKEND", "OPTION", "VALUE", "FROM")
    set_here, defaults = set_and_default_rows(arguments)
    if len(set_here) + len(defaults) <= _FEW:
        return (Table(caption=caption, headers=headers, rows=[*set_here, *defaults]),)
    folded = f"{f'{caption}, ' if caption else ''}{count_text(len(defaults), 'default')}"
    return (
        Table(caption=caption, headers=headers, rows=set_here),
        Table(caption=folded, headers=headers, rows=defaults, is_folded=True),
    )
