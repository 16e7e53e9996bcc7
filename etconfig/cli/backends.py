"""`etconfig backends`: which backends are installed, and what one of them offers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from etconfig.cli.options import json_option, make_installation
from etconfig.cli.output import print_json, print_table
from etconfig.errors import BackendUnavailableError
from etconfig.installation import Installation
from etconfig.plugin import BACKENDS

if TYPE_CHECKING:
    from etconfig.schema import BackendSpec, OptionInfo


@click.command("backends")
@click.argument("backend", required=False)
@json_option
def command(backend: str | None, as_json: bool) -> None:
    """List installed backends and their options.

    Without BACKEND no plugin is imported. With it, its options are shown, and whether it can run here.

    \b
    Examples:
      etconfig backends
      etconfig backends ReferenceNpuBackend
    """
    installation = make_installation()
    if backend is None:
        _list(installation, as_json)
    else:
        _show(installation, backend, as_json)


def _list(installation: Installation, as_json: bool) -> None:
    entries = installation.index.entries(BACKENDS)
    rows = [(entry.name, entry.distribution, entry.version) for entry in entries]
    if as_json:
        print_json([dict(zip(("backend", "distribution", "version"), row, strict=True)) for row in rows])
    elif rows:
        print_table(("BACKEND", "DISTRIBUTION", "VERSION"), sorted(rows))
    else:
        click.echo("No backend plugin is installed. Install one, for example: pip install etconfig-reference")


def _show(installation: Installation, backend: str, as_json: bool) -> None:
    spec = installation.plugins.backend_spec(backend)
    problem = _unavailability(installation, backend)
    infos = spec.options.option_infos().values()
    if as_json:
        print_json(
            {
                "backend": spec.id,
                "doc": spec.doc,
                "available": problem is None,
                "reason": problem,
                "options": {info.name: _option_data(info) for info in infos},
            }
        )
        return
    click.echo(f"{spec.id}: {spec.doc}")
    click.echo("It can run here.\n" if problem is None else f"It cannot run here: {problem}\n")
    _print_options(spec)


def _unavailability(installation: Installation, backend: str) -> str | None:
    try:
        installation.plugins.create_backend(backend)
    except BackendUnavailableError as error:
        return error.reason if error.help is None else f"{error.reason} ({error.help})"
    return None


def _print_options(spec: BackendSpec) -> None:
    rows = [
        (info.name, info.expected, default_text(info), info.applies.value, info.scope.value, info.doc)
        for info in spec.options.option_infos().values()
    ]
    print_table(("OPTION", "VALUE", "DEFAULT", "APPLIES", "SCOPE", "MEANING"), rows)


def default_text(info: OptionInfo) -> str:
    """Where an option's value comes from when nothing sets it."""
    from etconfig.schema import MISSING, show_value

    literal = None if info.default is MISSING else show_value(info.default)
    if info.from_fact is None:
        return literal or "required"
    return info.from_fact if literal is None else f"{info.from_fact}, else {literal}"


def _option_data(info: OptionInfo) -> dict[str, Any]:
    from etconfig.schema import MISSING, jsonable

    return {
        "type": str(info.type),
        "expected": info.expected,
        "default": None if info.default is MISSING else jsonable(info.default),
        "from_fact": info.from_fact,
        "required": info.is_required,
        "applies": info.applies.value,
        "scope": info.scope.value,
        "unit": info.unit.value if info.unit else None,
        "doc": info.doc,
    }
