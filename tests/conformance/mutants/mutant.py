"""`Mutant`: a plugin with the reference CPU backend and one defect."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from etconfig_reference.conformance import etconfig_conformance as reference_conformance
from etconfig_reference.plugin import SPECS

from etconfig.conformance.interpose.interposer import Interposer
from etconfig.conformance.kit.kit_settings import Settings
from etconfig.conformance.subject.subject import Subject
from etconfig.plugin.v1 import (
    BackendRequest,
    BackendSpec,
    Capabilities,
    ConformanceContribution,
    ConformanceRequest,
    FactsContribution,
    FactsRequest,
    Observed,
    Unobservable,
    Value,
    hookimpl,
)

BACKEND = "ReferenceCpuBackend"
"""The id of mutants, to which the golden programs delegate."""


class Mutant:
    """A plugin whose backend fails one check and no other, unless the defect stops every program.

    Args:
        check: The id of that check.
        message: A regular expression that its message matches.
        elsewhere: A regular expression that the message of every other failed check matches; None if no other
            one fails.
        backend: An interposer with the defect in front of the reference backend; None if the defect
            is elsewhere.
        declared: Fields of the `BackendSpec` that differ.
        entry_points: Lines of entry_points.txt by group that differ; `{plugin}` is this plugin.
        files: Other files of the distribution, by path; its modules can be imported while the check runs.
        facts: The facts that the plugin contributes.
        evidence: The evidence of options that differs from the reference's.
        metadata: The lines of METADATA after name and version.
    """

    def __init__(
        self,
        check: str,
        message: str,
        *,
        elsewhere: str | None = None,
        backend: Callable[[], Interposer] | None = None,
        declared: Mapping[str, Any] | None = None,
        entry_points: Mapping[str, str] | None = None,
        files: Mapping[str, str | bytes] | None = None,
        facts: FactsContribution | None = None,
        evidence: Mapping[str, Observed | Unobservable] | None = None,
        metadata: str = "Requires-Dist: etconfig-reference\n",
    ) -> None:
        self.check = check
        self.message = message
        self.elsewhere = elsewhere
        self._backend = backend
        self._declared = declared or {}
        self._entry_points = entry_points or {}
        self._files = files or {}
        self._facts = facts
        self._evidence = evidence or {}
        self._metadata = metadata

    @hookimpl
    def etconfig_backend(self, request: BackendRequest) -> BackendSpec:
        """Return the reference's spec, with the defect."""
        spec = SPECS[request.name]
        return replace(spec, **{"factory": self._make(spec), **self._declared})

    @hookimpl
    def etconfig_conformance(self, request: ConformanceRequest) -> ConformanceContribution:
        """Return the reference's golden programs and evidence, with the defect."""
        usual = reference_conformance(request)
        return replace(usual, evidence={**usual.evidence, **self._evidence})

    @hookimpl
    def etconfig_facts(self, request: FactsRequest) -> FactsContribution | None:
        """Return the facts of the mutant."""
        return self._facts

    def install(self, directory: Path, place: str) -> Path:
        """Write the metadata of a distribution that declares this plugin, and its other files.

        Args:
            directory: The directory to install the distribution in.
            place: The place of this object, as in the value of an entry point.
        """
        info = directory / "mutant-1.0.dist-info"
        info.mkdir(parents=True)
        lines = {
            "etconfig.backends": f"{BACKEND} = {{plugin}}",
            "etconfig.conformance": f"{BACKEND} = {{plugin}}",
            **({"etconfig.facts": "mutant = {plugin}"} if self._facts else {}),
            **self._entry_points,
        }
        text = "".join(f"[{group}]\n{line.format(plugin=place)}\n" for group, line in lines.items())
        (info / "entry_points.txt").write_text(text)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: mutant\nVersion: 1.0\n{self._metadata}")
        for name, content in self._files.items():
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        return directory

    def _make(self, spec: BackendSpec) -> Callable[[], object] | None:
        make = spec.factory
        if self._backend is None or make is None:
            return make
        front = self._backend
        return lambda: front().around(make())  # type: ignore[arg-type]  # the reference makes backends


def claiming(**changed: Any) -> Mapping[str, Any]:
    """Return `declared` for a mutant with the reference's capabilities, except `changed`."""
    return {"capabilities": replace(SPECS[BACKEND].capabilities or Capabilities(), **changed)}


def output_of(args: Sequence[Value]) -> np.ndarray[Any, Any]:
    """Return the last output of a delegate."""
    output = args[-1]
    assert isinstance(output, np.ndarray)
    return output


def subject_of(directory: Path, **changed: Any) -> Subject:
    """Return the backend that is installed in `directory` as a subject."""
    return Subject(Settings(backend=BACKEND, search_path=(str(directory),), **changed))
