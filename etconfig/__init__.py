"""Typed configuration and plugin discovery for ExecuTorch backends.

Importing this package loads no third party package: every public name is
fetched from its module when it is first used.
"""

from __future__ import annotations

TYPE_CHECKING = False  # what typing calls so, without its import, which costs as much as Python itself

__version__ = "0.1.0"

_HOME = {
    "Arguments": "etconfig.resolver",
    "ConfigError": "etconfig.errors",
    "Configuration": "etconfig.configuration",
    "Diagnostic": "etconfig.diagnostics",
    "EtconfigError": "etconfig.errors",
    "ExecutionError": "etconfig.errors",
    "FactSheet": "etconfig.facts",
    "Installation": "etconfig.installation",
    "InternalError": "etconfig.errors",
    "LiveArguments": "etconfig.live",
    "LoadedProgram": "etconfig.api",
    "Method": "etconfig.executor",
    "Origin": "etconfig.provenance",
    "PluginError": "etconfig.errors",
    "ProgramError": "etconfig.errors",
    "Resolution": "etconfig.resolver",
    "Verification": "etconfig.program",
    "configure": "etconfig.configuration",
    "detect_facts": "etconfig.api",
    "load_program": "etconfig.api",
    "resolve": "etconfig.api",
}
"""Where each public name lives; a test holds it against the imports below."""

if TYPE_CHECKING:
    from etconfig.api import LoadedProgram, detect_facts, load_program, resolve
    from etconfig.configuration import Configuration, configure
    from etconfig.diagnostics import Diagnostic
    from etconfig.errors import (
        ConfigError,
        EtconfigError,
        ExecutionError,
        InternalError,
        PluginError,
        ProgramError,
    )
    from etconfig.executor import Method
    from etconfig.facts import FactSheet
    from etconfig.installation import Installation
    from etconfig.live import LiveArguments
    from etconfig.program import Verification
    from etconfig.provenance import Origin
    from etconfig.resolver import Arguments, Resolution

__all__ = [
    "Arguments",
    "ConfigError",
    "Configuration",
    "Diagnostic",
    "EtconfigError",
    "ExecutionError",
    "FactSheet",
    "Installation",
    "InternalError",
    "LiveArguments",
    "LoadedProgram",
    "Method",
    "Origin",
    "PluginError",
    "ProgramError",
    "Resolution",
    "Verification",
    "__version__",
    "configure",
    "detect_facts",
    "load_program",
    "resolve",
]


def __getattr__(name: str) -> object:
    try:
        home = _HOME[name]
    except KeyError:
        raise AttributeError(f"module 'etconfig' has no attribute {name!r}") from None
    from importlib import import_module

    value: object = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
