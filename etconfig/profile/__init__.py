"""TOML documents with positions, conditions on facts, profiles, the library of profiles, selection.

Importing this package loads none of its modules: who lists profiles pays neither for TOML nor for conditions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from etconfig.lazy import lazy_names

_HOME = {
    "Assignment": "layer",
    "ClauseResult": "expression",
    "Document": "document",
    "Expression": "expression",
    "ExpressionParser": "expression",
    "ExpressionType": "expression",
    "Fault": "expression",
    "Findable": "layer",
    "InstanceDeclaration": "layer",
    "Layer": "layer",
    "Place": "layer",
    "PluginChoices": "project",
    "Profile": "profile",
    "ProfileFile": "library",
    "ProfileLibrary": "library",
    "ProfileMatch": "selection",
    "ProfileReader": "inheritance",
    "ProfileSource": "library",
    "ProjectFile": "project",
    "Provider": "library",
    "RawValue": "layer",
    "Reference": "profile",
    "Result": "expression",
    "Selection": "selection",
    "Settings": "settings",
    "TextValue": "layer",
    "UNSET": "layer",
    "Unknown": "expression",
    "Unset": "layer",
    "bundled_profiles": "library",
    "check_trusted": "trust",
    "layers_of": "layers",
    "load_chain": "inheritance",
    "load_document": "document",
    "load_profile": "inheritance",
    "match_profiles": "selection",
    "parse_document": "document",
    "parse_expression": "expression",
    "parse_plugin_choices": "project",
    "parse_profile": "profile",
    "parse_project": "project",
    "salvage_layer": "project",
    "select_profile": "selection",
}
"""Which module each public name lives in."""

if TYPE_CHECKING:
    from etconfig.profile.document import Document, load_document, parse_document
    from etconfig.profile.expression import (
        ClauseResult,
        Expression,
        ExpressionParser,
        ExpressionType,
        Fault,
        Result,
        Unknown,
        parse_expression,
    )
    from etconfig.profile.inheritance import ProfileReader, load_chain, load_profile
    from etconfig.profile.layer import (
        UNSET,
        Assignment,
        Findable,
        InstanceDeclaration,
        Layer,
        Place,
        RawValue,
        TextValue,
        Unset,
    )
    from etconfig.profile.layers import layers_of
    from etconfig.profile.library import (
        ProfileFile,
        ProfileLibrary,
        ProfileSource,
        Provider,
        bundled_profiles,
    )
    from etconfig.profile.profile import Profile, Reference, parse_profile
    from etconfig.profile.project import (
        PluginChoices,
        ProjectFile,
        parse_plugin_choices,
        parse_project,
        salvage_layer,
    )
    from etconfig.profile.selection import ProfileMatch, Selection, match_profiles, select_profile
    from etconfig.profile.settings import Settings
    from etconfig.profile.trust import check_trusted

__all__ = [
    "UNSET",
    "Assignment",
    "ClauseResult",
    "Document",
    "Expression",
    "ExpressionParser",
    "ExpressionType",
    "Fault",
    "Findable",
    "InstanceDeclaration",
    "Layer",
    "Place",
    "PluginChoices",
    "Profile",
    "ProfileFile",
    "ProfileLibrary",
    "ProfileMatch",
    "ProfileReader",
    "ProfileSource",
    "ProjectFile",
    "Provider",
    "RawValue",
    "Reference",
    "Result",
    "Selection",
    "Settings",
    "TextValue",
    "Unknown",
    "Unset",
    "bundled_profiles",
    "check_trusted",
    "layers_of",
    "load_chain",
    "load_document",
    "load_profile",
    "match_profiles",
    "parse_document",
    "parse_expression",
    "parse_plugin_choices",
    "parse_profile",
    "parse_project",
    "salvage_layer",
    "select_profile",
]

__getattr__, __dir__ = lazy_names(__name__, _HOME)
