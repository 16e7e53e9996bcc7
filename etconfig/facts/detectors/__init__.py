"""The built-in detectors, one for each topic."""

from etconfig.facts.detector import Detector
from etconfig.facts.detectors.available_cores import AVAILABLE_CORES
from etconfig.facts.detectors.cores import CORES
from etconfig.facts.detectors.cpu import CPU
from etconfig.facts.detectors.device import DEVICE
from etconfig.facts.detectors.gpu import GPU
from etconfig.facts.detectors.memory import MEMORY
from etconfig.facts.detectors.npu import NPU
from etconfig.facts.detectors.operating_system import OPERATING_SYSTEM
from etconfig.facts.detectors.power import POWER
from etconfig.facts.detectors.runtime import RUNTIME
from etconfig.facts.detectors.thermal import THERMAL

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
