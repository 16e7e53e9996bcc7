"""The built-in detectors, one for each topic."""

from etconfig.facts.detecting.detector import Detector
from etconfig.facts.detecting.detectors.available_cores import AVAILABLE_CORES
from etconfig.facts.detecting.detectors.cores import CORES
from etconfig.facts.detecting.detectors.cpu import CPU
from etconfig.facts.detecting.detectors.device import DEVICE
from etconfig.facts.detecting.detectors.gpu import GPU
from etconfig.facts.detecting.detectors.memory import MEMORY
from etconfig.facts.detecting.detectors.npu import NPU
from etconfig.facts.detecting.detectors.operating_system import OPERATING_SYSTEM
from etconfig.facts.detecting.detectors.power import POWER
from etconfig.facts.detecting.detectors.runtime import RUNTIME
from etconfig.facts.detecting.detectors.thermal import THERMAL

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
