"""`etconfig pack`: write a bundle that devices decide, or arguments resolved for known devices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from etconfig.cli.shared.format import format_bytes, format_count
from etconfig.cli.shared.options import ConfigurationRequest, several_configurations_options
from etconfig.cli.shared.output import show, show_diagnostics, show_document
from etconfig.cli.shared.standard_input import standard_input
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
@click.argument("programs", metavar="[PROGRAM]...", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The .etbundle or .etargs file, or the file for code, which otherwise goes to stdout.",
)
@click.option("--here", is_flag=True, help="Resolve for this machine; --facts does so for other devices.")
@click.option(
    "--strict", is_flag=True, help="Refuse recommendations that only a function of a plugin computes."
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
    programs: Sequence[Path],
    output: Path | None,
    here: bool,
    strict: bool,
    language: str | None,
    include: Path | None,
    requests: Sequence[ConfigurationRequest],
) -> None:
    """Write a bundle for devices, or resolved arguments.

    An .etbundle file contains profiles with their conditions: every profile that can be selected, or
    those of --profile. A device selects among them and resolves the options by itself, in C++. Values that
    may leave their bounds there, and conditions that conflict, are refused now.

    With --facts or --here, the conditions are resolved now. An .etargs file contains every option of one or
    more such configurations; a program on the device picks one by its name. That is the name of its profile,
    or of its fact sheet if there are several. Code contains one configuration. Options that were set must
    fit what the language can pass to ExecuTorch; others that do not fit are left out and listed in a comment.

    \b
    Examples:
      etconfig pack model.pte -o app.etbundle
      etconfig pack encoder.pte decoder.pte --profile raspberry-pi/pi-5 -o app.etbundle
      etconfig pack model.pte --facts pi5.json --facts laptop.json -o model.etargs
      etconfig pack model.pte --here --emit cpp -o model_options.h
      etconfig pack --header include
    """
    is_resolved = here or any(request.sheet is not None for request in requests)
    if output is not None:
        _check_suffix(output, language, is_resolved=is_resolved)
        check_is_not_read(output, _sources(programs, requests))
    _check_modes(programs, requests, here=here, strict=strict, is_resolved=is_resolved)
    if language is not None and not is_resolved:
        raise click.UsageError("code contains no conditions: give --facts for the device, or --here")
    if include is not None:
        _write_headers(include)
    program = programs[0] if programs else None
    if language is not None:
        _emit(program, language, output, requests)
    elif output is not None and is_resolved:
        _write(program, output, requests)
    elif output is not None:
        _write_bundle(programs, output, requests, strict=strict)
    elif include is None:
        raise click.UsageError("give --output FILE.etbundle or --emit LANGUAGE")


def _check_modes(
    programs: Sequence[Path],
    requests: Sequence[ConfigurationRequest],
    *,
    here: bool,
    strict: bool,
    is_resolved: bool,
) -> None:
    """Refuse options that contradict each other."""
    if here and any(request.sheet is not None for request in requests):
        raise click.UsageError("give --here or --facts, not both")
    if is_resolved and strict:
        raise click.UsageError("--strict is for bundles: with --facts or --here, functions are called now")
    if is_resolved and len(programs) > 1:
        raise click.UsageError("give one PROGRAM with --facts or --here; a bundle takes several")


def _write_bundle(
    programs: Sequence[Path], output: Path, requests: Sequence[ConfigurationRequest], *, strict: bool
) -> None:
    """Pack the profiles of the requests with their conditions."""
    from etconfig.app.bundling import make_bundle
    from etconfig.app.targets import options_by_backend
    from etconfig.facts import parse_fact_assignments
    from etconfig.resolver import layer_from_overrides

    first = requests[0]
    known_options = partial(options_by_backend, first.installation)
    named = [request.profile for request in requests if request.profile is not None]
    if "auto" in named and set(named) != {"auto"}:
        raise click.UsageError(
            "auto stands for every profile that can be selected: give --profile auto alone"
        )
    profiles = [standard_input() if name == "-" else name for name in named]
    packed = make_bundle(
        [loaded for loaded in map(first.open_program, programs) if loaded is not None],
        profiles=profiles or None,
        require_match=first.require_match,
        fact_overrides=parse_fact_assignments(first.fact_texts, first.installation.fact_registry),
        overrides=layer_from_overrides(first.overrides, "--set", known_options=known_options),
        strict=strict,
        installation=first.installation,
    )
    data = packed.bundle.to_bytes()
    show_diagnostics(packed.warnings)
    write_file(output, data)
    count = format_count(len(packed.bundle.profile_names), "profile")
    show(f"{count} written to {output}: {format_bytes(len(data))}", err=not output.is_file())


def _check_suffix(output: Path, language: str | None, *, is_resolved: bool) -> None:
    """Refuse a name that promises another content than the file will have."""
    suffix = output.suffix.lower()
    if language is not None and suffix in (".etargs", ".etbundle"):
        raise click.UsageError(f"leave out --emit to write {output}, or give --output another name")
    meant = _LANGUAGES.get(suffix)
    if language is None and meant is not None:
        raise click.UsageError(f"give --emit {meant} to write code to {output}, or --output FILE.etbundle")
    if language is None and suffix == ".etargs" and not is_resolved:
        raise click.UsageError(
            f"{output} contains resolved arguments: give --facts for the device, or --here for this machine; "
            "conditions travel in --output FILE.etbundle"
        )
    if language is None and suffix != ".etbundle" and not is_resolved and not _is_stream(output):
        raise click.UsageError(f"{output}: the name of a bundle ends in .etbundle, by which commands know it")
    if suffix == ".etbundle" and is_resolved:
        raise click.UsageError(
            f"in {output} conditions travel: leave out --facts and --here, or give --output FILE.etargs"
        )


def _is_stream(output: Path) -> bool:
    return output.exists() and not output.is_file() and not output.is_dir()


def _sources(programs: Sequence[Path], requests: Sequence[ConfigurationRequest]) -> Iterator[Path | None]:
    """Yield the files on the command line that are read."""
    yield from programs
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
