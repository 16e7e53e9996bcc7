"""The package of a new backend: its names, its files, and writing them."""

from etconfig.scaffold.licenses import LICENSES, License
from etconfig.scaffold.names import PackageNames, derive_names
from etconfig.scaffold.package import render_package, write_package_files
from etconfig.scaffold.template import CPP, PYTHON, SCHEMA_ONLY, Template

__all__ = [
    "CPP",
    "LICENSES",
    "PYTHON",
    "SCHEMA_ONLY",
    "License",
    "PackageNames",
    "Template",
    "derive_names",
    "render_package",
    "write_package_files",
]
