"""From schemas, layers and facts to typed, frozen arguments per method instance and backend."""

from __future__ import annotations

from typing import TYPE_CHECKING

from etconfig.lazy import lazy_names

_HOME = {
    "ANY_METHOD": "arguments",
    "Arguments": "arguments",
    "BackendArguments": "arguments",
    "ENVIRONMENT_VARIABLE": "overrides",
    "Fit": "matching",
    "OptionChain": "chain",
    "OptionChange": "difference",
    "Overrides": "overrides",
    "Resolution": "resolution",
    "Resolver": "resolver",
    "Story": "chain",
    "Target": "resolver",
    "ToldValue": "difference",
    "UnconfiguredValue": "unconfigured",
    "differences": "difference",
    "explain_option": "explain",
    "find_stories": "explain",
    "layer_from_environment": "overrides",
    "layer_from_overrides": "overrides",
    "load_saved_resolution": "saved",
    "shown": "explain",
    "told_values": "difference",
    "values_without_configuration": "unconfigured",
    "verify_against_program": "program_check",
    "ExpressionVerifier": "expression_fit",
    "verify_layers": "matching",
}
"""Which module each public name lives in."""

if TYPE_CHECKING:
    from etconfig.resolver.arguments import ANY_METHOD, Arguments, BackendArguments
    from etconfig.resolver.chain import OptionChain, Story
    from etconfig.resolver.difference import OptionChange, ToldValue, differences, told_values
    from etconfig.resolver.explain import explain_option, find_stories, shown
    from etconfig.resolver.expression_fit import ExpressionVerifier
    from etconfig.resolver.matching import Fit, verify_layers
    from etconfig.resolver.overrides import (
        ENVIRONMENT_VARIABLE,
        Overrides,
        layer_from_environment,
        layer_from_overrides,
    )
    from etconfig.resolver.program_check import verify_against_program
    from etconfig.resolver.resolution import Resolution
    from etconfig.resolver.resolver import Resolver, Target
    from etconfig.resolver.saved import load_saved_resolution
    from etconfig.resolver.unconfigured import UnconfiguredValue, values_without_configuration

__all__ = [
    "ANY_METHOD",
    "ENVIRONMENT_VARIABLE",
    "Arguments",
    "BackendArguments",
    "ExpressionVerifier",
    "Fit",
    "OptionChain",
    "OptionChange",
    "Overrides",
    "Resolution",
    "Resolver",
    "Story",
    "Target",
    "ToldValue",
    "UnconfiguredValue",
    "differences",
    "explain_option",
    "find_stories",
    "layer_from_environment",
    "layer_from_overrides",
    "load_saved_resolution",
    "shown",
    "told_values",
    "values_without_configuration",
    "verify_against_program",
    "verify_layers",
]

__getattr__, __dir__ = lazy_names(__name__, _HOME)
