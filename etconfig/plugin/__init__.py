"""Plugins: found without importing them, imported when needed, isolated when broken.

This module itself imports nothing but the standard library. `PluginRegistry` lives in
`etconfig.plugin.registry`, which loads pluggy and pydantic: import it when a plugin is needed.
"""

from etconfig.plugin.discovery import discover_plugins
from etconfig.plugin.entry_points import (
    BACKENDS,
    CONFORMANCE,
    EXECUTORS,
    FACTS,
    GROUPS,
    KERNELS,
    PROFILES,
    EntryPoint,
)
from etconfig.plugin.failure import PluginFailure
from etconfig.plugin.index import PluginIndex
from etconfig.plugin.policy import PluginPolicy
from etconfig.plugin.profile_directory import profile_directories, resolve_profile_directory

__all__ = [
    "BACKENDS",
    "CONFORMANCE",
    "EXECUTORS",
    "FACTS",
    "GROUPS",
    "KERNELS",
    "PROFILES",
    "EntryPoint",
    "PluginFailure",
    "PluginIndex",
    "PluginPolicy",
    "discover_plugins",
    "profile_directories",
    "resolve_profile_directory",
]
