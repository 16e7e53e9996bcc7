"""Fingerprints: of resolved options, equal options have equal texts; and of files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

_BLOCK_BYTES = 1 << 20


def fingerprint(instances: Iterable[tuple[str, str | None, Mapping[str, Mapping[str, object]]]]) -> str:
    """Return the SHA-256 of methods, instances and option values, which does not depend on their order."""
    plain = sorted(instances, key=lambda each: (each[0], each[1] is not None, each[1] or ""))
    canonical = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(canonical.encode()).hexdigest()}"


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file as hexadecimal text; it is read in blocks.

    Raises:
        OSError: it cannot be read.
    """
    found = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            found.update(block)
    return found.hexdigest()
