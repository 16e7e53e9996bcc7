"""Every exception that etconfig raises on purpose.

The branch says who must act:

    EtconfigError
    ├── ConfigError              the user's configuration; contains every problem found
    │   ├── DocumentError          a TOML document cannot be read
    │   ├── ProfileError           a profile is unknown, ambiguous or malformed
    │   ├── FactError              a fact sheet or a hand-set fact is wrong
    │   ├── ModelError             a model is unknown, or none of its variants suits the device
    │   ├── OptionError            an option is unknown, invalid, missing or not settable now
    │   └── SavedResultError       a saved resolution or lock file is malformed or out of date
    ├── PluginError              the author of a plugin
    │   ├── PluginLoadError        a plugin that is needed failed
    │   ├── UnknownPluginError     no installed plugin declares this name
    │   ├── DuplicatePluginError   two distributions claim one name
    │   └── PluginCallError        a plugin answered a call with an exception or nonsense
    ├── ProgramError             the .pte or .ptd file
    │   ├── UnreadableProgramError  it cannot be opened or read, or was closed
    │   ├── NotAProgramError       it is something else
    │   ├── TruncatedProgramError  it ends too early
    │   ├── MalformedProgramError  its contents contradict themselves
    │   ├── UnsupportedProgramError  it is valid, but uses what this version cannot read
    │   └── MissingDataError       none of the given .ptd files contains its external tensors
    ├── ExecutionError           this run
    │   ├── MethodNotFoundError    the program has no such method
    │   ├── MissingOperatorError   no kernel for operators of the method
    │   ├── BackendUnavailableError  the backend cannot run here
    │   ├── ModelLoadError         every variant of a model that suits the device failed to load
    │   ├── LibraryError           a library of operators or backends cannot be loaded
    │   ├── InvalidInputError      an input has the wrong count, dtype, rank or size
    │   ├── InvalidMemoryError     memory that the caller gives does not fit
    │   ├── ArenaConflictError     methods that share arenas would overwrite each other's state
    │   ├── InvalidOutputError     an array for an output does not fit it
    │   ├── AttributeNotFoundError  the method has no such mutable buffer, or gives no access
    │   ├── KernelArgumentError    a kernel refuses its arguments
    │   ├── BudgetExceededError    instances take more than their budget
    │   ├── MemoryBudgetError      a program would need more memory than the device has
    │   ├── OutOfMemoryError       the method asks for more memory than there is
    │   ├── DelegateError          a backend's init, execute, update or destroy failed
    │   │   ├── EngineError          an engine failed to report or to change options, without a program
    │   │   ├── DelegateInvalidCompatibilityError  a payload is for another version or target
    │   │   └── InvalidPayloadError  a payload is damaged, truncated or something else
    │   ├── MethodInUseError       a second thread entered the same Method
    │   ├── MethodClosedError      the Method was closed
    │   ├── InstructionLimitError  the method ran more instructions than its budget
    │   ├── ExecutionStoppedError  the run was canceled, or its time was up
    │   ├── MeasurementError       a configuration that is measured cannot be loaded or run
    │   ├── UnsupportedCallError   the executor lacks what this call asks for
    │   ├── RuntimeFailedError     the runtime behind another executor failed
    │   └── UnsafeProgramError     that runtime would not survive the method
    ├── MissingPackageError      a package of an extra is not installed
    ├── ScaffoldError            the package of a new backend cannot be written as requested
    ├── RemoteDeviceError        a device that measures for this machine is lost, or lacks what is needed
    ├── TuningError              a search for better options cannot begin or go on
    ├── WorkersError             the workers of a fleet are lost, or cannot do their part
    └── InternalError            a bug in etconfig: please report it

Attributes carry the facts, the message is derived from them, and every exception pickles. The classes stay in
one module, so that the tree and the messages can be read together. Docstrings name ExecuTorch's matching
`Error` code where there is one.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any, ClassVar

from etconfig.base.number_text import format_bytes
from etconfig.base.records import record
from etconfig.diagnostics.diagnostic import Diagnostic

_MAX_HOLDERS = 4
"""The most holders of memory that a message names."""


def _rebuild(cls: type[EtconfigError], state: dict[str, Any]) -> EtconfigError:
    return cls(**state)


@record(kw_only=True, eq=False, repr=False)
class EtconfigError(Exception):
    """Root of all errors that etconfig raises on purpose.

    Attributes:
        help: An instruction that says more than the message, or None.
    """

    template: ClassVar[str] = ""
    """The message, with the names of attributes in braces."""

    help: str | None = None

    @property
    def message(self) -> str:
        """One sentence that names the thing and what was expected, derived from the attributes."""
        return self.template.format(**vars(self)) or type(self).__name__

    def __str__(self) -> str:
        return f"{self.message}; {self.help}" if self.help else self.message

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def __reduce__(self) -> tuple[object, ...]:
        state = {f.name: getattr(self, f.name) for f in fields(self)}
        return _rebuild, (type(self), state)


# --- the user's configuration ------------------------------------------------------------


@record(kw_only=True, eq=False, repr=False)
class ConfigError(EtconfigError):
    """The configuration has problems; `diagnostics` contains all of them, never only the first."""

    diagnostics: tuple[Diagnostic, ...]

    @property
    def message(self) -> str:
        errors = [d for d in self.diagnostics if d.is_error] or list(self.diagnostics)
        if not errors:
            return "the configuration is invalid"
        more = len(errors) - 1
        first = str(errors[0])
        if errors[0].help:
            first += f" ({errors[0].help})"
        return first if more == 0 else f"{first} (and {more} more)"


class DocumentError(ConfigError):
    """A TOML document cannot be read: syntax, encoding, size, depth, or no such file."""


class ProfileError(ConfigError):
    """A profile is unknown, ambiguous, malformed, or extends itself."""


class FactError(ConfigError):
    """A fact sheet or a hand-set fact is malformed, of the wrong type, or unknown."""


class ModelError(ConfigError):
    """A model is unknown or declared twice, or none of its variants suits the device."""


class OptionError(ConfigError):
    """An option is unknown, invalid, missing, or cannot be set at this time."""


class SavedResultError(ConfigError):
    """A saved resolution or a lock file cannot be read, or no longer matches."""


# --- the author of a plugin --------------------------------------------------------------


@record(kw_only=True, eq=False, repr=False)
class PluginError(EtconfigError):
    """A plugin is at fault.

    Attributes:
        group: Entry-point group, such as `etconfig.backends`.
        name: Entry-point name, such as a backend id.
    """

    group: str
    name: str


@record(kw_only=True, eq=False, repr=False)
class PluginLoadError(PluginError):
    """A plugin that is needed failed to import, register or answer.

    Attributes:
        culprit: The plugin's code at fault, such as `acme_npu.plugin:make_backend (plugin.py:12)`.
        author_help: An instruction for the plugin's author, where `help` is one for its users.
    """

    distribution: str
    version: str
    cause: str
    culprit: str = ""
    author_help: str | None = None

    template = "plugin {name!r} ({group}) of {distribution} {version} failed: {cause}"


@record(kw_only=True, eq=False, repr=False)
class UnknownPluginError(PluginError):
    """No installed plugin declares this name. ExecuTorch: NotFound (0x20)."""

    known: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        known = ", ".join(self.known) if self.known else "none"
        return f"no installed plugin declares {self.name!r} in {self.group} (installed: {known})"


@record(kw_only=True, eq=False, repr=False)
class DuplicatePluginError(PluginError):
    """Two or more distributions claim one name."""

    distributions: tuple[str, ...]

    @property
    def message(self) -> str:
        return f"{self.name!r} in {self.group} is claimed by {' and '.join(self.distributions)}"


@record(kw_only=True, eq=False, repr=False)
class PluginCallError(PluginError):
    """A plugin answered a call with an exception, or with a value that it must not return."""

    call: str
    cause: str

    template = "{call} of plugin {name!r} ({group}) failed: {cause}"


# --- the file ----------------------------------------------------------------------------


@record(kw_only=True, eq=False, repr=False)
class ProgramError(EtconfigError):
    """A .pte or .ptd file cannot be used. ExecuTorch: InvalidProgram (0x23).

    Attributes:
        code: Kebab-case name of the problem, one of `etconfig.program.program_errors.PROGRAM_ERROR_CODES`.
        region: The part of the file, such as `execution_plan[0].values[12]`.
        offset: Byte offset of the problem in the file, if it has one.
        path: The file, if it has a name.
    """

    code: str
    region: str
    offset: int | None = None
    path: str | None = None

    @property
    def problem(self) -> str:
        """The part of the message that says what is wrong, without the place."""
        return self.template.format(**vars(self)) or self.code

    @property
    def message(self) -> str:
        place = "" if self.path is None else f"{self.path}: "
        at = "" if self.offset is None else f" at byte {self.offset}"
        return f"{place}{self.region}{at}: {self.problem} [{self.code}]"


@record(kw_only=True, eq=False, repr=False)
class UnreadableProgramError(ProgramError):
    """The file cannot be opened or read, or was closed. ExecuTorch: AccessFailed (0x22)."""

    reason: str

    template = "{reason}"

    @property
    def message(self) -> str:
        return f"{self.path or self.region}: {self.reason} [{self.code}]"


@record(kw_only=True, eq=False, repr=False)
class NotAProgramError(ProgramError):
    """The file is not an ExecuTorch program."""

    found: str
    expected: str

    template = "expected {expected}, found {found}"


@record(kw_only=True, eq=False, repr=False)
class TruncatedProgramError(ProgramError):
    """The file ends earlier than its contents require."""

    needed_bytes: int
    available_bytes: int

    template = "needs {needed_bytes} bytes, but only {available_bytes} are there"


@record(kw_only=True, eq=False, repr=False)
class MalformedProgramError(ProgramError):
    """The file's contents contradict themselves or the format."""

    detail: str

    template = "{detail}"


