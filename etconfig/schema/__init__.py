"""What a backend declares: typed options, units, constraints, and its `BackendSpec`."""

from etconfig.schema.coerce import coerce_value
from etconfig.schema.jsonschema import json_schema
from etconfig.schema.markdown import markdown_reference
from etconfig.schema.option import Applies, OptionInfo, Scope, Wire, option
from etconfig.schema.options import BackendOptions
from etconfig.schema.spec import ApiRange, BackendSpec, CompileSpecInfo
from etconfig.schema.units import Unit

__all__ = [
    "ApiRange",
    "Applies",
    "BackendOptions",
    "BackendSpec",
    "CompileSpecInfo",
    "OptionInfo",
    "Scope",
    "Unit",
    "Wire",
    "coerce_value",
    "json_schema",
    "markdown_reference",
    "option",
]
