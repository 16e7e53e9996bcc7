"""The packages that a new one can be a copy of."""

from __future__ import annotations

from etconfig.base.records import record
from etconfig.scaffold.names import PackageNames


@record(frozen=True, kw_only=True)
class Template:
    """A package below `etconfig/templates`, in the directory called like its distribution.

    Attributes:
        names: The names in it.
        from_python: The files that it has from the package of `PYTHON`, by their paths there. Its directory
            lacks them.
        level: The level of the conformance kit that its own tests require.
        your_part: The file that its user replaces first, under its names, and what with.
        includes_header: True if it compiles C or C++ with a copy of `etconfig/backend.h`, in `native`.
    """

    names: PackageNames
    level: int
    your_part: str
    includes_header: bool = False
    from_python: tuple[str, ...] = ()


PYTHON = Template(
    names=PackageNames(distribution="example-npu", package="example_npu", backend_id="ExampleNpuBackend"),
    level=1,
    your_part="replace src/{package}/device.py with calls to your driver",
)
"""A backend in Python, with both halves."""

SCHEMA_ONLY = Template(
    names=PackageNames(
        distribution="example-schema", package="example_schema", backend_id="ExampleSchemaBackend"
    ),
    level=0,
    your_part="declare in src/{package}/options.py what your C++ code reads",
    from_python=(".gitignore", "src/example_npu/py.typed", "tests/xfails.txt"),
)
"""The options of a backend that is part of an ExecuTorch build."""

CPP = Template(
    names=PackageNames(distribution="example-cpp", package="example_cpp", backend_id="ExampleCppBackend"),
    level=1,
    your_part="replace native/device.cpp with calls to your driver",
    includes_header=True,
    from_python=(
        ".github/workflows/ci.yml",
        "src/example_npu/aot.py",
        "src/example_npu/conformance.py",
        "src/example_npu/profiles/example-npu/board.toml",
        "src/example_npu/py.typed",
        "tests/test_conformance.py",
        "tests/test_options.py",
        "tests/xfails.txt",
    ),
)
"""A backend in C++, with both halves."""
