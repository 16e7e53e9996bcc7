"""TOML documents with positions, conditions on facts, profiles, their library and their selection.

Importing this package loads none of its modules: listing profiles needs neither TOML nor conditions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from etconfig.base.lazy import lazy_names

_HOME = {
    "Dependencies": "selection",
    "ProfileLibrary": "library",
    "ProfileSelector": "selector",
    "ProfileSource": "library",
    "select_profile": "selector",
}
"""The module of each public name."""

if TYPE_CHECKING:
    from etconfig.profile.library import ProfileLibrary, ProfileSource
    from etconfig.profile.selection import Dependencies
    from etconfig.profile.selector import ProfileSelector, select_profile

__all__ = [
    "Dependencies",
    "ProfileLibrary",
    "ProfileSelector",
    "ProfileSource",
    "select_profile",
]

__getattr__, __dir__ = lazy_names(__name__, _HOME)