class UnsupportedProgramError(MalformedProgramError):
    """The file is valid, but uses what this version cannot read or run. ExecuTorch: NotSupported (0x10)."""


@record(kw_only=True, eq=False, repr=False)
class MissingDataError(ProgramError):
    """Tensors of a method lie outside the program, and none of the given data files contains them.

    ExecuTorch: NotFound (0x20).

    Attributes:
        keys: The names of the tensors.
        files: The given data files.
    """

    keys: tuple[str, ...]
    files: tuple[str, ...]

    @property
    def problem(self) -> str:
        keys = ", ".join(map(repr, self.keys))
        given = f"none is in {', '.join(self.files)}" if self.files else "no data file was given"
        return f"the data of {len(self.keys)} tensor(s) lie outside the program, and {given}: {keys}"


# --- this run ----------------------------------------------------------------------------


class ExecutionError(EtconfigError):
    """Loading or running a method failed."""


@record(kw_only=True, eq=False, repr=False)
class MethodNotFoundError(ExecutionError):
    """The program has no such method. ExecuTorch: InvalidArgument (0x12)."""

    method: str
    known: tuple[str, ...]

    @property
    def message(self) -> str:
        return f"the program has no method {self.method!r}; it has {', '.join(map(repr, self.known))}"


@record(kw_only=True, eq=False, repr=False)
class MissingOperatorError(ExecutionError):
    """No kernel implements some operators of the method. ExecuTorch: OperatorMissing (0x14).

    Attributes:
        code: The error code of ExecuTorch's runtime, or None if another executor refused the method.
        code_name: The name of the code, `OperatorMissing`, or None.
    """

    method: str
    operators: tuple[str, ...]
    code: int | None = None
    code_name: str | None = None

    @property
    def message(self) -> str:
        return (
            f"method {self.method!r} needs {len(self.operators)} operator(s) that no installed kernel "
            f"implements: {', '.join(self.operators)}"
        )


