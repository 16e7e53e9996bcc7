"""The contents of a lock: what resolutions rest on, by what counts and not by how it is written."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from etconfig.app.configuration import Configuration
from etconfig.app.loaded_program import LoadedProgram
from etconfig.app.lock import LOCK_FILE, Lock, LockedDevice
from etconfig.plugin import BACKENDS
from etconfig.profile import Profile
from etconfig.resolver import Resolution
from etconfig.resolver.difference import option_values
from etconfig.resolver.program_values import PROGRAM_IN_MEMORY
from etconfig.schema import BackendSpec, schema_signature


def make_lock(
    resolved: Mapping[str, tuple[Configuration, Resolution]], program: LoadedProgram | None
) -> Lock:
    """Make the lock of the resolutions of one program on one or several devices.

    Args:
        resolved: The configuration and its resolution, by the name of the device.
        program: The program; None if options were resolved without one.

    Raises:
        ProgramError: the program can no longer be read.
    """
    configurations = [configuration for configuration, _ in resolved.values()]
    installation = configurations[0].installation
    specs = {backend: spec for each in configurations for backend, spec in _specs(each).items()}
    project = installation.project
    entries = (installation.index.find(BACKENDS, backend) for backend in specs)
    return Lock(
        program={} if program is None else _program(program),
        plugins=dict(sorted({entry.distribution: entry.version for entry in entries}.items())),
        schemas={backend: schema_signature(spec) for backend, spec in sorted(specs.items())},
        project={} if project is None else _plain(project.values),
        devices={name: _device(*each) for name, each in resolved.items()},
    )


def lock_path(configuration: Configuration) -> Path:
    """Return the path of the lock file: beside the project file, or in the current directory."""
    project = configuration.installation.project
    return Path(project.name).with_name(LOCK_FILE) if project else Path(LOCK_FILE)


def _device(configuration: Configuration, resolution: Resolution) -> LockedDevice:
    return LockedDevice(
        profiles={profile.name: _profile(profile) for profile in configuration.chain},
        facts=resolution.facts_used(),
        options=option_values(resolution),
        result={"fingerprint": resolution.fingerprint()},
    )


def _specs(configuration: Configuration) -> Mapping[str, BackendSpec]:
    instances = configuration.resolver.instances.values()
    return {backend.spec.id: backend.spec for backends in instances for backend in backends}


def _program(program: LoadedProgram) -> dict[str, Any]:
    """Return what identifies a program. Of a bundled one (.bpte), the recorded cases do not count."""
    path = program.program.path
    return {
        "name": PROGRAM_IN_MEMORY if path is None else Path(path).name,
        "content": f"sha256:{hashlib.sha256(program.program.whole()).hexdigest()}",
        "methods": {method: list(program.backends(method)) for method in program.method_names},
    }


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
