"""Resolution of schemas, layers and facts to typed, frozen arguments per method instance and backend."""

from __future__ import annotations

from typing import TYPE_CHECKING

from etconfig.lazy import lazy_names

_HOME = {
    "ANY_METHOD": "arguments",
    "AdviceEntries": "advice",
    "AdviceReader": "advice",
    "Arguments": "arguments",
    "BackendArguments": "arguments",
    "CheckedAdvice": "advice",
    "CombinationVerifier": "combinations",
    "ExpressionVerifier": "expression_fit",
    "Fit": "matching",
    "OptionCandidates": "option_candidates",
    "KnownPrograms": "program_check",
    "METHOD": "program_check",
    "OptionChange": "difference",
    "Overrides": "override_forms",
    "Provenance": "provenance",
    "ReportedValue": "difference",
    "Resolution": "resolution",
    "Resolver": "resolver",
    "SET_VARIABLE": "overrides",
    "Target": "resolver",
    "UnconfiguredValue": "unconfigured",
    "advised_devices": "advice_check",
    "differences": "difference",
    "explain_option": "explain",
    "find_provenance": "explain",
    "layer_from_environment": "overrides",
    "layer_from_overrides": "overrides",
    "noun_of": "program_check",
    "unknown_model": "program_check",
    "load_saved_resolution": "saved",
    "options_problem": "overrides",
    "read_program_values": "program_values",
    "reported_values": "difference",
    "standalone_differences": "difference",
    "show_setting": "explain",
    "values_without_configuration": "unconfigured",
    "verify_advice": "advice_check",
    "verify_against_programs": "program_check",
    "verify_on_device": "device_problems",
    "verify_layers": "matching",
}
"""The module of each public name."""

if TYPE_CHECKING:
    from etconfig.resolver.advice import AdviceEntries, AdviceReader, CheckedAdvice
    from etconfig.resolver.advice_check import advised_devices, verify_advice
    from etconfig.resolver.arguments import ANY_METHOD, Arguments, BackendArguments
    from etconfig.resolver.combinations import CombinationVerifier
    from etconfig.resolver.device_problems import verify_on_device
    from etconfig.resolver.difference import (
        OptionChange,
        ReportedValue,
        differences,
        reported_values,
        standalone_differences,
    )
    from etconfig.resolver.explain import explain_option, find_provenance, show_setting
    from etconfig.resolver.expression_fit import ExpressionVerifier
    from etconfig.resolver.matching import Fit, verify_layers
    from etconfig.resolver.option_candidates import OptionCandidates
    from etconfig.resolver.override_forms import Overrides
    from etconfig.resolver.overrides import (
        SET_VARIABLE,
        layer_from_environment,
        layer_from_overrides,
        options_problem,
    )
    from etconfig.resolver.program_check import (
        METHOD,
        KnownPrograms,
        noun_of,
        unknown_model,
        verify_against_programs,
    )
    from etconfig.resolver.program_values import read_program_values
    from etconfig.resolver.provenance import Provenance
    from etconfig.resolver.resolution import Resolution
    from etconfig.resolver.resolver import Resolver, Target
    from etconfig.resolver.saved import load_saved_resolution
    from etconfig.resolver.unconfigured import UnconfiguredValue, values_without_configuration

__all__ = [
    "ANY_METHOD",
    "METHOD",
    "SET_VARIABLE",
    "AdviceEntries",
    "AdviceReader",
    "Arguments",
    "BackendArguments",
    "CheckedAdvice",
    "CombinationVerifier",
    "ExpressionVerifier",
    "Fit",
    "KnownPrograms",
    "OptionCandidates",
    "OptionChange",
    "Overrides",
    "Provenance",
    "ReportedValue",
    "Resolution",
    "Resolver",
    "Target",
    "UnconfiguredValue",
    "advised_devices",
    "differences",
    "explain_option",
    "find_provenance",
    "layer_from_environment",
    "layer_from_overrides",
    "load_saved_resolution",
    "noun_of",
    "options_problem",
    "read_program_values",
    "reported_values",
    "show_setting",
    "standalone_differences",
    "unknown_model",
    "values_without_configuration",
    "verify_advice",
    "verify_against_programs",
    "verify_layers",
    "verify_on_device",
]

__getattr__, __dir__ = lazy_names(__name__, _HOME)
