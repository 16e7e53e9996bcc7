"""TOML documents with positions, conditions on facts, profiles, their library and their selection.

Importing this package loads none of its modules: listing profiles needs neither TOML nor conditions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from etconfig.lazy import lazy_names

_HOME = {
    "Assignment": "layer",
    "AssignmentPlace": "layer",
    "Assumptions": "expression.assumptions",
    "BoolRange": "expression.ranges",
    "ClauseResult": "expression",
    "ConditionChecker": "condition_checks",
    "Dependencies": "dependencies",
    "Document": "document",
    "DocumentSettings": "settings",
    "ExecutorTable": "executor_table",
    "EvaluationResult": "expression",
    "Expression": "expression",
    "ExpressionParser": "expression",
    "ExpressionType": "expression",
    "Fault": "expression",
    "InstanceDeclaration": "layer",
    "Layer": "layer",
    "PlaceFinder": "layer",
    "ListRange": "expression.ranges",
    "NumberRange": "expression.ranges",
    "PluginChoices": "project",
    "Profile": "profile",
    "ProfileFile": "library",
    "ProfileLibrary": "library",
    "ProfileMatch": "selection",
    "ProfileReader": "inheritance",
    "ProfileSelector": "selector",
    "ProfileSource": "library",
    "ProofLimitError": "expression.proof_steps",
    "ProofSteps": "expression.proof_steps",
    "ProjectFile": "project",
    "Provider": "library",
    "RawValue": "layer",
    "Reference": "profile",
    "ExampleFacts": "expression.example_devices",
    "MAX_COMBINATIONS": "expression.example_devices",
    "SearchLimitError": "expression.example_facts",
    "Selection": "selection",
    "TextRange": "expression.ranges",
    "TextValue": "layer",
    "UNSET": "layer",
    "Unknown": "expression",
    "Unset": "layer",
    "ValueRange": "expression.ranges",
    "bundled_parser": "bundled_conditions",
    "bundled_profiles": "library",
    "check_trusted": "trust",
    "example_devices": "expression.example_devices",
    "example_facts": "expression.example_facts",
    "has_project_section": "project",
    "layers_of": "layers",
    "load_chain": "inheritance",
    "load_document": "document",
    "load_profile": "inheritance",
    "match_profiles": "selector",
    "parse_document": "document",
    "parse_executor": "project",
    "parse_executor_tables": "project",
    "parse_expression": "expression",
    "parse_kernel_preferences": "project",
    "parse_plugin_choices": "project",
    "parse_profile": "profile",
    "parse_profile_path": "project",
    "parse_programs": "project",
    "parse_project": "project",
    "range_of_value": "expression.ranges",
    "salvage_layer": "project",
    "salvage_layers": "layers",
    "section_span": "project",
    "select_profile": "selector",
    "typical_value": "expression.example_facts",
    "unit_of": "expression.units_of",
}
"""The module of each public name."""

if TYPE_CHECKING:
    from etconfig.profile.bundled_conditions import bundled_parser
    from etconfig.profile.condition_checks import ConditionChecker
    from etconfig.profile.dependencies import Dependencies
    from etconfig.profile.document import Document, load_document, parse_document
    from etconfig.profile.executor_table import ExecutorTable
    from etconfig.profile.expression import (
        ClauseResult,
        EvaluationResult,
        Expression,
        ExpressionParser,
        ExpressionType,
        Fault,
        Unknown,
        parse_expression,
    )
    from etconfig.profile.expression.assumptions import Assumptions
    from etconfig.profile.expression.example_devices import MAX_COMBINATIONS, ExampleFacts, example_devices
    from etconfig.profile.expression.example_facts import SearchLimitError, example_facts, typical_value
    from etconfig.profile.expression.proof_steps import ProofLimitError, ProofSteps
    from etconfig.profile.expression.ranges import (
        BoolRange,
        ListRange,
        NumberRange,
        TextRange,
        ValueRange,
        range_of_value,
    )
    from etconfig.profile.expression.units_of import unit_of
    from etconfig.profile.inheritance import ProfileReader, load_chain, load_profile
    from etconfig.profile.layer import (
        UNSET,
        Assignment,
        AssignmentPlace,
        InstanceDeclaration,
        Layer,
        PlaceFinder,
        RawValue,
        TextValue,
        Unset,
    )
    from etconfig.profile.layers import layers_of, salvage_layers
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
        has_project_section,
        parse_executor,
        parse_executor_tables,
        parse_kernel_preferences,
        parse_plugin_choices,
        parse_profile_path,
        parse_programs,
        parse_project,
        salvage_layer,
        section_span,
    )
    from etconfig.profile.selection import ProfileMatch, Selection
    from etconfig.profile.selector import ProfileSelector, match_profiles, select_profile
    from etconfig.profile.settings import DocumentSettings
    from etconfig.profile.trust import check_trusted

__all__ = [
    "MAX_COMBINATIONS",
    "UNSET",
    "Assignment",
    "AssignmentPlace",
    "Assumptions",
    "BoolRange",
    "ClauseResult",
    "ConditionChecker",
    "Dependencies",
    "Document",
    "DocumentSettings",
    "EvaluationResult",
    "ExampleFacts",
    "ExecutorTable",
    "Expression",
    "ExpressionParser",
    "ExpressionType",
    "Fault",
    "InstanceDeclaration",
    "Layer",
    "ListRange",
    "NumberRange",
    "PlaceFinder",
    "PluginChoices",
    "Profile",
    "ProfileFile",
    "ProfileLibrary",
    "ProfileMatch",
    "ProfileReader",
    "ProfileSelector",
    "ProfileSource",
    "ProjectFile",
    "ProofLimitError",
    "ProofSteps",
    "Provider",
    "RawValue",
    "Reference",
    "SearchLimitError",
    "Selection",
    "TextRange",
    "TextValue",
    "Unknown",
    "Unset",
    "ValueRange",
    "bundled_parser",
    "bundled_profiles",
    "check_trusted",
    "example_devices",
    "example_facts",
    "has_project_section",
    "layers_of",
    "load_chain",
    "load_document",
    "load_profile",
    "match_profiles",
    "parse_document",
    "parse_executor",
    "parse_executor_tables",
    "parse_expression",
    "parse_kernel_preferences",
    "parse_plugin_choices",
    "parse_profile",
    "parse_profile_path",
    "parse_programs",
    "parse_project",
    "range_of_value",
    "salvage_layer",
    "salvage_layers",
    "section_span",
    "select_profile",
    "typical_value",
    "unit_of",
]

__getattr__, __dir__ = lazy_names(__name__, _HOME)
