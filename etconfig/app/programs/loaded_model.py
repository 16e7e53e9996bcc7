"""`LoadedModel`: the variant of a model that runs now, and the report on how it was chosen."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex

from etconfig.base.records import record
from etconfig.errors import (
    BackendUnavailableError,
    EtconfigError,
    LibraryError,
    MethodNotFoundError,
    MissingDataError,
    MissingOperatorError,
    OutOfMemoryError,
    ProgramError,
    UnreadableProgramError,
    UnsafeProgramError,
    UnsupportedProgramError,
)
from etconfig.models.catalog import ModelVariant
from etconfig.models.variant_selection import ModelChoice, variant_data
from etconfig.report.model import shown_text

if TYPE_CHECKING:
    from etconfig.app.programs.loaded_program import LoadedProgram
    from etconfig.method.method import Method
    from etconfig.resolver.deciding.resolution import Resolution

_CODE_NAMES: tuple[tuple[type[EtconfigError], str], ...] = (
    (MissingDataError, "NotFound"),
    (UnreadableProgramError, "AccessFailed"),
    (UnsupportedProgramError, "NotSupported"),
    (ProgramError, "InvalidProgram"),
    (MissingOperatorError, "OperatorMissing"),
    (BackendUnavailableError, "NotFound"),
    (LibraryError, "RegistrationAlreadyRegistered"),
    (OutOfMemoryError, "MemoryAllocationFailed"),
    (UnsafeProgramError, "InvalidProgram"),
)
"""ExecuTorch's codes of errors that carry none themselves, as in their docstrings; the first that fits."""


def error_code(error: EtconfigError) -> str:
    """Return the name of ExecuTorch's code for an error, such as `NotFound`; else the name of its class."""
    name = getattr(error, "code_name", None)
    if isinstance(name, str):
        return name
    return next((code for kind, code in _CODE_NAMES if isinstance(error, kind)), type(error).__name__)


@record(frozen=True, kw_only=True)
class FailedLoad:
    """A variant that was selected and could not be loaded.

    Attributes:
        variant: The variant.
        error: The error.
    """

    variant: ModelVariant
    error: EtconfigError

    @property
    def code(self) -> str:
        """The name of ExecuTorch's code for the error, such as `NotFound`; else the name of its class."""
        return error_code(self.error)

    def __str__(self) -> str:
        return f"{self.variant} failed to load: {self.error.message} [{self.code}]"


@record(frozen=True, kw_only=True)
class ModelReport:
    """The requested variant, the variants that failed, and the variant that runs now.

    Attributes:
        model: The name of the model.
        asked_for: The variant that was selected first.
        failures: The variants that could not be loaded, in the order in which they were tried.
        running: The variant that runs now.
    """

    model: str
    asked_for: ModelVariant
    failures: tuple[FailedLoad, ...]
    running: ModelVariant

    @property
    def is_fallback(self) -> bool:
        """True if another variant runs than the requested one."""
        return bool(self.failures)

    def to_jsonable(self) -> dict[str, Any]:
        """Return the report as plain data for JSON."""
        return {
            "model": self.model,
            "asked_for": variant_data(self.asked_for),
            "failures": [
                {**variant_data(each.variant), "code": each.code, "error": each.error.message}
                for each in self.failures
            ],
            "running": variant_data(self.running),
            "is_fallback": self.is_fallback,
        }

    def __str__(self) -> str:
        if not self.failures:
            return f"model {self.model}: {self.running} runs, as asked for"
        failed = "; ".join(map(str, self.failures))
        return f"model {self.model}: asked for {self.asked_for}; {failed}; {self.running} runs now"


class LoadedModel:
    """A variant of a model with its methods, as `load_model` loads it.

    Close it, or use it as a context manager.

    Attributes:
        choice: The variant that runs now, and why not the others.
        report: What was asked for, what failed, and what runs now.
        program: The program of the variant.
        resolution: The arguments of its methods.
        methods: The loaded methods, by name.
    """

    def __init__(
        self,
        choice: ModelChoice,
        report: ModelReport,
        program: LoadedProgram,
        resolution: Resolution,
        methods: Mapping[str, Method],
        resources: ExitStack,
    ) -> None:
        self.choice = choice
        self.report = report
        self.program = program
        self.resolution = resolution
        self.methods = methods
        self._resources = resources

    def method(self, name: str = "forward") -> Method:
        """Return a loaded method.

        Raises:
            MethodNotFoundError: no such method was loaded.
        """
        if name not in self.methods:
            raise MethodNotFoundError(method=name, known=tuple(self.methods))
        return self.methods[name]

    def close(self) -> None:
        """Close the methods and the program."""
        self._resources.close()

    def __enter__(self) -> LoadedModel:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError("a loaded model cannot be copied or pickled: load it with etconfig.load_model")

    def __repr__(self) -> str:
        instead = f" instead of {shown_text(str(self.report.asked_for))}" if self.report.is_fallback else ""
        running = shown_text(str(self.report.running))
        return f"<LoadedModel {shown_text(self.choice.name)}: {running}{instead}>"
