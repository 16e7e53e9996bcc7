"""`etconfig backends`: list the installed backends, and show the options of one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from etconfig.app.installation.installation import Installation
from etconfig.app.programs.executors import (
    NUMPY,
    BackendStatus,
    backend_status,
    executor_report,
)
from etconfig.base.packages import how_to_install
from etconfig.cli.shared.command_options import (
    device_options,
    executor_option,
    json_option,
    make_installation,
)
from etconfig.cli.shared.completion import complete_backend
from etconfig.cli.shared.listings import list_backends, list_with_runtime, passed_over
from etconfig.cli.shared.output import fail, note, print_json, print_table, show, show_table
from etconfig.cli.shared.requests import RequestedDevice, executor_if_installed, read_device
from etconfig.cli.shared.usage import StrictCommand
from etconfig.plugin import BACKENDS
from etconfig.report.text import MAX_WIDTH

_FEW = 12
"""The most options that are always shown in full."""

if TYPE_CHECKING:
    from etconfig.facts.sheet import FactSheet
    from etconfig.resolver.deciding.unconfigured import UnconfiguredValue
    from etconfig.schema.declaration import OptionInfo
    from etconfig.schema.spec import BackendSpec


@click.command("backends", cls=StrictCommand)
@click.argument("backend", required=False, shell_complete=complete_backend)
@executor_option
@device_options
@click.option(
    "--full",
    is_flag=True,
    help="Show values and meanings in full, the keys of tables, and environment variables.",
)
@json_option
def command(
    backend: str | None,
    executor: str | None,
    sheet: Path | None,
    fact_texts: Sequence[str],
    full: bool,
    as_json: bool,
) -> None:
    """List installed backends and their options.

    Without BACKEND, no plugin is imported, unless several declare the same backend: then the list shows
    which one is used. If an executor of a plugin is chosen, the list has the backends of its runtime, too,
    and shows which can run here. With BACKEND, shows its options, their values on this device when nothing
    sets them, and whether the backend can run here with the executor.

    \b
    Examples:
      etconfig backends
      etconfig backends ReferenceNpuBackend
      etconfig backends ReferenceNpuBackend --full
      etconfig backends ReferenceCpuBackend --facts pi5.json
    """
    installation = make_installation()
    executor = executor_if_installed(installation, executor)
    if backend is None:
        _list(installation, executor, as_json)
        return
    from etconfig.resolver.deciding.unconfigured import values_without_configuration

    runtime = executor_report(installation, executor)
    if backend not in installation.backend_ids:
        from etconfig.app.installation.undeclared import undeclared_specs

        installation = installation.with_backends(undeclared_specs([backend], runtime))
    spec = installation.plugins.backend_spec(backend)
    facts = _facts(read_device(installation, sheet, fact_texts))
    values = values_without_configuration(spec, facts.values, installation.advice)
    status = backend_status(installation, backend, executor, runtime)
    passed = _passed_over(installation, backend)
    if as_json:
        print_json(_data(spec, values, status, executor, passed))
    else:
        _show(spec, values, status, executor, passed, is_full=full)


def _facts(device: RequestedDevice) -> FactSheet:
    """Return the facts that `resolve` uses; without facts of the profile if that is wrong, which is said."""
    from etconfig.app.configuring.profile_choice import facts_of_choice
    from etconfig.errors import ConfigError

    known = device.known
    try:
        return facts_of_choice(device.installation, device.facts, device.by_hand)
    except ConfigError as error:
        fail(error)
        note("the facts that the profile sets are left out")
        return known


def _list(installation: Installation, executor: str, as_json: bool) -> None:
    is_builtin = executor == NUMPY
    listing = list_backends(installation) if is_builtin else list_with_runtime(installation, executor)
    if as_json:
        print_json(listing.to_jsonable())
    elif listing.rows:
        show_table(listing)
    else:
        show("No backend plugin is installed. For the backends that ExecuTorch ships, such as XNNPACK:")
        show(f"  {how_to_install('etconfig-upstream')}")
        show("For others, install the package of their vendor.")


def _show(
    spec: BackendSpec,
    values: Mapping[str, UnconfiguredValue],
    status: BackendStatus,
    executor: str,
    passed_over: Sequence[str],
    *,
    is_full: bool,
) -> None:
    problem = None if status.is_available else _reason(status)
    infos = spec.options.option_infos().values()
    show(f"{spec.id}: {spec.doc}")
    which = "" if executor == NUMPY else f" with executor {executor}"
    version = "" if status.version is None else f": {status.version}"
    if problem is None:
        show(f"It can run here{which}{version or '.'}")
    else:
        what = "run" if spec.build is None else "run delegates of programs"
        show(f"It cannot {what} here{which}: {problem}")
    for source in passed_over:
        show(f"{source} declares it, too, and is passed over.")
    show()
    if not infos:
        show("It has no options.")
        return
    from etconfig.schema.environment import described_variables

    defaults = {info.name: default_text(info, values[info.name]) for info in infos}
    rows = [
        (info.name, info.expected, defaults[info.name], info.applies.value, info.scope.value, info.doc)
        for info in infos
    ]
    headers = ("OPTION", "VALUE", "DEFAULT", "APPLIES", "SCOPE", "MEANING")
    if is_full or len(infos) <= _FEW or _width([headers, *rows]) <= MAX_WIDTH:
        print_table(headers, rows)
        if is_full:
            _show_keys(infos)
            _show_environment(described_variables(spec))
        elif any(info.type.known_keys for info in infos):
            show()
            show("--full shows the keys of tables, too")
        return
    limits = (MAX_WIDTH, 34, 24, 8, 8, 60)
    print_table(headers, [[_cut(*each) for each in zip(row, limits, strict=True)] for row in rows])
    show()
    show("--full shows values and meanings in full, and the keys of tables")


def _show_keys(infos: Iterable[OptionInfo]) -> None:
    """Print the keys that tables of texts may have."""
    for info in infos:
        if info.type.known_keys:
            show()
            show(f"Keys of {info.name}; others are refused:")
            rows = [(key, known.expected, known.doc) for key, known in info.type.known_keys.items()]
            print_table(("KEY", "VALUE", "MEANING"), rows)


def _show_environment(variables: Mapping[str, str]) -> None:
    if variables:
        show()
        print_table(("ENVIRONMENT VARIABLE", "MEANING"), list(variables.items()))


def _width(rows: Sequence[Sequence[str]]) -> int:
    return sum(max(map(len, column)) + 2 for column in zip(*rows, strict=True))


def _cut(cell: str, limit: int) -> str:
    """Return a cell in at most `limit` characters: of a meaning, its first sentence."""
    text = cell if len(cell) <= limit else cell.partition(". ")[0]
    return text if len(text) <= limit else f"{text[: limit - 3].rstrip()}..."


def _data(
    spec: BackendSpec,
    values: Mapping[str, UnconfiguredValue],
    status: BackendStatus,
    executor: str,
    passed_over: Sequence[str],
) -> dict[str, Any]:
    return {
        "backend": spec.id,
        "doc": spec.doc,
        "executor": executor,
        "available": status.is_available,
        "reason": None if status.is_available else _reason(status),
        "passed_over": list(passed_over),
        "options": {
            info.name: _option_data(info, values[info.name]) for info in spec.options.option_infos().values()
        },
        "environment": dict(spec.environment),
    }


def _passed_over(installation: Installation, backend: str) -> list[str]:
    """Return the other plugins that declare a backend, which are not used."""
    entries = [each for each in installation.index.entries(BACKENDS) if each.name == backend]
    return [each.source for each in entries if passed_over(installation, each) is not None]


def _reason(status: BackendStatus) -> str:
    return f"{status.reason} ({status.help})" if status.help else str(status.reason)


def default_text(info: OptionInfo, here: UnconfiguredValue) -> str:
    """Return the value of an option that nothing sets on a device, and the default of its schema."""
    from etconfig.base.provenance import OriginKind, Sourced
    from etconfig.schema.coerce import show_value
    from etconfig.schema.declaration import MISSING

    literal = None if info.default is MISSING else show_value(info.default)
    if here is None:
        return "required" if info.from_fact is None else f"required ({info.from_fact} is unknown here)"
    if not isinstance(here, Sourced):
        return f"none here: {here.message}"
    value = show_value(here.value)
    if here.origin.kind is OriginKind.RECOMMENDATION:
        reason = "recommended here"
    elif here.origin.detail is not None:
        reason = f"{here.origin.detail} here"
    elif info.from_fact is not None:
        return f"{value} (fact {info.from_fact} is unknown here)"
    else:
        return value
    return f"{value} ({reason})" if literal is None else f"{value} ({reason}, else {literal})"


def _option_data(info: OptionInfo, here: UnconfiguredValue) -> dict[str, Any]:
    from etconfig.base.plain_data import jsonable
    from etconfig.base.provenance import Sourced
    from etconfig.schema.declaration import MISSING

    return {
        "type": str(info.type),
        "expected": info.expected,
        "default": None if info.default is MISSING else jsonable(info.default),
        "from_fact": info.from_fact,
        "here": {"value": jsonable(here.value), "from": str(here.origin)}
        if isinstance(here, Sourced)
        else None,
        "required": info.is_required,
        "applies": info.applies.value,
        "scope": info.scope.value,
        "unit": info.unit.value if info.unit else None,
        "known_keys": None
        if info.type.known_keys is None
        else {
            key: {"expected": known.expected, "doc": known.doc} for key, known in info.type.known_keys.items()
        },
        "env": list(info.env),
        "doc": info.doc,
    }
