"""`etconfig schema`: what a backend's options are, for machines and for manuals."""

from __future__ import annotations

import click

from etconfig.cli.options import make_installation
from etconfig.cli.output import print_json


@click.command("schema")
@click.argument("backend")
@click.option("--format", "form", type=click.Choice(["json", "markdown"]), default="json", show_default=True)
def command(backend: str, form: str) -> None:
    """Print a backend's option schema as JSON Schema or Markdown.

    \b
    Examples:
      etconfig schema ReferenceNpuBackend > npu.schema.json
      etconfig schema ReferenceNpuBackend --format markdown
    """
    from etconfig.schema import json_schema, markdown_reference

    spec = make_installation().plugins.backend_spec(backend)
    if form == "json":
        print_json(json_schema(spec))
    else:
        click.echo(markdown_reference(spec), nl=False)
