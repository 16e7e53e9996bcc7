"""Comparison of an installed ExecuTorch with the option keys that these schemas were written for.

A backend's library contains each key that it reads as a string. A backend that programs can be exported
for is a class of ExecuTorch's Python code, whose name is its id. Keys of ours that it lacks were
removed or renamed. New strings that look like keys, compared with the release that the schemas were
written for, need a look by a person.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from etconfig.plugin.v1 import write_own_file
from etconfig_upstream.plugin import schema_of

BASELINE = Path(__file__).with_name("baseline.json")
"""The strings of each library in the release that the schemas were written for."""

LIBRARIES: Mapping[str, str] = {
    "libexecutorch_backend_xnnpack.so": "XnnpackBackend",
    "libexecutorch_backend_qnn.so": "QnnBackend",
    "libexecutorch_backend_coreml.dylib": "CoreMLBackend",
    "libexecutorch_backend_mlx.dylib": "MLXBackend",
    "libexecutorch_backend_cuda.so": "CudaBackend",
    "libexecutorch_backend_openvino.so": "OpenvinoBackend",
}
"""The libraries in ExecuTorch's wheels, and the backend in each."""

_KEY = re.compile(rb"(?<=\0)_?[a-z][a-z0-9]*(?:_[a-z0-9]+)+(?=\0)")
"""A whole C string of at least two lower-case words, as all keys are."""


_BACKEND_CLASS = re.compile(r"^class (\w+)\((?:[\w.]+, )*BackendDetails\):", re.MULTILINE)
_LIBRARY_NAME = "libexecutorch_backend_*"

WITHOUT_SCHEMA: Mapping[str, str] = {
    "NativeBackend": "its runtime reads no options",
    "TOSABackend": "it is a step on the way to EthosUBackend and VgfBackend",
    "ExampleBackend": "it is an example",
}
"""The backends of the release that have no schema here, with the reason."""


class Drift(NamedTuple):
    """The differences in one library.

    Attributes:
        library: Its file name.
        backend: The backend in it.
        removed: Keys of our schema that it no longer contains.
        added: New strings that look like keys, or None if the baseline does not have the library.
    """

    library: str
    backend: str
    removed: Sequence[str]
    added: Sequence[str] | None


def strings_of(library: Path) -> frozenset[str]:
    """Return the strings of a library that look like option keys."""
    return frozenset(match.decode() for match in _KEY.findall(library.read_bytes()))


def keys_of(backend: str) -> frozenset[str]:
    """Return the keys that our schema sends to a backend."""
    infos = schema_of(backend).options.option_infos().values()
    return frozenset(info.wire.key for info in infos if info.wire.key is not None)


def installed_libraries(package: Path) -> Iterator[tuple[Path, str]]:
    """Yield the libraries of an installed `executorch`, each with its backend."""
    for name, backend in LIBRARIES.items():
        if (package / "lib" / name).is_file():
            yield package / "lib" / name, backend


def find_drift(package: Path, baseline: Mapping[str, Sequence[str]]) -> list[Drift]:
    """Compare every library of an installed `executorch` with our schemas and with `baseline`."""
    found = []
    for library, backend in installed_libraries(package):
        strings = strings_of(library)
        known = baseline.get(library.name)
        added = None if known is None else sorted(strings.difference(known))
        found.append(Drift(library.name, backend, sorted(keys_of(backend) - strings), added))
    return found


def new_backends(package: Path) -> dict[str, str]:
    """Return the backends of an installed `executorch` that nothing here knows, with where each was found."""
    found: dict[str, str] = {}
    for path in sorted((package / "backends").rglob("*.py")):
        parts = path.relative_to(package).parts
        if not {"test", "tests"} & set(parts):
            for backend in _BACKEND_CLASS.findall(path.read_text(encoding="utf-8", errors="replace")):
                found.setdefault(backend, "/".join(parts))
    for library in sorted((package / "lib").glob(_LIBRARY_NAME)):
        if library.name not in LIBRARIES:
            found[library.name] = f"lib/{library.name}"
    return {backend: place for backend, place in found.items() if not _is_known(backend)}


def _is_known(backend: str) -> bool:
    if backend in WITHOUT_SCHEMA:
        return True
    try:
        schema_of(backend)
    except KeyError:
        return False
    return True


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the differences from the schemas; exit with 1 if there are any, with 2 without libraries."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument(
        "package", nargs="?", type=Path, help="the folder of executorch; else the installed one"
    )
    parser.add_argument("--write", action="store_true", help="take the strings as the new baseline")
    parser.add_argument("--force", action="store_true", help="replace another file there, too")
    options = parser.parse_args(arguments)
    package = options.package or _installed_package()
    if package is None or not any(installed_libraries(package)):
        parser.error("no executorch with backend libraries is here; install it, or name its folder")
    if options.write:
        strings = {library.name: sorted(strings_of(library)) for library, _ in installed_libraries(package)}
        content = json.dumps(strings, indent=0) + "\n"
        try:
            write_own_file(BASELINE, content.encode(), "a baseline", _is_baseline, force=options.force)
        except OSError as error:
            more = "; --force replaces it" if isinstance(error, FileExistsError) and not options.force else ""
            parser.error(f"cannot write {BASELINE}: {error.strerror}{more}")
        return
    drifts = find_drift(package, json.loads(BASELINE.read_text(encoding="utf-8")))
    for drift in drifts:
        sys.stdout.write(_described(drift))
    added = new_backends(package)
    for backend, place in added.items():
        sys.stdout.write(f"{backend} ({place})\n  new      a backend without a schema: declare one\n")
    sys.exit(bool(added) or any(drift.removed or drift.added != [] for drift in drifts))


def _is_baseline(path: Path) -> bool:
    found = json.loads(path.read_text(encoding="utf-8"))
    return isinstance(found, dict) and all(isinstance(each, list) for each in found.values())


def _installed_package() -> Path | None:
    spec = importlib.util.find_spec("executorch")
    locations = spec.submodule_search_locations if spec is not None else None
    return Path(locations[0]) if locations else None


def _described(drift: Drift) -> str:
    lines = [f"{drift.backend} ({drift.library})"]
    lines += [f"  removed  {key}: no longer in the library; correct the schema" for key in drift.removed]
    if drift.added is None:
        lines.append("  new      there is no record of this library yet; write one with --write")
    lines += [f"  new      {text}: an option key? then add it to the schema" for text in drift.added or ()]
    if not drift.removed and drift.added == []:
        lines.append("  as recorded")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
