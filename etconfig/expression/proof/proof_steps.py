"""`ProofSteps`: the bound of the reasoning about one file, counted in steps and not in time."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager


class ProofLimitError(Exception):
    """The steps are used up, so something is neither proven nor refuted."""


class ProofSteps:
    """Counts the steps of reasoning about conditions; one takes less than a microsecond.

    Equal input takes equally many steps on every machine, so its speed does not decide what is left unproven.

    Args:
        most: The steps that may be taken; no bound if None.
    """

    def __init__(self, most: int | None = None) -> None:
        self._most = (1 << 62) if most is None else most
        self.renew()

    def renew(self) -> None:
        """Allow all steps again, for another file."""
        self._left, self._reserved = self._most, 0
        self._paid: set[Hashable] = set()
        self._is_stopped = False

    def stop(self) -> None:
        """Let the next step fail, in whichever thread it is taken, until the steps are renewed."""
        self._is_stopped = True

    @property
    def taken(self) -> int:
        """The steps that were taken since the last renewal."""
        return self._most - self._left

    def spend(self, steps: int = 1) -> None:
        """Count some steps.

        Raises:
            ProofLimitError: more are taken than allowed.
        """
        self._left -= steps
        if self._left < self._reserved or self._is_stopped:
            raise ProofLimitError

    def spend_once(self, key: Hashable, steps: int) -> None:
        """Count steps whose result is kept: only the first call with a key counts.

        Raises:
            ProofLimitError: more are taken than allowed.
        """
        if key not in self._paid:
            self._paid.add(key)
            self.spend(steps)

    @contextmanager
    def reserving(self, share: float) -> Iterator[None]:
        """Keep a share of the remaining steps for later while the block runs."""
        before, self._reserved = self._reserved, max(self._reserved, int(self._left * share))
        try:
            yield
        finally:
            self._reserved = before
