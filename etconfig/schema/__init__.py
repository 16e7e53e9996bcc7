"""What a backend declares: typed options, units, constraints, and its `BackendSpec`."""

from etconfig.schema.coerce import coerce_text, coerce_value, show_value
from etconfig.schema.jsonschema import json_schema
from etconfig.schema.markdown import markdown_reference
from etconfig.schema.option import MISSING, Applies, OptionInfo, Scope, Wire, option
from etconfig.schema.option_type import Kind, OptionType
from etconfig.schema.options import BackendOptions, assemble_options, jsonable, model_validator
from etconfig.schema.problem import OptionProblem, ProblemKind
from etconfig.schema.spec import ApiRange, BackendSpec, CompileSpecEncoding, CompileSpecInfo
from etconfig.schema.text import read_text
from etconfig.schema.units import Unit
from etconfig.schema.validate import (
    OptionsSchema,
    ValidatedOptions,
    build_options,
    change_options,
    check_value,
    find_option,
    validate_options,
)

__all__ = [
    "MISSING",
    "ApiRange",
    "Applies",
    "BackendOptions",
    "BackendSpec",
    "CompileSpecEncoding",
    "CompileSpecInfo",
    "Kind",
    "OptionInfo",
    "OptionProblem",
    "OptionType",
    "OptionsSchema",
    "ProblemKind",
    "Scope",
    "Unit",
    "ValidatedOptions",
    "Wire",
    "assemble_options",
    "build_options",
    "change_options",
    "check_value",
    "coerce_text",
    "coerce_value",
    "find_option",
    "json_schema",
    "jsonable",
    "markdown_reference",
    "model_validator",
    "option",
    "read_text",
    "show_value",
    "validate_options",
]
