"""The state of a vendor's driver, outside of the plugin's package, where the kit cannot look.

Mutants whose defect is not the state itself keep it here, so that `no-globals` does not find it, too.
"""

from __future__ import annotations

from types import SimpleNamespace

STATE = SimpleNamespace()
"""Any objects, by name."""
