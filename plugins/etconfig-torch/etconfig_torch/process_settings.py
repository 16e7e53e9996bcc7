"""PyTorch's settings of the whole process: set, read back, and shared by everything that runs.

PyTorch ignores some mistakes without an error, so each value is read back after it was set.
"""

from __future__ import annotations

import enum
import itertools
import threading
from collections.abc import Callable, Mapping
from typing import Any

import torch

from etconfig_torch.errors import SettingRefusedError
from etconfig_torch.options import TorchOptions


class Setting:
    """One setting of the process.

    Args:
        read: Returns the value in force.
        write: Brings a value into force.
        hint: What to do if PyTorch refuses.
    """

    def __init__(self, read: Callable[[], Any], write: Callable[[Any], object], hint: str = "") -> None:
        self.read = read
        self._write = write
        self._hint = hint

    def bring_into_force(self, name: str, value: Any) -> None:
        """Set a value and read it back. Raises SettingRefusedError if it is not in force then."""
        before = self.read()
        if before == value:
            return
        try:
            self._write(value)
            is_in_force = self.read() == value
        except RuntimeError as error:
            reason = str(error).splitlines()[0]
            raise SettingRefusedError(
                f"PyTorch refuses {name} = {value!r}, {before!r} stays in force: {reason}{self._hint}"
            ) from error
        if not is_in_force:
            raise SettingRefusedError(
                f"PyTorch ignored {name} = {value!r}, and {before!r} is in force{self._hint}"
            )


def _attribute(owner: Any, name: str) -> Setting:
    return Setting(lambda: getattr(owner, name), lambda value: setattr(owner, name, value))


SETTINGS: Mapping[str, Setting] = {
    "num_threads": Setting(torch.get_num_threads, torch.set_num_threads),
    "num_interop_threads": Setting(
        torch.get_num_interop_threads,
        torch.set_num_interop_threads,
        "; load this method first, or start the process again",
    ),
    "float32_matmul_precision": Setting(
        torch.get_float32_matmul_precision, torch.set_float32_matmul_precision
    ),
    "onednn": _attribute(torch.backends.mkldnn, "enabled"),
    "cudnn": _attribute(torch.backends.cudnn, "enabled"),
    "cudnn_benchmark": _attribute(torch.backends.cudnn, "benchmark"),
    "cudnn_deterministic": _attribute(torch.backends.cudnn, "deterministic"),
    "cudnn_allow_tf32": _attribute(torch.backends.cudnn, "allow_tf32"),
    "deterministic_algorithms": Setting(
        torch.are_deterministic_algorithms_enabled, torch.use_deterministic_algorithms
    ),
}
"""The settings, by the option that sets each."""


def wanted_settings(options: TorchOptions) -> dict[str, object]:
    """Return the settings that options ask for, as PyTorch takes them."""
    values = {name: getattr(options, name) for name in SETTINGS}
    return {
        name: value.value if isinstance(value, enum.Enum) else value
        for name, value in values.items()
        if value is not None
    }


class ProcessSettings:
    """The settings that live delegates and modules need; two that disagree are an error.

    PyTorch has them once for the process, so one object serves it: `PROCESS`.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._claims: dict[int, Mapping[str, object]] = {}

    def claim(self, options: TorchOptions) -> int:
        """Bring the settings of new options into force, until `release` gets the number that this returns.

        Raises:
            SettingRefusedError: something that runs needs another value, or PyTorch refuses it.
        """
        with self._lock:
            number = next(self._numbers)
            self._bring_into_force(number, wanted_settings(options))
        return number

    def change(self, number: int, options: TorchOptions) -> None:
        """Bring changed options of the same claim into force. Raises SettingRefusedError; see `claim`."""
        with self._lock:
            self._bring_into_force(number, wanted_settings(options))

    def release(self, number: int) -> None:
        """Forget a claim; the values stay in force."""
        with self._lock:
            self._claims.pop(number, None)

    def _bring_into_force(self, number: int, wanted: Mapping[str, object]) -> None:
        others = [claim for key, claim in self._claims.items() if key != number]
        for name, value in wanted.items():
            for claim in others:
                if claim.get(name, value) != value:
                    raise SettingRefusedError(
                        f"{name} is one setting for the whole process: {claim[name]!r} is in use by another "
                        f"method or module, so {value!r} cannot be; give both the same value, or close it"
                    )
        before = {name: SETTINGS[name].read() for name in wanted}
        try:
            for name, value in wanted.items():
                SETTINGS[name].bring_into_force(name, value)
        except SettingRefusedError:
            for name, value in before.items():
                if name != "num_interop_threads":  # set once, so it cannot go back
                    SETTINGS[name].bring_into_force(name, value)
            raise
        self._claims[number] = wanted


PROCESS = ProcessSettings()
"""The settings of this process."""
