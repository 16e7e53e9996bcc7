"""The facts about a device: the registry of facts, fact sheets, and the detectors that fill them.

Importing this package imports none of its modules: checking conditions against the registry needs neither the
detectors nor JSON.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from etconfig.lazy import lazy_names

_HOME = {
    "BUILTIN_DETECTORS": "detectors",
    "BUILTIN_FACTS": "builtin",
    "Detector": "detector",
    "Fact": "fact",
    "FactInfo": "registry",
    "FactOverrides": "overrides",
    "FactRegistry": "registry",
    "FactSheet": "sheet",
    "FactType": "registry",
    "FactValue": "registry",
    "FunctionDetector": "detector",
    "Host": "host",
    "Reading": "detector",
    "SheetDifference": "difference",
    "System": "system",
    "Volatility": "registry",
    "attached_device": "adb",
    "detect": "detection",
    "device_names": "known_devices",
    "diff_sheets": "difference",
    "facts_markdown": "markdown",
    "facts_schema": "json_schema",
    "find_device": "known_devices",
    "load_device": "known_devices",
    "load_fact_sheet": "sheet",
    "parse_fact_assignment": "assignment",
    "parse_fact_assignments": "assignment",
    "redetect": "detection",
    "sheet_schema": "json_schema",
    "source_facts": "overrides",
}
"""Which module each public name lives in."""

if TYPE_CHECKING:
    from etconfig.facts.adb import attached_device
    from etconfig.facts.assignment import parse_fact_assignment, parse_fact_assignments
    from etconfig.facts.builtin import BUILTIN_FACTS
    from etconfig.facts.detection import detect, redetect
    from etconfig.facts.detector import Detector, FunctionDetector, Reading
    from etconfig.facts.detectors import BUILTIN_DETECTORS
    from etconfig.facts.difference import SheetDifference, diff_sheets
    from etconfig.facts.fact import Fact
    from etconfig.facts.host import Host
    from etconfig.facts.json_schema import facts_schema, sheet_schema
    from etconfig.facts.known_devices import device_names, find_device, load_device
    from etconfig.facts.markdown import facts_markdown
    from etconfig.facts.overrides import FactOverrides, source_facts
    from etconfig.facts.registry import FactInfo, FactRegistry, FactType, FactValue, Volatility
    from etconfig.facts.sheet import FactSheet, load_fact_sheet
    from etconfig.facts.system import System

__all__ = [
    "BUILTIN_DETECTORS",
    "BUILTIN_FACTS",
    "Detector",
    "Fact",
    "FactInfo",
    "FactOverrides",
    "FactRegistry",
    "FactSheet",
    "FactType",
    "FactValue",
    "FunctionDetector",
    "Host",
    "Reading",
    "SheetDifference",
    "System",
    "Volatility",
    "attached_device",
    "detect",
    "device_names",
    "diff_sheets",
    "facts_markdown",
    "facts_schema",
    "find_device",
    "load_device",
    "load_fact_sheet",
    "parse_fact_assignment",
    "parse_fact_assignments",
    "redetect",
    "sheet_schema",
    "source_facts",
]

__getattr__, __dir__ = lazy_names(__name__, _HOME)
