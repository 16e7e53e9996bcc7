"""`LiveArguments`: arguments that follow a device's facts while its Methods are loaded."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import fields, replace
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex

from etconfig.app.configuring.configuration import Configuration, configure, documented_like
from etconfig.app.live.joint_refresh import DisagreementError, is_joint, joint_specs, jointly
from etconfig.app.live.profile_change import ProfileChange, profile_change
from etconfig.app.programs.engine_object import EngineObject
from etconfig.base.option_path import OptionPath
from etconfig.base.parameters import check_type
from etconfig.base.records import record
from etconfig.errors import DelegateError, EtconfigError, MethodClosedError, MethodInUseError, OptionError
from etconfig.facts.sheet import FactSheet
from etconfig.report.has_view import HasView
from etconfig.report.model import Table, View, count_text
from etconfig.resolver.deciding.arguments import Arguments
from etconfig.resolver.deciding.resolution import Resolution
from etconfig.schema.coerce import show_value
from etconfig.schema.declaration import Applies

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from etconfig.app.configuring.configuration import Settings
    from etconfig.app.configuring.targets import Delegating
    from etconfig.method.method import Method
    from etconfig.schema.options import BackendOptions
    from etconfig.schema.spec import BackendSpec


@record(frozen=True, kw_only=True)
class LiveChange:
    """An option of a loaded Method whose value differs from the one configured for the new facts.

    Attributes:
        path: The option of one method instance.
        old: The value in force before.
        new: The configured value.
        applies: The time at which it takes effect.
        error: The error if the change was refused, else None.
    """

    path: OptionPath
    old: object
    new: object
    applies: Applies
    error: EtconfigError | None = None


@record(frozen=True, kw_only=True)
class Refresh(HasView):
    """The result of one refresh.

    Attributes:
        applied: Changes that are in force from the next execute on.
        postponed: Changes to Methods that were executing; the next refresh tries them again.
        refused: Changes that the backend failed to apply, or that contradict its other options; the
            old values stay in force.
        needs_reload: Changes that take effect only after the method is loaded again. Until then, each
            refresh lists them, and the old values stay in force.
        profile: Another profile that `auto` selected, with the reasons; None if it stays.
    """

    applied: tuple[LiveChange, ...] = ()
    postponed: tuple[LiveChange, ...] = ()
    refused: tuple[LiveChange, ...] = ()
    needs_reload: tuple[LiveChange, ...] = ()
    profile: ProfileChange | None = None

    def __bool__(self) -> bool:
        """True if any option or the profile differs."""
        return any(getattr(self, part.name) for part in fields(self))

    def _view(self) -> View:
        rows = [
            (
                kind.replace("_", " "),
                str(each.path),
                *map(show_value, (each.old, each.new)),
                str(each.error or ""),
            )
            for kind in ("applied", "postponed", "refused", "needs_reload")
            for each in getattr(self, kind)
        ]
        counts = [f"{count} {kind}" for kind, count in Counter(row[0] for row in rows).items()]
        profile = [] if self.profile is None else [str(self.profile), *self.profile.reasons]
        table = Table(headers=("", "OPTION", "OLD", "NEW", "ERROR"), rows=rows)
        title = ", ".join([*counts, *profile[:1]]) or "nothing changes"
        return View(title=title, lines=profile[1:], tables=(table,))


@documented_like(configure)
class LiveArguments(HasView):
    """Keeps loaded Methods, and objects of engines, in line with a configuration while facts change.

    `refresh` compares the options in force in each Method with the configured ones, and applies
    what may change between two executes. It never waits for a Method and never changes one
    in the middle of an execute. With `auto`, it selects again among the profiles that were read;
    `Refresh.profile` reports another one. `reload` reads changed files. Nothing runs in the background
    unless `follow` is called. All methods may be called from any thread.

    Example:
        >>> program = etconfig.load_program("model.pte")
        >>> live = etconfig.LiveArguments(program, profile="generic/any")
        >>> with program.load_method("forward", live.arguments("forward")) as method:
        ...     live.attach(method)
        ...     report = live.refresh(etconfig.detect_facts())
        >>> report.refused
        ()

    The parameters are the same as of `configure`. In place of a program, it takes a `Configuration` that
    exists already, and then `facts`, those to start from, only.

    Args: as for `configure`.
        hold_profile: Keep the profile that `auto` selected first, whatever the facts become.

    Raises:
        ConfigError: the configuration is wrong, or does not resolve on these facts.
        PluginError: a plugin that is needed is broken.
        TypeError: an argument is of a wrong type, or given together with a `Configuration`.
    """

    def __init__(
        self,
        program: Delegating | Configuration | None = None,
        *,
        hold_profile: bool = False,
        **settings: Unpack[Settings],
    ) -> None:
        if isinstance(program, Configuration):
            _refuse_settings(settings)
        else:
            program = configure(program, **settings)
        check_type("hold_profile", hold_profile, bool, "True or False")
        facts = settings.get("facts")
        self._holds_profile = hold_profile
        # the facts of the device alone: the resolution's have the profile's, too
        self._facts = program.facts if facts is None else facts
        self._configuration = self._configured(program, self._facts)
        self._resolution = self._configuration.resolve(self._facts)
        self._methods: list[Method | EngineObject] = []
        # Guards the list and orders refreshes. Methods guard themselves: `update` never waits for an
        # execute, so a refresh holds this lock for a short time only.
        self._lock = threading.Lock()

    @property
    def resolution(self) -> Resolution:
        """The resolution on the facts of the last refresh."""
        return self._resolution

    def arguments(self, method: str, instance: str | None = None) -> Arguments:
        """Return the arguments to load a method with now.

        Raises:
            OptionError: there is no such method or instance, or it lacks required options.
        """
        return self._resolution.arguments(method, instance)

    def attach(
        self,
        method: object,
        *,
        model: str | None = None,
        instance: str | None = None,
        backend: str | None = None,
        options: BackendOptions | None = None,
    ) -> None:
        """Let a loaded Method follow the facts until it is closed, or an engine's object while it is used.

        An object of an engine is given with the name of its model: `attach(session, model="detector")`. It
        follows by the backend's `update`, called in the thread of `refresh`, until nothing else refers to it
        or `detach` is called. `build` creates and attaches one in a single step.

        Args:
            method: The Method, or the object that `build` of a backend returned.
            model: For an object of an engine, the name of its model.
            instance: The instance that it was built for, or None.
            backend: The id of its backend; needed only if the model has several.
            options: The options that it was built with; by default the options of the last refresh.

        Raises:
            OptionError: its method or model, instance, or backend is not configured.
            BackendUnavailableError: a backend is configured for it to which it delegates nothing.
            TypeError: it is not a loaded Method, and `model` is not given; or the backend's `effective`
                cannot read the object, since it is another engine's or only settings.
            ValueError: the model has several backends, and `backend` is not given.
        """
        if model is not None:
            followed = self._engine_object(method, model, instance, backend, options)
            followed.check()
            self._attach(followed)
            return
        from etconfig.method.method import Method  # numpy comes with it; resolving does not need it

        if not isinstance(method, Method):
            raise TypeError(
                "method: expected a loaded Method, as program.load_method returns it, or an engine's object "
                f"with model=..., given {type(method).__name__}"
            )
        _changes(method, self.arguments(method.name, method.instance))  # raises now, not in a refresh
        self._attach(method)

    def build(
        self,
        model: str,
        /,
        *arguments: object,
        instance: str | None = None,
        backend: str | None = None,
        **named: object,
    ) -> Any:
        """Return the engine's own object for a model, as `Resolution.build` does, and attach it.

        Args:
            model: The name of the model.
            arguments: What the backend's `build` takes besides the options, such as the path of a file.
            instance: A named instance of it, or None.
            backend: The id of the backend; needed only if the model has several.
            named: Further arguments of the backend's `build`.

        Raises:
            OptionError, ValueError, BackendUnavailableError: as for `Resolution.build`.
        """
        resolution = self._resolution  # another thread may refresh while the engine builds
        built = resolution.build(model, *arguments, instance=instance, backend=backend, **named)
        options = resolution.options_for(model, instance=instance, backend=backend)
        self._attach(self._engine_object(built, model, instance, backend, options))
        return built

    def detach(self, method: object) -> None:
        """Let a Method or an engine's object no longer follow the facts; nothing happens if it does not."""
        with self._lock:
            self._methods = [each for each in self._methods if not _is_for(each, method)]

    def _attach(self, followed: Method | EngineObject) -> None:
        with self._lock:
            wanted = followed.built if isinstance(followed, EngineObject) else followed
            if not any(_is_for(each, wanted) for each in self._methods):
                self._methods.append(followed)

    def _engine_object(
        self,
        built: object,
        model: str,
        instance: str | None,
        backend: str | None,
        options: BackendOptions | None,
    ) -> EngineObject:
        now = self._resolution.backend_arguments(model, instance, backend)
        kind = now.spec.options
        given = now.options if options is None else options
        check_type("options", given, kind, f"the options that it was built with, a {kind.__name__}")
        return EngineObject(built, model, instance, now.spec, given)

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError("LiveArguments cannot be copied or pickled: make new ones for another program")

    def __repr__(self) -> str:
        noun = "object" if any(isinstance(each, EngineObject) for each in self._methods) else "Method"
        followed = count_text(len(self._methods), f"attached {noun}")
        return f"<LiveArguments: {followed}; {self._resolution!r}>"

    def _view(self) -> View:
        return self._resolution._view()

    def _configured(self, configuration: Configuration, facts: FactSheet) -> Configuration:
        return configuration if self._holds_profile else configuration.selected_on(facts)

    def refresh(self, facts: FactSheet | None = None) -> Refresh:
        """Update all Methods to the options for these facts, as far as possible without a reload.

        Args:
            facts: The current facts; None tries the postponed changes again.

        Returns:
            The changes, sorted by what became of them, and the profile if it is another one.

        Raises:
            ConfigError: no profile fits these facts, or the configuration does not resolve on them; nothing
                was changed, not even the profile.
            TypeError: `facts` is not a fact sheet.
        """
        return self._refreshed(facts, self._configured)

    def reload(self, facts: FactSheet | None = None) -> Refresh:
        """Read the profiles, the project file and its models again, and do the same as `refresh`.

        `refresh` reads no file: it takes new facts only. With `hold_profile`, the profile may change here if
        the files select another one.

        Args:
            facts: The current facts; by default the facts of the last refresh.

        Returns, raises: as `refresh`.
        """
        return self._refreshed(facts, Configuration.reloaded)

    def _refreshed(
        self, facts: FactSheet | None, configured: Callable[[Configuration, FactSheet], Configuration]
    ) -> Refresh:
        with self._lock:
            # Everything that may raise comes before the first change to a Method.
            facts = self._facts if facts is None else facts
            self._methods = [each for each in self._methods if not _is_gone(each)]
            configuration = configured(self._configuration, facts)
            resolution = configuration.resolve(facts)
            wanted = [resolution.arguments(method.name, method.instance) for method in self._methods]
            profile = profile_change(self._resolution, resolution)
            self._configuration, self._resolution, self._facts = configuration, resolution, facts
            reports = self._update_all(wanted)
        changes = {part: tuple(c for r in reports for c in getattr(r, part)) for part in _CHANGES}
        return Refresh(**changes, profile=profile)

    def follow(
        self,
        detect: Callable[[FactSheet], FactSheet],
        on_refresh: Callable[[Refresh], object],
        on_error: Callable[[EtconfigError], object],
        *,
        interval_s: float = 2.0,
    ) -> Follower:
        """Refresh in a background thread until the returned follower is stopped.

        Args:
            detect: Returns the current facts, given the previous ones, such as
                `lambda previous: etconfig.detect_facts()`.
            on_refresh: Called in that thread with the result of a refresh, if anything differs.
            on_error: Called in that thread if facts select no profile or do not resolve; the thread
                continues.
            interval_s: The pause between two refreshes, in seconds.
        """

        def refresh_once() -> None:
            try:
                report = self.refresh(detect(self._facts))
            except EtconfigError as error:
                on_error(error)
            else:
                if report:
                    on_refresh(report)

        return Follower(refresh_once, interval_s)

    def _update_all(self, wanted: Sequence[Arguments]) -> list[Refresh]:
        """Apply all differences, of options of the process to all methods that have them at once."""
        pairs = list(zip(self._methods, wanted, strict=True))
        planned = {index: (method, _changes(method, each)) for index, (method, each) in enumerate(pairs)}
        specs = joint_specs(wanted)
        ids = {
            index: {c.path.backend for c in changes if is_joint(specs, c.path.backend, c.path.option)}
            for index, (_, changes) in planned.items()
        }
        together = [index for index in planned if ids[index]]
        if len(together) < 2:
            together = []
        reports = {i: self._update(*plan, plan[0].update) for i, plan in planned.items() if i not in together}
        shared = {specs[each].id: specs[each] for index in together for each in ids[index]}
        reports |= self._update_together({index: planned[index] for index in together}, shared.values())
        return [reports[index] for index in planned]

    def _update_together(
        self,
        planned: Mapping[int, tuple[Method | EngineObject, list[LiveChange]]],
        specs: Iterable[BackendSpec],
    ) -> dict[int, Refresh]:
        """Apply the differences in all of these Methods and objects, or in none."""
        reports: dict[int, Refresh] = {}
        try:
            # Each stays as it is, and keeps executes out, until all are known to agree.
            with ExitStack() as kept, jointly(specs):
                for index, (method, changes) in planned.items():
                    reports[index] = self._update(method, changes, partial(_keep, kept, method))
        except DisagreementError as error:
            must_wait = any(report.postponed for report in reports.values())
            return {
                index: _undone(planned[index][0], report, None if must_wait else error)
                for index, report in reports.items()
            }
        return reports

    def _update(
        self,
        method: Method | EngineObject,
        changes: Sequence[LiveChange],
        update: Callable[[Mapping[str, object]], None],
    ) -> Refresh:
        """Apply the differences in one Method, as far as possible now."""
        at_load = tuple(change for change in changes if change.applies is Applies.LOAD)
        now = tuple(change for change in changes if change.applies is Applies.EXECUTE)
        try:
            update({f"{c.path.backend}.{c.path.option}": c.new for c in now})
        except MethodInUseError:  # it is executing: do not wait, the next refresh tries again
            return Refresh(postponed=now, needs_reload=at_load)
        except MethodClosedError:
            self._methods.remove(method)
            return Refresh()
        except (OptionError, DelegateError) as error:
            return Refresh(refused=tuple(replace(c, error=error) for c in now), needs_reload=at_load)
        return Refresh(applied=now, needs_reload=at_load)


