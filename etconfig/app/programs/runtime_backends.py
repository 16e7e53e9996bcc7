"""The fact `runtime.backends`: the backends that can run on this device with an executor."""

from __future__ import annotations

from collections.abc import Mapping

from etconfig.app.installation.engine_version import installed_version
from etconfig.app.installation.installation import Installation
from etconfig.app.programs.executors import backend_status, executor_report
from etconfig.base.provenance import Origin, OriginKind, Sourced
from etconfig.base.records import record
from etconfig.errors import PluginError
from etconfig.facts.sheet import FactSheet
from etconfig.models.variant_selection import BACKENDS_FACT


@record(frozen=True, kw_only=True)
class RuntimeBackends:
    """The backends that can run here with an executor, and those whose plugins are broken.

    Attributes:
        executor: The name of the executor.
        available: The ids of the backends that can run, sorted.
        broken: The error of each backend whose plugin is broken, by its id.
    """

    executor: str
    available: tuple[str, ...]
    broken: Mapping[str, PluginError]

    def added_to(self, facts: FactSheet) -> FactSheet:
        """Return a sheet with the fact `runtime.backends`."""
        origin = Origin(OriginKind.DETECTED, f"executor {self.executor}")
        return facts.with_overrides({BACKENDS_FACT: Sourced(self.available, origin)})


def with_runtime_backends(installation: Installation, facts: FactSheet, executor: str) -> FactSheet:
    """Return a sheet of this device with `runtime.backends`, unless it is known.

    The executor's runtime has these backends, or installed plugins serve them, as delegates or by engines
    that run files themselves. A plugin that only declares options serves none. A broken plugin or one that
    cannot run here does not count. The plugins are imported.

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
    return runtime_backends(installation, executor).added_to(facts)


def runtime_backends(installation: Installation, executor: str) -> RuntimeBackends:
    """Return the backends that can run here with an executor or by themselves, and the broken ones.

    A backend that only builds objects of its engine runs if its engine is installed. Raises as above.
    """
    runtime = executor_report(installation, executor)
    known = {*installation.backend_ids, *(backend.id for backend in runtime.backends)}
    available: list[str] = []
    broken: dict[str, PluginError] = {}
    for backend in sorted(known):
        try:
            status = backend_status(installation, backend, executor, runtime)
        except PluginError as error:
            broken[backend] = error
        else:
            if status.is_available or _has_engine(installation, backend):
                available.append(backend)
    return RuntimeBackends(executor=executor, available=tuple(available), broken=broken)


def _has_engine(installation: Installation, backend: str) -> bool:
    """Return True for a backend that runs no delegates, and whose engine is installed."""
    if backend not in installation.backend_ids:
        return False
    spec = installation.plugins.backend_spec(backend)
    if spec.factory is not None or spec.build is None:
        return False
    return not spec.engine or any(installed_version(name) is not None for name in spec.engine)
