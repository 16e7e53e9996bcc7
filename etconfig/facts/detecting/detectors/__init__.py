"""The built-in detectors, one for each topic."""

from etconfig.facts.detecting.detector import Detector
from etconfig.facts.detecting.detectors.accelerators import GPU, NPU
from etconfig.facts.detecting.detectors.cpu import AVAILABLE_CORES, CORES, CPU
from etconfig.facts.detecting.detectors.device import DEVICE
from etconfig.facts.detecting.detectors.memory import MEMORY
from etconfig.facts.detecting.detectors.power import POWER, THERMAL
from etconfig.facts.detecting.detectors.software import OPERATING_SYSTEM, RUNTIME

BUILTIN_DETECTORS: tuple[Detector, ...] = (
    OPERATING_SYSTEM,
    CPU,
    CORES,
    AVAILABLE_CORES,
    MEMORY,
    POWER,
    THERMAL,
    DEVICE,
    GPU,
    NPU,
    RUNTIME,
)
"""The detectors in order; if two know a fact, the first one wins."""

__all__ = ["BUILTIN_DETECTORS"]