@record(kw_only=True, eq=False, repr=False)
class BackendUnavailableError(ExecutionError):
    """The program delegates to a backend that cannot run here. ExecuTorch: NotFound (0x20)."""

    backend: str
    reason: str

    template = "backend {backend!r} cannot run here: {reason}"


@record(kw_only=True, eq=False, repr=False)
class ModelLoadError(ExecutionError):
    """Every variant of a model that suits the device failed to load, one after the other.

    Attributes:
        model: The name of the model.
        failures: For each variant, in the order in which they were tried: its file, the name of the error
            code, and the message.
    """

    model: str
    failures: tuple[tuple[str, str, str], ...]

    @property
    def message(self) -> str:
        failed = "; ".join(f"{file}: {message} [{code}]" for file, code, message in self.failures)
        return f"no variant of model {self.model!r} can be loaded: {failed}"


@record(kw_only=True, eq=False, repr=False)
class LibraryError(ExecutionError):
    """A library of operators or backends cannot be loaded. ExecuTorch: RegistrationAlreadyRegistered (0x16).

    Attributes:
        library: The path of the library, or its name if the runtime ships it.
        reason: What is wrong with it.
    """

    library: str
    reason: str

    template = "library {library!r} cannot be loaded: {reason}"


@record(kw_only=True, eq=False, repr=False)
class MeasurementError(ExecutionError):
    """A configuration that is measured cannot be loaded or run.

    Attributes:
        label: Its name in results.
        reason: What is wrong.
    """

    label: str
    reason: str

    template = "{label} cannot be measured: {reason}"


