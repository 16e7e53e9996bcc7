"""`Subject`: the backend that is checked, with its programs; what every check is given."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from etconfig.app.api import load_program
from etconfig.app.configuration import resolve_defaults
from etconfig.app.installation import Installation
from etconfig.app.loaded_program import LoadedProgram
from etconfig.backend import Backend, Capabilities
from etconfig.conformance.cases.case import Case, CaseRun
from etconfig.conformance.cases.stored_cases import load_cases
from etconfig.conformance.interpose.interposer import Interposer
from etconfig.conformance.kit.outcome import NotApplicableError, NotDelegatedError
from etconfig.conformance.kit.settings import Settings
from etconfig.conformance.subject.comparison import check_outputs, precise, right
from etconfig.conformance.subject.golden import DelegatedCase, find_programs
from etconfig.errors import UnknownPluginError
from etconfig.facts import FactSheet
from etconfig.method.method import Method
from etconfig.plugin import BACKENDS, CONFORMANCE, EntryPoint
from etconfig.schema import BackendSpec

DIM_ORDERS = frozenset({"contiguous", "channels_last"})
"""The dim orders that a backend may declare."""


class Subject:
    """The backend that is checked. Checks keep nothing in it.

    Args:
        settings: What is checked, and how.

    Attributes:
        settings: The same.
        backend_id: The backend's id.
        installation: What is installed.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.backend_id = settings.backend
        self.installation: Installation = settings.installation()

    @cached_property
    def entry(self) -> EntryPoint:
        """Where the backend is declared; nothing is imported.

        Raises:
            UnknownPluginError, DuplicatePluginError: nobody declares it, or several do.
        """
        return self.installation.index.find(BACKENDS, self.backend_id)

    @property
    def spec(self) -> BackendSpec:
        """What the backend declares. Raises PluginError."""
        return self.installation.plugins.backend_spec(self.backend_id)

    @property
    def capabilities(self) -> Capabilities:
        """What the backend claims; nothing beyond the defaults if it claims nothing."""
        declared = self.spec.capabilities
        return declared if isinstance(declared, Capabilities) else Capabilities()

    def declares(self, capability: str) -> bool:
        """Whether the backend declares an attribute of `Capabilities`, or a dim order."""
        if capability in DIM_ORDERS:
            return capability in self.capabilities.dim_orders
        return bool(getattr(self.capabilities, capability))

    @property
    def is_native(self) -> bool:
        """Whether another runtime holds the implementation, so that no call can be watched."""
        return self.spec.factory is None

    def create_backend(self) -> Backend[Any, Any]:
        """A new backend.

        Raises:
            NotApplicableError: another runtime holds the implementation.
            PluginError, BackendUnavailableError: it cannot be made.
        """
        if self.is_native:
            raise NotApplicableError(f"{self.backend_id} has no Python implementation that could be called")
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
        """The vendor's golden programs by case.

        Raises:
            CheckFailedError: the directory that the vendor names does not exist.
            PluginLoadError: the vendor's contribution cannot be had.
        """
        directory = self.settings.golden_programs() or self._contributed_programs()
        return {} if directory is None else find_programs(directory, self.backend_id)

    def _contributed_programs(self) -> Path | None:
        try:
            return self.installation.plugins.conformance(self.backend_id).programs
        except UnknownPluginError:
            return None

    def allows(self, case: Case) -> bool:
        """Whether the backend declares all that a case needs."""
        return case.dtypes <= self.capabilities.dtypes and all(
            map(self.declares, case.dim_orders | case.requires)
        )

    def cases(
        self, requires: str | None = None, *, where: Callable[[Case], bool] = lambda case: True
    ) -> Iterator[DelegatedCase]:
        """The cases that the backend declares all needs of, as far as the vendor has their programs.

        Args:
            requires: Only cases that need this capability.
            where: Only cases for which this is true.

        Raises:
            NotApplicableError: the kit has no such case for what the backend declares.
            NotDelegatedError: the vendor has no program of them that delegates to the backend, or declares
                nothing that the kit has any case for.
        """
        allowed = [case for case in self._known_cases.values() if self.allows(case)]
        if not allowed:
            raise NotDelegatedError(
                f"the kit has no case at all for the dtypes that {self.backend_id} declares"
            )
        wanted = [
            case
            for case in allowed
            if where(case) and (requires is None or requires in case.requires | case.dim_orders)
        ]
        if not wanted:
            raise NotApplicableError(f"the kit has no such case for what {self.backend_id} declares")
        if not self.programs:
            raise NotDelegatedError(
                f"{self.entry.source} gives no golden programs of {self.backend_id}; name their directory "
                f"in a plugin of the group {CONFORMANCE}, or by --programs"
            )
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
                f"no golden program delegates to {self.backend_id}, expected one such as {names}; write "
                f"them: etconfig conformance {self.backend_id} --lower DIRECTORY{other}"
            )

    def coverage(self) -> Mapping[str, bool]:
        """Of each case that the backend declares all needs of, whether a golden program of it delegates.

        Raises:
            EtconfigError, CheckFailedError: what the backend declares, or a program, cannot be had.
        """
        return {
            name: name in self.programs and self.delegates(self.programs[name])
            for name, case in self._known_cases.items()
            if self.allows(case)
        }

    def ordinary_cases(self) -> Iterator[DelegatedCase]:
        """Cases in which nothing is special; all, for a backend that takes no float32. Raises as `cases`."""
        allowed = filter(self.allows, self._known_cases.values())
        has_ordinary = any(case.is_ordinary for case in allowed)
        return self.cases(where=lambda case: case.is_ordinary or not has_ordinary)

    @property
    def simplest(self) -> DelegatedCase:
        """The first case that the backend has. Raises NotDelegatedError."""
        return next(self.cases())

    def delegates(self, source: Path | bytes) -> bool:
        """Whether every method of a program delegates to the backend. Raises ProgramError."""
        with load_program(source, installation=self.installation) as program:
            return all(self.backend_id in program.backends(method) for method in program.method_names)

    # --- methods -------------------------------------------------------------------------

    def open(self, program: DelegatedCase | Path | bytes) -> LoadedProgram:
        """The program of a case, or any other, for the executor of the settings."""
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
            method: The method, by default the first.
            options: Options of the backend that differ from its defaults and recommendations, by name.
            instance: The named instance.
            through: What stands between the core and the backend.

        Raises:
            NotApplicableError: `through` is given, and another runtime holds the implementation.
            EtconfigError: as `LoadedProgram.load_method`.
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
        """As `load`, from a program that is open."""
        if through is not None and self.is_native:
            raise NotApplicableError(f"another runtime calls {self.backend_id}: its calls cannot be watched")
        chosen = {f"{method}:{self.backend_id}.{name}": value for name, value in (options or {}).items()}
        arguments = resolve_defaults(
            program.installation, method, program.backends(method), chosen, facts=self.facts
        )
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
        """Compare what a run answered with what eager PyTorch did.

        Args:
            case: The case.
            run: The run.
            outputs: What came back.
            method: The method, by default the first.
            precisely: Within the precision that the backend declares. Otherwise the answer must only
                be the right one, so that a lack of precision is told by the checks of that alone.

        Raises:
            CheckFailedError: they differ.
        """
        tolerances = (precise if precisely else right)(self.capabilities.precision)
        check_outputs(f"{case.name}.{method or case.method}", outputs, run.outputs, tolerances)

    def check_runs(
        self, method: Method, case: DelegatedCase, name: str | None = None, *, precisely: bool = False
    ) -> None:
        """Run all that the case has for a loaded method, and compare as `check_outputs` does."""
        for run in case.runs(name):
            outputs = method.execute(list(run.inputs))
            self.check_outputs(case, run, outputs, name, precisely=precisely)

    def check_case(self, case: DelegatedCase, *, precisely: bool = False) -> None:
        """Load each method of a case, run all that the case has for it, and compare."""
        for name in case.case.methods:
            with self.load(case, name) as method:
                self.check_runs(method, case, name, precisely=precisely)
