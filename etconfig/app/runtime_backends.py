"""The fact `runtime.backends`: the backends that can run on this device with an executor."""

from __future__ import annotations

from etconfig.app.executors import backend_status, executor_report
from etconfig.app.installation import Installation
from etconfig.errors import EtconfigError
from etconfig.facts import FactSheet
from etconfig.models.selection import BACKENDS_FACT
from etconfig.provenance import Origin, OriginKind, Sourced


def with_runtime_backends(installation: Installation, facts: FactSheet, executor: str) -> FactSheet:
    """Return a sheet of this device with `runtime.backends`, unless it is known.

    The backends are those that the executor's runtime has, and those that installed plugins serve; a plugin
    that only declares options serves none. A broken plugin or one that cannot run here does not count. The
    plugins are imported.

    Args:
        installation: The plugins.
        facts: The facts of this device.
        executor: The executor that will run programs.

    Raises:
        UnknownPluginError: no such executor is installed.
        PluginError: its plugin is broken.
        ConfigError: the options of the executor are wrong.
    """
    known = facts.get(BACKENDS_FACT)
    if known is not None and known.is_known:
        return facts
    origin = Origin(OriginKind.DETECTED, f"executor {executor}")
    return facts.with_overrides({BACKENDS_FACT: Sourced(runtime_backends(installation, executor), origin)})


def runtime_backends(installation: Installation, executor: str) -> tuple[str, ...]:
    """Return the ids of the backends that can run here with an executor, sorted. Raises as above."""
    runtime = executor_report(installation, executor)
    known = {*installation.backend_ids, *(backend.id for backend in runtime.backends)}

    def is_available(backend: str) -> bool:
        try:
            return backend_status(installation, backend, executor, runtime).is_available
        except EtconfigError:
            return False  # `etconfig doctor` reports the broken plugin

    return tuple(sorted(filter(is_available, known)))