def _keep(kept: ExitStack, method: Method | EngineObject, changes: Mapping[str, object]) -> None:
    """Update a Method or object, until `kept` ends with an error."""
    kept.enter_context(method.tentative_update(changes))


def _undone(method: Method | EngineObject, report: Refresh, error: DisagreementError | None) -> Refresh:
    """Return the report on changes that were applied, and then undone since others did not agree.

    Args:
        method: The Method or object.
        report: What became of the changes at first.
        error: The reason; None if a Method that executes is in the way, so that the next refresh tries again.
    """
    if error is None:
        return replace(report, applied=(), postponed=report.postponed + report.applied)
    if isinstance(method, EngineObject):
        failure: DelegateError = method.failure(error.cause)
    else:
        failure = DelegateError(backend=error.backend, method=method.name, phase="update", cause=error.cause)
    refused = tuple(replace(change, error=failure) for change in report.applied)
    return replace(report, applied=(), refused=report.refused + refused)


_CHANGES = ("applied", "postponed", "refused", "needs_reload")
"""The fields of `Refresh` that list changes of options."""


def _refuse_settings(settings: Mapping[str, Any]) -> None:
    """Refuse what only `configure` uses. Raises TypeError."""
    own = {name: value for name, value in settings.items() if name != "facts"}
    given = [name for name, value in own.items() if value is not None and value is not False]
    if given:
        names = ", ".join(given)
        raise TypeError(f"{names}: a Configuration has its own; pass {names} to etconfig.configure")


