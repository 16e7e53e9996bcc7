"""The package of a new backend: its names, its files, and writing them."""

from etconfig.scaffold.package import (
    CPP,
    LICENSES,
    PYTHON,
    SCHEMA_ONLY,
    License,
    Template,
    render_package,
    write_package_files,
)
from etconfig.scaffold.package_names import PackageNames, derive_names

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
