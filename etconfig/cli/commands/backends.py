"""`etconfig backends`: list the installed backends, and show the options of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from etconfig.app.executors import (
    NUMPY,
    BackendStatus,
    backend_status,
    executor_report,
)
from etconfig.app.installation import Installation
from etconfig.cli.shared.completion import complete_backend
from etconfig.cli.shared.listings import list_backends, list_with_runtime, passed_over
from etconfig.cli.shared.options import (
    device_options,
    executor_if_installed,
    executor_option,
    json_option,
    make_installation,
    read_device,
)
from etconfig.cli.shared.output import print_json, print_table, show
from etconfig.cli.shared.usage import StrictCommand
from etconfig.packages import how_to_install
from etconfig.plugin import BACKENDS

if TYPE_CHECKING:
    from etconfig.resolver import UnconfiguredValue
    from etconfig.schema import BackendSpec, OptionInfo


@click.command("backends", cls=StrictCommand)
@click.argument("backend", required=False, shell_complete=complete_backend)
@executor_option
@device_options
@json_option
def command(
    backend: str | None, executor: str | None, sheet: Path | None, fact_texts: Sequence[str], as_json: bool
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
      etconfig backends ReferenceCpuBackend --facts pi5.json
    """
    installation = make_installation()
    executor = executor_if_installed(installation, executor)
    if backend is None:
        _list(installation, executor, as_json)
        return
    from etconfig.resolver import values_without_configuration

    runtime = executor_report(installation, executor)
    if backend not in installation.backend_ids:
        from etconfig.app.undeclared import undeclared_specs

        installation = installation.with_backends(undeclared_specs([backend], runtime))
    spec = installation.plugins.backend_spec(backend)
    facts = read_device(installation, sheet, fact_texts).known
    values = values_without_configuration(spec, facts.values, installation.advice)
    status = backend_status(installation, backend, executor, runtime)
    _show(spec, values, status, executor, as_json, _passed_over(installation, backend))


def _list(installation: Installation, executor: str, as_json: bool) -> None:
    is_builtin = executor == NUMPY
    listing = list_backends(installation) if is_builtin else list_with_runtime(installation, executor)
    if as_json:
        print_json(listing.to_jsonable())
    elif listing.rows:
        print_table(listing.headers, listing.rows)
    else:
        show("No backend plugin is installed. For the backends that ExecuTorch ships, such as XNNPACK:")
        show(f"  {how_to_install('etconfig-upstream')}")
        show("For others, install the package of their vendor.")


def _show(
    spec: BackendSpec,
    values: Mapping[str, UnconfiguredValue],
    status: BackendStatus,
    executor: str,
    as_json: bool,
    passed_over: Sequence[str],
) -> None:
    problem = None if status.is_available else _reason(status)
    infos = spec.options.option_infos().values()
    if as_json:
        print_json(
            {
                "backend": spec.id,
                "doc": spec.doc,
                "executor": executor,
                "available": problem is None,
                "reason": problem,
                "passed_over": list(passed_over),
                "options": {info.name: _option_data(info, values[info.name]) for info in infos},
            }
        )
        return
    show(f"{spec.id}: {spec.doc}")
    which = "" if executor == NUMPY else f" with executor {executor}"
    version = "" if status.version is None else f": {status.version}"
    if problem is None:
        show(f"It can run here{which}{version or '.'}")
    else:
        show(f"It cannot run here{which}: {problem}")
    for source in passed_over:
        show(f"{source} declares it, too, and is passed over.")
    show()
    if not infos:
        show("It has no options.")
        return
    defaults = {info.name: default_text(info, values[info.name]) for info in infos}
    rows = [
        (info.name, info.expected, defaults[info.name], info.applies.value, info.scope.value, info.doc)
        for info in infos
    ]
    print_table(("OPTION", "VALUE", "DEFAULT", "APPLIES", "SCOPE", "MEANING"), rows)


def _passed_over(installation: Installation, backend: str) -> list[str]:
    """Return the other plugins that declare a backend, which are not used."""
    entries = [each for each in installation.index.entries(BACKENDS) if each.name == backend]
    return [each.source for each in entries if passed_over(installation, each) is not None]


def _reason(status: BackendStatus) -> str:
    return f"{status.reason} ({status.help})" if status.help else str(status.reason)


def default_text(info: OptionInfo, here: UnconfiguredValue) -> str:
    """Return the value of an option that nothing sets on a device, and the default of its schema."""
    from etconfig.provenance import OriginKind, Sourced
    from etconfig.schema import MISSING, show_value

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
    from etconfig.plain_data import jsonable
    from etconfig.provenance import Sourced
    from etconfig.schema import MISSING

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
        "doc": info.doc,
    }
