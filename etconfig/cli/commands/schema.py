"""`etconfig schema`: print schemas of options, for machines and for manuals."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from etconfig.app.installation.installation import Installation
from etconfig.cli.shared.code_files import CODE, CODE_SUFFIXES, expected_code_suffix
from etconfig.cli.shared.command_options import make_installation
from etconfig.cli.shared.completion import complete_backend
from etconfig.cli.shared.output import print_json, show_diagnostics, show_document
from etconfig.cli.shared.usage import StrictCommand
from etconfig.cli.shared.writing import OutputPath, check_can_write, force_option, write_file
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
@click.option(
    "--emit",
    "language",
    type=click.Choice(list(CODE_SUFFIXES)),
    help="Write typed code: a reader for the backend in C++, a builder for apps in Kotlin or Swift.",
)
@click.option(
    "-o", "--output", metavar="FILE", type=OutputPath(), help="The file for code, instead of stdout."
)
@force_option
def command(
    backend: str | None,
    document: str | None,
    form: str,
    language: str | None,
    output: Path | None,
    force: bool,
) -> None:
    """Print an option schema as JSON Schema, Markdown or typed code.

    Of BACKEND, or of whole files with the options of all installed backends, for editors and linters.

    \b
    Examples:
      etconfig schema ReferenceNpuBackend > npu.schema.json
      etconfig schema ReferenceNpuBackend --format markdown
      etconfig schema ReferenceNpuBackend --emit cpp -o npu_options.h
      etconfig schema --profile > etconfig.schema.json
    """
    _refuse_combinations(backend, document, form, language, is_written=output is not None or force)
    installation = make_installation()
    if document is not None:
        _print_document_schema(document, installation)
        return
    if output is not None and language is not None:
        if output.suffix.lower() not in CODE_SUFFIXES[language] and (output.is_file() or not output.exists()):
            raise click.UsageError(f"{output}: {expected_code_suffix(language)}")
        check_can_write(output, CODE)
    from etconfig.schema.jsonschema import json_schema
    from etconfig.schema.options_reference import markdown_reference

    spec = installation.plugins.backend_spec(str(backend))
    if language is not None:
        _write_code(spec, language, output)
        return
    if form == "json":
        print_json(json_schema(spec))
    else:
        show_document(markdown_reference(spec))


def _refuse_combinations(
    backend: str | None, document: str | None, form: str, language: str | None, *, is_written: bool
) -> None:
    if language is None and is_written:
        raise click.UsageError("--output and --force are for --emit; other schemas go to stdout")
    if language is not None and (document is not None or form != "json"):
        raise click.UsageError("--emit is for the options of one backend: leave out the other forms")
    if backend is not None and document is not None:
        raise click.UsageError(f"a backend and --{document} are two schemas; give one of them")
    if backend is None and document is None:
        raise click.UsageError("give a backend, or --profile, --project or --models")
    if document is not None and form != "json":
        raise click.UsageError(f"--{document} is printed as JSON only")


def _write_code(spec: BackendSpec, language: str, output: Path | None) -> None:
    from etconfig.app.packing.resolution_bundle import PRODUCER
    from etconfig.device.typed import typed_code

    code = typed_code(spec, language, PRODUCER)
    if output is None:
        show_document(code)
    else:
        write_file(output, code.encode(), CODE)


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
