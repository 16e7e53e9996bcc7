"""Options and configurations as bundles and generated code have them, for tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from etconfig.device.bundle.step_counter import counted
from etconfig.device.deciding.bundle_fingerprints import content_fingerprint, values_fingerprint
from etconfig.device.deciding.configurations import (
    PackedConfiguration,
    PackedMethod,
    PackedOption,
    PlainValue,
)
from etconfig.device.deciding.decision import BundleDecision
from etconfig.device.device_bundle import DeviceBundle
from etconfig.schema.declaration import Applies, Scope


def packed(name: str, value: PlainValue, **changed: Any) -> PackedOption:
    """Return an option that was set, and that is sent under its own name."""
    given: dict[str, Any] = {"key": name, "sent": value, "scope": Scope.METHOD, "applies": Applies.LOAD}
    given |= {"is_set": True, "origin": "override --set"}
    return PackedOption(name=name, value=value, **{**given, **changed})


def configuration(name: str, *methods: PackedMethod) -> PackedConfiguration:
    """Return a configuration of method instances."""
    return PackedConfiguration(name, "sha256:00", methods)


def with_texts(bundle: DeviceBundle, changed: Mapping[str, str], producer: str) -> DeviceBundle:
    """Return a bundle of one configuration with other texts, whose fingerprints are right again."""
    texts = [changed.get(text, text) for text in bundle.tables.texts]
    (profile,) = bundle.tables.profiles
    tables = counted(replace(bundle.tables, producer=producer, texts=texts))
    texts[profile.fingerprint] = values_fingerprint(BundleDecision(tables, profile, {}).slots)
    return DeviceBundle(replace(tables, fingerprint=content_fingerprint(tables)))
