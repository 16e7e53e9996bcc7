"""The fingerprint of resolved options: equal options, equal text."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping


def fingerprint(instances: Iterable[tuple[str, str | None, Mapping[str, Mapping[str, object]]]]) -> str:
    """Return the SHA-256 of methods, instances and option values, which does not depend on their order."""
    plain = sorted(instances, key=lambda each: (each[0], each[1] is not None, each[1] or ""))
    canonical = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(canonical.encode()).hexdigest()}"
