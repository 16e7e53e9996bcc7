"""The vendor's code at fault, as MODULE:QUALNAME with file and line, and whether the reader is the vendor."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from etconfig.base.code_symbol import code_symbol
from etconfig.plugin.entry_points import BACKENDS, CONFORMANCE, EXECUTORS, FACTS, KERNELS, EntryPoint

if TYPE_CHECKING:
    from etconfig.errors import PluginLoadError

_HOOKS = {
    BACKENDS: "etconfig_backend",
    FACTS: "etconfig_facts",
    KERNELS: "etconfig_kernels",
    EXECUTORS: "etconfig_executor",
    CONFORMANCE: "etconfig_conformance",
}
"""The hook of each group."""

_PLACE = re.compile(r"^[\w.-]+\.py:\d+: ")


def culprit_of(entry: EntryPoint, code: object = None, error: BaseException | None = None) -> str:
    """Return the vendor's code at fault, such as `acme_npu.plugin:make_backend (plugin.py:12)`.

    Args:
        entry: The plugin.
        code: The function or class at fault; by default the plugin's hook, or else its module.
        error: What the plugin raised; its last line in the plugin's own package is at fault.
    """
    raised = None if error is None else _last_line(entry, error)
    if raised is not None:
        return raised
    found = code_symbol(code) or code_symbol(_hook(entry))
    if found is not None:
        return found
    module = sys.modules.get(entry.module)
    file = getattr(module, "__file__", None)
    if file is not None:
        return f"{entry.module} ({Path(file).name}:1)"
    return f"{entry.value} (entry_points.txt: [{entry.group}] {entry.name})"


def without_place(cause: str) -> str:
    """Return a cause without the file and line at its beginning, which `culprit_of` has."""
    return _PLACE.sub("", cause)


def located_cause(error: PluginLoadError) -> str:
    """Return the cause of an error after the code at fault, which the author's own errors begin with."""
    if error.cause.startswith(error.culprit):
        return error.cause
    return f"{error.culprit}: {without_place(error.cause)}"


def is_development(entry: EntryPoint) -> bool:
    """True if the plugin was given in code, or is installed in editable mode: its author is the reader.

    Source: Python packaging specifications, direct_url.json.
    """
    if entry.is_given:
        return True
    try:
        recorded = json.loads(Path(entry.location, "direct_url.json").read_text(encoding="utf-8"))
        return recorded.get("dir_info", {}).get("editable") is True
    except (OSError, ValueError, AttributeError):
        return False


def _last_line(entry: EntryPoint, error: BaseException) -> str | None:
    found, step = None, error.__traceback__
    while step is not None:
        module = str(step.tb_frame.f_globals.get("__name__"))
        if module.partition(".")[0] == entry.package:
            body, name = step.tb_frame.f_code, _qualified_name(step.tb_frame)
            symbol = module if name == "<module>" else f"{module}:{name}"
            found = f"{symbol} ({Path(body.co_filename).name}:{step.tb_lineno})"
        step = step.tb_next
    return found


def _qualified_name(frame: FrameType) -> str:
    name = getattr(frame.f_code, "co_qualname", None)  # Python 3.11
    if isinstance(name, str):
        return name
    owner = frame.f_locals.get("self")
    return frame.f_code.co_name if owner is None else f"{type(owner).__qualname__}.{frame.f_code.co_name}"


def _hook(entry: EntryPoint) -> object:
    """Return the hook that the plugin defines, as far as it can be found without importing anything."""
    owner: Any = sys.modules.get(entry.module)
    for part in filter(None, entry.value.partition(":")[2].split(".")):
        owner = getattr(owner, part.strip(), None)
    return getattr(owner, _HOOKS.get(entry.group, ""), None)
