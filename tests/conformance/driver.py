"""What a vendor's driver keeps to itself, outside of the plugin's package, where no kit can look.

Mutants whose defect is not the state itself keep it here, so that `no-globals` does not find it too.
"""

from __future__ import annotations

from types import SimpleNamespace

STATE = SimpleNamespace()
"""Anything, by name."""
