"""`detect` runs detectors with a time limit and fills a fact sheet; `redetect` brings a sheet up to date."""

from __future__ import annotations

import queue
import re
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from etconfig.base.provenance import Origin, OriginKind
from etconfig.diagnostics.error_text import error_text
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.facts.detecting.detector import Detector, Reading
from etconfig.facts.detecting.detectors import BUILTIN_DETECTORS
from etconfig.facts.detecting.host import Host
from etconfig.facts.detecting.sources import DEVICE_ROOT
from etconfig.facts.detecting.system import System
from etconfig.facts.fact import Fact, unknown_facts
from etconfig.facts.registry import MAX_CHARACTERS, FactRegistry, Volatility
from etconfig.facts.sheet import FactSheet

DETECTOR_LIMIT_S = 2.0
"""The time limit of one detector, in seconds."""

_NEVER_DETECTED = "it identifies the device, so it is never detected; set it"

_FAILURE = "failed:"
_FAILED = re.compile(rf"detector '.*' {_FAILURE} ")


@dataclass
class _Run:
    """One run of a detector, and the facts that it has found so far."""

    detector: Detector
    facts: list[Fact] = field(default_factory=list)
    failure: str | None = None


def detect(
    device: Path | System = DEVICE_ROOT,
    *,
    registry: FactRegistry = BUILTIN_FACTS,
    detectors: Sequence[Detector] = BUILTIN_DETECTORS,
    host: Host | None = None,
    limit_s: float = DETECTOR_LIMIT_S,
) -> FactSheet:
    """Detect the facts of this device, or of the device that a tree of files was captured on.

    If two detectors know a fact, the first one wins.

    Args:
        device: The root of a file tree, `/` for this device, or a `System`, for example from
            `etconfig.facts.detecting.adb.attached_device`.
        registry: The facts of the sheet.
        detectors: The detectors to run.
        host: The properties that files do not contain. The default is `Host.current()` on this device and
            `Host.captured(root)` for a tree, so that the two are never mixed.
        limit_s: The time limit of one detector, in seconds.

    Raises:
        ValueError: a detector provides a fact that is not in the registry, or the tree's
            `machine.json` is malformed. Detectors themselves never raise.
    """
    known = {*registry.names}
    for detector in detectors:
        strange = [name for name in detector.provides if name not in known]
        if strange:
            names = ", ".join(strange)
            raise ValueError(f"detector {detector.name!r} provides facts that are not registered: {names}")
    if not isinstance(device, System):
        if host is None:
            host = Host.current() if device == DEVICE_ROOT else Host.captured(device)
        device = System(device, host)
    facts = _undetected(registry)
    found: dict[str, Fact] = {}
    for run in _run_all(detectors, device, registry, limit_s):
        for fact in (*run.facts, *_missing_facts(run, registry)):
            if fact.name not in found or (fact.is_known and not found[fact.name].is_known):
                found[fact.name] = fact
    return FactSheet(facts | found, registry)


def redetect(
    sheet: FactSheet,
    *,
    volatility: Volatility = Volatility.LIVE,
    device: Path | System = DEVICE_ROOT,
    detectors: Sequence[Detector] = BUILTIN_DETECTORS,
    host: Host | None = None,
    limit_s: float = DETECTOR_LIMIT_S,
) -> FactSheet:
    """Return a sheet with the facts of one volatility detected again, and all others kept.

    Only the detectors that provide such facts run. Facts that were set by hand or come from a saved sheet are
    kept too: only detected facts are detected again.

    Args:
        sheet: The result of `detect`, or of its `with_overrides`.
        volatility: The volatility of the facts to detect.
        device: The same device as for `detect`.
        detectors: The same detectors as for `detect`.
        host: As in `detect`.
        limit_s: As in `detect`.

    Raises:
        ValueError: as in `detect`.
    """
    registry = sheet.registry
    wanted = {info.name for info in registry.infos if info.volatility is volatility}
    chosen = [detector for detector in detectors if wanted.intersection(detector.provides)]
    wanted.intersection_update(name for detector in chosen for name in detector.provides)
    fresh = detect(device, registry=registry, detectors=chosen, host=host, limit_s=limit_s)

    def is_renewed(fact: Fact) -> bool:
        info = registry.get(fact.name)
        return info is not None and info.name in wanted and fact.origin.kind is OriginKind.DETECTED

    fixed = {name for name, fact in sheet.facts.items() if not is_renewed(fact)}
    found = {name: fact for name, fact in fresh.facts.items() if is_renewed(fact) and name not in fixed}
    # keep the order of the sheet, and leave out members of families that no longer exist
    facts = {name: fact for name, fact in sheet.facts.items() if name in fixed or name in found}
    return FactSheet(facts | found, registry)


def detector_failures(sheet: FactSheet) -> list[str]:
    """Return a sentence about each detector that raised an error, or gave what is not a reading of it."""
    reasons = {fact.reason for fact in sheet.facts.values() if fact.reason is not None}
    return sorted(reason for reason in reasons if _FAILED.match(reason))


