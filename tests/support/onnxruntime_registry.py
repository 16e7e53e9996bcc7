"""The functions of the module `onnxruntime` that register libraries, for tests without it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any


class RegistryOnly:
    """The functions of the module `onnxruntime` that register libraries, as the real ones behave."""

    def __init__(self, *, has_devices: bool = True, error: str = "") -> None:
        self.libraries: dict[str, str] = {}
        self._has_devices, self._error = has_devices, error

    def get_available_providers(self) -> list[str]:
        return ["CPUExecutionProvider"]

    def get_ep_devices(self) -> list[Any]:
        return [SimpleNamespace(ep_name=name) for name in self.libraries] if self._has_devices else []

    def register_execution_provider_library(self, arg0: str, arg1: str) -> None:
        if self._error:
            raise RuntimeError(self._error)
        if arg0 in self.libraries:
            raise RuntimeError(f"EP library is already registered under {arg0}")
        self.libraries[arg0] = arg1
