"""Every Python process that a test starts has this directory on PYTHONPATH: it sees the simulated host, too.

Nothing is imported until `etconfig` reads the device or looks for plugins, and `sys.path` stays as it was.
"""

import os
import sys
from _frozen_importlib_external import PathFinder  # loaded already, unlike importlib.util

TYPE_CHECKING = False
if TYPE_CHECKING:
    import types

_HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
_DOORS = {
    "etconfig.facts.detecting.system": "simulate_device",
    "etconfig.facts.detecting.host": "simulate_host",
    "etconfig.plugin.discovery": "limit_plugins",
}


class _Door:
    """Changes the modules in `_DOORS` right after they are executed."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> object:
        if fullname not in _DOORS:
            return None
        spec = PathFinder.find_spec(fullname, path)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module: "types.ModuleType") -> None:
            execute(module)
            apply(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def apply(module: "types.ModuleType") -> None:
    """Change a module of `_DOORS`."""
    if _HERE not in sys.path:
        sys.path.append(_HERE)
        try:
            import simulated_machine
        finally:
            sys.path.remove(_HERE)
    else:
        import simulated_machine
    getattr(simulated_machine, _DOORS[module.__name__])(module)


def install() -> None:
    """Make this process see the simulated host; what is imported already is changed, too."""
    if not any(type(finder).__name__ == "_Door" for finder in sys.meta_path):
        sys.meta_path.insert(0, _Door())
        for name in _DOORS:
            if name in sys.modules:
                apply(sys.modules[name])


if _HERE in sys.path:
    sys.path.remove(_HERE)
install()
