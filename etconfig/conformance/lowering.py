"""Make golden programs with a vendor's ahead-of-time half. Needs torch and executorch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from etconfig.conformance.cases import load_cases
from etconfig.conformance.subject import Subject
from etconfig.plugin.hookspecs import LoweringRequest


class LoweringError(Exception):
    """The vendor's half failed, or made a program that does not delegate to the backend."""


def lower_cases(
    subject: Subject, directory: Path, *, progress: Callable[[str, str], None] = lambda name, what: None
) -> tuple[str, ...]:
    """Write `<case>.pte` for each case that the backend declares all needs of.

    Args:
        subject: The backend.
        directory: Where to; programs that are there are replaced.
        progress: Is told each case and what came of it.

    Returns:
        The cases whose programs were written.

    Raises:
        LoweringError: the vendor gives no `lower`, or it failed for a case.
        UnknownPluginError, PluginLoadError: the vendor's contribution cannot be had.
    """
    from etconfig.conformance.cases.models import models

    lower = subject.installation.plugins.conformance(subject.backend_id).lower
    if lower is None:
        raise LoweringError(f"the plugin of {subject.backend_id} gives no lower; see ConformanceContribution")
    allowed = {case.name for case in load_cases().values() if subject.allows(case)}
    directory.mkdir(parents=True, exist_ok=True)
    written = []
    for model in models():
        if model.name not in allowed:
            progress(model.name, "not declared")
            continue
        methods = {name: method.export() for name, method in model.methods.items()}
        try:
            program = lower(LoweringRequest(case=model.name, methods=methods))
        except Exception as error:
            raise LoweringError(f"lower failed for {model.name}: {type(error).__name__}: {error}") from error
        path = directory / f"{model.name}.pte"
        path.write_bytes(program)
        if not subject.delegates(path):
            path.unlink()
            progress(model.name, f"not delegated to {subject.backend_id}")
            continue
        written.append(model.name)
        progress(model.name, f"{len(program)} bytes")
    return tuple(written)
