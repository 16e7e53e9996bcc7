"""The contents of a lock: what resolutions rest on, by what counts and not by how it is written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from etconfig.app.configuring.configuration import Configuration
from etconfig.app.configuring.default_program import OpenedProgram
from etconfig.app.configuring.device_names import name_files
from etconfig.app.configuring.several_programs import programs_in
from etconfig.app.configuring.targets import Delegating, model_names_of
from etconfig.app.locking.lock import LOCK_FILE, Lock, LockedDevice
from etconfig.base.records import record
from etconfig.profile.profile import Profile
from etconfig.resolver.compiling.program_values import PROGRAM_IN_MEMORY
from etconfig.resolver.deciding.resolution import Resolution
from etconfig.resolver.explaining.difference import option_values
from etconfig.schema.signature import schema_signature
from etconfig.schema.spec import BackendSpec

_MODELS_IN_MEMORY = "models"
"""The name of models that were not read from a file."""


@record(frozen=True, kw_only=True)
class ResolvedForLock:
    """A resolution that a lock records.

    Attributes:
        device: The name of the device.
        configuration: The configuration.
        resolution: Its resolution on the device.
    """

    device: str
    configuration: Configuration
    resolution: Resolution


def make_lock(resolved: Sequence[ResolvedForLock]) -> Lock:
    """Make the lock of the resolutions of one or several programs, each on one or several devices.

    It is the same in whatever order they are given.

    Raises:
        ProgramError: a program can no longer be read.
    """
    configurations = [each.configuration for each in resolved]
    installation = configurations[0].installation
    specs = {backend: spec for each in configurations for backend, spec in _specs(each).items()}
    project = installation.project
    entries = (installation.plugins.backend_entry(backend) for backend in specs)
    programs = {id(each.program): each.program for each in configurations if each.program is not None}
    names = dict(zip(programs, _program_names([*programs.values()]), strict=True))
    return Lock(
        programs=dict(sorted({names[key]: _program(each) for key, each in programs.items()}.items())),
        plugins=dict(sorted({entry.distribution: entry.version for entry in entries}.items())),
        schemas={backend: schema_signature(spec) for backend, spec in sorted(specs.items())},
        project={} if project is None else _plain(project.values),
        devices=sorted(
            (_device(each, names.get(id(each.configuration.program))) for each in resolved),
            key=lambda device: (device.program or "", device.name),
        ),
    )


def lock_path(configuration: Configuration) -> Path:
    """Return the path of the lock file: beside the project file, or in the current directory."""
    project = configuration.installation.project
    return Path(project.name).with_name(LOCK_FILE) if project else Path(LOCK_FILE)


def _device(resolved: ResolvedForLock, program: str | None) -> LockedDevice:
    resolution = resolved.resolution
    return LockedDevice(
        name=resolved.device,
        program=program,
        profiles={profile.name: _profile(profile) for profile in resolved.configuration.chain},
        facts=resolution.facts_used(),
        options=option_values(resolution),
        result={"fingerprint": resolution.fingerprint()},
    )


def _program_names(programs: Sequence[Delegating]) -> list[str]:
    """Return the names of the files, with as many of their directories as tell them apart."""
    return name_files([Path(_path(program)) for program in programs])


def _path(program: Delegating) -> str:
    """Return the path of a program, or of the file of models without one."""
    first = programs_in(program)[0]
    if isinstance(first, OpenedProgram):
        return first.program.path or PROGRAM_IN_MEMORY
    return getattr(first, "path", None) or _MODELS_IN_MEMORY


def _specs(configuration: Configuration) -> Mapping[str, BackendSpec]:
    instances = configuration.resolver.instances.values()
    return {backend.spec.id: backend.spec for backends in instances for backend in backends}


def _program(program: Delegating) -> dict[str, Any]:
    """Return what identifies a program, models, or both.

    Of a bundled program (.bpte), the recorded cases do not count.
    """
    models = {name: list(program.backends(name)) for name in model_names_of(program)}
    content = hashlib.sha256(json.dumps(models, sort_keys=True).encode() if models else b"")
    found: dict[str, Any] = {}
    for part in programs_in(program):
        if isinstance(part, OpenedProgram):
            content.update(part.program.whole())
            found["methods"] = {method: list(part.backends(method)) for method in part.method_names}
    if models:
        found["models"] = models
    return {"content": f"sha256:{content.hexdigest()}", **found}


def _profile(profile: Profile) -> dict[str, Any]:
    values: dict[str, Any] = _plain(profile.values)
    values["profile"].pop("description", None)
    return values


def _plain(value: Any) -> Any:
    """Return a value of a document as JSON has it, with sorted keys: their order does not count."""
    if isinstance(value, Mapping):
        return {key: _plain(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value if isinstance(value, (bool, int, float, str)) else str(value)  # a date of a foreign backend
