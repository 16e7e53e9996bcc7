"""The hooks of all kinds of plugins as one table: the type of each answer, and its checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from etconfig.facts.detecting.detector import Detector, FunctionDetector
from etconfig.facts.registry import FactInfo, FactType, Volatility
from etconfig.method import Executor
from etconfig.plugin.backends import check_spec
from etconfig.plugin.call_check import call_problem
from etconfig.plugin.entry_points import BACKENDS, CONFORMANCE, EXECUTORS, FACTS, KERNELS, EntryPoint
from etconfig.plugin.failure import load_error
from etconfig.plugin.hookspecs import (
    BackendRequest,
    ConformanceContribution,
    ConformanceRequest,
    ExecutorContribution,
    ExecutorRequest,
    FactsContribution,
    FactsRequest,
    KernelsContribution,
    KernelsRequest,
)
from etconfig.plugin.loader import Hook, guarded
from etconfig.plugin.option_evidence import Observed, Unobservable
from etconfig.schema.spec import BackendSpec

_DETECTOR_HELP = (
    "give objects with name, provides and detect(system), such as an etconfig.plugin.v1.FunctionDetector"
)
_EVIDENCE_HELP = 'give {"OPTION": Observed("output")}, or Unobservable("the reason")'
_TABLE_HELP = "give an etconfig.plugin.v1_kernels.KernelTable of functions that @kernel decorates"


def _check_facts(entry: EntryPoint, contribution: FactsContribution) -> None:
    guarded(entry, "looking at its facts and detectors", _check_parts, entry, contribution)


def _check_parts(entry: EntryPoint, contribution: FactsContribution) -> None:
    infos: Iterable[object] = contribution.facts
    for info in infos:
        if not isinstance(info, FactInfo):
            cause = f"its facts contain a {type(info).__name__}"
            raise load_error(entry, cause, "give an etconfig.plugin.v1.FactInfo for each")
        _check_member(entry, f"the type of fact {info.name!r}", info.type, FactType)
        _check_member(entry, f"the volatility of fact {info.name!r}", info.volatility, Volatility)
    for detector in contribution.detectors:
        _check_detector(entry, detector)


def _check_member(entry: EntryPoint, what: str, given: object, kind: type[FactType | Volatility]) -> None:
    if not isinstance(given, kind):
        members = ", ".join(f"{kind.__name__}.{each.name}" for each in kind)
        raise load_error(entry, f"{what} is {given!r}", f"give one of {members}")


def _check_detector(entry: EntryPoint, detector: Detector) -> None:
    for name in ("name", "provides", "detect"):
        if not hasattr(detector, name):
            raise load_error(
                entry, f"its detectors contain a {type(detector).__name__} without {name}", _DETECTOR_HELP
            )
    provides: object = detector.provides
    if isinstance(provides, str):
        cause = f"detector {detector.name!r} provides the text {provides!r}"
        raise load_error(entry, cause, f"write provides=({provides!r},)")
    detect: Callable[..., object] = detector.detect
    symbol = f"{type(detector).__name__}.detect"
    if isinstance(detector, FunctionDetector):
        detect = detector.function
        symbol = getattr(detect, "__qualname__", type(detect).__name__)
    problem = call_problem(detect, symbol, ("system",), may_yield=True)
    if problem is not None:
        raise load_error(entry, problem, "let it take the argument (system) and give readings", code=detect)


def _check_fact_names(
    entry: EntryPoint, contribution: FactsContribution, accepted: Sequence[FactsContribution]
) -> None:
    """Check that the facts clash with no others, and that the detectors provide facts that are declared."""
    from etconfig.facts.builtin import BUILTIN_FACTS  # other kinds of plugins do not need it

    known = BUILTIN_FACTS
    for each in accepted:
        known = known.extended(each.facts)
    try:
        known = known.extended(contribution.facts)
    except ValueError as error:
        cause, _, advice = str(error).partition("; ")
        raise load_error(entry, cause, advice or "declare each fact once") from error
    for detector in contribution.detectors:
        strange = [name for name in detector.provides if name not in known.names]
        if strange:
            names = ", ".join(map(repr, strange))
            cause = f"detector {detector.name!r} provides {names}, which no plugin declares"
            raise load_error(entry, cause, "declare each in facts, with this name")
        secret = [info.name for info in BUILTIN_FACTS.infos if info.is_identifying]
        taken = [name for name in detector.provides if name in secret]
        if taken:
            cause = f"detector {detector.name!r} provides {taken[0]!r}, which is never detected"
            raise load_error(
                entry, cause, "declare a fact of its own: only the user sets what identifies them"
            )


def _check_kernels(entry: EntryPoint, contribution: KernelsContribution) -> None:
    from etconfig.kernel.registry import table_problem  # imports numpy, which other plugins may not need

    problem = table_problem(contribution.table)
    if problem is not None:
        raise load_error(entry, problem, _TABLE_HELP)


def _check_executor(entry: EntryPoint, contribution: ExecutorContribution) -> None:
    executor: object = contribution.executor
    if not isinstance(executor, Executor):
        cause = f"its executor is a {type(executor).__name__}"
        raise load_error(entry, cause, "give an instance of an etconfig.plugin.v1.Executor")
    symbol = f"{type(executor).__name__}.open_program"
    problem = call_problem(executor.open_program, symbol, ("request",))
    if problem is not None:
        raise load_error(entry, problem, "write: def open_program(self, request)")
    problem = call_problem(executor.report, f"{type(executor).__name__}.report", ("options",))
    if problem is not None:
        raise load_error(entry, problem, "write: def report(self, options=None)")
    _check_executor_options(entry, contribution)


def _check_executor_options(entry: EntryPoint, contribution: ExecutorContribution) -> None:
    options: object = contribution.options
    if options is None and not contribution.path_options:
        return
    from etconfig.schema.options import BackendOptions  # imports pydantic, which few executors need

    if not (isinstance(options, type) and issubclass(options, BackendOptions)):
        cause = f"its options are {options!r}"
        raise load_error(entry, cause, "give a class that derives from etconfig.plugin.v1.BackendOptions")
    unknown = sorted(set(contribution.path_options) - set(options.option_infos()))
    if unknown:
        cause = f"path_options names {unknown[0]!r}, which {options.__name__} does not declare"
        raise load_error(entry, cause, "name options of that class")


def _check_conformance(entry: EntryPoint, contribution: ConformanceContribution) -> None:
    programs: object = contribution.programs
    if not isinstance(programs, (Path, type(None))):
        raise load_error(
            entry, f"its programs are a {type(programs).__name__}", "give a pathlib.Path, or None"
        )
    if programs is not None and not programs.is_absolute():
        cause = f"its programs are in {programs}, which is another directory wherever etconfig is run"
        raise load_error(entry, cause, "give Path(__file__).parent / ...")
    _check_evidence(entry, contribution.evidence)
    lower: object = contribution.lower
    if lower is None:
        return
    if not callable(lower):
        raise load_error(entry, f"its lower is a {type(lower).__name__}", "give a function, or None")
    problem = call_problem(lower, "lower", ("request",))
    if problem is not None:
        raise load_error(entry, problem, "write: def lower(request): ...", code=lower)


def _check_evidence(entry: EntryPoint, evidence: object) -> None:
    if not isinstance(evidence, Mapping):
        raise load_error(entry, f"its evidence is a {type(evidence).__name__}", _EVIDENCE_HELP)
    for name, each in evidence.items():
        if not isinstance(each, (Observed, Unobservable)):
            cause = f"its evidence of the option {name!r} is a {type(each).__name__}"
            raise load_error(entry, cause, _EVIDENCE_HELP)


BACKEND_HOOK = Hook(BACKENDS, "etconfig_backend", BackendRequest, BackendSpec, check_spec)
FACTS_HOOK = Hook(FACTS, "etconfig_facts", FactsRequest, FactsContribution, _check_facts, _check_fact_names)
KERNELS_HOOK = Hook(KERNELS, "etconfig_kernels", KernelsRequest, KernelsContribution, _check_kernels)
EXECUTOR_HOOK = Hook(EXECUTORS, "etconfig_executor", ExecutorRequest, ExecutorContribution, _check_executor)
CONFORMANCE_HOOK = Hook(
    CONFORMANCE, "etconfig_conformance", ConformanceRequest, ConformanceContribution, _check_conformance
)
