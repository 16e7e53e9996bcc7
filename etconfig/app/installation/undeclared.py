"""Backends that the runtime of an executor has, and whose options no installed plugin declares."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from etconfig.base.packages import declaring_plugin
from etconfig.diagnostics import Diagnostic, Severity
from etconfig.schema.options import BackendOptions
from etconfig.schema.spec import ApiRange, BackendSpec

if TYPE_CHECKING:
    from etconfig.method import ExecutorReport

_API = ApiRange(min=1, built=1)


class UndeclaredOptions(BackendOptions):
    """The options of a backend without a declaration: none can be set, since nothing could check them."""

    _no_options_help: ClassVar[str] = (
        "no installed plugin declares its options: install the one that does, or declare them: "
        "etconfig new-backend --schema-only"
    )


def undeclared_specs(backend_ids: Iterable[str], runtime: ExecutorReport) -> dict[str, BackendSpec]:
    """Return declarations without options, by id, for each given backend that a runtime has."""
    return {
        backend: BackendSpec(
            id=backend,
            doc="A backend of the executor's runtime; no installed plugin declares its options.",
            options=UndeclaredOptions,
            api=_API,
        )
        for backend in backend_ids
        if runtime.backend(backend) is not None
    }


def undeclared_notes(specs: Iterable[BackendSpec]) -> tuple[Diagnostic, ...]:
    """Return a note for each backend without a declaration."""
    return tuple(
        Diagnostic(
            code="backend-not-installed",
            message=f"{spec.id} runs without options: the executor's runtime has it, but no installed plugin "
            "declares its schema",
            help=f"to set its options, install {declaring_plugin(spec.id)}",
            severity=Severity.NOTE,
        )
        for spec in specs
        if spec.options is UndeclaredOptions
    )
