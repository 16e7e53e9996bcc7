"""`resolve_devices`: resolve for one device after another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from etconfig.analysis.device_matrix import DeviceMatrix, MatrixDevice
from etconfig.app.configuring.device_configurations import DeviceConfigurations
from etconfig.app.configuring.device_names import name_devices
from etconfig.app.configuring.targets import Delegating, find_installation, plugin_warning
from etconfig.app.programs.memory_needs import need_of_programs
from etconfig.app.programs.model_choice import DeviceVariants
from etconfig.app.programs.payloads import payload_problems
from etconfig.base.parameters import AnyPath, as_path, check_type
from etconfig.diagnostics import Severity
from etconfig.errors import ConfigError, PluginError
from etconfig.facts.facts_by_hand import FactOverrides
from etconfig.facts.registry import FactRegistry
from etconfig.facts.sheet import FactSheet, load_fact_sheet
from etconfig.resolver.deciding.device_problems import notes_on_device
from etconfig.resolver.explaining.difference import canonical, option_values

if TYPE_CHECKING:
    from etconfig.app.installation.installation import Installation
    from etconfig.profile.layer import Layer
    from etconfig.resolver.compiling.override_forms import Overrides

_EXPECTED = 'paths of fact sheets, or sheets by name, as {"pixel-8": sheet}'


def resolve_devices(
    programs: Delegating | Iterable[Delegating] = (),
    *,
    devices: Mapping[str, FactSheet | AnyPath] | Iterable[AnyPath],
    profile: AnyPath | None = None,
    require_match: bool = False,
    fact_overrides: FactOverrides | None = None,
    overrides: Overrides | Layer | None = None,
    installation: Installation | None = None,
    with_memory: bool = False,
) -> DeviceMatrix:
    """Resolve for several devices, and put the results side by side.

    Each device gets the profile that `auto` selects for it. A sheet that cannot be read, or a device whose
    options do not resolve, is among `MatrixDevice.problems` and does not stop the others.

    Example:
        >>> program = etconfig.load_program("model.pte")
        >>> sheets = {"pi-5": "pi-5.json", "new": etconfig.FactSheet.empty()}
        >>> matrix = etconfig.resolve_devices(program, devices=sheets)
        >>> [(device.device, device.profile) for device in matrix]
        [('pi-5', 'raspberry-pi/pi-5'), ('new', 'generic/any')]
        >>> matrix.values("forward:ReferenceCpuBackend.num_threads")
        ('4', '1')

    Args:
        programs: The program or programs that the options are for. Without one, options are resolved for
            what `configure` uses by default.
        devices: The paths of fact sheets, which are named after their files; or sheets, or their paths, by
            name.
        profile: One profile for all devices, as for `configure`.
        require_match: Refuse `generic/any` if `auto` finds no other profile for a device.
        fact_overrides: Facts set by hand on every device.
        overrides: Options that win over all others, as for `configure`.
        installation: Plugins, profiles and project file; by default the program's, else those found from
            the current directory.
        with_memory: Estimate the memory that the programs need on each device: `MatrixDevice.memory`.

    Returns:
        A device for each sheet, in their order.

    Raises:
        ConfigError: the project file, the named profile or a fact set by hand is wrong.
        BackendUnavailableError: a program delegates to a backend that is not installed.
        TypeError: an argument is of a wrong type.
    """
    given = (programs,) if isinstance(programs, Delegating) else tuple(programs)
    check_type("require_match", require_match, bool, "True or False")
    installation = find_installation(installation, given[0] if given else None)
    configurations = DeviceConfigurations(
        given,
        installation,
        profile=profile,
        require_match=require_match,
        fact_overrides=fact_overrides,
        overrides=overrides,
    )
    sheets = _named_sheets(devices)
    return build_matrix(configurations, sheets, installation.fact_registry, with_memory=with_memory)


def build_matrix(
    configurations: DeviceConfigurations,
    sheets: Iterable[tuple[str, FactSheet | Path]],
    registry: FactRegistry,
    *,
    with_memory: bool = False,
) -> DeviceMatrix:
    """Resolve for each of the devices, given by name and sheet. Raises as `resolve_devices`."""
    return DeviceMatrix([*matrix_devices(configurations, sheets, registry, with_memory=with_memory)])


def matrix_devices(
    configurations: DeviceConfigurations,
    sheets: Iterable[tuple[str, FactSheet | Path]],
    registry: FactRegistry,
    *,
    with_memory: bool = False,
    models: AnyPath | None = None,
) -> Iterator[MatrixDevice]:
    """Yield each of the devices, resolved; equal options of several are one object."""
    configurations.check_named_profile()
    known: dict[str, Mapping[str, Any]] = {}
    variants = DeviceVariants(configurations.installation, models)
    for device, sheet in sheets:
        found = _device(configurations, device, sheet, registry, variants, with_memory=with_memory)
        yield replace(found, options=known.setdefault(canonical(found.options), found.options))


def _named_sheets(
    devices: Mapping[str, FactSheet | AnyPath] | Iterable[AnyPath],
) -> list[tuple[str, FactSheet | Path]]:
    if isinstance(devices, str):
        raise TypeError(f"devices: expected {_EXPECTED}, given str")
    check_type("devices", devices, Iterable, _EXPECTED)
    if isinstance(devices, Mapping):
        return [
            (name, sheet if isinstance(sheet, FactSheet) else as_path("devices", sheet, _EXPECTED))
            for name, sheet in devices.items()
        ]
    paths = [as_path("devices", path, _EXPECTED) for path in devices]
    return [*zip(name_devices(paths), paths, strict=True)]


def _device(
    configurations: DeviceConfigurations,
    device: str,
    sheet: FactSheet | Path,
    registry: FactRegistry,
    variants: DeviceVariants,
    *,
    with_memory: bool,
) -> MatrixDevice:
    profile = facts = None
    try:
        facts = sheet if isinstance(sheet, FactSheet) else load_fact_sheet(sheet, registry)
        choice = configurations.choose(facts)
        profile = choice.profile.name
        configuration = configurations.configuration(choice, facts)
        resolution = configuration.resolve(facts)
        need = need_of_programs(configuration.program, resolution) if with_memory else None
        files, without = variants.on(resolution.facts)
        unfit = [*payload_problems(configuration.program, resolution.facts, Severity.WARNING)]
    except ConfigError as error:
        problems = error.diagnostics
    except PluginError as error:
        problems = (replace(plugin_warning(error), severity=Severity.ERROR),)
    else:
        return MatrixDevice(
            device=device,
            profile=resolution.profile,
            selected_by=resolution.selected_by,
            is_fallback=resolution.selection is not None and resolution.selection.is_fallback,
            problems=(*resolution.warnings, *notes_on_device(resolution), *unfit, *without),
            options={**option_values(resolution), **files},
            memory=None if need is None else need.fit(resolution.facts),
            need=need,
            resolution=resolution,
        )
    return MatrixDevice(device=device, profile=profile, problems=problems, options={}, facts=facts)
