"""`etconfig pack`: write a bundle that devices decide, or one that is resolved for known devices, or code."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import click

from etconfig.base.number_text import format_bytes
from etconfig.base.written_files import FileKind, head_of, replace_files
from etconfig.cli.shared.code_files import CODE, CODE_SUFFIXES, expected_code_suffix
from etconfig.cli.shared.command_options import models_option, programs_argument
from etconfig.cli.shared.each_device import OnDevice, notes_of_resolution, show_notes
from etconfig.cli.shared.format import format_count
from etconfig.cli.shared.input_files import standard_input
from etconfig.cli.shared.output import show, show_diagnostics, show_document
from etconfig.cli.shared.requests import ConfigurationRequest, several_devices_options
from etconfig.cli.shared.usage import StrictCommand, refuse
from etconfig.cli.shared.writing import (
    OutputPath,
    check_can_write,
    files_of_command,
    force_option,
    note_reads,
    write_file,
    writing,
)
from etconfig.device.bundle.tables import BUNDLE, MAX_REVISION

if TYPE_CHECKING:
    from etconfig.device.device_bundle import DeviceBundle
    from etconfig.resolver.deciding.resolution import Resolution

    _Finish: TypeAlias = Callable[[DeviceBundle], DeviceBundle]
    """Makes a release of a bundle."""

_SUFFIX = ".etbundle"


class _Moment(click.DateTime):
    """A day, or a second with its zone."""

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        try:
            found: datetime = super().convert(value, param, ctx)
        except click.BadParameter:
            self.fail(f"expected 2027-12-31 or 2027-12-31T18:00:00Z, given {value!r}", param, ctx)
        return found


@click.command("pack", cls=StrictCommand)
@programs_argument
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=OutputPath(),
    help="The .etbundle file, or the file for code, which otherwise goes to stdout.",
)
@force_option
@click.option("--here", is_flag=True, help="Resolve for this machine; --facts and --device do so for others.")
@click.option(
    "--strict", is_flag=True, help="Refuse recommendations that only a function of a plugin computes."
)
@click.option(
    "--memory",
    "with_memory",
    is_flag=True,
    help="Let devices ask whether each program fits into their memory: as a model with the file's name.",
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
    type=OutputPath(is_directory=True),
    help="Write the headers that decide bundles, for -I of compilers, with the sources of the C library and "
    "of etdevice.",
)
@click.option(
    "--revision", type=click.IntRange(1, MAX_REVISION), help="The number of this release; it grows."
)
@click.option(
    "--not-after",
    metavar="DATE",
    type=_Moment(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S%z"]),
    help="The last day in UTC, or the last second, in which devices accept the bundle: 2027-12-31T18:00:00Z.",
)
@click.option(
    "--sign",
    "key",
    metavar="KEY.pem",
    type=click.Path(path_type=Path),
    help="Sign the bundle with an Ed25519 key in PEM (PKCS#8).",
)
@models_option
@partial(several_devices_options, several_profiles=True)
def command(
    programs: Sequence[Path],
    output: Path | None,
    force: bool,
    here: bool,
    strict: bool,
    with_memory: bool,
    language: str | None,
    include: Path | None,
    revision: int | None,
    not_after: datetime | None,
    key: Path | None,
    requests: Sequence[ConfigurationRequest],
) -> None:
    """Write a bundle for devices, or code with resolved options.

    A bundle contains profiles with their conditions: every profile that can be selected, or the profiles of
    --profile. A device selects among them and resolves the options by itself, in C++. Values that may leave
    their bounds there, and conditions that conflict, are refused now.

    With --facts, --device or --here, the conditions are resolved now: the bundle contains one or more
    configurations with a value for every option. A program on the device picks one by its name. That is
    the name of the device, or of its fact sheet; of the profile with --here, and with several --profile. Code
    contains one configuration. Options that were set must fit what the language can pass to ExecuTorch;
    others that do not fit are left out and listed in a comment.

    A device can refuse bundles of a lower --revision, after --not-after, and not signed with --sign.

    \b
    Examples:
      etconfig pack model.pte -o app.etbundle
      etconfig pack encoder.pte decoder.pte --profile raspberry-pi/pi-5 -o app.etbundle
      etconfig pack model.pte --facts pi5.json --device google/pixel-8 -o app.etbundle
      etconfig pack model.pte --here --emit cpp -o model_options.h
      etconfig pack model.pte --memory -o app.etbundle
      etconfig pack --models models.toml -o engines.etbundle
      etconfig pack model.pte --revision 7 --not-after 2099-12-31 --sign key.pem -o app.etbundle
      etconfig pack --header include
    """
    is_resolved = here or any(request.sheet is not None for request in requests)
    if output is not None:
        note_reads((*_sources(requests), *([key] if key else [])))
        with writing(output):
            files_of_command().check_is_not_read(output)
        _check_suffix(output, language)
        check_can_write(output, CODE if language else BUNDLE)
    _check_modes(requests, here=here, strict=strict, is_resolved=is_resolved)
    if with_memory and (is_resolved or not programs):
        raise click.UsageError("--memory is for a bundle that devices decide, of programs: give PROGRAM")
    if language is not None and not is_resolved:
        raise click.UsageError("code contains no conditions: give --facts or --device, or --here")
    if language is not None or output is None:
        refuse({"--revision": revision, "--not-after": not_after, "--sign": key}, "only bundles are released")
    finish = _release(revision, not_after, key)
    if include is not None:
        _write_headers(include)
    if language is not None:
        _emit(programs, language, output, requests)
    elif output is not None and is_resolved:
        _write_resolved(programs, output, requests, finish)
    elif output is not None:
        _write_bundle(programs, output, requests, finish, strict=strict, with_memory=with_memory)
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
    programs: Sequence[Path],
    output: Path,
    requests: Sequence[ConfigurationRequest],
    finish: _Finish,
    *,
    strict: bool,
    with_memory: bool,
) -> None:
    """Pack the profiles of the requests with their conditions."""
    from etconfig.app.packing.profile_bundle import make_bundle

    first = requests[0]
    named = [request.profile for request in requests if request.profile is not None]
    if "auto" in named and set(named) != {"auto"}:
        raise click.UsageError(
            "auto stands for every profile that can be selected: give --profile auto alone"
        )
    profiles = [standard_input() if name == "-" else name for name in named]
    settings = first.settings()
    del settings["profile"]  # `profiles` are the profiles of all requests
    packed = make_bundle(
        first.open_all(programs),
        profiles=profiles or None,
        strict=strict,
        with_memory=with_memory,
        installation=first.installation,
        **settings,
    )
    show_diagnostics(packed.warnings)
    _save(finish(packed.bundle), "profile", output)


def _release(revision: int | None, not_after: datetime | None, key: Path | None) -> _Finish:
    """Return the function that makes a release of a bundle, after all checks."""
    from etconfig.device.bundle.bundle_signature import read_private_key

    if not_after is not None and not_after.tzinfo is None:  # a day
        not_after = not_after.replace(tzinfo=timezone.utc) + timedelta(days=1, seconds=-1)
    if not_after is not None and not_after < datetime.now(timezone.utc):
        raise click.UsageError("--not-after is past: every device would refuse the bundle")
    private_key = None if key is None else read_private_key(key)

    def finish(bundle: DeviceBundle) -> DeviceBundle:
        released = bundle.released(revision=revision, not_after=not_after)
        return released if private_key is None else released.signed(private_key.sign)

    return finish


def _save(bundle: DeviceBundle, noun: str, output: Path) -> None:
    data = bundle.to_bytes()
    write_file(output, data, BUNDLE)
    count = format_count(len(bundle.profile_names), noun)
    show(f"{count} written to {output}: {format_bytes(len(data))}", err=not output.is_file())


def _check_suffix(output: Path, language: str | None) -> None:
    """Refuse a name that promises another content than the file will have."""
    suffix = output.suffix.lower()
    if _is_stream(output) or suffix in (CODE_SUFFIXES[language] if language else (_SUFFIX,)):
        return
    if language is not None and suffix == _SUFFIX:
        raise click.UsageError(f"leave out --emit to write {output}, or give --output another name")
    meant = next((known for known, suffixes in CODE_SUFFIXES.items() if suffix in suffixes), None)
    if language is None and meant is not None:
        raise click.UsageError(f"give --emit {meant} to write code to {output}, or --output FILE{_SUFFIX}")
    if language is None:
        raise click.UsageError(
            f"{output}: the name of a bundle ends in {_SUFFIX}, by which commands know it; give --output "
            f"{output.with_suffix(_SUFFIX)}"
        )
    raise click.UsageError(f"{output}: {expected_code_suffix(language)}")


def _is_stream(output: Path) -> bool:
    return output.exists() and not output.is_file() and not output.is_dir()


def _sources(requests: Sequence[ConfigurationRequest]) -> Iterator[Path]:
    """Yield the sheets that are read, also from a pattern or a directory."""
    for request in requests:
        if request.sheet is not None:
            yield request.sheet


def _write_headers(directory: Path) -> None:
    from etconfig.device import device_include_dir

    source = device_include_dir()
    places = {path: path.relative_to(source) for path in sorted(source.rglob("*.h"))}
    beside = (source.parent / "etconfig_device.cpp", *sorted((source.parent / "etdevice").glob("*.[ch]*")))
    places |= {path: path.relative_to(source.parent) for path in beside}
    contents = {directory / place: path.read_bytes() for path, place in places.items()}
    with writing():
        for path, content in contents.items():
            kind = FileKind("this file of etconfig", partial(_begins_with, content.partition(b"\n")[0]))
            files_of_command().check(path, kind)
        for parent in {path.parent for path in contents}:
            parent.mkdir(parents=True, exist_ok=True)
            replace_files({path: content for path, content in contents.items() if path.parent == parent})
    show(f"{format_count(len(contents), 'file')} written to {directory}: #include <etconfig/device.h>")


def _begins_with(first: bytes, path: Path) -> bool:
    return head_of(path).partition(b"\n")[0] == first


def _emit(
    programs: Sequence[Path], language: str, output: Path | None, requests: Sequence[ConfigurationRequest]
) -> None:
    from etconfig.app.packing.resolution_bundle import PRODUCER, packed_resolution
    from etconfig.device.builders import emit

    if len(requests) > 1:
        raise click.UsageError("code contains one configuration: give one --profile, and one device")
    ((name, resolution),) = _resolutions(programs, requests).items()
    code = emit(packed_resolution(name, resolution, requests[0].installation), language, PRODUCER)
    if output is None:
        show_document(code)
    else:
        write_file(output, code.encode(), CODE)


def _write_resolved(
    programs: Sequence[Path], output: Path, requests: Sequence[ConfigurationRequest], finish: _Finish
) -> None:
    """Pack the configuration of each request without conditions."""
    from etconfig.app.packing.resolution_bundle import notes_beside_the_map, pack_resolutions

    first = requests[0]
    resolutions = _resolutions(programs, requests)
    bundle = pack_resolutions(
        resolutions, fact_overrides=first.facts_by_hand, installation=first.installation
    )
    show_diagnostics(notes_beside_the_map(map(bundle.configuration, bundle.profile_names)))
    _save(finish(bundle), "configuration", output)


def _resolutions(programs: Sequence[Path], requests: Sequence[ConfigurationRequest]) -> dict[str, Resolution]:
    """Return the resolution of each request by the name of its device.

    The name is the profile's for this machine, and if there are several profiles.
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
