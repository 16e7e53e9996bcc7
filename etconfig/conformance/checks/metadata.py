"""Checks of a plugin among others: its metadata, its id, and the facts that it detects."""

from __future__ import annotations

import importlib.util
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from etconfig.app.programs.api import load_program
from etconfig.conformance.checks.check import check
from etconfig.conformance.kit.outcomes import CheckFailedError, NotApplicableError
from etconfig.conformance.process.loading import require_ordinary_load
from etconfig.conformance.subject.subject import Subject
from etconfig.conformance.subject.vendor_plugins import VendorFacts, entries_of_vendor
from etconfig.errors import BackendUnavailableError, FactError, PluginLoadError
from etconfig.facts.detecting.detection import DETECTOR_LIMIT_S
from etconfig.facts.registry import Volatility
from etconfig.facts.sheet import FactSheet
from etconfig.plugin import BACKENDS

_SIBLING = "etconfig_conformance_broken_sibling"


@check("static-metadata", level=0, prevents="listings of plugins that import them", fresh=True)
def static_metadata(subject: Subject) -> None:
    """Everything that the distribution declares can be listed and located before any of it is imported."""
    for failure in subject.installation.index.failures:
        if failure.distribution == subject.entry.distribution:
            fix = failure.author_help or "rebuild the wheel"
            raise CheckFailedError(f"{subject.entry.source}: {failure.cause}; {fix}")
    compared = subject.installation.index.candidates(BACKENDS, subject.backend_id)
    # etconfig imports plugins of one id to find the plugin with an implementation
    imported = {entry.package for entry in compared} if len(compared) > 1 else set()
    for entry in entries_of_vendor(subject):
        if entry.package in sys.modules and entry.package not in imported:
            raise CheckFailedError(
                f"{entry.source}: {entry.package} is imported before {entry.name} is needed; remove the .pth "
                "file or the sitecustomize that imports it"
            )
        if importlib.util.find_spec(entry.package) is None:
            raise CheckFailedError(
                f"{entry.location}/entry_points.txt: {entry.name} = {entry.value}: the package "
                f"{entry.package} is not installed; add it to the wheel"
            )


@check("unique-id", level=0, prevents="programs that get whichever backend is found first")
def unique_id(subject: Subject) -> None:
    """No other plugin implements the id, or an id that differs only in case or punctuation."""
    entry = subject.entry
    for other in subject.installation.index.installed:
        if other.group != BACKENDS or other == entry:
            continue
        if other.name == entry.name and subject.installation.plugins.only_declares(other):
            continue  # the plugin with an implementation wins
        if _letters(other.name) == _letters(entry.name):
            raise CheckFailedError(
                f"{other.source} declares {other.name} and {entry.source} declares {entry.name}, expected "
                "ids that cannot be confused; rename one, or uninstall one distribution"
            )


@check("aot-id-match", level=0, rests_on=("loads",), prevents="programs that no installed backend can run")
def aot_id_match(subject: Subject) -> None:
    """The ahead-of-time half writes the id that the plugin declares into all golden programs."""
    if not subject.programs:
        raise NotApplicableError(f"{subject.entry.source} has no golden programs of {subject.backend_id}")
    found: set[str] = set()
    for path in subject.programs.values():
        with load_program(path, installation=subject.installation) as program:
            ids = {backend for method in program.method_names for backend in program.backends(method)}
        strange = sorted(ids.difference(subject.installation.backend_ids))
        if strange:
            raise CheckFailedError(
                f"{path.name} delegates to {strange[0]}, which no plugin declares, expected "
                f"{subject.backend_id}; give the subclass of BackendDetails the name of the entry point"
            )
        found |= ids
    if subject.backend_id not in found:
        raise CheckFailedError(
            f"the golden programs delegate to {', '.join(sorted(found)) or 'nothing'}, expected "
            f"{subject.backend_id}; lower them again, or return their directory from etconfig_conformance"
        )


@check(
    "bad-sibling",
    level=0,
    rests_on=("signature-bind",),
    prevents="a broken plugin that breaks others",
    isolated=True,
)
def bad_sibling(subject: Subject) -> None:
    """The plugin loads and its backend can be created next to a plugin that cannot be imported."""
    failure: PluginLoadError | None = None
    with _broken_sibling() as directory:
        path = (directory, *(subject.settings.search_path or sys.path))
        with_sibling = Subject(replace(subject.settings, search_path=path))
        try:
            if not with_sibling.is_native:
                with suppress(BackendUnavailableError):
                    with_sibling.create_backend()
        except PluginLoadError as error:
            failure = error
    if failure is not None:
        require_ordinary_load(subject)
        raise CheckFailedError(
            f"{subject.entry.source}, next to a plugin that cannot be imported: {failure.cause}; do not load "
            "plugins of other distributions, the core does that"
        ) from failure


def _letters(name: str) -> str:
    return re.sub("[^a-z0-9]", "", name.lower())


@contextmanager
def _broken_sibling() -> Iterator[str]:
    """Put a directory on `sys.path` that has a distribution whose plugins raise when imported."""
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        info = root / f"{_SIBLING}-1.0.dist-info"
        info.mkdir()
        (root / f"{_SIBLING}.py").write_text('raise RuntimeError("broken on purpose")\n')
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {_SIBLING}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[{BACKENDS}]\n{_SIBLING} = {_SIBLING}\n")
        sys.path.insert(0, directory)
        try:
            yield directory
        finally:
            sys.path.remove(directory)


@check(
    "facts-bounded",
    level=0,
    rests_on=("signature-bind",),
    prevents="commands that hang because a driver does",
    isolated=True,
)
def facts_bounded(subject: Subject) -> None:
    """Every detector ends in time, and so does the process that ran it."""
    facts = VendorFacts(subject)
    facts.detect()
    for each in facts.detectors:
        if not each.has_ended:
            raise CheckFailedError(
                f"{each} did not end within {DETECTOR_LIMIT_S:g} s; read files and run commands through "
                "`system`, which limits their time, and call no driver that may hang"
            )


@check(
    "facts-serialisable",
    level=0,
    rests_on=("facts-bounded",),
    prevents="reports that cannot be saved or repeated",
)
def facts_serialisable(subject: Subject) -> None:
    """Detected facts are valid, can be saved and read back, and are found again unless they are live."""
    facts = VendorFacts(subject)
    sheet = facts.detect()
    facts.require_no_error("on this device")
    try:
        FactSheet.from_json(sheet.to_json(), "the sheet", facts.registry)
    except FactError as error:
        raise CheckFailedError(f"{subject.entry.source}: its facts cannot be saved: {error}") from error
    again = facts.detect()
    for name, fact in sheet.facts.items():
        repeated = again.get(name)
        if fact.volatility is not Volatility.LIVE and (repeated is None or repeated.value != fact.value):
            raise CheckFailedError(
                f"{subject.entry.source}: the fact {name} is {fact.volatility.value}, but was {fact.value!r} "
                f"and then {None if repeated is None else repeated.value!r}; declare it live, or report "
                "something that does not change"
            )
