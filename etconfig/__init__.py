"""Typed configuration and plugin discovery for ExecuTorch backends.

Importing this package imports no third-party package: each public name is imported from its module on first
use.
"""

from __future__ import annotations

from etconfig.base.lazy import lazy_names

# Type checkers know this name from typing, whose import takes as long as starting Python.
TYPE_CHECKING = False

_HOME = {
    "AppliedOptions": "app.programs.applied_options",
    "Arguments": "resolver.deciding.arguments",
    "BudgetUse": "resolver.deciding.budget_use",
    "ComparisonReport": "measuring.comparison_report",
    "DeviceBundle": "device.device_bundle",
    "DeviceMatrix": "analysis",
    "CancelToken": "method.stop",
    "ConfigError": "errors",
    "Configuration": "app.configuring.configuration",
    "DataLoader": "program.source",
    "Diagnostic": "diagnostics",
    "EtconfigError": "errors",
    "ExecutionError": "errors",
    "FactSheet": "facts.sheet",
    "Installation": "app.installation.installation",
    "InstallationReport": "analysis",
    "InternalError": "errors",
    "LiveArguments": "app.live.live_arguments",
    "LoadMode": "program.source",
    "LoadedModel": "app.programs.loaded_model",
    "LoadedProgram": "app.programs.loaded_program",
    "MemoryNeed": "memory.need",
    "Method": "method.method",
    "ModelChoice": "models.variant_selection",
    "Models": "app.configuring.engine_models",
    "Origin": "base.provenance",
    "PluginError": "errors",
    "ProgramError": "errors",
    "ProgramReport": "analysis",
    "Resolution": "resolver.deciding.resolution",
    "Tolerance": "method.bundled_cases",
    "TuneReport": "tuning.tune_report",
    "UnsharedStateWarning": "errors",
    "UnusedKernelsWarning": "errors",
    "UsageRecord": "app.configuring.usage_record",
    "Verification": "program.program",
    "VerificationReport": "analysis",
    "__version__": "base.version",
    "apply": "app.programs.applied_options",
    "compare": "measuring.compare",
    "configure": "app.configuring.configuration",
    "detect_facts": "app.programs.api",
    "device_names": "facts.known_devices",
    "examine_installation": "analysis",
    "inspect_program": "analysis",
    "load_bundle": "device.device_bundle",
    "load_device": "facts.known_devices",
    "load_fact_sheet": "facts.sheet",
    "load_model": "app.programs.model_loading",
    "load_program": "app.programs.api",
    "memory_need": "app.programs.memory_needs",
    "open_data_file": "program.flat_tensor",
    "pack_bundle": "app.packing.profile_bundle",
    "pack_resolutions": "app.packing.resolution_bundle",
    "resolve": "app.configuring.configuration",
    "resolve_devices": "analysis",
    "select_model": "app.programs.model_choice",
    "tune": "tuning.tune",
    "validate_file": "app.validating.validation",
    "verify_program": "analysis",
}
"""The module of each public name; a test compares it with the imports below."""

if TYPE_CHECKING:
    from etconfig.analysis import (
        DeviceMatrix,
        InstallationReport,
        ProgramReport,
        VerificationReport,
        examine_installation,
        inspect_program,
        resolve_devices,
        verify_program,
    )
    from etconfig.app.configuring.configuration import Configuration, configure, resolve
    from etconfig.app.configuring.engine_models import Models
    from etconfig.app.configuring.usage_record import UsageRecord
    from etconfig.app.installation.installation import Installation
    from etconfig.app.live.live_arguments import LiveArguments
    from etconfig.app.packing.profile_bundle import pack_bundle
    from etconfig.app.programs.api import detect_facts, load_program
    from etconfig.app.programs.applied_options import AppliedOptions, apply
    from etconfig.app.programs.loaded_model import LoadedModel
    from etconfig.app.programs.loaded_program import LoadedProgram
    from etconfig.app.programs.memory_needs import memory_need
    from etconfig.app.programs.model_choice import select_model
    from etconfig.app.programs.model_loading import load_model
    from etconfig.app.validating.validation import validate_file
    from etconfig.base.provenance import Origin
    from etconfig.base.version import __version__
    from etconfig.device.device_bundle import DeviceBundle, load_bundle
    from etconfig.diagnostics import Diagnostic
    from etconfig.errors import (
        ConfigError,
        EtconfigError,
        ExecutionError,
        InternalError,
        PluginError,
        ProgramError,
        UnsharedStateWarning,
        UnusedKernelsWarning,
    )
    from etconfig.facts.known_devices import device_names, load_device
    from etconfig.facts.sheet import FactSheet, load_fact_sheet
    from etconfig.measuring.compare import compare
    from etconfig.measuring.comparison_report import ComparisonReport
    from etconfig.memory.need import MemoryNeed
    from etconfig.method.bundled_cases import Tolerance
    from etconfig.method.method import Method
    from etconfig.method.stop import CancelToken
    from etconfig.models.variant_selection import ModelChoice
    from etconfig.program.flat_tensor import open_data_file
    from etconfig.program.program import Verification
    from etconfig.program.source import DataLoader, LoadMode
    from etconfig.resolver.deciding.arguments import Arguments
    from etconfig.resolver.deciding.budget_use import BudgetUse
    from etconfig.resolver.deciding.resolution import Resolution
    from etconfig.tuning.tune import tune
    from etconfig.tuning.tune_report import TuneReport

__all__ = [
    "AppliedOptions",
    "Arguments",
    "BudgetUse",
    "CancelToken",
    "ComparisonReport",
    "ConfigError",
    "Configuration",
    "DataLoader",
    "DeviceBundle",
    "DeviceMatrix",
    "Diagnostic",
    "EtconfigError",
    "ExecutionError",
    "FactSheet",
    "Installation",
    "InstallationReport",
    "InternalError",
    "LiveArguments",
    "LoadMode",
    "LoadedModel",
    "LoadedProgram",
    "MemoryNeed",
    "Method",
    "ModelChoice",
    "Models",
    "Origin",
    "PluginError",
    "ProgramError",
    "ProgramReport",
    "Resolution",
    "Tolerance",
    "TuneReport",
    "UnsharedStateWarning",
    "UnusedKernelsWarning",
    "UsageRecord",
    "Verification",
    "VerificationReport",
    "__version__",
    "apply",
    "compare",
    "configure",
    "detect_facts",
    "device_names",
    "examine_installation",
    "inspect_program",
    "load_bundle",
    "load_device",
    "load_fact_sheet",
    "load_model",
    "load_program",
    "memory_need",
    "open_data_file",
    "pack_bundle",
    "pack_resolutions",
    "resolve",
    "resolve_devices",
    "select_model",
    "tune",
    "validate_file",
    "verify_program",
]

__getattr__, __dir__ = lazy_names(__name__, _HOME)
