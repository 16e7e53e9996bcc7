"""`EngineObject`: an object that an engine made from options, which follows changes of these options."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from etconfig.base.option_path import parse_option_path
from etconfig.diagnostics.error_text import error_text
from etconfig.errors import EngineError, OptionError
from etconfig.resolver.deciding.arguments import instance_label
from etconfig.schema.declaration import Applies

if TYPE_CHECKING:
    from etconfig.schema.options import BackendOptions
    from etconfig.schema.spec import BackendSpec


class EngineObject:
    """An object that an engine made for a model, and the options that are in force in it.

    It keeps the object alive only if the object allows no weak reference.

    Args:
        built: The object.
        name: The name of the model.
        instance: Its instance, or None.
        spec: The backend whose `build` made the object.
        options: The options that it was made with.
    """

    def __init__(
        self, built: object, name: str, instance: str | None, spec: BackendSpec, options: BackendOptions
    ) -> None:
        self.name = name
        self.instance = instance
        self.spec = spec
        self._options = options
        self._find = _reference(built)

    @property
    def built(self) -> object | None:
        """The object; None if nobody uses it any more."""
        built: object | None = self._find()
        return built

    def check(self) -> None:
        """Raise TypeError if the backend's `effective` cannot read the object, such as another engine's."""
        if self.spec.effective is None:
            return
        built = self.built
        try:
            self.spec.effective(built)
        except Exception as error:
            raise TypeError(
                f"method: expected the object that build of {self.spec.id} returned for model {self.name!r}, "
                f"given {type(built).__name__}, which {self.spec.id} cannot read: "
                f"{error_text(error)}"
            ) from error

    def applies(self, option: str) -> Applies:
        """Return when a change of an option takes effect; always at load if the backend has no `update`."""
        applies = self.spec.options.option_infos()[option].applies
        return Applies.LOAD if self.spec.update is None else applies

    def options(self, backend: str) -> BackendOptions:
        """Return the options in force."""
        return self._options

    def update(self, changes: Mapping[str, object]) -> None:
        """Bring changed options into force: all of them, or none.

        Args:
            changes: New values by `BACKEND.OPTION`, of options that apply at execute.

        Raises:
            OptionError: the backend's checks refuse the new values beside the others.
            EngineError: the engine failed to apply them; the old options are in force.
        """
        with self.tentative_update(changes):
            pass

    @contextmanager
    def tentative_update(self, changes: Mapping[str, object]) -> Iterator[None]:
        """Change options as `update` does, and back if the `with` block raises.

        Args:
            changes: As for `update`.

        Raises: as `update`; and what the block raises.
        """
        from etconfig.schema.validate import build_options  # imports pydantic

        built = self.built
        if not changes or built is None or self.spec.update is None:
            yield
            return
        new = {parse_option_path(path).option: value for path, value in changes.items()}
        before = self._options
        values = {name: getattr(before, name) for name in before.option_infos()}
        validated = build_options(self.spec, {**values, **new})
        if validated.options is None:
            raise OptionError(diagnostics=tuple(each.to_diagnostic() for each in validated.problems))
        self._change(built, validated.options, frozenset(new))
        try:
            yield
        except BaseException:
            self._change(built, before, frozenset(new))
            raise

    def failure(self, cause: str) -> EngineError:
        """Return the error of an update that failed."""
        label = instance_label(self.name, self.instance)
        return EngineError(backend=self.spec.id, method=label, phase="update", cause=cause)

    def _change(self, built: object, options: BackendOptions, changed: frozenset[str]) -> None:
        assert self.spec.update is not None
        try:
            self.spec.update(built, options, self._options, changed)
        except Exception as error:
            raise self.failure(error_text(error)) from error
        self._options = options


def _reference(built: object) -> Callable[[], Any]:
    try:
        return weakref.ref(built)
    except TypeError:  # such as a dict of settings
        return lambda: built
