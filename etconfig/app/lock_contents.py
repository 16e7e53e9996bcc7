"""The contents of a lock: what a resolution rests on, by what counts and not by how it is written."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from etconfig.app.configuration import Configuration
from etconfig.app.loaded_program import LoadedProgram
from etconfig.app.lock import LOCK_FILE, Lock, LockedDevice
from etconfig.plugin import BACKENDS
from etconfig.profile import load_document, project_values
from etconfig.resolver import Resolution, reported_values
from etconfig.schema import BackendSpec, schema_signature

_IN_MEMORY = "a program in memory"


def make_lock(configuration: Configuration, resolution: Resolution, program: LoadedProgram | None) -> Lock:
    """Make the lock of a resolution.

    Raises:
        DocumentError: a profile or the project file can no longer be read.
        ProgramError: the same for the program.
    """
    installation = configuration.installation
    specs = _specs(configuration)
    files = {profile.name: profile.path for profile in configuration.chain}
    entries = (installation.index.find(BACKENDS, backend) for backend in specs)
    return Lock(
        program={} if program is None else _program(program),
        plugins=dict(sorted({entry.distribution: entry.version for entry in entries}.items())),
        schemas={backend: schema_signature(spec) for backend, spec in sorted(specs.items())},
        project=_project(configuration),
        device=LockedDevice(
            profiles={name: _profile(path) for name, path in files.items() if path},
            facts=resolution.facts_used(),
            options={str(path): option.value for path, option in reported_values(resolution).items()},
            result={"fingerprint": resolution.fingerprint()},
        ),
    )


def lock_path(configuration: Configuration) -> Path:
    """Return the path of the lock file: beside the project file, or in the current directory."""
    project = configuration.installation.project
    return Path(project.name).with_name(LOCK_FILE) if project else Path(LOCK_FILE)


def _specs(configuration: Configuration) -> Mapping[str, BackendSpec]:
    instances = configuration.resolver.instances.values()
    return {backend.spec.id: backend.spec for backends in instances for backend in backends}


def _program(program: LoadedProgram) -> dict[str, Any]:
    """Return what identifies a program. Of a bundled one (.bpte), the recorded cases do not count."""
    path = program.program.path
    return {
        "name": _IN_MEMORY if path is None else Path(path).name,
        "content": f"sha256:{hashlib.sha256(program.program.whole()).hexdigest()}",
        "methods": {method: list(program.backends(method)) for method in program.method_names},
    }


def _project(configuration: Configuration) -> Mapping[str, Any]:
    project = configuration.installation.project
    return _plain(project_values(load_document(Path(project.name)))) if project else {}


def _profile(path: Path) -> dict[str, Any]:
    values: dict[str, Any] = _plain(load_document(path).data)
    values["profile"].pop("description", None)
    return values


def _plain(value: Any) -> Any:
    """Return a value of a document as JSON has it, with sorted keys: their order does not count."""
    if isinstance(value, Mapping):
        return {key: _plain(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value if isinstance(value, (bool, int, float, str)) else str(value)  # a date of a foreign backend
