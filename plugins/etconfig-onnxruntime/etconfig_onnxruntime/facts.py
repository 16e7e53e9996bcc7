"""The facts about ONNX Runtime on this machine: its version, its providers and their devices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from etconfig.plugin.v1 import (
    ApiRange,
    FactInfo,
    FactsContribution,
    FactsRequest,
    FactType,
    FunctionDetector,
    Reading,
    System,
    Volatility,
    hookimpl,
)
from etconfig_onnxruntime.engine import engine_availability, import_engine
from etconfig_onnxruntime.provider_libraries import register_libraries
from etconfig_onnxruntime.provider_names import PROVIDERS, available_providers, short_name

_DEVICE = "onnxruntime.device.<n>"


def _fact(name: str, type_: FactType, doc: str, **fields: Any) -> FactInfo:
    return FactInfo(name=name, type=type_, doc=doc, volatility=Volatility.BOOT, **fields)


FACTS = (
    _fact("onnxruntime.version", FactType.STRING, "The version of ONNX Runtime."),
    _fact(
        "onnxruntime.providers",
        FactType.STRING_LIST,
        "The execution providers of this build and of registered libraries, by their names in options.",
        choices=tuple(PROVIDERS),
    ),
    _fact(f"{_DEVICE}.provider", FactType.STRING, "The provider that can run models on a device."),
    _fact(f"{_DEVICE}.type", FactType.STRING, "The kind of the device.", choices=("cpu", "gpu", "npu")),
    _fact(f"{_DEVICE}.vendor", FactType.STRING, "The maker of the device."),
    _fact(f"{_DEVICE}.vendor_id", FactType.INT, "The number of its maker on PCI.", minimum=0),
    _fact(f"{_DEVICE}.device_id", FactType.INT, "The number of its model on PCI.", minimum=0),
    _fact(f"{_DEVICE}.provider_vendor", FactType.STRING, "The maker of the provider."),
    _fact(
        f"{_DEVICE}.metadata",
        FactType.STRING_LIST,
        "Texts of the provider and the driver about the device, such as `arch=v73`; paths are left out.",
    ),
)
"""The facts, in the namespace `onnxruntime`."""


def detect_engine(system: System) -> Iterator[Reading]:
    """Yield the readings. ONNX Runtime is imported, which takes a quarter of a second once."""
    source = "onnxruntime"
    spec = find_spec("onnxruntime")
    names = ("onnxruntime.version", "onnxruntime.providers")
    if spec is None or spec.origin is None or system.read_text(spec.origin) is None:
        for name in names:
            yield Reading.unknown(name, source, "ONNX Runtime is not installed there")
        return
    availability = engine_availability()
    if not availability.is_available:
        for name in names:
            yield Reading.unknown(name, source, availability.reason or "")
        return
    ort = import_engine()
    register_libraries(ort)
    yield Reading("onnxruntime.version", ort.__version__, "onnxruntime.__version__")
    yield Reading("onnxruntime.providers", available_providers(ort), "onnxruntime.get_available_providers()")
    yield from _devices(ort)


def _devices(ort: Any) -> Iterator[Reading]:
    source = "onnxruntime.get_ep_devices()"
    for number, found in enumerate(ort.get_ep_devices()):
        device = found.device
        values = {
            "provider": short_name(found.ep_name),
            "type": device.type.name.lower(),
            "vendor": device.vendor,
            "vendor_id": device.vendor_id,
            "device_id": device.device_id,
            "provider_vendor": found.ep_vendor,
            "metadata": _metadata({**device.metadata, **found.ep_metadata}),
        }
        for name, value in values.items():
            path = f"onnxruntime.device.{number}.{name}"
            yield Reading.of(
                path, value if value != "" else None, source, otherwise="the driver does not say"
            )


def _metadata(texts: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(
        f"{key}={text}"
        for key, text in sorted(texts.items())
        if f"{key}{text}".isprintable() and not _is_path(text)  # a path may name a user
    )


def _is_path(text: str) -> bool:
    return PurePosixPath(text).is_absolute() or PureWindowsPath(text).is_absolute()


DETECTOR = FunctionDetector("onnxruntime", tuple(fact.name for fact in FACTS), detect_engine)


@hookimpl
def etconfig_facts(request: FactsRequest) -> FactsContribution:
    """Return the facts and their detector."""
    return FactsContribution(api=ApiRange(min=1, built=1), facts=FACTS, detectors=(DETECTOR,))
