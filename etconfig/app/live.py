"""`LiveArguments`: arguments that follow a device's facts while its Methods are loaded."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import fields, replace
from types import TracebackType
from typing import TYPE_CHECKING

from etconfig.errors import DelegateError, EtconfigError, MethodClosedError, MethodInUseError, OptionError
from etconfig.facts import FactSheet
from etconfig.option_path import OptionPath
from etconfig.records import record
from etconfig.resolver import Arguments, Resolution
from etconfig.schema import Applies

if TYPE_CHECKING:
    from etconfig.app.configuration import Configuration
    from etconfig.method.method import Method


@record(frozen=True, kw_only=True)
class LiveChange:
    """An option of a loaded Method that differs from what the facts now ask for.

    Attributes:
        path: The option of one method instance.
        old: The value in force before.
        new: The value that is asked for.
        applies: When it takes effect.
        error: Why it was refused, or None if it was not.
    """

    path: OptionPath
    old: object
    new: object
    applies: Applies
    error: EtconfigError | None = None


@record(frozen=True, kw_only=True)
class Refresh:
    """What one refresh did.

    Attributes:
        applied: Changes that are in force from the next execute on.
        postponed: Changes to Methods that were executing; the next refresh tries them again.
        refused: Changes that the backend failed to make, or that contradict its other options; the
            old values are in force.
        needs_reload: Changes that take effect when the method is loaded again.
    """

    applied: tuple[LiveChange, ...] = ()
    postponed: tuple[LiveChange, ...] = ()
    refused: tuple[LiveChange, ...] = ()
    needs_reload: tuple[LiveChange, ...] = ()

    def __bool__(self) -> bool:
        """Whether anything differs."""
        return any(getattr(self, part.name) for part in fields(self))


class LiveArguments:
    """Keeps loaded Methods at what is configured for the facts of the moment.

    `refresh` compares the options in force in each Method with what its configuration asks for,
    and applies what may change between two executes. It never waits for a Method and never
    changes one in the middle of an execute. Nothing runs in the background unless `follow` is
    called. All methods may be called from any thread.

    Example:
        >>> program = etconfig.load_program("model.pte")
        >>> live = etconfig.LiveArguments(etconfig.configure(program))
        >>> with program.load_method("forward", live.arguments("forward")) as method:
        ...     live.attach(method)
        ...     report = live.refresh(etconfig.detect_facts())
        >>> report.refused
        ()

    Args:
        configuration: What is configured. The profile stays the one that was chosen.
        facts: The facts to start from, by default those that the configuration was made on.

    Raises:
        ConfigError: the configuration does not resolve on these facts.
    """

    def __init__(self, configuration: Configuration, facts: FactSheet | None = None) -> None:
        self._configuration = configuration
        self._resolution = configuration.resolve(facts)
        self._methods: list[Method] = []
        self._lock = threading.Lock()

    @property
    def resolution(self) -> Resolution:
        """What is configured for the facts of the last refresh."""
        return self._resolution

    def arguments(self, method: str, instance: str | None = None) -> Arguments:
        """The arguments to load a method with now.

        Raises:
            OptionError: there is no such method or instance, or it lacks required options.
        """
        return self._resolution.arguments(method, instance)

    def attach(self, method: Method) -> None:
        """Have a loaded Method follow the facts until it is closed.

        Raises:
            OptionError: nothing is configured for its method and instance.
            BackendUnavailableError: a backend is configured for it to which it delegates nothing.
        """
        _changes(method, self.arguments(method.name, method.instance))
        with self._lock:
            if method not in self._methods:
                self._methods.append(method)

    def refresh(self, facts: FactSheet | None = None) -> Refresh:
        """Bring all Methods to what these facts ask for, as far as that is possible without a reload.

        Args:
            facts: The facts of the moment; None tries again what was postponed.

        Raises:
            ConfigError: the configuration does not resolve on these facts; nothing was changed.
        """
        with self._lock:
            resolution = self._resolution if facts is None else self._configuration.resolve(facts)
            wanted = [resolution.arguments(method.name, method.instance) for method in self._methods]
            self._resolution = resolution
            reports = [self._bring_up(*pair) for pair in zip(tuple(self._methods), wanted, strict=True)]
        parts = [part.name for part in fields(Refresh)]
        return Refresh(**{part: tuple(c for r in reports for c in getattr(r, part)) for part in parts})

    def follow(
        self,
        detect: Callable[[FactSheet], FactSheet],
        on_refresh: Callable[[Refresh], object],
        on_error: Callable[[EtconfigError], object],
        *,
        interval_s: float = 2.0,
    ) -> Follower:
        """Refresh in a thread of its own until the follower is stopped.

        Args:
            detect: Gives the facts of the moment from those before, such as
                `etconfig.facts.redetect`.
            on_refresh: Called in that thread with what a refresh did, if anything differs.
            on_error: Called in that thread with why facts could not be resolved; it goes on.
            interval_s: The pause between two refreshes, in seconds.
        """

        def refresh_once() -> None:
            try:
                report = self.refresh(detect(self._resolution.facts))
            except EtconfigError as error:
                on_error(error)
            else:
                if report:
                    on_refresh(report)

        return Follower(refresh_once, interval_s)

    def _bring_up(self, method: Method, arguments: Arguments) -> Refresh:
        """Apply what differs in one Method, as far as it can be done now."""
        changes = _changes(method, arguments)
        at_load = tuple(change for change in changes if change.applies is Applies.LOAD)
        now = tuple(change for change in changes if change.applies is Applies.EXECUTE)
        try:
            method.update({f"{c.path.backend}.{c.path.option}": c.new for c in now})
        except MethodInUseError:
            return Refresh(postponed=now, needs_reload=at_load)
        except MethodClosedError:
            self._methods.remove(method)
            return Refresh()
        except (OptionError, DelegateError) as error:
            return Refresh(refused=tuple(replace(c, error=error) for c in now), needs_reload=at_load)
        return Refresh(applied=now, needs_reload=at_load)


def _changes(method: Method, wanted: Arguments) -> list[LiveChange]:
    """The options in force in a Method that differ from those that are wanted."""
    changes = []
    for backend in wanted:
        in_force, options = method.options(backend), wanted[backend]
        for name, info in options.option_infos().items():
            old, new = getattr(in_force, name), getattr(options, name)
            if old != new:
                path = OptionPath(backend, name, wanted.method, wanted.instance)
                changes.append(LiveChange(path=path, old=old, new=new, applies=info.applies))
    return changes


class Follower:
    """A thread that does something again and again, until `stop` or the end of a `with` block."""

    def __init__(self, work: Callable[[], None], interval_s: float) -> None:
        self._work = work
        self._interval_s = interval_s
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="etconfig-follower", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread; returns when it has finished what it was doing."""
        self._stopping.set()
        if self._thread is not threading.current_thread():
            self._thread.join()

    def __enter__(self) -> Follower:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._work()
            self._stopping.wait(self._interval_s)
