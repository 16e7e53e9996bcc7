"""`etconfig init`: the first files of a project."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from etconfig.base.written_files import FileKind
from etconfig.cli.shared.command_options import make_installation, programs_argument
from etconfig.cli.shared.output import note, print_error, show
from etconfig.cli.shared.usage import StrictCommand
from etconfig.cli.shared.writing import write_file, writing
from etconfig.report.model import shown_names

if TYPE_CHECKING:
    from etconfig.app.configuring.targets import Delegating
    from etconfig.app.installation.installation import Installation
    from etconfig.schema.spec import BackendSpec

_KIND = FileKind("an empty file", lambda _: False)
_DEVICES = ("pi-5", "pixel-8")
"""The devices of a project without fact sheets: they show what differs between two."""
_MAX_FOUND = 20


@click.command("init", cls=StrictCommand)
@programs_argument
def command(programs: Sequence[Path]) -> None:
    """Write a project file, a first profile, a test and a job for CI.

    They are for PROGRAM, by default for the programs (.pte) and models of engines in this directory and
    those right below it. The profile lists the options of their backends with the values that apply here,
    as comments. Profiles of etconfig that set something on the project's devices get one that extends
    both. The job is for the root of the repository. If one of the files is there, nothing is written.

    \b
    Examples:
      etconfig init
      etconfig init model.pte
    """
    from etconfig.facts.known_devices import device_path, find_device
    from etconfig.scaffold.first_files import NewProject, project_files

    installation = make_installation().without_project()
    here = Path.cwd()
    specs = _installed(installation)
    models = {} if programs else _models(here, specs)
    backends = {name: backend for name, (backend, _) in models.items()}
    paths = [*programs] or _found(here, {".pte"})
    if not paths and not models:
        raise click.UsageError("there is no program (.pte) or model here; name one: etconfig init model.pte")
    sheets = _sheets(here)
    for each in (*paths, *sheets):
        if str(each).encode(errors="ignore").decode() != str(each):
            raise click.ClickException(f"no TOML file can name {each}, which is not UTF-8; rename it")
    loaded = _opened(paths, installation)
    ids = {backend for each in loaded for method in each.method_names for backend in each.backends(method)}
    needed = [spec for spec in specs if spec.id in {*ids, *backends.values()}]
    for missing in sorted(ids - {spec.id for spec in needed}):
        from etconfig.base.packages import how_to_declare

        print_error(f"{missing} is not installed, so its options are left out", how_to_declare(missing))
    root = _repository(here)
    known = [device_path(find_device(each)) for each in _DEVICES]
    files = project_files(
        NewProject(
            directory=here.name,
            programs=[path.as_posix() for path in paths],
            models=models,
            devices=[each.as_posix() for each in sheets] or _DEVICES,
            backends=needed,
            values=_values(loaded, backends, installation),
            packages=sorted({"etconfig", *(_distribution(installation, spec.id) for spec in needed)}),
            bases=_bases(installation, sheets or known),
            root=Path(os.path.relpath(root, here)).as_posix(),
            below_root=here.relative_to(root).as_posix(),
        )
    )
    present = [name for name in files if os.path.lexists(name)]
    if present:
        raise click.ClickException(f"nothing is written, since {shown_names(present)} would be replaced")
    links = sorted({str(each) for name in files for each in Path(name).parents if each.is_symlink()})
    if links:
        raise click.ClickException(f"nothing is written, since {shown_names(links)} would lead elsewhere")
    with writing():  # nothing is written where a directory cannot be
        for name in files:
            Path(name).parent.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        write_file(Path(name), text.encode(), _KIND)
        show(f"{name} written")
    note("next: etconfig validate, then etconfig test")


def _found(here: Path, suffixes: Iterable[str]) -> list[Path]:
    """Return the files with one of the suffixes here and right below, relative to here."""
    wanted = {*suffixes}
    found = chain(here.iterdir(), *(each.iterdir() for each in sorted(here.iterdir()) if _is_searched(each)))
    files = sorted(each.relative_to(here) for each in found if each.suffix in wanted and each.is_file())
    return files[:_MAX_FOUND]


def _is_searched(path: Path) -> bool:
    is_own = path.is_dir() and not path.is_symlink() and not path.name.startswith(".")
    return is_own and os.access(path, os.R_OK | os.X_OK)


def _installed(installation: Installation) -> list[BackendSpec]:
    from etconfig.errors import PluginError

    found = []
    for backend in installation.backend_ids:
        try:
            found.append(installation.plugins.backend_spec(backend))
        except PluginError as error:
            note(f"note: {error.message}")
    return found


def _models(here: Path, specs: Sequence[BackendSpec]) -> dict[str, tuple[str, str]]:
    """Return engine and file of each model here, by name; of several engines, the first by name."""
    from etconfig.scaffold.first_files import model_name

    backends = {suffix: spec.id for spec in reversed(specs) for suffix in spec.model_files}
    models: dict[str, tuple[str, str]] = {}
    for path in _found(here, backends):
        models.setdefault(model_name(path), (backends[path.suffix], path.as_posix()))
    return models


def _sheets(here: Path) -> list[Path]:
    from etconfig.facts.sheet_json import SHEET

    return [path for path in _found(here, {".json"}) if SHEET.has(path)]


def _bases(installation: Installation, sheets: Sequence[Path]) -> dict[str, str]:
    """Return the conditions, as TOML, of the profiles of etconfig that set something on devices, by name."""
    from etconfig.app.configuring.profile_choice import AUTO, choose_profile
    from etconfig.errors import EtconfigError
    from etconfig.facts.sheet import load_fact_sheet
    from etconfig.resolver.explaining.toml_text import toml_value

    found = {}
    for sheet in sheets:
        with suppress(EtconfigError):  # `etconfig test` says what is wrong
            chain = choose_profile(
                installation, AUTO, load_fact_sheet(sheet, installation.fact_registry)
            ).chain
            chosen = chain[-1]
            if chosen.match and any(each.settings.assignments or each.settings.facts for each in chain):
                found[chosen.name] = toml_value(chosen.match.source)
    return found


def _repository(here: Path) -> Path:
    """Return the root of the repository that a directory is in; without one, the directory."""
    return next((each for each in (here, *here.parents) if (each / ".git").exists()), here)


def _opened(paths: Sequence[Path], installation: Installation) -> list[Delegating]:
    from etconfig.app.programs.api import load_program
    from etconfig.app.programs.executors import NUMPY

    return [load_program(path, executor=NUMPY, installation=installation) for path in paths]


def _values(
    loaded: Sequence[Delegating], models: Mapping[str, str], installation: Installation
) -> dict[str, str]:
    """Return the value of each option here as TOML, by `BACKEND.OPTION`."""
    from etconfig.app.configuring.configuration import configure
    from etconfig.app.configuring.engine_models import Models
    from etconfig.app.configuring.several_programs import SeveralPrograms
    from etconfig.resolver.explaining.difference import reported_values
    from etconfig.resolver.explaining.toml_text import toml_value

    given = [Models(models, installation=installation)] if models else []
    program = SeveralPrograms.of([*loaded, *given])
    resolution = configure(program, installation=installation).resolve()
    found: dict[str, str] = {}
    for path, reported in reported_values(resolution).items():
        if reported.value is not None:
            found.setdefault(f"{path.backend}.{path.option}", toml_value(reported.value))
    return found


def _distribution(installation: Installation, backend: str) -> str:
    from etconfig.plugin import BACKENDS

    entries = [each for each in installation.index.entries(BACKENDS) if each.name == backend]
    return entries[0].distribution if entries else "etconfig"
