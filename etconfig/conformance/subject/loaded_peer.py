"""`LoadedPeer`: a method that stays loaded while others run, and can be checked for right answers."""

from __future__ import annotations

from types import TracebackType

from etconfig.conformance.interpose.interposer import Interposer
from etconfig.conformance.kit.outcomes import CheckFailedError
from etconfig.conformance.subject.golden import DelegatedCase
from etconfig.conformance.subject.subject import Subject
from etconfig.errors import EtconfigError

KEEP_APART = "keep the state of a delegate in the handle that init returns"


class LoadedPeer:
    """A loaded method of a case; leaving a `with` block closes it.

    Args:
        subject: The backend.
        case: The case.
        label: Its name in messages.
        name: The name of the method, by default the first.
        through: An interposer between the core and the backend.

    Attributes:
        case: The case.
        method: The loaded method.

    Raises:
        EtconfigError: it cannot be loaded.
    """

    def __init__(
        self,
        subject: Subject,
        case: DelegatedCase,
        label: str,
        *,
        name: str | None = None,
        through: Interposer | None = None,
    ) -> None:
        self.case = case
        self.method = subject.load(case, name, through=through)
        self._subject = subject
        self._label = label
        self._name = name

    def answer(self, turn: int, when: str, fix: str = KEEP_APART) -> None:
        """Execute the run of this turn, and compare the outputs.

        Raises:
            CheckFailedError: it failed or answered wrongly; the message says when, and contains the fix.
        """
        runs = self.case.runs(self._name)
        run = runs[turn % len(runs)]
        try:
            outputs = self.method.execute(list(run.inputs))
            self._subject.check_outputs(self.case, run, outputs, self._name)
        except (CheckFailedError, EtconfigError) as error:
            raise CheckFailedError(f"{self._label} fails {when}: {error}; {fix}") from error

    def answer_all(self, when: str) -> None:
        """Execute every run of the case, and compare the outputs. Raises CheckFailedError."""
        for turn in range(len(self.case.runs(self._name))):
            self.answer(turn, when)

    def __enter__(self) -> LoadedPeer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.method.close()
