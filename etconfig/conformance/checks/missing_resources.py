"""Checks without the network, the vendor's SDK or the device."""

from __future__ import annotations

import re
import sys
import tempfile
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

from etconfig.conformance.checks.check import check
from etconfig.conformance.kit.outcomes import CheckFailedError, NotApplicableError, NotDelegatedError
from etconfig.conformance.process.guards import cut_network, hide_devices
from etconfig.conformance.process.loading import require_ordinary_load
from etconfig.conformance.subject.subject import Subject
from etconfig.conformance.subject.vendor_plugins import VendorFacts
from etconfig.errors import BackendUnavailableError, DelegateError, EtconfigError, PluginLoadError
from etconfig.facts.detecting.host import Host
from etconfig.facts.detecting.system import System
from etconfig.plugin.entry_points import normalized_name


@check(
    "no-network",
    level=0,
    rests_on=("signature-bind", "aot-id-match", "defaults-valid", "recommend-valid", "program-values"),
    prevents="telemetry and unrequested downloads",
    isolated=True,
)
def no_network(subject: Subject) -> None:
    """From the plugin's import to the run of a method, no other machine is looked up or contacted."""
    tried = cut_network()
    try:
        _use(subject)
    except DelegateError:
        pass  # the check `runs` reports it
    except EtconfigError:
        if not tried:
            raise
    if tried:
        raise CheckFailedError(
            f"{tried[0]}, expected no network access; ship what is needed, or let a command fetch it"
        )


def _use(subject: Subject) -> None:
    """Detect facts and run a method, as far as there are detectors, programs and a device."""
    with suppress(NotApplicableError):
        VendorFacts(subject).detect()
    with suppress(NotDelegatedError, BackendUnavailableError):
        case = subject.simplest
        with subject.load(case) as method:
            method.execute(case.inputs())


@check(
    "missing-sdk",
    level=0,
    rests_on=("signature-bind",),
    prevents="a plugin that breaks without the vendor's SDK",
    fresh=True,
)
def missing_sdk(subject: Subject) -> None:
    """With only its required packages installed, the plugin loads and the backend says what is missing."""
    required = required_distributions(subject.entry.distribution, "etconfig")
    own = subject.entry.package
    for package, distributions in packages_distributions().items():
        is_kept = package in sys.modules or package == own
        if not is_kept and required.isdisjoint(map(normalized_name, distributions)):
            sys.modules[package] = None  # type: ignore[assignment]  # makes its import raise ImportError
    _require_report(
        subject, "without packages that it does not require", "import the SDK when a backend is created"
    )


@check(
    "no-device",
    level=0,
    rests_on=("signature-bind", "facts-serialisable"),
    prevents="crashes on machines without the device",
    isolated=True,
)
def no_device(subject: Subject) -> None:
    """Without a device, the backend says what is missing, and no detector fails."""
    try:
        facts = VendorFacts(subject)
    except NotApplicableError:
        if subject.is_native:
            raise
    else:
        with tempfile.TemporaryDirectory() as nothing:
            facts.detect(System(Path(nothing), Host()))
        facts.require_no_error("on an empty file system")
    if sys.platform == "win32":
        raise NotApplicableError("on Windows devices are not files, so they cannot be hidden")
    hide_devices()
    _require_report(subject, "without device files", "look for the device in availability()")


def _require_report(subject: Subject, where: str, fix: str) -> None:
    """Require that the backend can be created, or that it says why not and what to do."""
    try:
        if not subject.is_native:
            subject.create_backend()
    except PluginLoadError as error:
        if not _tells_of_absence(error.__cause__, subject.entry.package):
            require_ordinary_load(subject)
        raise CheckFailedError(
            f"{subject.entry.source}, {where}: {error.cause}; {fix}, and return Availability.no(reason, fix)"
        ) from error
    except BackendUnavailableError as error:
        if not (error.reason.strip() and (error.help or "").strip()):
            raise CheckFailedError(
                f"{subject.entry.source}, {where}: {subject.backend_id} is not available, but availability() "
                "does not say why and what to do; return Availability.no(reason, fix)"
            ) from error


def _tells_of_absence(cause: BaseException | None, own: str) -> bool:
    """Check whether a missing SDK or device may be the cause, which this machine may lack anyway."""
    if isinstance(cause, ImportError):
        return (cause.name or "").partition(".")[0] != own
    return isinstance(cause, (OSError, RuntimeError))


def required_distributions(*distributions: str) -> set[str]:
    """Return these distributions and everything that they require, directly or not."""
    found: set[str] = set()
    pending = list(distributions)
    while pending:
        name = normalized_name(pending.pop())
        if name not in found:
            found.add(name)
            with suppress(PackageNotFoundError):
                lines = [line for line in requires(name) or () if not re.search(r"\bextra\s*==", line)]
                pending += [match[0] for line in lines if (match := re.match(r"[\w.-]+", line))]
    return found
