"""The fingerprints of a bundle: of all of its content, and of the values that were resolved when packing."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace

from etconfig.base.fingerprint import fingerprint
from etconfig.device.bundle.bundle_writer import write_tables
from etconfig.device.bundle.row_fields import NONE
from etconfig.device.bundle.tables import BundleTables, Long, ProfileRow
from etconfig.device.deciding.decision import BundleDecision, DecidedOption, SlotDecision


def content_fingerprint(tables: BundleTables) -> str:
    """Return the SHA-256 of the content of a bundle, whichever program wrote it, as whichever release."""
    undated = replace(tables, sources="", revision=Long(0), not_after=Long(0))
    return hashlib.sha256(write_tables(replace(undated, producer="", fingerprint=""))).hexdigest()


def values_fingerprint(slots: tuple[SlotDecision, ...]) -> str:
    """Return the fingerprint of decided options: equal to a resolution's with the same values."""
    return fingerprint(
        (
            slot.method,
            slot.instance,
            {
                backend: {
                    name: each.value for name, each in options.items() if isinstance(each, DecidedOption)
                }
                for backend, options in slot.backends.items()
            },
        )
        for slot in slots
    )


def wrong_fingerprints(tables: BundleTables) -> Iterator[str]:
    """Yield a sentence for each fingerprint that does not belong to the content.

    Readers do not look for these: a device needs bounded work, and a file can be damaged so that it is valid.
    """
    if tables.fingerprint != content_fingerprint(tables):
        yield "its content does not have its fingerprint"
    for profile in tables.profiles:
        if profile.fingerprint != NONE and not _has_its_values(tables, profile):
            yield f"the values of configuration {tables.texts[profile.name]!r} do not have its fingerprint"


def _has_its_values(tables: BundleTables, profile: ProfileRow) -> bool:
    decision = BundleDecision(tables, profile, {})
    return not decision.failures and values_fingerprint(decision.slots) == tables.texts[profile.fingerprint]
