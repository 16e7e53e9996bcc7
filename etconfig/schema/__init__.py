"""The declarations of a backend: typed options, units, constraints, and its `BackendSpec`.

Importing this package imports none of its modules. pydantic is imported with the options of the first plugin,
so a file that sets no options is checked without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from etconfig.lazy import lazy_names

_HOME = {
    "Advice": "advice",
    "ApiRange": "spec",
    "Applies": "declaration",
    "BackendOptions": "options",
    "BackendSpec": "spec",
    "CompileSpecEncoding": "spec",
    "CompileSpecInfo": "spec",
    "KnownKey": "known_keys",
    "OptionKind": "option_type",
    "MISSING": "declaration",
    "OptionInfo": "declaration",
    "OptionProblem": "problem",
    "OptionTable": "options",
    "OptionType": "option_type",
    "OptionsSchema": "validate",
    "ProblemKind": "problem",
    "Scope": "declaration",
    "Unit": "units",
    "ValidatedOptions": "validate",
    "Wire": "declaration",
    "are_shareable": "validate",
    "assemble_options": "validate",
    "cache_key": "cache_keys",
    "build_options": "validate",
    "change_options": "validate",
    "check_value": "validate",
    "coerce_text": "coerce",
    "coerce_value": "coerce",
    "find_option": "validate",
    "has_own_checks": "validate",
    "set_twice": "validate",
    "json_schema": "jsonschema",
    "markdown_reference": "markdown",
    "model_validator": "options",
    "option": "declaration",
    "read_text": "text",
    "schema_signature": "signature",
    "show_value": "coerce",
    "validate_options": "validate",
}
"""Which module each public name lives in."""

if TYPE_CHECKING:
    from etconfig.schema.advice import Advice
    from etconfig.schema.cache_keys import cache_key
    from etconfig.schema.coerce import coerce_text, coerce_value, show_value
    from etconfig.schema.declaration import MISSING, Applies, OptionInfo, Scope, Wire, option
    from etconfig.schema.jsonschema import json_schema
    from etconfig.schema.known_keys import KnownKey
    from etconfig.schema.markdown import markdown_reference
    from etconfig.schema.option_type import OptionKind, OptionType
    from etconfig.schema.options import BackendOptions, OptionTable, model_validator
    from etconfig.schema.problem import OptionProblem, ProblemKind
    from etconfig.schema.signature import schema_signature
    from etconfig.schema.spec import ApiRange, BackendSpec, CompileSpecEncoding, CompileSpecInfo
    from etconfig.schema.text import read_text
    from etconfig.schema.units import Unit
    from etconfig.schema.validate import (
        OptionsSchema,
        ValidatedOptions,
        are_shareable,
        assemble_options,
        build_options,
        change_options,
        check_value,
        find_option,
        has_own_checks,
        set_twice,
        validate_options,
    )

__all__ = [
    "MISSING",
    "Advice",
    "ApiRange",
    "Applies",
    "BackendOptions",
    "BackendSpec",
    "CompileSpecEncoding",
    "CompileSpecInfo",
    "KnownKey",
    "OptionInfo",
    "OptionKind",
    "OptionProblem",
    "OptionTable",
    "OptionType",
    "OptionsSchema",
    "ProblemKind",
    "Scope",
    "Unit",
    "ValidatedOptions",
    "Wire",
    "are_shareable",
    "assemble_options",
    "build_options",
    "cache_key",
    "change_options",
    "check_value",
    "coerce_text",
    "coerce_value",
    "find_option",
    "has_own_checks",
    "json_schema",
    "markdown_reference",
    "model_validator",
    "option",
    "read_text",
    "schema_signature",
    "set_twice",
    "show_value",
    "validate_options",
]

__getattr__, __dir__ = lazy_names(__name__, _HOME)
