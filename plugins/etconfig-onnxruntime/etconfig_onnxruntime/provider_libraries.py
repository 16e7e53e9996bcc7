"""The libraries of execution providers that are not inside of ONNX Runtime, as their makers describe them.

A library is code, and a profile cannot name code: profiles name providers, and the libraries come from
installed packages, or from the environment variable `ETCONFIG_ONNXRUNTIME_PROVIDERS`. A description is a TOML
file beside the library:

    name = "AcmeExecutionProvider"
    library = "libacme_ep.so"
    [options.power]
    doc = "The clock of the NPU."
    choices = ["low", "high"]
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from etconfig.plugin.v1 import KnownKey
from etconfig_onnxruntime.provider_names import PROVIDERS, available_providers, engine_name

GROUP = "etconfig_onnxruntime.providers"
"""The entry points that name descriptions: `acme = "acme_ep:provider.toml"`. Nothing is imported."""

VARIABLE = "ETCONFIG_ONNXRUNTIME_PROVIDERS"
"""The variable with paths of further descriptions, separated as in `PATH`; its descriptions win."""

WHEELS: Mapping[str, str] = {
    PROVIDERS["openvino"]: "onnxruntime_ep_openvino",
    PROVIDERS["webgpu"]: "onnxruntime_ep_webgpu",
}
"""The packages without a description that have `get_library_path()`, by the provider."""

_LOG = logging.getLogger("etconfig_onnxruntime")
_MAX_BYTES = 1 << 20
_KEYS: Mapping[str, type] = {"name": str, "library": str, "options": dict}
_OPTION_KEYS: Mapping[str, type] = {"doc": str, "kind": str, "choices": list, "minimum": int, "maximum": int}


@dataclass(frozen=True, kw_only=True)
class ProviderLibrary:
    """A library that can be registered.

    Attributes:
        name: The name of its provider in ONNX Runtime, which is also the name of the registration.
        path: The library.
        options: The keys of the provider, each with the texts that it takes.
    """

    name: str
    path: str
    options: Mapping[str, KnownKey]


def described_libraries() -> tuple[dict[str, ProviderLibrary], tuple[str, ...]]:
    """Return the described libraries by the name of the provider, and why other descriptions are broken."""
    libraries: dict[str, ProviderLibrary] = {}
    problems = []
    for file, where in _descriptions():
        if file is None:
            problems.append(f"{where} names no file of an installed package")
            continue
        try:
            stat = file.stat()
            found = _read(str(file), stat.st_mtime_ns, stat.st_size)
        except (OSError, ValueError, RecursionError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            problems.append(f"{file}, named by {where}, cannot be used: {reason}")
        else:
            libraries.setdefault(found.name, found)
    return libraries, tuple(problems)


def library_path(name: str) -> str | None:
    """Return the library of a provider, or None if nothing on this machine names it.

    Raises:
        ValueError: a description is broken and may be the wanted one, or a package is.
    """
    libraries, problems = described_libraries()
    if name in libraries:
        return libraries[name].path
    package = WHEELS.get(name)
    if package is not None and find_spec(package) is not None:
        try:
            return str(import_module(package).get_library_path())
        except Exception as error:  # code of another package
            raise ValueError(f"the package {package} names no library: {error}") from error
    if problems:
        raise ValueError("; ".join(problems))
    return None


def register_library(ort: Any, name: str) -> str:
    """Register the library of a provider, if the provider is not there and a library is known.

    The library stays: ONNX Runtime does not count its sessions, so nobody knows when the last one ends.

    Args:
        ort: The module `onnxruntime`.
        name: The name of the provider in options.

    Returns:
        The reason why the library cannot be used, or why it does not help; otherwise an empty text.
    """
    try:
        path = None if name in available_providers(ort) else _register(ort, engine_name(name))
    except ValueError as error:
        return str(error)
    is_absent = path is not None and name not in available_providers(ort)
    return f"its library {path} finds no device on this machine" if is_absent else ""


def register_libraries(ort: Any) -> None:
    """Register all libraries that this machine names; the log has the reason why one cannot be used."""
    libraries, problems = described_libraries()
    wheels = [name for name, package in WHEELS.items() if find_spec(package) is not None]
    for problem in problems:
        _LOG.warning("%s", problem)
    for name in dict.fromkeys([*libraries, *wheels]):
        try:
            _register(ort, name)
        except ValueError as error:
            _LOG.warning("%s: %s", name, error)


def _register(ort: Any, name: str) -> str | None:
    """Return the library of a provider, by its name in ONNX Runtime, and register it. Raises ValueError."""
    path = library_path(name)
    if path is None or any(each.ep_name == name for each in ort.get_ep_devices()):
        return path
    try:
        ort.register_execution_provider_library(name, path)
    except Exception as error:  # a class of ONNX Runtime's own
        if "already registered" not in str(error):  # without a device
            raise ValueError(f"ONNX Runtime cannot use its library: {error}") from error
    return path


def _descriptions() -> Iterator[tuple[Path | None, str]]:
    """Yield each description with the place that names it."""
    for text in filter(None, os.environ.get(VARIABLE, "").split(os.pathsep)):
        yield Path(text).absolute(), VARIABLE
    yield from _described_by_packages(tuple(sys.path))


@lru_cache(maxsize=1)
def _described_by_packages(_path: tuple[str, ...]) -> tuple[tuple[Path | None, str], ...]:
    """Return the descriptions of installed packages; the packages are not imported."""
    from importlib.metadata import entry_points  # 15 ms

    found = []
    for entry in entry_points(group=GROUP):
        package, _, name = map(str.strip, entry.value.partition(":"))
        spec = find_spec(package) if package.isidentifier() else None
        places = () if spec is None else spec.submodule_search_locations or ()
        # never a path relative to the current directory, which may be a stranger's
        file = next((Path(place).absolute() / name for place in places), None)
        found.append((file, f"the entry point {entry.name} = {entry.value!r}"))
    return tuple(found)


@lru_cache(maxsize=64)
def _read(file: str, _changed: int, size: int) -> ProviderLibrary:
    """Return the contents of a description. Raises OSError, ValueError, RecursionError."""
    import tomli  # few machines have a description

    if not Path(file).is_file() or size > _MAX_BYTES:
        raise ValueError(f"it is not a file of at most {_MAX_BYTES} bytes")
    data = tomli.loads(Path(file).read_bytes().decode("utf-8"))
    _check("", data, _KEYS, required=("name", "library"))
    options = {}
    for key, table in data.get("options", {}).items():
        place = f"options.{key}"
        if not isinstance(table, dict):
            raise ValueError(f"{place} must be a table")
        _check(f"{place}.", table, _OPTION_KEYS, required=("doc",))
        choices = table.get("choices", [])
        if "choices" in table and not (choices and all(isinstance(each, str) for each in choices)):
            raise ValueError(f"{place}.choices must be strings, at least one")
        try:
            options[key] = KnownKey(**{**table, "choices": tuple(choices)})
        except ValueError as error:
            raise ValueError(f"{place}: {error}") from error
    return ProviderLibrary(name=data["name"], path=_beside(file, data["library"]), options=options)


def _check(
    place: str, table: Mapping[str, Any], known: Mapping[str, type], required: tuple[str, ...]
) -> None:
    for key, value in table.items():
        if key not in known:
            raise ValueError(f"{place}{key} is not a key of it; expected {', '.join(known)}")
        if type(value) is not known[key]:  # bool is a subclass of int
            raise ValueError(f"{place}{key} must be of the type {known[key].__name__}")
    for key in required:
        if not table.get(key):
            raise ValueError(f"{place}{key} is missing")


def _beside(file: str, library: str) -> str:
    """Return the path of a library, which must be in the directory of its description, or below it."""
    directory = Path(file).parent.resolve()
    path = (directory / library).resolve()
    if not path.is_relative_to(directory):
        raise ValueError(f"library is {library!r}, which is outside of the directory {directory}")
    if not path.is_file():
        raise ValueError(f"library is {library!r}, and there is no file {path}")
    return str(path)