def _is_gone(followed: Method | EngineObject) -> bool:
    return isinstance(followed, EngineObject) and followed.built is None


def _is_for(followed: Method | EngineObject, given: object) -> bool:
    """Return True if this follows for a Method or object that was given to `attach`."""
    return (followed.built if isinstance(followed, EngineObject) else followed) is given


def _changes(method: Method | EngineObject, wanted: Arguments) -> list[LiveChange]:
    """Compare the options in force in a Method, or in an engine's object, with the wanted ones."""
    changes = []
    engine = method if isinstance(method, EngineObject) else None
    for backend in wanted if engine is None else (engine.spec.id,):
        in_force, options = method.options(backend), wanted[backend]
        for name, info in options.option_infos().items():
            old, new = getattr(in_force, name), getattr(options, name)
            if old != new:
                path = OptionPath(backend, name, wanted.method, wanted.instance)
                applies = info.applies if engine is None else engine.applies(name)
                changes.append(LiveChange(path=path, old=old, new=new, applies=applies))
    return changes


class Follower:
    """A thread that repeats some work until `stop` or the end of a `with` block."""

    def __init__(self, work: Callable[[], None], interval_s: float) -> None:
        self._work = work
        self._interval_s = interval_s
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="etconfig-follower", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread, and wait until it has finished its current work."""
        self._stopping.set()
        # A callback of the follower may call this, in the thread itself, which cannot wait for itself.
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
