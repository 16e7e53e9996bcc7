"""The fingerprint of resolved options: equal options, equal text."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping


def fingerprint(slots: Iterable[tuple[str, str | None, Mapping[str, Mapping[str, object]]]]) -> str:
    """SHA-256 over methods, instances, and option values by backend and name; in any order."""
    plain = sorted(slots, key=lambda slot: (slot[0], slot[1] is not None, slot[1] or ""))
    canonical = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(canonical.encode()).hexdigest()}"