@record(kw_only=True, eq=False, repr=False)
class InvalidInputError(ExecutionError):
    """An input does not fit the method. ExecuTorch: InvalidArgument (0x12)."""

    method: str
    input: str
    expected: str
    given: str

    template = "method {method!r}, {input}: expected {expected}, given {given}"


@record(kw_only=True, eq=False, repr=False)
class InvalidMemoryError(ExecutionError):
    """Memory that the caller gives does not fit the method. ExecuTorch: InvalidArgument (0x12).

    Attributes:
        method: The method.
        buffer: The index of the planned buffer, or None if their number is wrong.
        expected: The memory that fits.
        given: The memory that was given.
    """

    method: str
    buffer: int | None
    expected: str
    given: str

    @property
    def message(self) -> str:
        """The buffer, what was expected, and what was given."""
        which = "memory" if self.buffer is None else f"memory[{self.buffer}]"
        return f"method {self.method!r}, {which}: expected {self.expected}, given {self.given}"


@record(kw_only=True, eq=False, repr=False)
class ArenaConflictError(ExecutionError):
    """Methods that share arenas would overwrite each other's state. ExecuTorch: NotSupported (0x10).

    Attributes:
        method: The method whose state would be overwritten.
        other: The method that would overwrite it.
        state: The state.
    """

    method: str
    other: str
    state: str
    help: str | None = (
        "export the program with MemoryPlanningPass(share_mutable_buffers=True), or load it without "
        "share_memory_arenas"
    )

    template = (
        "methods {method!r} and {other!r} cannot share arenas: {other!r} uses the bytes in which {method!r} "
        "keeps its state ({state})"
    )


@record(kw_only=True, eq=False, repr=False)
class InvalidOutputError(ExecutionError):
    """An array that was given for an output does not fit it. ExecuTorch: InvalidArgument (0x12)."""

    method: str
    output: str
    expected: str
    given: str

    template = "method {method!r}, {output}: expected {expected}, given {given}"


@record(kw_only=True, eq=False, repr=False)
class AttributeNotFoundError(ExecutionError):
    """A method has no such attribute, or its executor gives no access. ExecuTorch: NotFound (0x20)."""

    method: str
    attribute: str
    reason: str

    template = "method {method!r} has no attribute {attribute!r}: {reason}"


@record(kw_only=True, eq=False, repr=False)
class KernelArgumentError(ExecutionError):
    """A kernel refuses its arguments. ExecuTorch: InvalidArgument (0x12)."""

    operator: str
    detail: str

    template = "{operator}: {detail}"


@record(kw_only=True, eq=False, repr=False)
class MemoryBudgetError(ExecutionError):
    """A program would need more memory than the device has, by an estimate. ExecuTorch has no such code.

    Attributes:
        program: The program, or several.
        needed_bytes: The memory that it needs, with the margin.
        available_bytes: The memory that the device has; None if that is not known.
        holders: What holds the memory, with the bytes of each, the largest first.
    """

    program: str
    needed_bytes: int
    available_bytes: int | None
    holders: tuple[tuple[str, int], ...]

    @property
    def message(self) -> str:
        has = "unknown" if self.available_bytes is None else format_bytes(self.available_bytes)
        holders = ", ".join(f"{name} {format_bytes(size)}" for name, size in self.holders[:_MAX_HOLDERS])
        return f"{self.program} needs {format_bytes(self.needed_bytes)}, has {has}: {holders}"


@record(kw_only=True, eq=False, repr=False)
class BudgetExceededError(ExecutionError):
    """Instances take more than their budget, or an unknown amount. ExecuTorch has no such code.

    Attributes:
        resource: `threads` or `memory`.
        limit: The budget; None if it is not known on this device.
        taken: The sum of what is known.
        holders: What takes it, such as `detector: XnnpackBackend.num_threads`, each with its amount or None.
    """

    resource: str
    limit: int | None
    taken: int
    holders: tuple[tuple[str, int | None], ...]

    @property
    def message(self) -> str:
        shown = format_bytes if self.resource == "memory" else str
        limit = "unknown" if self.limit is None else shown(self.limit)
        holders = (
            f"{name} {'unknown' if amount is None else shown(amount)}"
            for name, amount in self.holders[:_MAX_HOLDERS]
        )
        return f"{self.resource}: {shown(self.taken)} of {limit} are taken: {', '.join(holders)}"


