"""The installed PyTorch, found without importing it."""

from __future__ import annotations

import itertools
from importlib.metadata import PackageNotFoundError, version

from etconfig.plugin.v1 import Availability
from etconfig_torch.errors import unavailable

_INSTALL = 'install PyTorch, which etconfig-torch[engine] brings: pip install "torch>=2.10"'


def installed() -> Availability:
    """Return whether a PyTorch that is new enough is installed."""
    try:
        found = version("torch")
    except PackageNotFoundError:
        return Availability.no("PyTorch is not installed", _INSTALL)
    numbers = itertools.islice(found.split("."), 2)
    if tuple(int(number) for number in numbers) < (2, 10):
        return Availability.no(f"PyTorch {found} is too old, 2.10 is needed", _INSTALL)
    return Availability.yes()


def check_installed() -> None:
    """Raise BackendUnavailableError, with the fix, unless a PyTorch that is new enough is installed."""
    answer = installed()
    if not answer.is_available:
        raise unavailable(answer.reason or "PyTorch is not installed", answer.fix or _INSTALL)
