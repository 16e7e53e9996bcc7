"""The public modules of etconfig and their names: the list that pages, the surface file and tests follow.

Every module and name that is not listed here is private by convention: it may change in any release.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from types import GenericAlias, ModuleType
from typing import Any


@dataclass(frozen=True)
class PublicModule:
    """A module that may be imported.

    Attributes:
        name: Its dotted name.
        purpose: What it is for, in a sentence.
        listed: The names that are public in it; empty if all of its `__all__` are, or without one all classes
            and functions that it defines.
    """

    name: str
    purpose: str
    listed: tuple[str, ...] = ()

    @cached_property
    def module(self) -> ModuleType:
        """The module itself."""
        return import_module(self.name)

    @property
    def names(self) -> tuple[str, ...]:
        """The public names, sorted."""
        return tuple(sorted(self.listed or getattr(self.module, "__all__", None) or self._defined()))

    @property
    def values(self) -> Mapping[str, Any]:
        """The objects that the names stand for."""
        return {name: getattr(self.module, name) for name in self.names}

    def _defined(self) -> Iterator[str]:
        for name, value in vars(self.module).items():
            if not name.startswith("_") and getattr(value, "__module__", None) == self.name:
                yield name


PUBLIC_MODULES = (
    PublicModule("etconfig", "Configure, load, run and update; detect facts; validate files."),
    PublicModule("etconfig.errors", "Every exception that etconfig raises on purpose."),
    PublicModule("etconfig.analysis", "Report on programs, speed and installations, as the commands do."),
    PublicModule(
        "etconfig.diagnostics.render",
        "Show diagnostics as text or in a format for tools.",
        ("ansi", "plain", "render"),
    ),
    PublicModule(
        "etconfig.profile",
        "Select a profile from a library of your own.",
        ("Dependencies", "ProfileLibrary", "ProfileSelector", "ProfileSource", "select_profile"),
    ),
    PublicModule(
        "etconfig.tracing",
        "Record what runs, for Perfetto and ExecuTorch's Inspector.",
        ("Event", "EventKind", "RecordingTracer", "chrome_trace", "etdump"),
    ),
    PublicModule(
        "etconfig.device",
        "Find the C++ headers for programs on a device; read what bundles have for known ones.",
        (
            *("PackedBackend", "PackedConfiguration", "PackedMethod", "PackedOption"),
            *("cmake_dir", "device_include_dir"),
        ),
    ),
    PublicModule("etconfig.fleet", "Resolve the devices of a fleet, here or on a cluster."),
    PublicModule("etconfig.plugin.v1", "The plugin API, version 1."),
    PublicModule(
        "etconfig.plugin.v1_c", "The plugin API for backends in C and C++, version 1; imports numpy."
    ),
    PublicModule("etconfig.plugin.v1_kernels", "The plugin API for kernels, version 1; imports numpy."),
    PublicModule(
        "etconfig.aot", "What the ahead-of-time halves of backends share; needs torch where it is used."
    ),
    PublicModule("etconfig.conformance", "The conformance kit, for the tests of a backend."),
)


KINDS = ("classes", "exceptions", "functions", "others")
"""The groups of public names; others are aliases, constants and markers."""


def kind_of(value: Any) -> str:
    """The group of a public name on the page: one of `KINDS`."""
    if inspect.isclass(value) and not isinstance(value, GenericAlias):  # Python 3.10 takes list[int] for one
        return "exceptions" if issubclass(value, BaseException) else "classes"
    return "functions" if inspect.isroutine(value) else "others"
