"""Lowering of the cases with a vendor's ahead-of-time half. Needs torch and executorch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from etconfig.base.interrupts import may_be_ctrl_c
from etconfig.base.written_files import FileKind, FilesOfRun, RefusedFileError, replace_files
from etconfig.conformance.cases.case import large_case
from etconfig.conformance.cases.stored_cases import load_cases
from etconfig.conformance.subject.subject import Subject
from etconfig.diagnostics.error_text import error_text
from etconfig.errors import ProgramError
from etconfig.plugin.contributions import CONFORMANCE_HOOK
from etconfig.plugin.hookspecs import LoweringRequest

if TYPE_CHECKING:
    from etconfig.conformance.cases.case import Case
    from etconfig.conformance.cases.models import CaseModel

LoweringProgress: TypeAlias = Callable[[str, str], None]
"""Called with the name and the result of each case."""

Lowering: TypeAlias = Callable[[Subject, LoweringProgress], Iterator[tuple[str, bytes | None]]]
"""Yields each case with its program, or with None if that does not delegate to the backend."""

Lower = Callable[[LoweringRequest], bytes]
"""A vendor's ahead-of-time half; see `ConformanceContribution.lower`."""


class LoweringError(Exception):
    """Golden programs could not be made; the message says what is missing or went wrong."""


def lower_cases(
    subject: Subject,
    directory: Path,
    files: FilesOfRun,
    *,
    progress: LoweringProgress = lambda name, what: None,
    lowered: Lowering | None = None,
) -> tuple[str, ...]:
    """Write `<case>.pte` for each case whose needs the backend declares, all or none.

    Args:
        subject: The backend.
        directory: Where to write. Existing programs that delegate to the backend are replaced, or removed
            if their case no longer does.
        files: The files of the run; other files there are refused, or replaced by force.
        progress: Called with the name and the result of each case.
        lowered: Yields the programs; by default `lowered_here`.

    Returns:
        The cases whose programs were written.

    Raises:
        LoweringError: the vendor has no `lower`, it failed for a case or returned no program, no case
            delegates to the backend, torch is missing, or the directory cannot be written.
        UnknownPluginError, PluginLoadError: the vendor's contribution is missing or cannot be loaded.
    """
    _lower_of(subject)  # before a directory is made
    kind = FileKind(f"a program that delegates to {subject.backend_id}", partial(_delegates, subject))
    contents: dict[Path, bytes] = {}
    removed: list[Path] = []
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for case in _cases():  # before the long work
            files.check(directory / f"{case.name}.pte", kind, is_named=False)
        for name, program in (lowered or lowered_here)(subject, progress):
            path = directory / f"{name}.pte"
            if program is None:
                removed.append(path)
            else:
                contents[path] = program
        if not contents:
            raise LoweringError(
                f"no case delegates to {subject.backend_id}; its partitioner must accept what it declares"
            )
        for path in (*contents, *removed):
            files.check(path, kind, is_named=False)
        replace_files(contents, removed)
    except RefusedFileError:
        raise
    except OSError as error:
        raise LoweringError(f"{directory} cannot be written: {error}") from error
    return tuple(path.stem for path in contents)


def _cases() -> tuple[Case, ...]:
    return (*load_cases().values(), large_case())


def _delegates(subject: Subject, path: Path) -> bool:
    try:
        return subject.delegates(path.read_bytes())
    except ProgramError:
        return False


def _lower_of(subject: Subject) -> Lower:
    lower = subject.installation.plugins.contribution(CONFORMANCE_HOOK, subject.backend_id).lower
    if lower is None:
        raise LoweringError(
            f"the plugin of {subject.backend_id} cannot lower programs; add lower to its "
            "ConformanceContribution"
        )
    return lower


def lowered_here(subject: Subject, progress: LoweringProgress) -> Iterator[tuple[str, bytes | None]]:
    """Yield each case with its program, or with None if that does not delegate to the backend.

    Raises:
        LoweringError: as for `lower_cases`.
    """
    lower = _lower_of(subject)
    cases = _cases()
    allowed = {case.name for case in cases if subject.allows(case)}
    for model in _models():
        if model.name not in allowed:
            progress(model.name, "not declared")
            continue
        program = _lowered(model, lower)
        try:
            delegates = subject.delegates(program)
        except ProgramError as error:
            raise LoweringError(f"lower returned no valid program for {model.name}: {error}") from error
        progress(
            model.name, f"{len(program)} bytes" if delegates else f"not delegated to {subject.backend_id}"
        )
        yield model.name, program if delegates else None


def _models() -> tuple[CaseModel, ...]:
    try:
        from etconfig.conformance.cases.models import large_model, models
    except ImportError as error:
        raise LoweringError(
            f"lowering needs torch and executorch, which cannot be imported here: {error}"
        ) from error
    return (*models(), large_model())


def _lowered(model: CaseModel, lower: Lower) -> bytes:
    methods = {name: method.export() for name, method in model.methods.items()}
    try:
        program: object = lower(LoweringRequest(case=model.name, methods=methods))
    except BaseException as error:  # it must not end the kit
        if may_be_ctrl_c(error):
            raise
        raise LoweringError(f"lower failed for {model.name}: {error_text(error)}") from error
    if not isinstance(program, bytes):
        raise LoweringError(
            f"lower returned {type(program).__name__} for {model.name}, expected the bytes of a .pte"
        )
    return program
