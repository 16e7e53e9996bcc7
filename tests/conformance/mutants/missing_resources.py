"""Mutants of the checks without the network, the SDK or the device."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from etconfig.backend import Availability, InitContext, Processed
from etconfig.conformance.interpose.interposer import Interposer
from mutants.imports import REFERENCE
from mutants.mutant import BACKEND, Mutant

DEVICE = Path("/dev/full")
"""Stands for the device; it exists on every Linux."""


class Telling(Interposer):
    """Reports each load to its vendor."""

    def init(
        self, context: InitContext[Any], processed: Processed, compile_specs: Mapping[str, bytes]
    ) -> Any:
        # an address reserved for documentation
        with suppress(OSError), socket.create_connection(("192.0.2.1", 9), timeout=0.01):
            pass
        return super().init(context, processed, compile_specs)


TELLING = Mutant(
    "no-network",
    r"missing_resources.py:\d+: socket.getaddrinfo 192.0.2.1, expected no network access; ship what is",
    backend=Telling,
)

DEPENDENT = Mutant(
    "missing-sdk",
    "^mutant 1.0, without packages that it does not require: mutant_dependent.py:1: its import raised "
    "ModuleNotFoundError: .*mutant_sdk.*; import the SDK when a backend is created, and return Availability",
    entry_points={"etconfig.backends": f"{BACKEND} = mutant_dependent"},
    files={
        "mutant_dependent.py": f"import mutant_sdk\n{REFERENCE}",
        "mutant_sdk.py": "",
        "mutant_sdk-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: mutant-sdk\nVersion: 1.0\n",
        "mutant_sdk-1.0.dist-info/top_level.txt": "mutant_sdk\n",
    },
)


class Presuming(Interposer):
    """Opens the device to see whether it exists, and lets the error pass if not."""

    def availability(self) -> Availability:
        with DEVICE.open("rb"):
            return super().availability()


PRESUMING = Mutant(
    "no-device",
    r"^mutant 1.0, without device files: missing_resources.py:\d+: its availability\(\) raised "
    r"FileNotFoundError: .*; look for the device in availability\(\), and return Availability.no\(reason, "
    r"fix\)",
    backend=Presuming,
)
