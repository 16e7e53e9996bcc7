"""`LoadedProgram`: a verified program together with the installation that runs it."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from contextlib import nullcontext
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Final, NoReturn, SupportsIndex

from etconfig.app.configuring.configuration import resolve_defaults
from etconfig.app.configuring.default_program import OpenedProgram
from etconfig.app.configuring.targets import find_spec
from etconfig.app.installation.installation import Installation
from etconfig.app.programs.executors import NUMPY, create_backend
from etconfig.app.programs.given_backends import BackendsByName, split_backends
from etconfig.backend import BoundBackend, Capabilities
from etconfig.base.parameters import as_count, check_type
from etconfig.base.records import Immutable
from etconfig.errors import (
    BackendUnavailableError,
    MissingOperatorError,
    ProgramError,
    UnsharedStateWarning,
)
from etconfig.method import ExecutorProgram
from etconfig.method.method import Method, guarded_method
from etconfig.program.metadata import MethodMeta, delegated_dtypes, signature_texts
from etconfig.program.process_lock import ProcessLock
from etconfig.program.program import Program
from etconfig.report.has_view import HasView
from etconfig.report.model import Table, View, shown_names, shown_text
from etconfig.resolver.deciding.arguments import ANY_METHOD, Arguments
from etconfig.schema.validate import change_options

if TYPE_CHECKING:
    from etconfig.method import MethodRequest
    from etconfig.method.arenas import SharedArenas
    from etconfig.method.bundled_cases import CaseResult, Tolerance
    from etconfig.plugin.code_backends import GivenBackends
    from etconfig.program.model import ExecutionPlan
    from etconfig.schema.spec import BackendSpec
    from etconfig.tracing import RecordingTracer


class LoadedProgram(OpenedProgram, HasView, Immutable):
    """A program and the installation that runs it, as `load_program` makes them; threads may share it.

    It is immutable.

    Attributes:
        program: The verified file.
        installation: The plugins, profiles and project file.
        executor: The name of the executor that runs it.
        share_memory_arenas: True if the methods loaded from it share their arenas.
    """

    def __init__(
        self,
        program: Program,
        installation: Installation,
        opened: ExecutorProgram | None = None,
        executor: str = NUMPY,
        *,
        share_memory_arenas: bool = False,
    ) -> None:
        super().__init__(program, installation)
        self.executor: Final = executor
        self.share_memory_arenas: Final = share_memory_arenas
        self._opened = opened
        self._arenas: SharedArenas | None = None
        self._loaded: dict[str, None] = {}
        self._lock = ProcessLock()
        self._is_sealed = True

    def metadata(self, method: str) -> MethodMeta:
        """Return the inputs, outputs and attributes of a method, without loading it.

        Raises:
            MethodNotFoundError: the program has no such method.
        """
        return MethodMeta(self.program.plan(method))

    def load_method(
        self,
        name: str,
        arguments: Arguments | None = None,
        *,
        backends: BackendsByName | None = None,
        tracer: RecordingTracer | None = None,
        optimize: bool = True,
        memory: Sequence[object] = (),
        warm_up: int = 0,
    ) -> Method:
        """Load a method with its arguments, so that it can run.

        Example:
            >>> program = etconfig.load_program("model.pte")
            >>> arguments = etconfig.resolve(program).arguments("forward")
            >>> with program.load_method("forward", arguments) as method:
            ...     (scores,) = method.execute([np.zeros((1, 1, 8, 8), np.float32)])
            >>> scores.shape
            (1, 10)

        Args:
            name: The name of the method.
            arguments: Its arguments, as `resolve` returns them. By default every option has the
                default of its schema, or the value that the backend recommends on this device.
            backends: Backends that win over installed ones, by id: objects of backends, declarations
                (`BackendSpec`), or results of `bind`. An object has the options that an installed plugin
                declares for its id, else none.
            tracer: Records events. Without a tracer, tracing costs nothing.
            optimize: Omit work that changes no output beyond rounding. Otherwise every instruction
                runs as the program says.
            memory: The arenas to place the method's tensors in: for each planned buffer, of which
                `metadata(name)` knows the number and the sizes, a writable buffer with at least as many
                bytes, such as a numpy array, bytearray or mmap, or None to have it allocated. The Method
                uses them until it is closed; what they contain is the state so far.
            warm_up: The number of executes on zeros, in the largest shapes that the program allows, before
                the method is returned; `Method.warm_up_s` has their times. Mutable buffers are then as after
                loading; backends see the executes.

        Returns:
            The loaded method; close it, or use it as a context manager.

        Raises:
            MethodNotFoundError: the program has no such method.
            BackendUnavailableError: a backend is not installed, or cannot run here.
            MissingOperatorError: no kernel implements some operators of the method.
            DuplicatePluginError: several distributions have a kernel for an operator, and `[kernels.prefer]`
                of the project file names none of them.
            PluginError: a plugin is broken.
            DelegateError: a backend failed to initialize.
            OptionError: a required option is not set.
            ProgramError: data outside the program were not given, or do not fit it.
            InvalidMemoryError: `memory` does not fit the method.
            ArenaConflictError: the methods share their arenas, and this one and another one would overwrite
                each other's state.
            MethodInUseError: the methods share their arenas, and another one is executing.
            TypeError: `name` is not a text, `arguments` is not an `Arguments` object, or `memory` not a list.
            ValueError: the arguments belong to another method, or have other options than a backend of
                `backends`; or no method of the program delegates to one of these.

        Warns:
            UnsharedStateWarning: this method and one that was loaded before share state in the model, but
                not here: load the program with `share_memory_arenas=True`.
        """
        warm_up = as_count("warm_up", warm_up, "executes")
        check_type("optimize", optimize, bool, "True or False")
        check_tracer(tracer)
        self._warn_of_unshared_state(name, memory)
        from etconfig.method.request import method_request  # numpy comes with it; resolving does not need it

        check_type("name", name, str, "the name of a method")
        expected = f"the result of etconfig.resolve(program).arguments({name!r})"
        if arguments is not None:
            check_type("arguments", arguments, Arguments, expected)
        plan = self.program.plan(name)
        bound, given = split_backends(self, backends)
        program = self._with_backends(given) if given else self
        if arguments is None:
            arguments = resolve_defaults(program, name)
        elif arguments.method not in (name, ANY_METHOD):
            raise ValueError(f"arguments: expected {expected}, given those of {arguments.label}")
        request = method_request(
            self.program,
            plan,
            {**program._bind_all(plan, arguments, bound), **bound},
            instance=arguments.instance,
            tracer=tracer,
            optimize=optimize,
            memory=self._checked_memory(plan, memory),
        )
        try:
            if warm_up:
                return self._warmed_up(plan, request, warm_up)
            return self._guarded(MethodMeta(plan), request, self._executor_program())
        except MissingOperatorError as error:
            if self.executor == NUMPY:
                self._raise_conflict(error.operators)
            for each in self.installation.kernel_failures:
                source = f"{each.name!r} of {each.distribution} {each.version}"
                error.help = f"{error.help}; one that is installed is broken: {source}: {each.cause}"
            raise

    def _raise_conflict(self, missing: Sequence[str]) -> None:
        """Raise the error for the first of the missing operators that has several kernels, if any has."""
        kernels = self.installation.kernels
        for operator in missing:
            if operator in kernels.contested:
                raise kernels.conflict(operator) from None

    def bind(self, method: str, arguments: Arguments) -> dict[str, BoundBackend]:
        """Return the backends of a method with their options, by id, before any is created.

        `load_method` accepts the result: a caller may wrap a backend's `create` in between.

        Example:
            >>> program = etconfig.load_program("model.pte")
            >>> bound = program.bind("forward", etconfig.resolve(program).arguments("forward"))
            >>> sorted(bound)
            ['ReferenceCpuBackend', 'ReferenceNpuBackend']
            >>> program.load_method("forward", backends=bound).close()

        Raises:
            MethodNotFoundError: the program has no such method.
            BackendUnavailableError: a backend is not installed, does not declare an element type that the
                method passes to it, or `arguments` have no options for it.
            PluginError: a plugin is broken.
        """
        return self._bind_all(self.program.plan(method), arguments)

    def verify_bundled(
        self, method: str, arguments: Arguments | None = None, *, tolerance: Tolerance | None = None
    ) -> list[CaseResult]:
        """Run the cases that a bundled program (.bpte) records for a method, and compare the outputs.

        Every case runs on a Method of its own, in the initial state.

        Args:
            method: The method.
            arguments: Its arguments, as for `load_method`.
            tolerance: For all floating-point outputs; by default see `etconfig.method.bundled_cases`.

        Returns:
            One result for each case, in the order of the file; none for a method without cases.

        Raises:
            EtconfigError: as `load_method`. The problem of a single case is in its result instead.
        """
        from etconfig.method.bundled_cases import run_case

        self.metadata(method)  # raises if there is no such method
        results = []
        alone = LoadedProgram(self.program, self.installation, self._executor_program(), self.executor)
        for case in self.program.bundled_cases.get(method, ()):
            with alone.load_method(method, arguments) as loaded:
                results.append(run_case(loaded, case, tolerance))
        return results

    def close(self) -> None:
        """Release the file. Loaded methods stay usable."""
        if self._opened is not None:
            self._opened.close()
        self._arenas = None
        self.program.close()

    def __enter__(self) -> LoadedProgram:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError(
            "a loaded program cannot be copied or pickled: pass its path on, and load it there with "
            "etconfig.load_program"
        )

    def __repr__(self) -> str:
        path = shown_text(self.program.path or "in memory")
        return f"<LoadedProgram {path}: {shown_names(self.method_names)}>"

    def _view(self) -> View:
        headers = ("METHOD", "INPUTS", "OUTPUTS", "BACKENDS")
        table = Table(caption="", headers=headers, rows=map(self._row, self.method_names))
        size = f"{self.program.size_bytes:,} bytes"
        title = f"LoadedProgram: {self.program.path or 'in memory'}, {size}"
        return View(title=title, tables=(table,))

    def _row(self, method: str) -> tuple[str, ...]:
        try:
            return method, *signature_texts(self.metadata(method)), ", ".join(self.backends(method)) or "none"
        except ProgramError as error:  # the program is closed, or was opened without verifying its methods
            return method, error.message, "", ""

    def _executor_program(self) -> ExecutorProgram:
        if self._opened is None:
            from etconfig.numpy_executor import NumpyProgram

            self._opened = NumpyProgram(self.program, self.installation.kernels)
        return self._opened

    def _warmed_up(self, plan: ExecutionPlan, request: MethodRequest, count: int) -> Method:
        """Load a method, execute it, and return it in the state after loading."""
        from etconfig.method.warm_up import WarmUpProgram, warm_up

        program = WarmUpProgram(self._executor_program(), self.program)
        method = self._guarded(MethodMeta(plan), request, program)
        try:
            # of all methods that share arenas, this one runs until its state is restored
            shared = nullcontext() if self._arenas is None else self._arenas.entered(plan.name)
            with shared:
                execute = partial(Method.execute, method)
                method._warm_up_s = warm_up(execute, plan, program.arenas, count)
        except BaseException:
            method.close()
            raise
        return method

    def _guarded(self, meta: MethodMeta, request: MethodRequest, program: ExecutorProgram) -> Method:
        if not self.share_memory_arenas:
            return guarded_method(meta, request, program)
        from etconfig.method.arenas import SharedArenas, SharingMethod, SharingProgram

        with self._lock.current():
            if self._arenas is None:
                self._arenas = SharedArenas(self.program)
        sharing = SharingProgram(program, self._arenas, self.program)
        return guarded_method(meta, request, sharing, partial(SharingMethod, self._arenas))

    def _checked_memory(self, plan: ExecutionPlan, memory: Sequence[object]) -> Sequence[object]:
        if isinstance(memory, tuple) and not memory:
            return ()
        from etconfig.method.arenas import check_memory, check_not_shared

        checked = check_memory(plan, memory)
        if self.share_memory_arenas:
            check_not_shared(plan, checked)
        return checked

    def _warn_of_unshared_state(self, name: str, memory: Sequence[object]) -> None:
        """Warn, from where `load_method` was called, of state that this method does not share with others."""
        if self.share_memory_arenas or len(self.method_names) == 1 or name not in self.method_names:
            return
        others = [each for each in [*self._loaded] if each != name]
        self._loaded[name] = None
        if not others:
            return
        from etconfig.program.shared_state import STATE_MEMORY_ID, read_planned_state, unshared_state

        if len(self.program.plan(name).non_const_buffer_sizes) <= STATE_MEMORY_ID:
            return
        if isinstance(memory, Sequence) and any(
            each is not None for each in memory[STATE_MEMORY_ID - 1 : STATE_MEMORY_ID]
        ):
            return  # the caller decides what is shared
        state = read_planned_state(self.program.plan(name))
        for other in others:
            shared = state.shared_with(read_planned_state(self.program.plan(other)))
            if shared:
                warnings.warn(unshared_state(name, other, shared), UnsharedStateWarning, stacklevel=3)
                return

    def _with_backends(self, given: GivenBackends) -> LoadedProgram:
        """Return the same program with backends given in code, to bind a method."""
        return LoadedProgram(self.program, self.installation.with_backends(given), executor=self.executor)

    def _bind_all(
        self, plan: ExecutionPlan, arguments: Arguments, but: Collection[str] = ()
    ) -> dict[str, BoundBackend]:
        dtypes = delegated_dtypes(plan)  # by backend, in the order of the file
        return {each: self._bind(each, arguments, used) for each, used in dtypes.items() if each not in but}

    def _bind(self, backend_id: str, arguments: Arguments, dtypes: frozenset[str]) -> BoundBackend:
        resolved = arguments.backends.get(backend_id)
        if resolved is None:
            raise BackendUnavailableError(
                backend=backend_id,
                reason=f"the arguments of {arguments.label} have no options for it",
                help="resolve the arguments for this program: etconfig.resolve(program)",
            )
        spec = find_spec(self.installation, backend_id)
        if type(resolved.options) is not spec.options:  # resolved for another declaration of the backend
            raise ValueError(
                f"arguments: expected options of {spec.options.__name__} for {spec.id}, given those of "
                f"{type(resolved.options).__name__}; resolve them for a program that has this backend: "
                "etconfig.resolve(etconfig.load_program(..., backends=...))"
            )
        _check_dtypes(spec, arguments, dtypes)
        return BoundBackend(
            backend_id=backend_id,
            create=partial(create_backend, self.installation, spec, self.executor),
            options=resolved.options,
            changed=partial(change_options, spec),
            is_given=spec.factory is not None
            and any(entry.name == backend_id for entry in self.installation.index.given),
            joint_update=spec.joint_update,
            is_asked_for=resolved.is_asked_for,
        )


def _check_dtypes(spec: BackendSpec, arguments: Arguments, used: frozenset[str]) -> None:
    """Refuse element types that a backend does not declare, so that it never meets an unknown one."""
    if spec.factory is None:  # the backend lives in another runtime, which knows its types better
        return
    if not isinstance(spec.capabilities, Capabilities) or used <= spec.capabilities.dtypes:
        return
    unknown = ", ".join(sorted(used - spec.capabilities.dtypes))
    declared = ", ".join(sorted(spec.capabilities.dtypes))
    raise BackendUnavailableError(
        backend=spec.id,
        reason=f"{arguments.label} passes it tensors of {unknown}, but it declares {declared}",
        help="lower the model to what it declares, or install a version of its plugin that declares more",
    )


def check_tracer(tracer: object) -> None:
    """Refuse a tracer of another type. Raises TypeError."""
    if tracer is not None:
        from etconfig.tracing import RecordingTracer

        check_type("tracer", tracer, RecordingTracer, "an etconfig.tracing.RecordingTracer()")
