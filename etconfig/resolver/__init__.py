"""From schemas, layers and facts to typed, frozen arguments per method instance and backend."""

from etconfig.resolver.arguments import Arguments, BackendArguments
from etconfig.resolver.chain import OptionChain, Story
from etconfig.resolver.explain import explain_option, find_stories, shown
from etconfig.resolver.overrides import (
    ENVIRONMENT_VARIABLE,
    Overrides,
    layer_from_environment,
    layer_from_overrides,
)
from etconfig.resolver.program_check import verify_against_program
from etconfig.resolver.resolution import Resolution
from etconfig.resolver.resolver import ANY_METHOD, Resolver, Target

__all__ = [
    "ANY_METHOD",
    "ENVIRONMENT_VARIABLE",
    "Arguments",
    "BackendArguments",
    "OptionChain",
    "Overrides",
    "Resolution",
    "Resolver",
    "Story",
    "Target",
    "explain_option",
    "find_stories",
    "layer_from_environment",
    "layer_from_overrides",
    "shown",
    "verify_against_program",
]
