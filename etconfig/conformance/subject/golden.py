"""Golden programs: the kit's cases as a vendor lowered them for its backend."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from etconfig.base.records import record
from etconfig.conformance.cases.case import Case, CaseRun
from etconfig.conformance.kit.outcomes import CheckFailedError


@record(frozen=True, kw_only=True)
class DelegatedCase:
    """A case, and the vendor's program of it, which delegates to the backend.

    Attributes:
        case: The inputs and outputs.
        path: The program.
    """

    case: Case
    path: Path

    @property
    def name(self) -> str:
        """The name of the case."""
        return self.case.name

    @property
    def method(self) -> str:
        """The name of the first method."""
        return self.case.methods[0]

    def runs(self, method: str | None = None) -> tuple[CaseRun, ...]:
        """Return the runs of a method, by default the first one."""
        return self.case.runs[method or self.method]

    def inputs(self, method: str | None = None) -> list[Any]:
        """Return the inputs of the first run of a method, by default the first method."""
        return list(self.runs(method)[0].inputs)


def find_programs(directory: Path, backend_id: str) -> Mapping[str, Path]:
    """Return the programs in a directory, by the name of their case.

    Raises:
        CheckFailedError: the directory does not exist.
    """
    if not directory.is_dir():
        raise CheckFailedError(
            f"{directory} does not exist, expected golden programs of {backend_id}; add them to "
            f"the wheel, or make them: etconfig conformance {backend_id} --lower {directory}"
        )
    return {path.stem: path for path in sorted(directory.glob("[!.]*.pte"))}
