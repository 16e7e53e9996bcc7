"""`Settings`: the backend to check, and how; plain data, so that it can be sent to another process."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from etconfig.app.installation.installation import Installation
from etconfig.app.programs.executors import NUMPY
from etconfig.base.parameters import AnyPath, as_path
from etconfig.base.records import record
from etconfig.conformance.kit.outcomes import KIT, LEVELS


@record(frozen=True, kw_only=True)
class Settings:
    """The backend to check, and how.

    Attributes:
        backend: The backend's id.
        level: The highest level to run the checks of.
        kit: The version of the kit that the vendor pins; checks added later are advisory.
        executor: The executor that runs the programs: `numpy`, or an installed executor plugin.
        programs: The directory of golden programs, instead of the directory that the vendor's plugin names.
        search_path: The directories to find distributions in; None for `sys.path`.
        checks: The ids of the checks to run, with the checks that they rest on; empty for all up to the
            level.
    """

    backend: str
    level: int = max(LEVELS)
    kit: str = KIT
    executor: str = NUMPY
    programs: AnyPath | None = None
    search_path: tuple[str, ...] | None = None
    checks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.programs is not None:
            object.__setattr__(self, "programs", str(as_path("programs", self.programs)))
        if self.level not in LEVELS:
            raise ValueError(f"there is no level {self.level}; the levels are {', '.join(map(str, LEVELS))}")
        major, _, minor = KIT.partition(".")
        given = self.kit.split(".")
        if len(given) != 2 or given[0] != major or not given[1].isdigit() or int(given[1]) > int(minor):
            raise ValueError(f"there is no kit {self.kit!r}; this etconfig has {major}.0 to {KIT}")

    def installation(self) -> Installation:
        """Return what is installed there, ignoring the user's project file and environment variables."""
        return Installation(environ={}, search_path=self.search_path)

    def golden_programs(self) -> Path | None:
        """Return the directory that the settings name, or None."""
        return None if self.programs is None else Path(self.programs)

    def to_jsonable(self) -> dict[str, Any]:
        """Return plain data, for `from_jsonable`."""
        return asdict(self)

    @classmethod
    def from_jsonable(cls, data: dict[str, Any]) -> Settings:
        """Return the settings that `to_jsonable` described."""
        path = data["search_path"]
        return cls(
            **{
                **data,
                "search_path": None if path is None else tuple(path),
                "checks": tuple(data["checks"]),
            }
        )


def effective_search_path(settings: Settings) -> list[str]:
    """Return the directories in which Python finds modules: the settings' own, then `sys.path`."""
    return [*(settings.search_path or ()), *(path for path in sys.path if path)]
