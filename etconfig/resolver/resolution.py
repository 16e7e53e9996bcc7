"""`Resolution`: the arguments of every method instance on one device."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from etconfig.diagnostics import Diagnostic, did_you_mean
from etconfig.errors import OptionError
from etconfig.facts import FactSheet, FactValue
from etconfig.fingerprint import fingerprint
from etconfig.records import record
from etconfig.resolver.arguments import ANY_METHOD, Arguments
from etconfig.resolver.matching import declare_instance_help
from etconfig.resolver.toml_text import profile_text

if TYPE_CHECKING:
    from etconfig.profile import Reference, Selection


@record(frozen=True, kw_only=True)
class Resolution:
    """The resolver's result. Two are equal when their arguments are; origins do not count.

    Attributes:
        instances: The arguments, by method and instance; None is the default instance.
        incomplete: The problems of default instances that lack options that only named instances set.
        facts: The facts, including hand-set ones.
        profile: The name of the profile, or None.
        selection: The reasons why that profile was selected; None if it was named.
        named_by: The place in the project file that names that profile; None if nothing there does.
        warnings: The problems that do not stop the work.
    """

    instances: Mapping[tuple[str, str | None], Arguments]
    incomplete: Mapping[tuple[str, str | None], Sequence[Diagnostic]] = field(
        default_factory=dict, compare=False
    )
    facts: FactSheet = field(compare=False, repr=False)
    profile: str | None = field(default=None, compare=False)
    selection: Selection | None = field(default=None, compare=False, repr=False)
    named_by: Reference | None = field(default=None, compare=False, repr=False)
    warnings: tuple[Diagnostic, ...] = field(default=(), compare=False, repr=False)

    def __iter__(self) -> Iterator[Arguments]:
        return iter(self.instances.values())

    def __len__(self) -> int:
        return len(self.instances)

    def arguments(self, method: str, instance: str | None = None) -> Arguments:
        """Return the arguments of one method instance.

        Example:
            >>> program = etconfig.load_program("model.pte")
            >>> resolution = etconfig.resolve(program, instances={"forward": ["left"]})
            >>> resolution.arguments("forward", "left").label
            'forward@left'

        Raises:
            OptionError: there is no such method or instance, or it lacks required options.
        """
        key = (method, instance)
        if key in self.incomplete:
            raise OptionError(diagnostics=tuple(self.incomplete[key]))
        try:
            return self.instances[key]
        except KeyError:
            raise OptionError(diagnostics=(self._no_such(method, instance),)) from None

    @property
    def selected_by(self) -> str | None:
        """`auto`, the place in the project file that names the profile, or None if the caller named it."""
        if self.named_by is not None:
            return self.named_by.span.place
        return None if self.selection is None else "auto"

    def fingerprint(self) -> str:
        """Return a SHA-256 of methods, instances, backends and option values: equal for equal resolutions."""
        return fingerprint((a.method, a.instance, _values_of(a)) for a in self)

    def to_jsonable(self) -> dict[str, Any]:
        """Return the resolution as plain data: the output of `etconfig resolve --json`."""
        return {
            "arguments": [row for arguments in self for row in _rows(arguments)],
            "profile": self.profile,
            "selected_by": self.selected_by,
            "is_fallback": self.selection is not None and self.selection.is_fallback,
            "facts": dict(self.facts_used()),
            "fingerprint": self.fingerprint(),
        }

    def to_toml(self) -> str:
        """Return a profile that sets every option to its value here; it resolves to the same arguments."""
        return profile_text("resolved", self)

    def facts_used(self) -> Mapping[str, FactValue]:
        """Return the known facts that some option depends on, sorted by name."""
        used = {name for a in self for b in a.backends.values() for name in b.facts_used}
        return {name: self.facts.values[name] for name in sorted(used) if name in self.facts.values}

    def _no_such(self, method: str, instance: str | None) -> Diagnostic:
        methods = sorted({m for m, _ in [*self.instances, *self.incomplete]})
        if method not in methods:
            known = f"methods: {', '.join(methods)}"
            if ANY_METHOD in methods:
                known = (
                    "without a program, options are resolved for any method: give the program, or no method"
                )
            return Diagnostic(
                code="unknown-method",
                message=f"no arguments were resolved for a method {method!r}",
                help=did_you_mean(method, methods) or known,
            )
        instances = sorted(i for m, i in self.instances if m == method and i is not None)
        return Diagnostic(
            code="unknown-instance",
            message=f"method {method!r} has no instance {instance!r}",
            help=did_you_mean(str(instance), instances) or declare_instance_help(str(instance), method),
        )


def _values_of(arguments: Arguments) -> dict[str, dict[str, Any]]:
    return {backend: b.options.to_jsonable() for backend, b in arguments.backends.items()}


def _rows(arguments: Arguments) -> Iterator[dict[str, Any]]:
    for backend, resolved in arguments.backends.items():
        options = {
            name: {key: found[key] for key in ("value", "origin", "keys", "beat") if key in found}
            for name, found in (
                (name, resolved.provenance(name).to_jsonable()) for name in resolved.candidates
            )
        }
        yield {
            "method": arguments.method,
            "instance": arguments.instance,
            "backend": backend,
            "options": options,
        }
