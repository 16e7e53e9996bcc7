"""`Resolution`: the arguments of every method instance on one device."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from inspect import Parameter, Signature
from types import NoneType
from typing import TYPE_CHECKING, Any

from etconfig.base.fingerprint import fingerprint
from etconfig.base.parameters import check_type
from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic, did_you_mean, did_you_mean_backend
from etconfig.errors import BackendUnavailableError, EtconfigError, OptionError
from etconfig.facts.facts_by_hand import FactOverrides, source_facts
from etconfig.facts.registry import HIDDEN_VALUE, FactValue
from etconfig.facts.sheet import FactSheet
from etconfig.report.has_view import HasView
from etconfig.report.model import View, count_text, shown_names, shown_text
from etconfig.resolver.compiling.matching import declare_instance_help
from etconfig.resolver.deciding.arguments import (
    ANY_METHOD,
    Arguments,
    BackendArguments,
    argument_tables,
    instance_label,
)
from etconfig.resolver.deciding.program_check import METHOD, unknown_model
from etconfig.resolver.explaining.toml_text import profile_text

if TYPE_CHECKING:
    from etconfig.profile.budget import Budget
    from etconfig.profile.evidence import TuningEvidence
    from etconfig.profile.profile import Reference
    from etconfig.profile.selection import Selection
    from etconfig.resolver.deciding.budget_use import BudgetUse
    from etconfig.resolver.deciding.options_in_force import OptionsInForce
    from etconfig.resolver.explaining.explanation import Explanation
    from etconfig.resolver.explaining.what_if import WhatIf
    from etconfig.schema.options import BackendOptions

_MAX_INSTANCES = 50
_MAX_WARNINGS = 3


@record(frozen=True, kw_only=True)
class Resolution(HasView):
    """The resolver's result. Two are equal when their arguments are; origins do not count.

    Attributes:
        instances: The arguments, by method and instance; None is the default instance.
        incomplete: The problems of default instances that lack options that only named instances set.
        facts: The facts, including hand-set ones.
        profile: The name of the profile, or None.
        selection: The reasons why that profile was selected; None if it was named.
        named_by: The place in the project file that names that profile; None if nothing there does.
        warnings: The problems that do not stop the work.
        noun: What the arguments are for, in messages: `method`, `model`, or `model or method`.
        evidence: What was measured for the options of the profile, or of the profiles that it extends.
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
    noun: str = field(default=METHOD, compare=False, repr=False)
    evidence: tuple[TuningEvidence, ...] = field(default=(), compare=False, repr=False)
    _again: Callable[[FactOverrides], Resolution] | None = field(default=None, compare=False, repr=False)
    _budget: Budget | None = field(default=None, compare=False, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        state = {**self.__dict__, "_again": None}  # it refers to the open program
        state.pop("budget", None)  # which is computed again
        return state

    def __iter__(self) -> Iterator[Arguments]:
        return iter(self.instances.values())

    def __len__(self) -> int:
        return len(self.instances)

    @property
    def undecided(self) -> tuple[Diagnostic, ...]:
        """A note for each of your conditions that needs a fact which is unknown here; it counts as false."""
        from etconfig.resolver.deciding.undecided import undecided_conditions

        return undecided_conditions(self.instances.values(), self.facts.values)

    @cached_property
    def budget(self) -> BudgetUse | None:
        """The part of `[budget]` that the instances take together; None if no document has one.

        Example:
            >>> program = etconfig.load_program("model.pte")
            >>> print(etconfig.resolve(program).budget)
            None
        """
        if self._budget is None:
            return None
        from etconfig.resolver.deciding.budget_use import BudgetUse

        return BudgetUse.of(self._budget, (tuple(self),), self.facts.values)

    def arguments(self, method: str, instance: str | None = None) -> Arguments:
        """Return the arguments of one method instance.

        Example:
            >>> program = etconfig.load_program("model.pte")
            >>> resolution = etconfig.resolve(program, instances={"forward": ["left"]})
            >>> resolution.arguments("forward", "left").label
            'forward@left'

        Raises:
            OptionError: there is no such method or instance, or it lacks required options.
            TypeError: a name is not a text.
        """
        check_type("method", method, str, 'the name of a method, as "forward"')
        check_type("instance", instance, (str, NoneType), "the name of an instance, or None")
        key = (method, instance)
        if key in self.incomplete:
            raise OptionError(diagnostics=tuple(self.incomplete[key]))
        try:
            return self.instances[key]
        except KeyError:
            raise OptionError(diagnostics=(self._no_such(method, instance),)) from None

    def backend_arguments(
        self, model: str, instance: str | None = None, backend: str | None = None
    ) -> BackendArguments:
        """Return the options of one backend of a model, where they come from, and its declaration.

        Args:
            model: The name of the model, or of a method of a program.
            instance: A named instance of it, or None.
            backend: The id of the backend; needed only if the model has several.

        Raises:
            OptionError, TypeError, ValueError: as for `options_for`.
        """
        check_type("model", model, str, 'the name of a model, as "detector"')
        check_type("backend", backend, (str, NoneType), "the id of a backend, or None")
        arguments = self.arguments(model, instance)
        found = list(arguments)
        if backend is None and len(found) == 1:
            backend = found[0]
        if backend is None:
            ids = " and ".join(map(repr, found)) or "no backend"
            raise ValueError(f"{arguments.label} uses {ids}: say which one with backend=...")
        if backend not in arguments:
            known = ", ".join(found) or "no backend"
            help = did_you_mean_backend(backend, found) or f"it uses {known}"
            message = f"{arguments.label} does not use the backend {backend!r}"
            raise OptionError(diagnostics=(Diagnostic(code="not-delegated", message=message, help=help),))
        return arguments.backends[backend]

    def options_for(
        self, model: str, *, instance: str | None = None, backend: str | None = None
    ) -> BackendOptions:
        """Return the typed, frozen options of a model, to hand to its engine.

        Example:
            >>> overrides = {"detector:ReferenceCpuBackend.num_threads": 2}
            >>> config = etconfig.resolve(models={"detector": "ReferenceCpuBackend"}, overrides=overrides)
            >>> config.options_for("detector").num_threads
            2

        Args:
            model: The name of the model, or of a method of a program.
            instance: A named instance of it, or None.
            backend: The id of the backend; needed only if the model has several.

        Raises:
            OptionError: there is no such model, instance or backend, or it lacks required options.
            TypeError: a name is not a text.
            ValueError: the model has several backends, and `backend` is not given.
        """
        return self.backend_arguments(model, instance, backend).options

    def build(
        self,
        model: str,
        /,
        *arguments: object,
        instance: str | None = None,
        backend: str | None = None,
        **named: object,
    ) -> Any:
        """Return the engine's own object for a model, such as a session, made with the model's options.

        Args:
            model: The name of the model.
            arguments: What the backend's `build` takes besides the options, such as the path of a file.
            instance: A named instance of it, or None.
            backend: The id of the backend; needed only if the model has several.
            named: Further arguments of the backend's `build`.

        Raises:
            OptionError, ValueError: as for `options_for`.
            BackendUnavailableError: the backend makes no object, or its engine cannot be used here.
            TypeError: a name is not a text, or the backend's `build` does not take these arguments.
            Exception: what the engine itself raises passes through. If the text names options, the model is
                added to it, and the places where they are set.
        """
        resolved = self.backend_arguments(model, instance, backend)
        build = resolved.spec.build
        if build is None:
            raise _builds_nothing(resolved.spec.id)
        _check_build(resolved, build, arguments, named)
        try:
            return build(resolved.options, *arguments, **named)
        except Exception as error:
            _name_places(error, resolved, instance_label(model, instance))
            raise

    def effective(
        self, model: str, built: object, *, instance: str | None = None, backend: str | None = None
    ) -> OptionsInForce:
        """Return every option of an object that `build` returned, as requested and as in force.

        `without_defaults` of the result leaves out what nothing sets.

        Args:
            model: The name of the model.
            built: The object.
            instance: The instance that it was built for, or None.
            backend: The id of the backend; needed only if the model has several.

        Raises:
            OptionError, TypeError, ValueError: as for `options_for`.
            EngineError: the engine failed to report.
            PluginCallError: the backend's `effective` returned something else than it must.
        """
        from etconfig.resolver.deciding.options_in_force import view_effective

        resolved = self.backend_arguments(model, instance, backend)
        defaults = [name for name in resolved.candidates if resolved.is_default(name)]
        label = instance_label(model, instance)
        return view_effective(resolved.spec, resolved.options, built, label, defaults)

    @property
    def selected_by(self) -> str | None:
        """`auto`, the place in the project file that names the profile, or None if the caller named it."""
        if self.named_by is not None:
            return self.named_by.span.place
        return None if self.selection is None else "auto"

    def explain(self, path: str) -> Explanation:
        """Explain where the value of an option comes from, what it beat, and the facts it depends on.

        Example:
            >>> program = etconfig.load_program("model.pte")
            >>> config = etconfig.resolve(program, overrides={"ReferenceCpuBackend.num_threads": 2})
            >>> config.explain("forward:ReferenceCpuBackend.num_threads").value
            2

        Args:
            path: `[METHOD[@INSTANCE]:]BACKEND.OPTION`. Without a method, every method instance is meant;
                without an instance, the default one, or all named ones if only those have arguments.
                Without a backend, the only one that has such an option.

        Raises:
            OptionError: the path means nothing here; with a suggestion.
            TypeError: it is not a text.
        """
        from etconfig.resolver.explaining.explanation import make_explanation

        return make_explanation(self, path)

    def what_if(self, facts: FactOverrides) -> WhatIf[Resolution]:
        """Resolve again as if facts were different, and compare. Nothing changes here.

        With `auto`, the profile is selected again.

        Example:
            >>> program = etconfig.load_program("model.pte")
            >>> pi5 = etconfig.load_fact_sheet("pi-5.json")
            >>> config = etconfig.resolve(program, profile="generic/any", facts=pi5)
            >>> answer = config.what_if({"cpu.available_cores": 2})
            >>> [str(change) for change in answer.changes]
            ['forward:ReferenceCpuBackend.num_threads: 4 → 2']

        Args:
            facts: Plain values of facts by name; they win over all others.

        Raises:
            ConfigError: a fact is wrong, or the configuration does not resolve on these facts.
            TypeError: `facts` is not a mapping with names as keys.
            ValueError: this resolution was not made by `etconfig.resolve` or `Configuration.resolve` here,
                but for example unpickled.
        """
        from etconfig.resolver.explaining.what_if import compare_what_if

        if self._again is None:
            raise ValueError("this resolution cannot be repeated: call etconfig.resolve, and ask its result")
        check_type("facts", facts, Mapping, 'values by name, as {"power.source": "battery"}')
        overrides = source_facts(facts, self.facts.registry, "facts")
        return compare_what_if(self, self._again(overrides), overrides)

    def __repr__(self) -> str:
        labels = shown_names(arguments.label for arguments in self)
        count = sum(len(b.candidates) for arguments in self for b in arguments.backends.values())
        return f"<Resolution: {shown_text(self._profile_text())}; {labels}; {count_text(count, 'option')}>"

    def _profile_text(self) -> str:
        if self.profile is None:
            return "no profile"
        by = "" if self.selected_by is None else f" ({self.selected_by})"
        return f"profile {self.profile}{by}"

    def _view(self) -> View:
        shown = [*self][:_MAX_INSTANCES]
        more = len(self) - len(shown)
        tables = [table for each in shown for table in argument_tables(each, each.label)]
        lines = [f"{problem.severity.value}: {problem}" for problem in self.warnings[:_MAX_WARNINGS]]
        lines += [f"and {count_text(more, 'more method instance')}"] if more else []
        return View(
            title=f"Resolution: {self._profile_text()}, {count_text(len(self), 'method instance')}",
            lines=lines,
            tables=sorted(tables, key=lambda table: table.is_folded),
        )

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
            **({} if self.budget is None else {"budget": self.budget.to_jsonable()}),
        }

    def to_toml(self) -> str:
        """Return a profile that sets every option to its value here; it resolves to the same arguments."""
        return profile_text("resolved", self)

    def facts_used(self) -> Mapping[str, FactValue]:
        """Return the known facts that some option depends on, sorted by name; hidden values are replaced."""
        used = {name for a in self for b in a.backends.values() for name in b.facts_used}
        known = self.facts.values  # the sheet may detect the others when they are listed
        return {
            name: HIDDEN_VALUE if self.facts.is_hidden(name) else known[name]
            for name in sorted(used)
            if name in known
        }

    def _no_such(self, method: str, instance: str | None) -> Diagnostic:
        methods = sorted({m for m, _ in [*self.instances, *self.incomplete]})
        if method not in methods and self.noun != METHOD and method.partition("@")[0] not in methods:
            return unknown_model(method, methods, noun=self.noun)
        if method not in methods:
            known = f"methods: {', '.join(methods)}"
            if ANY_METHOD in methods:
                known = (
                    "without a program, options are resolved for any method: give the program, or no method"
                )
            name, _, of_label = method.partition("@")
            if of_label and instance is None and name in methods:
                known = f'write the instance by itself: arguments("{name}", "{of_label}")'
            else:
                known = did_you_mean(method, methods) or known
            return Diagnostic(
                code="unknown-method",
                message=f"no arguments were resolved for a {self.noun} {method!r}",
                help=known,
            )
        instances = sorted(i for m, i in self.instances if m == method and i is not None)
        return Diagnostic(
            code="unknown-instance",
            message=f"{self.noun} {method!r} has no instance {instance!r}",
            help=did_you_mean(str(instance), instances) or declare_instance_help(str(instance), method),
        )