@record(kw_only=True, eq=False, repr=False)
class OutOfMemoryError(ExecutionError):
    """A method asks for more memory than there is. ExecuTorch: MemoryAllocationFailed (0x21)."""

    method: str
    detail: str

    template = "method {method!r} asks for more memory than there is: {detail}"


@record(kw_only=True, eq=False, repr=False)
class DelegateError(ExecutionError):
    """A backend failed. ExecuTorch: the code that the backend returned.

    Attributes:
        backend: The id of the backend.
        method: The method that it failed in.
        phase: `init`, `execute`, `update`, `effective_options` or `destroy`.
        cause: The backend's own words.
        code: The error code that the backend returned to ExecuTorch's runtime, or None outside of it.
        code_name: The name of the code, such as `InvalidArgument`, or None.
    """

    backend: str
    method: str
    phase: str
    cause: str
    code: int | None = None
    code_name: str | None = None

    template = "backend {backend!r} failed in {phase} of method {method!r}: {cause}"


@record(kw_only=True, eq=False, repr=False)
class EngineError(DelegateError):
    """An engine that runs a model without a program failed to report or to change options.

    `method` is the name of the model, with its instance; `phase` is `effective` or `update`.
    """

    template = "backend {backend!r} failed in {phase} of model {method!r}: {cause}"


@record(kw_only=True, eq=False, repr=False)
class DelegateInvalidCompatibilityError(DelegateError):
    """A payload is for another version of the backend, or for another target.

    ExecuTorch: DelegateInvalidCompatibility (0x30).

    A backend raises it in `init`, with `cause` and `help` alone; etconfig fills in the rest.

    Attributes:
        cause: The version or target of the payload, and all that the backend accepts.
    """

    backend: str = ""
    method: str = ""
    phase: str = "init"
    code: int = 0x30
    code_name: str = "DelegateInvalidCompatibility"

    @property
    def message(self) -> str:
        """The cause; with the backend and the method once they are known."""
        return super().message if self.backend else self.cause


@record(kw_only=True, eq=False, repr=False)
class InvalidPayloadError(DelegateError):
    """A payload is damaged, truncated, or something else than its backend writes.

    ExecuTorch: InvalidProgram (0x23).

    A backend raises it in `init`, with `cause` and `help` alone; etconfig fills in the rest.

    Attributes:
        cause: The damage, or the beginning of the bytes and what was expected.
    """

    backend: str = ""
    method: str = ""
    phase: str = "init"
    code: int = 0x23
    code_name: str = "InvalidProgram"

    @property
    def message(self) -> str:
        """The cause; with the backend and the method once they are known."""
        return super().message if self.backend else self.cause


@record(kw_only=True, eq=False, repr=False)
class MethodInUseError(ExecutionError):
    """Another thread is inside this Method. ExecuTorch: InvalidState (0x02).

    Attributes:
        method: The method that was called.
        shares_arenas_with: The method of the same program that is executing in the arenas that both
            share; None if the Method itself is in use.
    """

    method: str
    shares_arenas_with: str | None = None

    @property
    def message(self) -> str:
        """The method, and the executing one if that is another."""
        if self.shares_arenas_with is not None:
            return (
                f"method {self.method!r} shares its arenas with {self.shares_arenas_with!r}, which is "
                "executing in another thread; methods with shared arenas take turns"
            )
        return (
            f"method {self.method!r} is already executing in another thread; "
            "load one Method per thread (they share the program's constants)"
        )


@record(kw_only=True, eq=False, repr=False)
class MethodClosedError(ExecutionError):
    """The Method was closed. ExecuTorch: InvalidState (0x02)."""

    method: str

    template = "method {method!r} is closed; load it again with program.load_method({method!r})"


@record(kw_only=True, eq=False, repr=False)
class InstructionLimitError(ExecutionError):
    """The method ran more instructions than its budget. ExecuTorch: InvalidProgram (0x23)."""

    method: str
    limit: int

    template = "method {method!r} ran {limit} instructions without coming to an end"


