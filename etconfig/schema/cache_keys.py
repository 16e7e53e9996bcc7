"""`cache_key`: the name of a compiled artifact in a cache, which changes with all that it depends on."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from etconfig.base.plain_data import jsonable

if TYPE_CHECKING:
    from etconfig.schema.options import BackendOptions

KEY_FORMAT = 1
"""The version of the text that is hashed; another one gives other keys."""


def cache_key(options: BackendOptions, *, payload_hash: str, engine_version: str, driver: str = "") -> str:
    """Return the key under which to cache what a backend compiled.

    Two keys are equal only if the payload, the engine, the driver and every option that is declared with
    `invalidates_cache=True` are. Options whose value is None do not count, so that a new option without a
    value keeps the keys of old caches. The key is stable: it is the SHA-256 of a JSON text, with sorted keys,
    no spaces and only ASCII, of `format` (1), `options`, `payload`, `engine` and `driver`.

    Example:
        >>> from etconfig.plugin.v1 import BackendOptions, cache_key, option
        >>> class Options(BackendOptions):
        ...     precision: str = option("fp32", applies="load", invalidates_cache=True, doc="The type.")
        ...     log: bool = option(False, applies="load", doc="Log messages.")
        >>> key = cache_key(Options(), payload_hash="ab12", engine_version="2.1")
        >>> key == cache_key(Options(log=True), payload_hash="ab12", engine_version="2.1")
        True
        >>> key == cache_key(Options(precision="fp16"), payload_hash="ab12", engine_version="2.1")
        False

    Args:
        options: The options of the backend.
        payload_hash: A hash of everything that was compiled, such as the SHA-256 of the payload in hex.
        engine_version: The exact version of the engine, with its build number if it has one.
        driver: The device and the version of its driver, if the result depends on them.

    Returns:
        64 hexadecimal digits in lower case, which are also a valid name of a file.

    Raises:
        TypeError: an argument is not a text.
        ValueError: the hash of the payload or the version of the engine is empty, so that all would be equal.
    """
    texts = {"payload_hash": payload_hash, "engine_version": engine_version, "driver": driver}
    for name, text in texts.items():
        if not isinstance(text, str):
            raise TypeError(f"{name} of a cache key must be a text, not {type(text).__name__}")
        if not text and name != "driver":
            raise ValueError(f"{name} of a cache key is empty: everything would have the same key")
    counted = {
        name: jsonable(getattr(options, name))
        for name, info in options.option_infos().items()
        if info.invalidates_cache and getattr(options, name) is not None
    }
    parts = {
        "format": KEY_FORMAT,
        "options": counted,
        "payload": payload_hash,
        "engine": engine_version,
        "driver": driver,
    }
    canonical = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()
