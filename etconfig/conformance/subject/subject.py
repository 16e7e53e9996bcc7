"""`Subject`: the backend under test with its programs; the argument of every check."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from etconfig.app.configuring.configuration import resolve_defaults
from etconfig.app.installation.installation import Installation
from etconfig.app.programs.api import load_program
from etconfig.app.programs.executors import NUMPY
from etconfig.app.programs.loaded_program import LoadedProgram
from etconfig.backend import Backend, Capabilities
from etconfig.base.scalar_types import ScalarType
from etconfig.conformance.cases.case import LARGE, Case, CaseRun, large_case
from etconfig.conformance.cases.stored_cases import load_cases
from etconfig.conformance.interpose.interposer import Interposer
from etconfig.conformance.kit.kit_settings import Settings
from etconfig.conformance.kit.outcomes import CheckFailedError, NotApplicableError, NotDelegatedError
from etconfig.conformance.subject.golden import DelegatedCase, find_programs
from etconfig.conformance.subject.output_comparison import check_outputs, precise, right
from etconfig.diagnostics import did_you_mean
from etconfig.errors import UnknownPluginError
from etconfig.facts.sheet import FactSheet
from etconfig.method.method import Method
from etconfig.plugin import CONFORMANCE, EntryPoint
from etconfig.plugin.contributions import CONFORMANCE_HOOK
from etconfig.plugin.hookspecs import ConformanceContribution
from etconfig.plugin.option_evidence import Evidence
from etconfig.schema.spec import BackendSpec

DIM_ORDERS = frozenset({"contiguous", "channels_last"})
"""The dim orders that a backend can declare."""


class Subject:
    """The backend under test. Checks do not change it.

    Args:
        settings: The backend to check, and how.

    Attributes:
        settings: The settings.
        backend_id: The backend's id.
        installation: The plugins that are installed.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.backend_id = settings.backend
        self.installation: Installation = settings.installation()

    @cached_property
    def entry(self) -> EntryPoint:
        """The entry point that declares the backend; nothing is imported, unless several declare it.

        Raises:
            UnknownPluginError, DuplicatePluginError: no plugin declares it, or several do.
        """
        return self.installation.plugins.backend_entry(self.backend_id)

    @property
    def spec(self) -> BackendSpec:
        """The spec that the backend declares. Raises PluginError."""
        return self.installation.plugins.backend_spec(self.backend_id)

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities that the backend declares, or the defaults."""
        declared = self.spec.capabilities
        return declared if isinstance(declared, Capabilities) else Capabilities()

    def declares(self, capability: str) -> bool:
        """Check whether the backend declares an attribute of `Capabilities`, or a dim order."""
        if capability in DIM_ORDERS:
            return capability in self.capabilities.dim_orders
        return bool(getattr(self.capabilities, capability))

    @property
    def is_native(self) -> bool:
        """True if the backend is implemented in another runtime, so that its calls cannot be observed."""
        return self.spec.factory is None

    def create_backend(self) -> Backend[Any, Any]:
        """Return a new backend.

        Raises:
            NotApplicableError: it is implemented in another runtime.
            PluginError, BackendUnavailableError: it cannot be created.
        """
        if self.is_native:
            raise NotApplicableError(
                f"{self.backend_id} is not implemented in Python, so it cannot be called"
            )
        return self.installation.plugins.create_backend(self.backend_id)

    @cached_property
    def facts(self) -> FactSheet:
        """The facts of this device, the same for every load."""
        return self.installation.detect_facts()

    # --- programs ------------------------------------------------------------------------

    @cached_property
    def _known_cases(self) -> Mapping[str, Case]:
        return load_cases()

    @cached_property
    def programs(self) -> Mapping[str, Path]:
        """The vendor's golden programs, by the name of their case.

        Raises:
            CheckFailedError: the directory that the vendor names does not exist.
            PluginLoadError: the vendor's contribution cannot be loaded.
        """
        directory = self.settings.golden_programs() or self._contributed_programs()
        return {} if directory is None else find_programs(directory, self.backend_id)

    def _contributed_programs(self) -> Path | None:
        contribution = self._contribution
        return None if contribution is None else contribution.programs

    @property
    def _contribution(self) -> ConformanceContribution | None:
        try:
            return self.installation.plugins.contribution(CONFORMANCE_HOOK, self.backend_id)
        except UnknownPluginError:
            return None

    @property
    def evidence(self) -> Mapping[str, Evidence]:
        """The evidence that the vendor declares, by option. Raises PluginLoadError."""
        contribution = self._contribution
        return {} if contribution is None else contribution.evidence

    def allows(self, case: Case) -> bool:
        """Check whether the backend declares everything that a case needs."""
        return case.dtypes <= self.capabilities.dtypes and all(
            map(self.declares, case.dim_orders | case.requires)
        )

    def cases(
        self, requires: str | None = None, *, where: Callable[[Case], bool] = lambda case: True
    ) -> Iterator[DelegatedCase]:
        """Yield the cases whose needs the backend declares, if the vendor has a program of them.

        Args:
            requires: Only cases that need this capability.
            where: Only cases for which this returns True.

        Raises:
            NotApplicableError: the kit has no such case for what the backend declares.
            NotDelegatedError: none of the vendor's programs of these cases delegates to the backend, or
                the kit has no case at all for what the backend declares.
        """
        allowed = [case for case in self._known_cases.values() if self.allows(case)]
        if not allowed:
            raise NotDelegatedError(self._missing_case())
        wanted = [
            case
            for case in allowed
            if where(case) and (requires is None or requires in case.requires | case.dim_orders)
        ]
        if not wanted:
            raise NotApplicableError(f"the kit has no such case for the capabilities of {self.backend_id}")
        if not self.programs:
            raise NotDelegatedError(self._missing_programs())
        found = False
        for case in wanted:
            path = self.programs.get(case.name)
            if path is not None and self.delegates(path):
                found = True
                yield DelegatedCase(case=case, path=path)
        if not found:
            names = ", ".join(f"{case.name}.pte" for case in wanted[:3])
            other = "" if requires is None else f", or do not declare {requires}"
            raise NotDelegatedError(
                f"no golden program delegates to {self.backend_id}, expected one such as {names}; make "
                f"them: etconfig conformance {self.backend_id} --lower DIRECTORY{other}"
            )

    def _missing_case(self) -> str:
        known = [scalar.dtype_name for scalar in ScalarType]
        guesses = [
            f"; {dtype!r} is not a dtype, {guess}"
            for dtype in sorted(self.capabilities.dtypes.difference(known))
            if (guess := did_you_mean(dtype, known))
        ]
        return f"the kit has no case for any dtype that {self.backend_id} declares{''.join(guesses)}"

    def _missing_programs(self) -> str:
        if self.is_native and self.settings.executor == NUMPY:
            return (
                f"{self.entry.source} only declares the options of {self.backend_id}, so nothing runs here; "
                "with a runtime that has it, add --executor and --programs"
            )
        return (
            f"{self.entry.source} has no golden programs of {self.backend_id}; return their directory "
            f"from a plugin of the group {CONFORMANCE}, or name it with --programs"
        )

    def case_for_evidence(self, name: str) -> DelegatedCase:
        """Return the case with this name, which may be the large one.

        Raises:
            CheckFailedError: the kit has no such case, or no golden program of it delegates to the backend.
        """
        cases = {**self._known_cases, LARGE: large_case()}
        case, path = cases.get(name), self.programs.get(name)
        if case is None:
            guess = did_you_mean(name, cases) or "docs/conformance.md lists them"
            raise CheckFailedError(f"the kit has no case {name!r}; {guess}")
        if path is None or not self.delegates(path):
            raise CheckFailedError(
                f"no golden program {name}.pte delegates to {self.backend_id}; make it: etconfig conformance "
                f"{self.backend_id} --lower DIRECTORY, or name another case"
            )
        return DelegatedCase(case=case, path=path)

    def coverage(self) -> Mapping[str, bool]:
        """Map each case whose needs the backend declares to whether a golden program of it delegates.

        Raises:
            EtconfigError, CheckFailedError: the backend's spec or a program cannot be loaded.
        """
        return {
            name: name in self.programs and self.delegates(self.programs[name])
            for name, case in self._known_cases.items()
            if self.allows(case)
        }

    def ordinary_cases(self) -> Iterator[DelegatedCase]:
        """Return ordinary cases, or all for a backend without float32. Raises the same as `cases`."""
        allowed = filter(self.allows, self._known_cases.values())
        has_ordinary = any(case.is_ordinary for case in allowed)
        return self.cases(where=lambda case: case.is_ordinary or not has_ordinary)

    @property
    def simplest(self) -> DelegatedCase:
        """The first case that delegates to the backend. Raises NotDelegatedError."""
        return next(self.cases())

    def delegates(self, source: Path | bytes) -> bool:
        """Check whether every method of a program delegates to the backend. Raises ProgramError."""
        with load_program(source, installation=self.installation) as program:
            return all(self.backend_id in program.backends(method) for method in program.method_names)

    # --- methods -------------------------------------------------------------------------

    def open(self, program: DelegatedCase | Path | bytes) -> LoadedProgram:
        """Open a program, for example of a case, for the executor of the settings."""
        source = program.path if isinstance(program, DelegatedCase) else program
        return load_program(source, executor=self.settings.executor, installation=self.installation)

    def load(
        self,
        case: DelegatedCase,
        method: str | None = None,
        *,
        options: Mapping[str, Any] | None = None,
        instance: str | None = None,
        through: Interposer | None = None,
    ) -> Method:
        """Load a method of a case.

        Args:
            case: The case.
            method: The name of the method, by default the first.
            options: Options of the backend, by name, instead of its defaults and recommendations.
            instance: The name of the instance.
            through: An interposer between the core and the backend.

        Raises:
            NotApplicableError: `through` is given, but the backend is implemented in another runtime.
            EtconfigError: the same as `LoadedProgram.load_method`.
        """
        with self.open(case) as program:
            return self.load_from(
                program, method or case.method, options=options, instance=instance, through=through
            )

    def load_from(
        self,
        program: LoadedProgram,
        method: str,
        *,
        options: Mapping[str, Any] | None = None,
        instance: str | None = None,
        through: Interposer | None = None,
    ) -> Method:
        """Load a method of a program that is open; otherwise the same as `load`."""
        if through is not None and self.is_native:
            raise NotApplicableError(f"another runtime calls {self.backend_id}: its calls cannot be observed")
        chosen = {f"{method}:{self.backend_id}.{name}": value for name, value in (options or {}).items()}
        arguments = resolve_defaults(program, method, chosen, facts=self.facts)
        arguments = replace(arguments, instance=instance)
        bound = program.bind(method, arguments)
        if through is not None:
            vendors = bound[self.backend_id]
            bound[self.backend_id] = replace(vendors, create=lambda: through.around(vendors.create()))
        return program.load_method(method, arguments, backends=bound)

    def check_outputs(
        self,
        case: DelegatedCase,
        run: CaseRun,
        outputs: Sequence[Any],
        method: str | None = None,
        *,
        precisely: bool = False,
    ) -> None:
        """Compare the outputs of a run with eager PyTorch's.

        Args:
            case: The case.
            run: The run.
            outputs: The outputs that the method returned.
            method: The name of the method, by default the first.
            precisely: Require the precision that the backend declares. Otherwise the answer only has to be
                right, so that imprecision fails the checks of precision and no others.

        Raises:
            CheckFailedError: they differ.
        """
        tolerances = (precise if precisely else right)(self.capabilities.precision)
        check_outputs(f"{case.name}.{method or case.method}", outputs, run.outputs, tolerances)

    def check_runs(
        self, method: Method, case: DelegatedCase, name: str | None = None, *, precisely: bool = False
    ) -> None:
        """Execute all runs of a loaded method, and compare as `check_outputs` does."""
        for run in case.runs(name):
            outputs = method.execute(list(run.inputs))
            self.check_outputs(case, run, outputs, name, precisely=precisely)

    def check_case(self, case: DelegatedCase, *, precisely: bool = False) -> None:
        """Load each method of a case, execute all of its runs, and compare the outputs."""
        for name in case.case.methods:
            with self.load(case, name) as method:
                self.check_runs(method, case, name, precisely=precisely)
