"""`etconfig pack`: write resolved arguments for runtimes on devices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from etconfig.cli.shared.format import format_count
from etconfig.cli.shared.options import ConfigurationRequest, several_configurations_options
from etconfig.cli.shared.output import show, show_diagnostics, show_document
from etconfig.cli.shared.usage import StrictCommand
from etconfig.cli.shared.writing import check_is_not_read, write_file
from etconfig.version import __version__

if TYPE_CHECKING:
    from etconfig.resolver import Resolution
    from etconfig.transport import PackedConfiguration

_PRODUCER = f"etconfig {__version__}"
_LANGUAGES = {".h": "cpp", ".hpp": "cpp", ".cpp": "cpp", ".kt": "kotlin", ".swift": "swift"}
"""The languages of code by the suffix of a file."""


@click.command("pack", cls=StrictCommand)
@click.argument("program", required=False, type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The .etargs file, or the file for code, which otherwise goes to stdout.",
)
@click.option(
    "--emit",
    "language",
    type=click.Choice(["cpp", "kotlin", "swift"]),
    help="Write code that passes the options to ExecuTorch.",
)
@click.option(
    "--header",
    "include",
    metavar="DIRECTORY",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write the C++ headers that read .etargs files; compilers take the directory as -I.",
)
@several_configurations_options
def command(
    program: Path | None,
    output: Path | None,
    language: str | None,
    include: Path | None,
    requests: Sequence[ConfigurationRequest],
) -> None:
    """Write resolved arguments for a runtime on a device.

    An .etargs file contains every option of one or more configurations; a program on the device
    picks one by its name. That is the name of its profile, or of its fact sheet if there are several.

    Code contains one configuration. Options that were set must fit what the language can pass to
    ExecuTorch; other options that do not fit are left out and listed in a comment.

    \b
    Examples:
      etconfig pack model.pte --facts pi5.json -o model.etargs
      etconfig pack model.pte --facts pi5.json --facts laptop.json -o model.etargs
      etconfig pack model.pte --facts pi5.json --emit cpp -o model_options.h
      etconfig pack --header include
    """
    if output is not None:
        _check_suffix(output, language)
        check_is_not_read(output, _sources(program, requests))
    if include is not None:
        _write_headers(include)
    if language is not None:
        _emit(program, language, output, requests)
    elif output is not None:
        _write(program, output, requests)
    elif include is None:
        raise click.UsageError("give --output FILE.etargs or --emit LANGUAGE")


def _check_suffix(output: Path, language: str | None) -> None:
    """Refuse code in a file that is called .etargs, and arguments in one that is called as code is."""
    suffix = output.suffix.lower()
    if language is not None and suffix == ".etargs":
        raise click.UsageError(f"leave out --emit to write {output}, or give --output another name")
    meant = _LANGUAGES.get(suffix)
    if language is None and meant is not None:
        raise click.UsageError(f"give --emit {meant} to write code to {output}, or --output FILE.etargs")


def _sources(program: Path | None, requests: Sequence[ConfigurationRequest]) -> Iterator[Path | None]:
    """Yield the files on the command line that are read."""
    yield program
    for request in requests:
        yield request.sheet
        yield None if request.profile is None else Path(request.profile)


def _write_headers(directory: Path) -> None:
    from etconfig.transport import include_files

    for name, content in include_files().items():
        path = directory / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise click.ClickException(f"cannot write {path.parent}: {error.strerror}") from error
        write_file(path, content)
        show(f"{path} written")


def _emit(
    program: Path | None, language: str, output: Path | None, requests: Sequence[ConfigurationRequest]
) -> None:
    from etconfig.transport import emit

    if len(requests) > 1:
        raise click.UsageError("code contains one configuration: give one --profile and one --facts")
    (configuration,) = _configurations(program, requests)
    code = emit(configuration, language, _PRODUCER)
    if output is None:
        show_document(code)
    else:
        write_file(output, code.encode())


def _write(program: Path | None, output: Path, requests: Sequence[ConfigurationRequest]) -> None:
    from etconfig.app.pack import notes_beside_the_map
    from etconfig.transport import Package, write_package

    configurations = tuple(_configurations(program, requests))
    data = write_package(Package(_PRODUCER, configurations))
    show_diagnostics(notes_beside_the_map(configurations))
    write_file(output, data)
    show(
        f"{format_count(len(configurations), 'configuration')} written to {output}", err=not output.is_file()
    )


def _configurations(
    program: Path | None, requests: Sequence[ConfigurationRequest]
) -> Iterator[PackedConfiguration]:
    """Yield the configuration of each request, under a unique name."""
    from etconfig.app.pack import pack_resolution

    names: set[str] = set()
    sheets = {request.sheet for request in requests}
    is_by_sheet = len(sheets) > 1 or (len(requests) > 1 and requests[0].profile is None)
    for request in requests:
        resolution = request.resolve_file(program)
        name = request.sheet.stem if is_by_sheet and request.sheet else _profile_name(resolution)
        if name in names:
            advice = (
                "give each sheet once, and sheets with different file names"
                if is_by_sheet
                else "give each once"
            )
            raise click.UsageError(f"two configurations would be called {name!r}; {advice}")
        names.add(name)
        yield pack_resolution(name, resolution)


def _profile_name(resolution: Resolution) -> str:
    assert resolution.profile is not None  # `configure` always chooses one
    return resolution.profile
