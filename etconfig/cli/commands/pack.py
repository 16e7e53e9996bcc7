"""`etconfig pack`: write a bundle that devices decide, or one that is resolved for known devices, or code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from etconfig.cli.shared.each_device import OnDevice, notes_of_resolution, show_notes
from etconfig.cli.shared.format import format_bytes, format_count
from etconfig.cli.shared.options import ConfigurationRequest, models_option, several_configurations_options
from etconfig.cli.shared.output import show, show_diagnostics, show_document
from etconfig.cli.shared.standard_input import standard_input
from etconfig.cli.shared.usage import StrictCommand
from etconfig.cli.shared.writing import check_is_not_read, write_file

if TYPE_CHECKING:
    from etconfig.device.bundle import DeviceBundle
    from etconfig.resolver import Resolution

_SUFFIX = ".etbundle"
_CODE_SUFFIXES = {
    "cpp": (".h", ".hh", ".hpp", ".hxx", ".inc", ".cc", ".cpp", ".cxx"),
    "kotlin": (".kt", ".kts"),
    "swift": (".swift",),
}
"""The ends of the names of files with code, by language."""


@click.command("pack", cls=StrictCommand)
@click.argument("programs", metavar="[PROGRAM]...", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The .etbundle file, or the file for code, which otherwise goes to stdout.",
)
@click.option("--here", is_flag=True, help="Resolve for this machine; --facts and --device do so for others.")
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
    help="Write the C++ headers that decide bundles; compilers take the directory as -I.",
)
@models_option
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
    """Write a bundle for devices, or code with resolved options.

    A bundle contains profiles with their conditions: every profile that can be selected, or those of
    --profile. A device selects among them and resolves the options by itself, in C++. Values that may leave
    their bounds there, and conditions that conflict, are refused now.

    With --facts, --device or --here, the conditions are resolved now: the bundle contains one or more
    configurations with a value for every option, and a program on the device picks one by its name. That is
    the name of the device, or of its fact sheet; of the profile with --here, and with several --profile. Code
    contains one configuration. Options that were set must fit what the language can pass to ExecuTorch;
    others that do not fit are left out and listed in a comment.

    \b
    Examples:
      etconfig pack model.pte -o app.etbundle
      etconfig pack encoder.pte decoder.pte --profile raspberry-pi/pi-5 -o app.etbundle
      etconfig pack model.pte --facts pi5.json --device google/pixel-8 -o app.etbundle
      etconfig pack model.pte --here --emit cpp -o model_options.h
      etconfig pack --models models.toml -o engines.etbundle
      etconfig pack --header include
    """
    is_resolved = here or any(request.sheet is not None for request in requests)
    if output is not None:
        check_is_not_read(output, _sources(programs, requests))
        _check_suffix(output, language)
    _check_modes(requests, here=here, strict=strict, is_resolved=is_resolved)
    if language is not None and not is_resolved:
        raise click.UsageError("code contains no conditions: give --facts or --device, or --here")
    if include is not None:
        _write_headers(include)
    if language is not None:
        _emit(programs, language, output, requests)
    elif output is not None and is_resolved:
        _write_resolved(programs, output, requests)
    elif output is not None:
        _write_bundle(programs, output, requests, strict=strict)
    elif include is None:
        raise click.UsageError("give --output FILE.etbundle or --emit LANGUAGE")


def _check_modes(
    requests: Sequence[ConfigurationRequest], *, here: bool, strict: bool, is_resolved: bool
) -> None:
    """Refuse options that contradict each other."""
    if here and any(request.sheet is not None for request in requests):
        raise click.UsageError("give --here, or --facts and --device, not both")
    if is_resolved and strict:
        raise click.UsageError("--strict is for conditions: without them, functions are called now")


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
        first.open_all(programs),
        profiles=profiles or None,
        require_match=first.require_match,
        fact_overrides=parse_fact_assignments(first.fact_texts, first.installation.fact_registry),
        overrides=layer_from_overrides(first.overrides, "--set", known_options=known_options),
        strict=strict,
        installation=first.installation,
    )
    show_diagnostics(packed.warnings)
    _save(packed.bundle, "profile", output)


def _save(bundle: DeviceBundle, noun: str, output: Path) -> None:
    data = bundle.to_bytes()
    write_file(output, data)
    count = format_count(len(bundle.profile_names), noun)
    show(f"{count} written to {output}: {format_bytes(len(data))}", err=not output.is_file())


def _check_suffix(output: Path, language: str | None) -> None:
    """Refuse a name that promises another content than the file will have."""
    suffix = output.suffix.lower()
    if _is_stream(output) or suffix in (_CODE_SUFFIXES[language] if language else (_SUFFIX,)):
        return
    if language is not None and suffix == _SUFFIX:
        raise click.UsageError(f"leave out --emit to write {output}, or give --output another name")
    meant = next((known for known, suffixes in _CODE_SUFFIXES.items() if suffix in suffixes), None)
    if language is None and meant is not None:
        raise click.UsageError(f"give --emit {meant} to write code to {output}, or --output FILE{_SUFFIX}")
    if language is None:
        raise click.UsageError(
            f"{output}: the name of a bundle ends in {_SUFFIX}, by which commands know it; give --output "
            f"{output.with_suffix(_SUFFIX)}"
        )
    expected = " or ".join(_CODE_SUFFIXES[language])
    raise click.UsageError(f"{output}: the name of a file for --emit {language} ends in {expected}")


def _is_stream(output: Path) -> bool:
    return output.exists() and not output.is_file() and not output.is_dir()


def _sources(programs: Sequence[Path], requests: Sequence[ConfigurationRequest]) -> Iterator[Path | None]:
    """Yield the files on the command line that are read."""
    yield from programs
    for request in requests:
        yield request.models
        yield request.sheet
        yield None if request.profile is None else Path(request.profile)


def _write_headers(directory: Path) -> None:
    from etconfig.device import device_include_dir

    source = device_include_dir()
    headers = sorted(source.rglob("*.h"))
    for header in headers:
        path = directory / header.relative_to(source)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise click.ClickException(f"cannot write {path.parent}: {error.strerror}") from error
        write_file(path, header.read_bytes())
    show(f"{format_count(len(headers), 'header')} written to {directory}: #include <etconfig/device.h>")


def _emit(
    programs: Sequence[Path], language: str, output: Path | None, requests: Sequence[ConfigurationRequest]
) -> None:
    from etconfig.app.resolved_bundle import PRODUCER, packed_resolution
    from etconfig.device.builders import emit

    if len(requests) > 1:
        raise click.UsageError("code contains one configuration: give one --profile, and one device")
    ((name, resolution),) = _resolutions(programs, requests).items()
    code = emit(packed_resolution(name, resolution, requests[0].installation), language, PRODUCER)
    if output is None:
        show_document(code)
    else:
        write_file(output, code.encode())


def _write_resolved(programs: Sequence[Path], output: Path, requests: Sequence[ConfigurationRequest]) -> None:
    """Pack the configuration of each request without conditions."""
    from etconfig.app.resolved_bundle import notes_beside_the_map, pack_resolutions
    from etconfig.facts import parse_fact_assignments

    first = requests[0]
    bundle = pack_resolutions(
        _resolutions(programs, requests),
        fact_overrides=parse_fact_assignments(first.fact_texts, first.installation.fact_registry),
        installation=first.installation,
    )
    show_diagnostics(notes_beside_the_map(map(bundle.configuration, bundle.profile_names)))
    _save(bundle, "configuration", output)


def _resolutions(programs: Sequence[Path], requests: Sequence[ConfigurationRequest]) -> dict[str, Resolution]:
    """Return the resolution of each request by the name of its device.

    It is that of its profile for this machine, and if there are several profiles.
    """
    found: dict[str, Resolution] = {}
    is_by_device = len(requests) == 1 or len({request.sheet for request in requests}) > 1
    opened = requests[0].open_together(programs)
    for request in requests:
        resolution = request.resolve_silently(opened)
        assert resolution.profile is not None  # `configure` always chooses one
        name = request.device_name if is_by_device and request.sheet is not None else resolution.profile
        if name in found:
            raise click.UsageError(f"two configurations would be called {name!r}; give each once")
        found[name] = resolution
    resolved = [OnDevice(device=name, program=None, result=each) for name, each in found.items()]
    show_notes(resolved, notes_of_resolution)
    return found