@record(kw_only=True, eq=False, repr=False)
class ExecutionStoppedError(ExecutionError):
    """A run ended early, because a token was canceled or its time was up. ExecuTorch has no such code.

    The Method can be used again. Mutable buffers keep what the instructions before this one wrote.

    Attributes:
        method: The method's name.
        reason: `canceled` or `timeout`.
        instruction: The index of the instruction that did not run, or did not end, in its chain; None for a
            method without instructions.
        operator: Its operator, or the id of its delegate's backend.
        elapsed_s: The time from the beginning of the call in seconds.
    """

    method: str
    reason: str
    instruction: int | None
    operator: str | None
    elapsed_s: float

    @property
    def message(self) -> str:
        """The reason, the time and the place."""
        what = "reached its time limit" if self.reason == "timeout" else "was canceled"
        place = "" if self.instruction is None else f", at instruction {self.instruction} ({self.operator})"
        return f"method {self.method!r} {what} after {self.elapsed_s:.6f} s{place}"


@record(kw_only=True, eq=False, repr=False)
class UnsupportedCallError(ExecutionError):
    """The executor lacks what a call asks for. ExecuTorch: NotSupported (0x10)."""

    method: str
    feature: str

    template = "the executor of method {method!r} does not support {feature}"


@record(kw_only=True, eq=False, repr=False)
class RuntimeFailedError(ExecutionError):
    """The runtime behind another executor failed. ExecuTorch: the code that it returned.

    Attributes:
        executor: The executor's name.
        phase: The phase in which it failed: `open`, `load`, `execute` or `effective_options`.
        method: The method, or None if none was involved.
        code: The runtime's error code.
        code_name: The name of the code, such as `InvalidProgram`.
        log: The lines that the runtime logged meanwhile.
    """

    executor: str
    phase: str
    method: str | None
    code: int
    code_name: str
    log: tuple[str, ...]

    @property
    def message(self) -> str:
        what = self.phase if self.method is None else f"{self.phase} of method {self.method!r}"
        said = f"; it logged: {'; '.join(self.log)}" if self.log else ""
        return f"executor {self.executor!r} failed in {what}: {self.code_name} ({self.code:#04x}){said}"


@record(kw_only=True, eq=False, repr=False)
class UnsafeProgramError(ExecutionError):
    """The runtime behind another executor would not survive the method. ExecuTorch: InvalidProgram (0x23).

    Attributes:
        executor: The executor's name.
        method: The method that it refuses to load.
        place: The part of the method, such as `chains[0].instructions[2].args[1], of aten::add.out`.
        detail: The reason, which names the value.
    """

    executor: str
    method: str
    place: str
    detail: str

    template = "executor {executor!r} refuses method {method!r}: {place}: {detail}"


# --- a new package ------------------------------------------------------------------------


@record(kw_only=True, eq=False, repr=False)
class MissingPackageError(EtconfigError):
    """A package that only some work needs is not installed; the help says how to install it.

    Attributes:
        purpose: The work.
        package: The package.
    """

    purpose: str
    package: str

    template = "{purpose} needs the package {package}, which is not installed"


@record(kw_only=True, eq=False, repr=False)
class ScaffoldError(EtconfigError):
    """The package of a new backend cannot be written; no file was.

    Attributes:
        problem: The problem with a name or with the directory.
    """

    problem: str

    template = "{problem}"


@record(kw_only=True, eq=False, repr=False)
class WorkersError(EtconfigError):
    """The workers of a fleet cannot be reached, are lost, or cannot do their part.

    Attributes:
        problem: The problem, with the worker or the file.
    """

    problem: str

    template = "{problem}"


@record(kw_only=True, eq=False, repr=False)
class RemoteDeviceError(EtconfigError):
    """A device that measures for this machine cannot be reached, is lost, or lacks what is needed.

    Attributes:
        device: Its address.
        problem: The problem.
    """

    device: str
    problem: str

    template = "{device}: {problem}"


@record(kw_only=True, eq=False, repr=False)
class TuningError(EtconfigError):
    """A search for better options cannot begin or go on.

    Attributes:
        problem: The problem.
    """

    problem: str

    template = "{problem}"


# --- us ----------------------------------------------------------------------------------


@record(kw_only=True, eq=False, repr=False)
class InternalError(EtconfigError):
    """A bug in etconfig. ExecuTorch: Internal (0x01)."""

    detail: str

    template = "internal error: {detail}; please report it"


# --- warnings ----------------------------------------------------------------------------


class UnusedKernelsWarning(UserWarning):
    """Kernels were given for a program that calls none of their operators."""


class UnsharedStateWarning(UserWarning):
    """Methods of one program share state there, but were loaded with separate memory."""
