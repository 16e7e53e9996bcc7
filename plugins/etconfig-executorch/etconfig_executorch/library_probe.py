"""Load a library in a process of its own, and print what it registers, as JSON.

Usage: python -I library_probe.py PATH_OF_REGISTRY_EXTENSION LIBRARY
"""

from __future__ import annotations

import ctypes
import json
import sys
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location


def main(extension: str, library: str) -> None:
    """Print `{"registered": [[kind, name, key, file], ...]}`, or `{"error": ...}` if it cannot be opened."""
    spec = spec_from_file_location("_registry", extension, loader=ExtensionFileLoader("_registry", extension))
    assert spec is not None
    assert spec.loader is not None
    registry = module_from_spec(spec)
    spec.loader.exec_module(registry)
    before = registry.entries()
    try:
        ctypes.CDLL(library)
    except OSError as error:
        sys.stdout.write(json.dumps({"error": str(error)}) + "\n")
        return
    registered = [each for each in registry.entries() if each not in before]
    sys.stdout.write(json.dumps({"registered": registered}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
