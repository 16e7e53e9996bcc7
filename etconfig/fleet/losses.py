"""Failures that every kind of cluster has: all workers are lost, or a task fails."""

from __future__ import annotations

import time
from collections.abc import Callable

from etconfig.errors import WorkersError

LOST_SECONDS = 60.0
"""How long to wait for other workers when all are lost."""


class LossWatch:
    """Notices that a cluster has had no workers for too long.

    Args:
        has_workers: Returns True if the cluster has workers now.
    """

    def __init__(self, has_workers: Callable[[], bool]) -> None:
        self._has_workers = has_workers
        self._seen = time.monotonic()

    def reset(self) -> None:
        """Note that a worker has answered."""
        self._seen = time.monotonic()

    def look(self) -> None:
        """Look whether there are workers.

        Raises:
            WorkersError: there have been none for `LOST_SECONDS`.
        """
        if self._has_workers():
            self.reset()
        elif time.monotonic() - self._seen > LOST_SECONDS:
            raise WorkersError(
                problem=f"the cluster has had no workers for {LOST_SECONDS:g} seconds", help="start some"
            )


def died_on(label: str) -> WorkersError:
    """Return the error for a task on which the cluster lost as many workers as it may.

    Args:
        label: The file of the task.
    """
    return WorkersError(
        problem=f"several workers died on {label}", help="give them more memory, or --memory less"
    )


def failed_on(label: str, error: Exception, extra: str) -> WorkersError:
    """Return the error for a task that failed without saying why in words of etconfig.

    Args:
        label: The file of the task.
        error: The error of the cluster, or of another version of etconfig.
        extra: The extra that machines of the cluster need.
    """
    reason = str(error).partition("\n")[0]
    return WorkersError(
        problem=f"the cluster failed on {label}: {type(error).__name__}: {reason}",
        help=f"check that all machines of the cluster have the same etconfig, with etconfig[{extra}]",
    )
