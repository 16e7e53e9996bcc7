"""`Session`: what is found out about the files of one project while they are edited, by one thread."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from etconfig.app.configuring.configuration import Configuration, configure
from etconfig.app.configuring.targets import plugin_warning
from etconfig.app.installation.installation import Installation
from etconfig.app.validating.document_schema import models_schema, profile_schema, project_schema
from etconfig.app.validating.validated_programs import FoundPrograms, load_project_programs
from etconfig.app.validating.validation import Validator, readable_installation
from etconfig.diagnostics import Diagnostic
from etconfig.diagnostics.allow_comments import Allowances, text_of
from etconfig.errors import ConfigError, EtconfigError, PluginError
from etconfig.facts.sheet import FactSheet, load_fact_sheet
from etconfig.profile.names import PROJECT_FILES
from etconfig.resolver.compiling.option_facts import OptionsAndFacts
from etconfig.resolver.deciding.resolution import Resolution
from etconfig.schema.spec import BackendSpec

SLOW = ("combinations",)
"""The checks that wait until nobody types: they compare many devices."""

_MARKS = (
    r"\[\s*(?:profile|evidence)\s*(?:\]|$)|\[\[?\s*model\s*\.|#:schema .*etconfig",
    r"\[\[?\s*tool\s*\.\s*etconfig\b",
)
_OURS, _OURS_IN_PYPROJECT = (re.compile(rf"^[ \t]*(?:{mark})", re.MULTILINE) for mark in _MARKS)


_BEGUN = re.compile(r"\s*(?:#[^\n]*\n\s*)*\[{0,2}\w*")


def is_begun(path: Path, text: str) -> bool:
    """Return True if a TOML file has no more than the start of a header, and may become a profile."""
    return is_configuration(path, "[profile]") and bool(_BEGUN.fullmatch(text))


def is_configuration(path: Path, text: str) -> bool:
    """Return True if a TOML file looks like a profile, a project file or a file of models."""
    pattern = _OURS_IN_PYPROJECT if path.name == PROJECT_FILES[1] else _OURS
    is_cargo = path.name == "Cargo.toml"  # `[profile.release]` begins as one of our tables while it is typed
    return path.name == PROJECT_FILES[0] or (not is_cargo and bool(pattern.search(text)))


class Session:
    """The files of one project, some with unsaved texts, and what was found out about them.

    Args:
        directory: The directory in which, and above which, the project file is.
        texts: The texts of open documents by real path, as they are now.
        sheet: The fact sheet of the device whose values are shown; by default this device is detected.
    """

    def __init__(self, directory: Path, texts: Mapping[str, str], sheet: Path | None = None) -> None:
        self.sheet = sheet
        self._directory, self._texts = directory, texts
        self._seen: dict[str, str] = {}
        self._configured: dict[Path, tuple[Configuration, Resolution] | None] = {}
        self._failures: dict[Path, EtconfigError] = {}
        self._read_plugins()

    def _read_plugins(self) -> None:
        found = Installation(self._directory).with_texts(self._texts)
        self.installation, self._unreadable = readable_installation(found)
        for name in ("_profile", "_project", "options_and_facts"):
            vars(self).pop(name, None)
        self._refresh()

    def _refresh(self) -> None:
        vars(self).pop("programs", None)
        self._configured.clear()
        self.installation = self.installation.refreshed()
        allowances = Allowances(self._text)
        self._validator = Validator(installation=self.installation, allowances=allowances)

    def _text(self, path: Path) -> str | None:
        text = self._texts.get(os.path.realpath(path))
        return text_of(path) if text is None else text

    def _look(self, path: Path) -> None:
        """Take note of texts that have changed; if others than a profile's own have, files are read again."""
        texts, own = dict(self._texts), os.path.realpath(path)
        is_listed = texts.keys() == self._seen.keys()  # else there may be other profiles
        changed = {
            key for key in texts.keys() | self._seen.keys() if texts.get(key) is not self._seen.get(key)
        }
        self._seen = texts
        if changed:
            self._configured.clear()
        if changed - {own} or not is_listed or (changed and path.name in PROJECT_FILES):
            self._refresh()

    def problems(self, path: Path, *, is_quick: bool = False) -> tuple[Diagnostic, ...]:
        """Return what `etconfig validate` finds wrong with a document.

        Args:
            path: The document.
            is_quick: True to leave out slow checks, and to believe what other files on disk said before.
        """
        self._look(path)
        if not is_quick:
            self._read_plugins()
        validator = self._validator
        validator.allowances.forget()
        without: Collection[str] = SLOW if is_quick else ()
        try:
            found = (*self._unreadable, *validator.problems(path, without), *validator.selection_problems())
            found += () if is_quick else validator.unused_allowances([path])
        except ConfigError as error:
            return error.diagnostics
        except PluginError as error:
            return (plugin_warning(error),)
        return tuple(dict.fromkeys(found))

    def is_listed(self, path: Path) -> bool:
        """Return True if a file is in a directory of profiles."""
        self._look(path)
        with suppress(EtconfigError):
            return self.installation.readable_profiles.find(path).name is not None
        return False

    def stop(self) -> None:
        """Let a search for problems end soon, in whichever thread it runs; its result is of no use."""
        self._validator.stop()

    @cached_property
    def on_device(self) -> tuple[str, FactSheet, str]:
        """The name and facts of the device whose values are shown, and what is wrong with its sheet."""
        problem = ""
        if self.sheet is not None:
            try:
                return self.sheet.stem, load_fact_sheet(self.sheet, self.installation.fact_registry), ""
            except EtconfigError as error:
                problem = str(error)
        return "this device", self.installation.detect_facts(), problem

    @property
    def facts(self) -> FactSheet:
        """The facts of the device whose values are shown; the facts of this device if the sheet is wrong."""
        return self.on_device[1]

    @property
    def device(self) -> str:
        """The name of that device."""
        return self.on_device[0]

    @cached_property
    def options_and_facts(self) -> OptionsAndFacts:
        """The names that a test may read."""
        found = self.installation
        return OptionsAndFacts(found.fact_registry, found.backend_ids, found.plugins.backend_spec)

    def configured(self, path: Path) -> tuple[Configuration, Resolution] | None:
        """Return the configuration with a profile or project file, and its arguments; None if it is wrong."""
        self._look(path)
        if path not in self._configured:
            self._configured[path] = None
            profile = None if path.name in PROJECT_FILES else path
            self._failures.pop(path, None)
            try:
                installation = self.installation.refreshed()
                found = configure(profile=profile, facts=self.facts, installation=installation)
                self._configured[path] = (found, found.resolve())
            except EtconfigError as error:
                self._failures[path] = error
        return self._configured[path]

    def failure(self, path: Path, line: int) -> str:
        """Return why a line has no value on the device; empty if it may have one."""
        self.configured(path)
        found = (each for each in getattr(self._failures.get(path), "diagnostics", ()) if each.spans)
        at = str(path), line
        return next((each.message for each in found if (each.spans[0].file, each.spans[0].line) == at), "")

    @cached_property
    def programs(self) -> FoundPrograms:
        """The programs and models of the project file that can be read."""
        return load_project_programs(self.installation)

    def schema(self, path: Path, text: str) -> Mapping[str, Any]:
        """Return the JSON Schema of a document."""
        if path.name in PROJECT_FILES:
            return self._project
        return models_schema() if "[model." in text and "[profile]" not in text else self._profile

    @cached_property
    def _profile(self) -> Mapping[str, Any]:
        return profile_schema(self._specs(), self.installation.fact_registry)

    @cached_property
    def _project(self) -> Mapping[str, Any]:
        return project_schema(self._specs(), self.installation.fact_registry)

    def _specs(self) -> list[BackendSpec]:
        specs = []
        for backend in self.installation.backend_ids:
            with suppress(PluginError):  # `validate` reports it
                specs.append(self.installation.plugins.backend_spec(backend))
        return specs
