"""PyTorch's settings of the whole process: set, read back, and shared by everything that runs.

PyTorch ignores some mistakes without an error, so each value is read back after it was set.
"""

from __future__ import annotations

import enum
import gc
import itertools
import logging
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from etconfig_torch.errors import SettingRefusedError
from etconfig_torch.options import TorchOptions

_VARIABLE = "OMP_NUM_THREADS"
"""The environment variable that PyTorch takes the threads of operators from."""

_LOG = logging.getLogger("etconfig_torch")


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


class ThreadCount(Setting):
    """`torch.set_num_threads`, which reaches the thread that calls it and threads that begin later."""

    def __init__(self) -> None:
        super().__init__(torch.get_num_threads, torch.set_num_threads)
        self._latest: tuple[int, ...] = ()
        self._of_thread = threading.local()

    def bring_into_force(self, name: str, value: Any) -> None:
        """Set the value in this thread, and let others take it in `follow`. Raises SettingRefusedError."""
        super().bring_into_force(name, value)
        given = os.environ.get(_VARIABLE)
        if given is not None and given != str(value) and self._latest != (value,):
            _LOG.warning("num_threads is %d, so %s=%s has no effect", value, _VARIABLE, given)
        if self._latest != (value,):
            self._latest = (value,)
        self._of_thread.followed = self._latest

    def follow(self) -> None:
        """Take the latest value in this thread, once: what it sets by itself afterwards stays."""
        latest = self._latest
        if getattr(self._of_thread, "followed", ()) is latest:
            return
        if latest != (torch.get_num_threads(),):
            torch.set_num_threads(*latest)
        self._of_thread.followed = latest


THREADS = ThreadCount()
"""The threads of operators in this process."""


def _attribute(owner: Any, name: str) -> Setting:
    return Setting(lambda: getattr(owner, name), lambda value: setattr(owner, name, value))


SETTINGS: Mapping[str, Setting] = {
    "num_threads": THREADS,
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
        # reentrant: the collector may release a claim while this thread is inside
        self._lock = threading.RLock()
        self._numbers = itertools.count()
        self._claims: dict[int, Mapping[str, object]] = {}
        self._before: _Before | None = None

    def claim(self, options: TorchOptions) -> int:
        """Bring the settings of new options into force, until `release` gets the number that this returns.

        Raises:
            SettingRefusedError: something that runs needs another value, or PyTorch refuses it.
        """
        with self._lock:
            number = next(self._numbers)
            wanted = wanted_settings(options)
            if self._before is None and self._conflict(number, wanted) is not None:
                gc.collect()  # modules that nothing refers to may still have claims
            self._bring_into_force(number, wanted)
        return number

    def change(self, number: int, options: TorchOptions) -> None:
        """Bring changed options of the same claim into force. Raises SettingRefusedError; see `claim`."""
        with self._lock:
            self._bring_into_force(number, wanted_settings(options))

    def set_each(self, options: TorchOptions, names: frozenset[str]) -> dict[str, str]:
        """Bring some settings into force, each by itself; return why the others are not."""
        refused = {}
        with self._lock:
            for name, value in wanted_settings(options).items():
                conflict = self._conflict(-1, {name: value}) if name in names else None
                try:
                    if conflict is not None:
                        raise _disagreement(*conflict)
                    if name in names:
                        SETTINGS[name].bring_into_force(name, value)
                except SettingRefusedError as error:
                    refused[name] = str(error)
        return refused

    def release(self, number: int) -> None:
        """Forget a claim; the values stay in force."""
        with self._lock:
            self._claims.pop(number, None)
            if self._before is not None:
                self._before.claims.pop(number, None)

    @contextmanager
    def joint_change(self) -> Iterator[None]:
        """Let all changes in the `with` block count as one: claims may disagree before its end.

        Inside of another such block, of the same thread, the outer one decides. Other threads wait.

        Raises:
            SettingRefusedError: claims disagree at the end. As after any error, all settings and claims are
                as before.
        """
        with self._lock:
            if self._before is not None:
                yield
                return
            self._before = _Before(self._claims.copy())
            try:
                yield
                self._check_agreement()
            except BaseException:
                _restore(self._before.values)
                self._claims = self._before.claims
                raise
            finally:
                self._before = None

    def _check_agreement(self) -> None:
        former = {} if self._before is None else self._before.claims
        agreed: dict[str, tuple[object, bool]] = {}
        for number, claim in self._claims.copy().items():
            for name, value in claim.items():
                is_new = former.get(number, {}).get(name) != value
                other, is_other_new = agreed.setdefault(name, (value, is_new))
                if other != value:
                    raise _disagreement(name, *((value, other) if is_other_new else (other, value)))

    def _conflict(self, number: int, wanted: Mapping[str, object]) -> tuple[str, object, object] | None:
        """Return a setting, its value in another claim, and the other value that is wanted."""
        others = [claim for key, claim in self._claims.copy().items() if key != number]
        for name, value in wanted.items():
            for claim in others:
                if claim.get(name, value) != value:
                    return name, claim[name], value
        return None

    def _bring_into_force(self, number: int, wanted: Mapping[str, object]) -> None:
        conflict = None if self._before is not None else self._conflict(number, wanted)
        if conflict is not None:
            raise _disagreement(*conflict)
        before = {name: SETTINGS[name].read() for name in wanted}
        if self._before is not None:
            self._before.values = {**before, **self._before.values}
        try:
            for name, value in wanted.items():
                SETTINGS[name].bring_into_force(name, value)
        except SettingRefusedError:
            _restore(before)
            raise
        self._claims[number] = wanted


@dataclass
class _Before:
    """The claims from before a joint change, and the earlier values of the settings that it touched."""

    claims: dict[int, Mapping[str, object]]
    values: dict[str, object] = field(default_factory=dict)


def _restore(values: Mapping[str, object]) -> None:
    for name, value in values.items():
        if name != "num_interop_threads":  # set once, so it cannot go back
            SETTINGS[name].bring_into_force(name, value)


def _disagreement(name: str, in_use: object, wanted: object) -> SettingRefusedError:
    return SettingRefusedError(
        f"{name} is one setting for the whole process: {in_use!r} is in use by another "
        f"method or module, so {wanted!r} cannot be; give both the same value, or close the "
        "method, or `del` all references to the module"
    )


PROCESS = ProcessSettings()
"""The settings of this process."""