def _undetected(registry: FactRegistry) -> dict[str, Fact]:
    """Return the facts of a registry as unknown, as those stay that no detector looks for."""
    nothing = Origin(OriginKind.DETECTED, "nothing")
    facts = unknown_facts(registry, "no detector looks for it", nothing)
    for info in registry.infos:
        if info.is_identifying and not info.is_family:
            facts[info.name] = Fact.unknown(info.name, info, _NEVER_DETECTED, nothing)
    return facts


def _run_all(
    detectors: Sequence[Detector], system: System, registry: FactRegistry, limit_s: float
) -> Iterator[_Run]:
    """Run the detectors in order, all in one thread, until one of them exceeds its time limit.

    Python cannot kill a thread. A thread that hangs is abandoned as a daemon, and the other detectors
    continue in a new thread. A daemon does not keep the interpreter from exiting, unless it is in a system
    call that the kernel cannot interrupt. A command that it waits for is killed, see
    `etconfig.facts.detecting.commands`.
    """
    remaining = list(detectors)
    while remaining:
        runs = [_Run(detector) for detector in remaining]
        done: queue.SimpleQueue[_Run] = queue.SimpleQueue()
        abandoned = threading.Event()
        worker = threading.Thread(
            target=_work, args=(runs, system, registry, done, abandoned), name="etconfig-facts", daemon=True
        )
        worker.start()
        for run in runs:
            remaining.pop(0)
            try:
                yield done.get(timeout=limit_s)
            except queue.Empty:
                abandoned.set()
                yield _Run(run.detector, run.facts.copy(), f"did not finish within {limit_s:g} s")
                break


def _work(
    runs: Sequence[_Run],
    system: System,
    registry: FactRegistry,
    done: queue.SimpleQueue[_Run],
    abandoned: threading.Event,
) -> None:
    for run in runs:
        if abandoned.is_set():
            return
        try:
            for reading in run.detector.detect(system):
                if abandoned.is_set():
                    return
                run.facts.append(_fact_or_reason(reading, run.detector, registry))
        except BaseException as error:  # sys.exit() in a plugin must not stop the other detectors
            run.failure = f"{_FAILURE} {error_text(error)}"
        done.put(run)


def _fact_or_reason(reading: object, detector: Detector, registry: FactRegistry) -> Fact:
    """Do as `fact_of`, but a value that a fact does not accept makes only this fact unknown."""
    try:
        return fact_of(reading, detector, registry)
    except ValueError as error:
        info = registry.get(reading.name) if isinstance(reading, Reading) else None
        if info is None or info.name not in detector.provides:
            raise
        assert isinstance(reading, Reading)
        reason = f"detector {detector.name!r} failed: ValueError: {error}"
        origin = Origin(OriginKind.DETECTED, f"detector {detector.name}")
        return Fact.unknown(reading.name, info, reason, origin)


def fact_of(reading: object, detector: Detector, registry: FactRegistry) -> Fact:
    """Return the fact of a reading, which may be wrong if a plugin made it.

    Raises:
        TypeError: it is not a reading.
        ValueError: the detector does not provide the fact, or the value has the wrong type.
    """
    if not isinstance(reading, Reading):
        raise TypeError(f"expected a Reading, found {type(reading).__name__}")
    info = registry.get(reading.name)
    if info is None or info.name not in detector.provides:
        raise ValueError(f"it gave {reading.name!r}, which it does not provide")
    _check_texts(reading)
    origin = Origin(OriginKind.DETECTED, reading.source, detail=reading.detail)
    if reading.reason is not None:
        return Fact.unknown(reading.name, info, reading.reason, origin)
    try:
        return Fact.known(reading.name, info, info.check(reading.value), origin)
    except ValueError as error:
        raise ValueError(f"{reading.name}: {error}") from error


def _check_texts(reading: Reading) -> None:
    """Check the texts about a value. Raises ValueError: one of them is not a text, or too long."""
    for name in ("source", "detail", "reason"):
        text: object = getattr(reading, name)
        if text is None and name != "source":
            continue
        if type(text) is not str:  # a class of its own may raise where it is shown
            raise ValueError(f"{reading.name}: expected a str as its {name}, found {type(text).__name__}")
        if len(text) > MAX_CHARACTERS:
            raise ValueError(f"{reading.name}: its {name} has {len(text):,} characters")


def _missing_facts(run: _Run, registry: FactRegistry) -> Iterator[Fact]:
    """Yield an unknown fact for each one that the detector provides and did not find."""
    given = {fact.name for fact in run.facts}
    reason = f"detector {run.detector.name!r} {run.failure or 'gave no reading'}"
    origin = Origin(OriginKind.DETECTED, f"detector {run.detector.name}")
    for name in run.detector.provides:
        info = registry.get(name)
        # the pattern of a family gives None: the number of its members is unknown
        if info is not None and name not in given:
            yield Fact.unknown(name, info, reason, origin)
