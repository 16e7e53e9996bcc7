"""Plugins: found without being imported, imported when needed, isolated when broken.

Importing this package loads neither pluggy nor pydantic. `PluginRegistry` needs both, so it is imported from
`etconfig.plugin.registry` when a plugin is needed.
"""

from etconfig.plugin.discovery import discover_plugins, profile_directories, resolve_profile_directory
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
from etconfig.plugin.index import PluginIndex, PluginPolicy

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
