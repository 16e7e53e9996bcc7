"""`etconfig schema`: print schemas of options, for machines and for manuals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from etconfig.app.installation.installation import Installation
from etconfig.cli.shared.command_options import make_installation
from etconfig.cli.shared.completion import complete_backend
from etconfig.cli.shared.output import print_json, show_diagnostics, show_document
from etconfig.cli.shared.usage import StrictCommand
from etconfig.errors import PluginError

if TYPE_CHECKING:
    from etconfig.schema.spec import BackendSpec


@click.command("schema", cls=StrictCommand)
@click.argument("backend", required=False, shell_complete=complete_backend)
@click.option("--profile", "document", flag_value="profile", help="The JSON Schema of a whole profile.")
@click.option("--project", "document", flag_value="project", help="The JSON Schema of a project file.")
@click.option("--models", "document", flag_value="models", help="The JSON Schema of a file of models.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["json", "markdown"]),
    default="json",
    show_default=True,
    help="JSON Schema for machines, Markdown (of a backend) for manuals.",
)
def command(backend: str | None, document: str | None, form: str) -> None:
    """Print an option schema as JSON Schema or Markdown.

    Of BACKEND, or of whole files with the options of all installed backends, for editors and linters.

    \b
    Examples:
      etconfig schema ReferenceNpuBackend > npu.schema.json
      etconfig schema ReferenceNpuBackend --format markdown
      etconfig schema --profile > etconfig.schema.json
    """
    if backend is not None and document is not None:
        raise click.UsageError(f"a backend and --{document} are two schemas; give one of them")
    if backend is None and document is None:
        raise click.UsageError("give a backend, or --profile, --project or --models")
    if document is not None and form != "json":
        raise click.UsageError(f"--{document} is printed as JSON only")
    installation = make_installation()
    if document is not None:
        _print_document_schema(document, installation)
        return
    from etconfig.schema.jsonschema import json_schema
    from etconfig.schema.options_reference import markdown_reference

    spec = installation.plugins.backend_spec(str(backend))
    if form == "json":
        print_json(json_schema(spec))
    else:
        show_document(markdown_reference(spec))


def _print_document_schema(document: str, installation: Installation) -> None:
    from etconfig.app.validating.document_schema import models_schema, profile_schema, project_schema

    if document == "models":
        print_json(models_schema())
        return
    generate = profile_schema if document == "profile" else project_schema
    print_json(generate(list(_specs(installation)), installation.fact_registry))


def _specs(installation: Installation) -> Iterator[BackendSpec]:
    """Yield the schemas of the installed backends; a broken one is left out with a warning."""
    from etconfig.app.configuring.targets import plugin_warning

    for backend in installation.backend_ids:
        try:
            yield installation.plugins.backend_spec(backend)
        except PluginError as error:
            show_diagnostics([plugin_warning(error)])
