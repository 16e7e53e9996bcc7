"""Mutants of the checks on the plugin API."""

from __future__ import annotations

from collections.abc import Mapping

from etconfig_reference.cpu import ReferenceCpuBackend

from etconfig.plugin.v1 import Availability, BackendRequest, BackendSpec, hookimpl
from mutants.mutant import BACKEND, Mutant


class Answerless(Mutant):
    """Declares no backend."""

    @hookimpl
    def etconfig_backend(self, request: BackendRequest) -> BackendSpec:
        return None  # type: ignore[return-value]  # the defect


ANSWERLESS = Answerless(
    "loads",
    r"^mutants.contract:Answerless.etconfig_backend \(contract.py:\d+\): etconfig_backend returned None",
    elsewhere="etconfig_backend returned None, not a BackendSpec",
)


class Misspelt(ReferenceCpuBackend):
    """Reports its availability in a method that is never called."""

    def is_availability(self) -> Availability:
        return Availability.no("no license", "buy one")


MISSPELT = Mutant(
    "signature-bind",
    r"^contract.py:\d+: Misspelt.is_availability is never called, and Misspelt has no availability; "
    "rename it to availability, or",
    declared={"factory": Misspelt},
)


class Cautious(Mutant):
    """Refuses cores that are newer than it is."""

    @hookimpl
    def etconfig_backend(self, request: BackendRequest) -> BackendSpec:
        if request.core_api > 1:
            raise RuntimeError(f"plugin API {request.core_api} is not known")
        return super().etconfig_backend(request)


CAUTIOUS = Cautious(
    "api-range",
    r"^mutants.contract:CAUTIOUS, for a core with plugin API 2, fails: contract.py:\d+: "
    "etconfig_backend raised RuntimeError: plugin API 2 is not known; accept every core from plugin API 1 on",
)


def recommend_nothing(facts: Mapping[str, object]) -> Mapping[str, object]:
    """Recommend by a function."""
    return {}


RECOMMENDS_BY_FUNCTION = Mutant(
    "deprecation",
    r"contract.py:\d+: BackendSpec.recommend is deprecated: .*; declare the same as data: BackendSpec.advice",
    declared={"recommend": recommend_nothing},
)

OUTDATED = Mutant(
    "deprecation",
    r"mutant_outdated.py:14: etconfig.plugin.v1.Gone is deprecated since etconfig 0.1 and goes in 0.4; "
    "write BackendSpec",
    entry_points={"etconfig.backends": f"{BACKEND} = mutant_outdated"},
    files={
        "mutant_outdated.py": """
import warnings

from etconfig_reference.plugin import etconfig_backend


# what a module of etconfig does for a name that goes away
def fetch(name):
    text = f"etconfig.plugin.v1.{name} is deprecated since etconfig 0.1 and goes in 0.4; write BackendSpec"
    warnings.warn(text, DeprecationWarning, stacklevel=2)


def use():
    return fetch("Gone")
use()
"""
    },
)
