"""Facts out of plugins: check what a plugin contributes."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from etconfig.facts.detector import Detector, FunctionDetector
from etconfig.facts.registry import FactInfo
from etconfig.plugin.call_check import call_problem
from etconfig.plugin.entry_points import EntryPoint
from etconfig.plugin.failure import load_error
from etconfig.plugin.hookspecs import FactsContribution
from etconfig.plugin.loader import guarded

_DETECTOR_HELP = (
    "give objects with name, provides and detect(system), such as an etconfig.plugin.v1.FunctionDetector"
)


def check_facts(entry: EntryPoint, contribution: FactsContribution) -> FactsContribution:
    """Return `contribution` if it holds facts and detectors, and the core can call these.

    Raises:
        PluginLoadError: it does not.
    """
    guarded(entry, "looking at its facts and detectors", lambda: _check_parts(entry, contribution))
    return contribution


def _check_parts(entry: EntryPoint, contribution: FactsContribution) -> None:
    infos: Iterable[object] = contribution.facts
    for info in infos:
        if not isinstance(info, FactInfo):
            cause = f"its facts hold a {type(info).__name__}"
            raise load_error(entry, cause, "give an etconfig.plugin.v1.FactInfo for each")
    for detector in contribution.detectors:
        _check_detector(entry, detector)


def _check_detector(entry: EntryPoint, detector: Detector) -> None:
    for name in ("name", "provides", "detect"):
        if not hasattr(detector, name):
            raise load_error(
                entry, f"its detectors hold a {type(detector).__name__} without {name}", _DETECTOR_HELP
            )
    detect: Callable[..., object] = detector.detect
    symbol = f"{type(detector).__name__}.detect"
    if isinstance(detector, FunctionDetector):
        detect = detector.function
        symbol = getattr(detect, "__qualname__", type(detect).__name__)
    problem = call_problem(detect, symbol, ("system",), may_yield=True)
    if problem is not None:
        raise load_error(entry, problem, "let it take the argument (system) and give readings")