def _builds_nothing(backend: str) -> BackendUnavailableError:
    return BackendUnavailableError(
        backend=backend,
        reason="its plugin creates no object of an engine: its declaration has no build",
        help="hand options_for(...) to the engine, or install a plugin that creates its objects",
    )


def _name_places(error: Exception, resolved: BackendArguments, label: str) -> None:
    """Add to the text of an error where the options that it names are set, and for which model."""
    try:
        message = str(error)
    except Exception:  # it names nothing
        return
    words = set(re.findall(r"\w+", message))
    named = [
        (option, resolved.place_of(option))
        for option in resolved.candidates
        if (option in words or option.removesuffix("s") in words) and resolved.is_asked_for(option)
    ]
    if not named:
        return
    places = ", ".join(f"{option} at {span.place}" for option, span in named if span is not None)
    where = f"set for model {label!r}: {places}"
    if isinstance(error, EtconfigError):
        error.help = where if error.help is None else f"{error.help}; {where}"
    elif len(error.args) == 1 and message == error.args[0]:
        error.args = (f"{error.args[0]}; {where}",)


def _check_build(
    resolved: BackendArguments,
    build: Callable[..., Any],
    arguments: Sequence[object],
    named: Mapping[str, object],
) -> None:
    """Refuse arguments that a backend's `build` does not take. Raises TypeError."""
    try:
        signature = inspect.signature(build)
    except ValueError:  # of a built-in function, which checks them itself
        return
    try:
        signature.bind(resolved.options, *arguments, **named)
    except TypeError as error:
        others = [*signature.parameters.values()][1:]
        taken = Signature([each.replace(annotation=Parameter.empty) for each in others])
        raise TypeError(f"build: {error}; after the model's name, {resolved.spec.id} takes {taken}") from None


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
