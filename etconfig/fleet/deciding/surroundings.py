"""Fingerprints of what must be the same on every machine that resolves a fleet."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping

from etconfig.app.installation.installation import Installation
from etconfig.base.version import __version__
from etconfig.errors import PluginError
from etconfig.plugin import FACTS
from etconfig.profile.library import Provider
from etconfig.schema.signature import schema_signature

_UNUSABLE = "unusable here"
"""In place of a fingerprint: the plugin is broken, or several claim the backend."""


def surroundings_of(installation: Installation) -> dict[str, str]:
    """Return the version of etconfig, and fingerprints of facts, shipped profiles, and plugins, by name."""
    shipped = [each for each in installation.profiles.files if each.provider is not Provider.USER]
    profiles = [(each.name, hashlib.sha256(each.path.read_bytes()).hexdigest()) for each in shipped]
    return {
        "etconfig": __version__,
        "the definitions of facts": _hash(repr(installation.fact_registry.infos)),
        "the profiles that are installed": _hash(repr(sorted(profiles, key=repr))),
        **dict(_plugins(installation)),
    }


def _plugins(installation: Installation) -> Iterator[tuple[str, str]]:
    for entry in installation.index.entries(FACTS):
        yield f"the plugin {entry.distribution}", entry.version
    for backend in installation.backend_ids:
        try:
            source = installation.plugins.backend_entry(backend).source
            signature = schema_signature(installation.plugins.backend_spec(backend))
        except PluginError:  # no plan uses it, or it could not have been made
            yield f"the backend {backend}", _UNUSABLE
            continue
        text = json.dumps(signature, sort_keys=True, default=repr)
        yield f"the backend {backend}", f"{source}, schema {_hash(text)[:12]}"


def different_surroundings(wanted: Mapping[str, str], found: Mapping[str, str]) -> Iterator[str]:
    """Yield what is not the same, as texts."""
    for name in sorted({*wanted, *found}):
        if wanted.get(name) in (found.get(name), _UNUSABLE):
            continue
        if name not in found:
            yield f"{name} is missing there"
        elif name not in wanted:
            yield f"{name} is installed there only"
        elif name == "etconfig" or name.startswith("the plugin"):
            yield f"{name} is {found[name]} there and {wanted[name]} here"
        else:
            yield f"{name} is another one there" if name.startswith("the backend") else f"{name} differ"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
