"""`etconfig new-backend`: write the package of a new backend."""

from __future__ import annotations

from datetime import date
from importlib.util import find_spec
from pathlib import Path

import click

from etconfig.cli.shared.command_options import make_installation
from etconfig.cli.shared.format import format_count
from etconfig.cli.shared.output import show
from etconfig.cli.shared.usage import StrictCommand
from etconfig.cli.shared.writing import OutputPath
from etconfig.errors import ScaffoldError
from etconfig.plugin.entry_points import BACKENDS
from etconfig.scaffold import (
    CPP,
    LICENSES,
    PYTHON,
    SCHEMA_ONLY,
    PackageNames,
    derive_names,
    render_package,
    write_package_files,
)


@click.command("new-backend", cls=StrictCommand)
@click.argument("name")
@click.option(
    "--directory",
    type=OutputPath(is_directory=True),
    help="A new or empty directory to write to; by default named like the package.",
)
@click.option("--id", "backend_id", help="The id of the backend in programs; by default derived from NAME.")
@click.option(
    "--license",
    "license_name",
    type=click.Choice(list(LICENSES)),
    default="apache-2.0",
    show_default=True,
    help="The license of the package.",
)
@click.option("--author", help="The copyright holder; by default the authors of the package.")
@click.option(
    "--cpp", is_flag=True, help="Write the backend in C++, as a library with etconfig's C interface."
)
@click.option(
    "--schema-only",
    is_flag=True,
    help="Declare only the options of a backend that is part of an ExecuTorch build.",
)
def command(
    name: str,
    directory: Path | None,
    backend_id: str | None,
    license_name: str,
    author: str | None,
    cpp: bool,
    schema_only: bool,
) -> None:
    """Write a complete and tested package for a new backend.

    It has options, a runtime and an ahead-of-time half for a simulated device, a versioned payload, a
    profile, tests, golden programs and package metadata. Its tests pass as they are. Replace the simulated
    device with your own.

    With --cpp, the runtime half is a library in C++, which installing the package builds with the system's
    compiler. With --schema-only, the package has options, a recommendation, a profile and tests.

    \b
    Examples:
      etconfig new-backend acme-npu
      etconfig new-backend acme-gpu --cpp
      etconfig new-backend acme-dsp --schema-only
      etconfig new-backend acme-npu --directory backends/acme --id AcmeBackend --license mit
    """
    if cpp and schema_only:
        raise click.UsageError("--cpp and --schema-only exclude each other")
    names = derive_names(name, backend_id)
    _check_is_new(names)
    year = date.today().year  # of the copyright, in the author's time zone
    template = CPP if cpp else SCHEMA_ONLY if schema_only else PYTHON
    files = render_package(names, LICENSES[license_name], author=author, year=year, template=template)
    directory = Path(names.distribution) if directory is None else directory
    write_package_files(directory, files)
    show(f"{format_count(len(files), 'file')} written to {directory}; next:")
    show(f"  cd {directory}")
    show("  pip install -e '.[test]'")
    show("  pytest")
    show(f"  etconfig conformance {names.backend_id} --level {template.level}")
    show(f"then {template.your_part.format(package=names.package)}; see its README.md")


def _check_is_new(names: PackageNames) -> None:
    """Refuse names that are already taken by something installed here."""
    for entry in make_installation().index.entries(BACKENDS):
        if entry.name == names.backend_id:
            raise ScaffoldError(
                problem=f"backend {entry.name} is installed already, by {entry.distribution} {entry.version}",
                help="choose another --id, or uninstall that",
            )
    module = find_spec(names.package)
    if (
        module is not None and module.origin is not None
    ):  # a module without an origin is only a directory of that name
        raise ScaffoldError(
            problem=f"a package {names.package} is installed already, in {module.origin}",
            help="choose another name, or uninstall that",
        )
